#!/usr/bin/env bash
# Do two builds of the commands write the same? Runs every command of both folders on
# every trace given, in every format, and compares output, messages and status byte for
# byte. Parquet is compared as rows, since the same rows need not be the same bytes.
#
#     git worktree add /tmp/before main~1
#     for d in /tmp/before .; do (cd $d && go build -o /tmp/bin-$(basename $(realpath $d))/ ./cmd/...); done
#     scripts/same.sh /tmp/bin-before /tmp/bin-hostbound testdata/*.sqlite testdata/*/*.gz
#
# Prints each difference and ends with 1 if there is one. JOBS says how many runs at once (2).
set -euo pipefail

if [ $# -lt 3 ]; then
	sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
before=$(realpath "$1") after=$(realpath "$2")
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# one FOLDER OUT CASE...: what a case of that folder's commands writes, with its status.
one() {
	local bin=$1 out=$2 kind=$3
	shift 3
	local status=0
	case $kind in
	run) (PATH=$bin:$PATH "$bin/$@") >"$out" 2>"$out.err" </dev/null || status=$? ;;
	pipe) (set -o pipefail && "$bin/nsys2arrow" "$1" | "$bin/isolate" | "$bin/phase" | "$bin/$2" --format "$3") >"$out" 2>"$out.err" || status=$? ;;
	file) # a file that gaps writes beside its report
		"$bin/gaps" "$1" "$2" "$out.$3" >/dev/null 2>"$out.err" || status=$?
		if [ -e "$out.$3" ]; then mv "$out.$3" "$out"; else : >"$out"; fi
		;;
	rows)
		"$bin/isolate" "$1" -o "$out.parquet" 2>"$out.err" || status=$?
		if [ -e "$out.parquet" ]; then "$bin/nsys2arrow" "$out.parquet" --format csv >"$out" 2>>"$out.err" || status=$?; else : >"$out"; fi
		rm -f "$out.parquet"
		;;
	esac
	echo "status $status" >>"$out.err"
	# Folders differ, and so do the names of temporary files.
	sed -i "s#$bin#BIN#g; s#$work/[^ :]*#TMP#g" "$out.err"
}

# compare NUMBER CASE...: prints the case if the two folders differ.
compare() {
	local n=$1
	shift
	one "$before" "$work/$n.a" "$@"
	one "$after" "$work/$n.b" "$@"
	if ! cmp -s "$work/$n.a" "$work/$n.b"; then
		echo "output differs: $*"
		diff -a <(head -c 20000 "$work/$n.a" | tr -d '\0') <(head -c 20000 "$work/$n.b" | tr -d '\0') | head -n "${LINES_SHOWN:-6}" | cut -c 1-300 || true
	elif ! cmp -s "$work/$n.a.err" "$work/$n.b.err"; then
		echo "messages or status differ: $*"
		diff "$work/$n.a.err" "$work/$n.b.err" | head -n "${LINES_SHOWN:-6}" | cut -c 1-300 || true
	fi
	rm -f "$work/$n".*
}

cases() {
	local trace command format
	for trace; do
		if [[ $trace == *.txt || $trace == *.lprof ]]; then
			for format in text html json arrow csv; do
				printf 'run\thotspots\t%s\t--format\t%s\n' "$trace" "$format"
			done
			continue
		fi
		for format in text html json; do
			for command in verdict gaps "diff $trace"; do
				printf 'run\t%s\t%s\t--format\t%s\n' "${command// /$'\t'}" "$trace" "$format"
			done
			printf 'pipe\t%s\tverdict\t%s\n' "$trace" "$format"
		done
		for format in arrow csv jsonl table json; do
			for command in nsys2arrow isolate phase metrics; do
				printf 'run\t%s\t%s\t--format\t%s\n' "$command" "$trace" "$format"
			done
			printf 'run\tdiff\t%s\t%s\t--format\t%s\n' "$trace" "$trace" "$format"
		done
		for report in idle gaps graph pattern straggler; do
			for format in csv arrow; do
				printf 'run\tgaps\t--report\t%s\t%s\t--format\t%s\n' "$report" "$trace" "$format"
			done
		done
		for format in text html json; do
			printf 'run\tnsys2arrow\t--doctor\t%s\t--format\t%s\n' "$trace" "$format"
		done
		for format in folded pb.gz speedscope.json; do
			printf 'file\t%s\t--flame\t%s\n' "$trace" "$format"
		done
		printf 'file\t%s\t--perfetto\tjson\n' "$trace"
		printf 'run\twhatif\t%s\t--report\t--format\tjson\n' "$trace"
		printf 'run\twhatif\t%s\t--host\t0.5\t--format\tcsv\n' "$trace"
		printf 'rows\t%s\n' "$trace"
		printf 'run\tverdict\t%s\t--by\tnone\t--format\tjson\n' "$trace"
		printf 'run\tgaps\t%s\t--window\ttrace\t--format\tjson\n' "$trace"
	done
}

export before after work
export -f one compare
cases "$@" | nl -w1 -s$'\t' |
	xargs -d '\n' -P "${JOBS:-2}" -I{} bash -c 'IFS=$'"'\t'"' read -ra case <<<"$1" && compare "${case[@]}"' _ {} | tee "$work/all"
count=$(cases "$@" | wc -l)
differing=$(grep -c ' differs\?: ' "$work/all" || true)
echo "$count cases on $# traces, $differing differ"
[ "$differing" -eq 0 ]
