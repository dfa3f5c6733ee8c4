#!/usr/bin/env bash
# Prints for traces of several sizes what verdict, gaps, diff, nsys2arrow, also
# with --checkpoint, and the pipe of five take: time, peak memory, and how the
# time of an event compares with the first size. SQLite's own scan of the columns
# stands beside them where sqlite3 is installed. A trace of 50 million events
# takes 4 GB, the temporary file of a command another one, both in TMPDIR.
#
#	scripts/bench_scale.sh [EVENTS...]             default 5000000 20000000
#	scripts/bench_scale.sh --ranks 8 5000000 50000000
#	scripts/bench_scale.sh --check [EVENTS...]     also fail where a bound is missed
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./scripts/bench --scale "$@"
