"use strict";
// A page says all without this script.
