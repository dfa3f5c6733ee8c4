#!/usr/bin/env bash
# Generates a run and prints the bytes of its export, of its checkpoint with steps
# and phases, and of each column of that.
#
#	scripts/size.sh [EVENTS]    default 5000000
set -euo pipefail
events=${1:-5000000}
cd -P "$(dirname "$0")/.."
work=$(mktemp -d "${TMPDIR:-/tmp}/hostbound-XXXXXX")
trap 'rm -rf "$work"' EXIT
go build -o "$work/" ./cmd/phase ./scripts/gentrace ./scripts/size
"$work/gentrace" --events "$events" --seed 1 -o "$work/run.sqlite" 2>/dev/null
"$work/phase" "$work/run.sqlite" --checkpoint "$work/run" >/dev/null 2>&1
"$work/size" "$work/run.sqlite" "$work/run"
