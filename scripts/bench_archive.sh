#!/usr/bin/env bash
# Measures archives of many ranks, and checkpoints beside exports:
#
#	scripts/bench_archive.sh [RANKS] [EVENTS]    default 64 1000000
#
# makes RANKS reports of EVENTS events, archives each on its own (archive.sh) and
# all as one run (archive.sh --runs), adds up the metric rows, and asks verdict of
# all ranks; and compares verdict on a checkpoint of five times EVENTS with verdict
# on its export. It prints wall
# time, time per million events, the largest process, all processes together at
# their peak, and bytes read. The default takes 8 GB of disk
# under TMPDIR and some minutes. GNU time must be there.
set -euo pipefail
export LC_ALL=C
ranks=${1:-64} events=${2:-1000000}
cd "$(dirname "$0")/.."
[ -x /usr/bin/time ] || { echo "bench_archive: error: there is no /usr/bin/time (Debian: apt-get install time)" >&2 && exit 2; }
work=$(mktemp -d "${TMPDIR:-/tmp}/hostbound-XXXXXX")
trap 'rm -rf "$work"' EXIT
export HOSTBOUND_BIN=$work/bin
go build -o "$work/bin/" ./cmd/nsys2arrow ./cmd/isolate ./cmd/phase ./cmd/metrics ./cmd/verdict ./scripts/gentrace
PATH=$work/bin:$PATH

# together prints the most MiB that a process and its children had at a time.
together() {
	local peak=0 sum
	while kill -0 "$1" 2>/dev/null; do
		sum=$(ps -o pid=,ppid=,rss= -A | awk -v root="$1" '
			{ parent[$1] = $2; rss[$1] = $3 }
			END { for (p in rss) { for (q = p; q > 1 && q != root; q = parent[q]); if (q == root) n += rss[p] } print int(n / 1024) }')
		[ "$sum" -le "$peak" ] || peak=$sum
		sleep 0.05
	done
	echo "$peak"
}

# measure NAME MILLIONS COMMAND... runs a command and prints a row of the table.
measure() {
	local name=$1 millions=$2 wall largest peak pid status=0
	shift 2
	/usr/bin/time -o "$work/time" -f '%e %M' "$@" >"$work/out" 2>"$work/err" &
	pid=$!
	peak=$(together "$pid")
	wait "$pid" || status=$?
	if [ "$status" -ne 0 ]; then
		tail -n 5 "$work/err" >&2
		exit 2
	fi
	read -r wall largest <"$work/time"
	printf '| %-38s | %7.2f | %9.3f | %8d | %8d |\n' "$name" "$wall" "$(awk -v w="$wall" -v m="$millions" 'BEGIN { print w / m }')" $((largest / 1024)) "$peak"
}

million() { awk -v n="$1" 'BEGIN { print n / 1e6 }'; }

mkdir -p "$work/tree/run"
for ((from = 0; from < ranks; from += 4)); do
	n=$((ranks - from < 4 ? ranks - from : 4))
	gentrace --ranks "$n" --events $((n * events)) --seed "$from" --reports -o "$work/%d.sqlite" 2>/dev/null
	for ((i = 0; i < n; i++)); do mv "$work/$i.sqlite" "$work/tree/run/rank$((from + i)).sqlite"; done
done
echo "$ranks reports of $events events, $(du -sm "$work/tree" | cut -f 1) MiB, on $(nproc) processors with $(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo) GiB"
echo
echo '| command                                |  wall s | s/million | MiB each | together |'
echo '|----------------------------------------|--------:|----------:|---------:|---------:|'
for n in 1 4 16 "$ranks"; do
	if [ "$n" -gt "$ranks" ] || [ "$n" = "${last:-}" ]; then
		continue
	fi
	last=$n
	mkdir -p "$work/part/run"
	for ((i = 0; i < n; i++)); do ln "$work/tree/run/rank$i.sqlite" "$work/part/run/"; done
	m=$(million $((n * events)))
	measure "archive.sh, $n reports" "$m" scripts/archive.sh --memory 900 "$work/part" "$work/one"
	measure "archive.sh --runs, a run of $n ranks" "$m" scripts/archive.sh --runs --memory 900 "$work/part" "$work/run"
	measure "verdict, checkpoint of $n ranks" "$m" verdict "$work/run/run.checkpoint"
	rows=("$work"/one/run/*.metrics.arrows)
	measure "metrics --merge, rows of $n reports" "$m" metrics --merge "${rows[@]}"
	[ "$n" -lt "$ranks" ] || measure "archive.sh, $n reports, nothing to do" "$m" scripts/archive.sh --memory 900 "$work/part" "$work/one"
	rm -rf "$work/part" "$work/one" "$work/run"
done
rm -rf "$work/tree"

large=$((5 * events))
gentrace --events "$large" --seed 1 -o "$work/large.sqlite" 2>/dev/null
phase "$work/large.sqlite" --checkpoint "$work/large" >/dev/null 2>&1
nsys2arrow "$work/large.sqlite" --checkpoint "$work/raw" >/dev/null 2>&1

# best prints the shortest of seven runs in s.
best() {
	local i from
	for i in 1 2 3 4 5 6 7; do
		from=${EPOCHREALTIME/./}
		"$@" >/dev/null 2>&1
		echo $((${EPOCHREALTIME/./} - from))
	done | sort -n | awk 'NR == 1 { print $1 / 1e6 }'
}

# bytes_read prints how many bytes a command reads, which Linux counts for its
# parent.
bytes_read() {
	(
		"$@" >/dev/null 2>&1
		while read -r key value; do
			[ "$key" != rchar: ] || echo "$value"
		done <"/proc/$BASHPID/io"
	)
}

echo
echo "verdict on $large events, the best of seven runs:"
echo
echo '| input                      |   wall s | faster |       bytes | smaller |  bytes read | fewer |'
echo '|----------------------------|---------:|-------:|------------:|--------:|------------:|------:|'
for input in large.sqlite raw large; do
	wall=$(best verdict "$work/$input")
	bytes=$(du -sb "$work/$input" | cut -f 1)
	reads=$(bytes_read verdict "$work/$input")
	case $input in
	large.sqlite)
		name="the export"
		export_wall=$wall export_bytes=$bytes export_reads=$reads
		;;
	raw) name="checkpoint of nsys2arrow" ;;
	large) name="checkpoint of phase" ;;
	esac
	awk -v name="$name" -v w="$wall" -v b="$bytes" -v r="$reads" -v W="$export_wall" -v B="$export_bytes" -v R="$export_reads" \
		'BEGIN { printf "| %-26s | %8.3f | %6.1f | %11d | %7.1f | %11d | %5.1f |\n", name, w, W / w, b, B / b, r, R / r }'
done
