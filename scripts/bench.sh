#!/usr/bin/env bash
# Generates a trace and prints events/s and peak memory of each filter, of the
# pipe of all of them, and of verdict on the export itself.
#
#	scripts/bench.sh [EVENTS]        default 5000000
#	scripts/bench.sh --check         also fail where a floor is not reached
#	scripts/bench.sh --torch         traces of PyTorch's profiler, beside Python's json.load
#	scripts/bench.sh --cores 1,2,4   what more processors gain, and what they leave to one
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./scripts/bench "$@"
