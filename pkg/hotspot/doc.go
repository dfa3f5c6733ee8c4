// Package hotspot says what kind of waste the hot lines of a Python profile are, and
// what to do about each.
package hotspot
