#!/usr/bin/env bash
# Runs the queries of DOWNSTREAM.md on the engines that they are for, and checks
# that DuckDB, DuckDB-Wasm, Polars, Arrow JS, hyparquet and SQLite agree with us on
# every column of streams, checkpoints and exports.
#
#	scripts/downstream_test.sh
#	scripts/downstream_test.sh --update    also write what they print into the page
#
# The engines come from npm into a temporary folder, at the versions of
# downstream/package.json. Without npm, or where it reaches no registry, it says
# that it was skipped and ends with status 0. Takes about a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/hostbound-XXXXXX")
trap 'rm -rf "$work"' EXIT

skip() {
	echo "downstream_test: skipped: $1"
	exit 0
}

for program in node npm; do
	command -v "$program" >/dev/null || skip "there is no $program"
done
[ "$(uname -sm)" = "Linux x86_64" ] || skip "the engines are installed for Linux x86_64 only"
cp scripts/downstream/*.mjs scripts/downstream/package.json "$work/"
if ! (cd "$work" && npm install --no-audit --no-fund --loglevel=error >npm.log 2>&1); then
	tail -n 5 "$work/npm.log" >&2
	skip "npm could not install the engines"
fi

mkdir "$work/bin" "$work/data"
go build -o "$work/bin/" ./cmd/... ./scripts/gentrace
export PATH=$work/bin:$PATH
cd "$work/data"
ln -s "$root/testdata" "$root/scripts" .
node "$work/page.mjs" "$root/scripts/DOWNSTREAM.md" "$@"

# Exports of every kind; of the made-up ones at random, whose tables hold oddities,
# only rows are compared, not the tables that they come from.
gentrace --ranks 2 --mode graph --steps 8 --layers 2 --empty-tables --schema 3.28.1 -o whole.sqlite 2>/dev/null
gentrace --ranks 1 --mode eager --steps 8 --layers 2 --markers vllm --set '{"Overheads":true}' -o eager.sqlite 2>/dev/null
exports=(testdata/llama_tp2.sqlite whole.sqlite eager.sqlite)
for seed in 1 2 3 4 5 6; do
	gentrace --random "$seed" -o "random$seed.sqlite" 2>/dev/null
	exports+=("rows:random$seed.sqlite")
done
gentrace --text testdata/traces/texts.trace -o texts.sqlite 2>/dev/null
node "$work/agree.mjs" "${exports[@]}" rows:texts.sqlite
echo "downstream_test: passed in $SECONDS s"
