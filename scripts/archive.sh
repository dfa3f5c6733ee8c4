#!/usr/bin/env bash
# Archives a tree of nsys reports, several at a time within a memory budget:
#
#	scripts/archive.sh [OPTIONS] TREE OUT
#	scripts/archive.sh --list [--runs] TREE
#
# Reports are all *.sqlite, *_pqtdir and *.nsys-rep; of one stem they are one
# report, taken in this order. OUT mirrors TREE: scripts/archive-one.sh says what
# becomes of a report, and takes the further options (--stage, --verify, --by…).
#
#	--jobs N       at most N at a time (default: the number of processors)
#	--memory MIB   all of them together (default: half of what is available);
#	               a report takes 128 MiB, what nsys has to export first, or a run, 512 MiB
#	--runs         reports of one directory are the ranks of one run
#	--list         only list what there is to do, a line each
#
# OUT/runs.parquet has a row for each of them, scope and metric: what verdict --history
# compares with, and other programs read.
#
# A bad report does not end it: the failures are listed at the end with their
# reasons. Stopped, by Ctrl-C or worse, it is started again with the same
# command: what is complete is kept, and what has changed since is done again.
# Exit status: 0 all done, 2 bad usage, or some failed, 130 or 143 stopped.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/archive-lib.sh
. "$here/archive-lib.sh"

usage() {
	echo "archive: error: $1" >&2
	echo "archive: hint: archive.sh [--jobs N] [--memory MIB] [--runs] [OPTIONS] TREE OUT" >&2
	exit 2
}

number() {
	[[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || usage "$1 $2: not a number from 1 up"
}

jobs=$(nproc) memory='' runs='' list=''
declare -a words=() options=()
while [ $# -gt 0 ]; do
	case $1 in
	--runs) runs=1 ;;
	--list) list=1 ;;
	--verify) options+=("$1") ;;
	--*)
		[ $# -ge 2 ] || usage "$1 takes a value, or is none of the options"
		case $1 in
		--jobs) number "$1" "$2" && jobs=$2 ;;
		--memory) number "$1" "$2" && memory=$2 ;;
		*) options+=("$1" "$2") ;;
		esac
		shift
		;;
	*) words+=("$1") ;;
	esac
	shift
done
[ ${#words[@]} -eq $((list ? 1 : 2)) ] || usage "give TREE and OUT"
tree=${words[0]%/}
[ -d "${tree:=/}" ] || usage "$tree: no such directory"

# units lists the pieces of work.
units() {
	if [ -n "$runs" ]; then
		list_reports "$tree" | sed -E 's|[^/]*$||; s|/$||; s|^$|.|' | uniq | sort -Vu
	else
		list_reports "$tree"
	fi
}

if [ -n "$list" ]; then
	units
	exit
fi
mapfile -t todo < <(units)
[ ${#todo[@]} -gt 0 ] || usage "$tree: no *.sqlite, *_pqtdir or *.nsys-rep in it"
if [ -z "$memory" ]; then
	memory=$(awk '/^MemAvailable:/ { print int($2 / 2048) }' /proc/meminfo)
fi
HOSTBOUND_BIN=$(hostbound_bin)
export HOSTBOUND_BIN
"$here/archive-one.sh" "${options[@]}" - "${words[1]}" </dev/null # complains about options, once
tmp=$(mktemp -d "${TMPDIR:-/tmp}/hostbound-XXXXXX")

# cost prints how many MiB a piece of work takes at most: archive-one.sh bounds what a report does,
# but not nsys, and a run takes what the commands set themselves.
cost() {
	case $1 in
	*.sqlite | *_pqtdir) [ -n "$runs" ] || echo 128 && return ;;
	esac
	echo 512
}

declare -A takes=() index=() # by process
used=0 ended=0 done_=0 kept=0
declare -a failures=()

# reap waits for a piece of work to end.
reap() {
	local pid outcome name reason
	wait -n || true
	for pid in "${!takes[@]}"; do
		if kill -0 "$pid" 2>/dev/null; then
			continue
		fi
		used=$((used - takes[$pid])) ended=$((ended + 1))
		outcome=failed name=${todo[${index[$pid]}]} reason="killed"
		IFS=$'\t' read -r outcome name reason <"$tmp/${index[$pid]}" || true
		case $outcome in
		ok) done_=$((done_ + 1)) ;;
		kept) kept=$((kept + 1)) ;;
		*) outcome=failed name=${todo[${index[$pid]}]} && failures+=("${index[$pid]}"$'\t'"$name: ${reason:-killed}") ;;
		esac
		printf 'archive: %d of %d: %s %s\n' "$ended" ${#todo[@]} "$outcome" "$name" >&2
		unset "takes[$pid]" "index[$pid]"
	done
}

# stop ends what is under way.
stop() {
	trap '' INT TERM HUP
	kill -TERM "${!takes[@]}" 2>/dev/null || true
	wait
	echo "archive: stopped, $ended of ${#todo[@]} done: the same command goes on" >&2
	exit "$1"
}
trap 'rm -rf "$tmp"' EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP

for i in "${!todo[@]}"; do
	need=$(cost "${todo[$i]}")
	while [ ${#takes[@]} -ge "$jobs" ] || { [ ${#takes[@]} -gt 0 ] && [ $((used + need)) -gt "$memory" ]; }; do
		reap
	done
	"$here/archive-one.sh" "${options[@]}" --tree "$tree" - "${words[1]}" <<<"${todo[$i]}" >"$tmp/$i" &
	takes[$!]=$need index[$!]=$i used=$((used + need))
done
while [ ${#takes[@]} -gt 0 ]; do
	reap
done

# A run is called what it is in TREE; a label is a column of its own.
cd "${words[1]}"
declare -a rows=()
while IFS= read -r -d '' file; do
	file=${file#./}
	rows+=("${file%.metrics.arrows}=$file")
done < <(find . -name '*.metrics.arrows' -print0 | sort -z)
if [ ${#rows[@]} -gt 0 ]; then
	"$HOSTBOUND_BIN/metrics" --runs -o runs.parquet -- "${rows[@]}" || failures+=("runs.parquet: no rows of the runs")
fi

echo "archive: ${#todo[@]} reports: $done_ done, $kept kept, ${#failures[@]} failed"
if [ ${#failures[@]} -gt 0 ]; then
	printf '%s\n' "${failures[@]}" | sort -n | cut -f 2- | sed 's/^/archive: failed: /' >&2
	exit 2
fi
