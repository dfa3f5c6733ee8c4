#!/usr/bin/env bash
# Archives one report: its rows as a checkpoint, and its metric rows. This is the
# unit of work that archive.sh, GNU parallel, a Slurm job array and Spark call;
# CLUSTER.md says how.
#
#	scripts/archive-one.sh [OPTIONS] REPORT OUT
#
# REPORT is an SQLite export, a parquetdir export (a directory *_pqtdir), or a
# .nsys-rep where nsys is on PATH. Any other directory is a run: the reports in
# it, in the order of their names (rank2 before rank10), are its ranks. "-" reads
# names from standard input, a line each, and writes a line for each: "ok",
# "kept" or "failed", a tab, the name, and for "failed" a tab and the reason.
#
#	--tree TREE    REPORT is a path beneath TREE, and is the same beneath OUT
#	               (without, its results are right in OUT)
#	--stage STAGE  keep the rows as nsys2arrow, isolate or phase writes them;
#	               phase, the default, has steps and phases in it
#	--verify       also read what is complete, and redo it where it is damaged
#	--by, --gap, --segment-gap, --marker, --busy, --window, --prep, --label VALUE
#	               flags of isolate and metrics
#	--tag KEY=VALUE
#	               the same of metrics, such as version=1.2 or commit=4f1c9a; again for more
#
# What becomes of TREE/a/rank0.sqlite:
#
#	OUT/a/rank0.checkpoint/      its rows, a Parquet file for each rank
#	OUT/a/rank0.metrics.arrows   its metric rows, for metrics --merge
#	OUT/a/rank0.failed           instead of these, why there are none
#	OUT/a/.rank0.archive         what they were made of, written last
#
# A report that has not changed since is kept, any other is done again. Exit
# status: 0 done or kept, 2 bad usage or a bad report, 130 or 143 stopped.
set -euo pipefail
export LC_ALL=C
# shellcheck source=scripts/archive-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/archive-lib.sh"

usage() {
	echo "archive-one: error: $1" >&2
	echo "archive-one: hint: archive-one.sh [--tree TREE] [--stage STAGE] [--verify] [FLAGS] REPORT OUT" >&2
	exit 2
}

# check refuses a flag that no report could be archived with: as a failure of
# each of them it would take their older results away.
check() {
	case $1=$2 in
	--by=auto | --by=allreduce | --by=nvtx | --by=graph | --busy=kernels | --busy=all | --window=benchmark | --window=trace) ;;
	--by=* | --busy=* | --window=*) usage "unknown $1 $2" ;;
	--gap=* | --segment-gap=*) [[ $2 =~ ^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$ ]] || usage "$1 $2: not a time such as 1ms" ;;
	esac
}

tree='' stage=phase verify='' child='' tmp=''
declare -a words=() find_flags=() measure_flags=()
while [ $# -gt 0 ]; do
	case $1 in
	--tree | --stage | --by | --gap | --segment-gap | --marker | --busy | --window | --prep | --label | --tag)
		[ $# -ge 2 ] || usage "$1 takes a value"
		check "$1" "$2"
		;;&
	--tree) tree=$2 ;;
	--stage) stage=$2 ;;
	--by | --gap | --segment-gap | --marker) find_flags+=("$1=$2") ;;
	--busy) find_flags+=("$1=$2") measure_flags+=("$1=$2") ;;
	--window | --prep | --label | --tag) measure_flags+=("$1=$2") ;;
	--verify) verify=1 ;;
	-?*) usage "unknown option $1" ;;
	*) words+=("$1") ;;
	esac
	case $1 in
	--verify) ;;
	--*) shift ;;
	esac
	shift
done
[ ${#words[@]} -eq 2 ] || usage "give one REPORT and OUT"
case $stage in
isolate | phase) ;;
nsys2arrow) measure_flags+=("${find_flags[@]}") find_flags=() ;;
*) usage "--stage $stage: not nsys2arrow, isolate or phase" ;;
esac
[ -z "$tree" ] || [ -d "$tree" ] || usage "$tree: no such directory"
tree=${tree%/}
bin=$(hostbound_bin)
version=$("$bin/phase" --version)
[[ $version != *unknown* ]] || version+=" $(cksum <"$bin/phase")"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/hostbound-XXXXXX")

# finish ends the command under way, which leaves nothing that looks finished.
finish() {
	if [ -n "$child" ]; then
		kill "$child" 2>/dev/null || true
		wait "$child" 2>/dev/null || true
	fi
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# run runs a command of which a signal to this script makes an end at once.
run() {
	local status=0
	"$@" </dev/null &
	child=$!
	wait "$child" || status=$?
	child=''
	return "$status"
}

# is_report tells a report from a directory of them.
is_report() {
	[ ! -d "$1" ] || [[ $1 == *_pqtdir ]]
}

# made_of says what results are made of: what has to be the same for them to be
# kept.
made_of() {
	printf '%s\n' "$version" "stage $stage" "flags ${find_flags[*]@Q} ${measure_flags[*]@Q}"
	local path
	for path in "$@"; do
		printf 'report %s\n' "$(basename "$path")"
		find -L "$path" -type f -printf '%P\t%s\t%T@\n' | sort
	done
}

# whole tells whether results can be read to their end.
whole() {
	run "$bin/nsys2arrow" "$1.checkpoint" >/dev/null 2>&1 && run "$bin/metrics" --merge "$1.metrics.arrows" >/dev/null 2>&1
}

# failed notes why a report has no results, and takes away older ones.
failed() {
	reason=$2
	printf '%s\n' "$reason" >"$1.failed"
	rm -rf "$1.checkpoint/_hostbound.json" "$1.checkpoint"/rank=* "$1.metrics.arrows"
	rmdir "$1.checkpoint" 2>/dev/null || true
	return 2
}

# explain makes one line of what the commands said on standard error.
explain() {
	sed -n 's/^[a-z0-9]*: error: //p; s/^[a-z0-9]*: hint: \(.*\)/(hint: \1)/p' "$tmp/errors" | head -n 2 | paste -sd ' '
}

# archive archives a report, and sets outcome and reason.
archive() {
	local name=$1 path=$1 base text status=0
	outcome=failed reason=''
	if [ -n "$tree" ]; then
		name=${name#"$tree"/} path=$tree/${name#"$tree"/}
	fi
	name=${name%/} path=${path%/}
	if [ "$name" = . ] || [ -z "$tree" ]; then
		name=$(basename "$(realpath -s "$path")")
	fi
	base=$out/$name
	! is_report "$path" || base=$(stem "$base")
	if ! mkdir -p "$(dirname "$base")" || ! { exec 9<>"$(dirname "$base")/.$(basename "$base").archive"; } 2>/dev/null; then
		reason="cannot write to $(dirname "$base")"
		return 2
	fi
	# What is left of a run that was killed may still be at work on it.
	if command -v flock >/dev/null && ! flock -w 3600 9; then
		reason="another process has been at work on it for an hour"
		return 2
	fi
	[ -e "$path" ] || failed "$base" "no such file" || return
	local -a reports=("$path")
	if ! is_report "$path"; then
		mapfile -t reports < <(list_reports "$path" -mindepth 1 -maxdepth 1)
		[ ${#reports[@]} -gt 0 ] || failed "$base" "a directory without reports" || return
		reports=("${reports[@]/#/$path/}")
	fi
	local -r archive=$(dirname "$base")/.$(basename "$base").archive
	text=$(made_of "${reports[@]}")
	if [ "$(cat "$archive")" = "$text" ] && [ -f "$base.checkpoint/_hostbound.json" ] && [ -f "$base.metrics.arrows" ]; then
		if [ -z "$verify" ] || whole "$base"; then
			outcome=kept
			return
		fi
	fi
	: >"$archive"
	rm -f "$base.failed" "$base.metrics.arrows"
	# A report takes as much memory whatever its size; of a run all ranks are read at once.
	local -a bounds=()
	! is_report "$path" || bounds=(--memory 128M)
	run "$bin/$stage" "${bounds[@]}" "${find_flags[@]}" --checkpoint "$base.checkpoint" -- "${reports[@]}" >/dev/null 2>"$tmp/errors" &&
		run "$bin/metrics" "${bounds[@]}" "${measure_flags[@]}" -o "$base.metrics.arrows" -- "$base.checkpoint" 2>>"$tmp/errors" || status=$?
	if [ "$status" -ne 0 ]; then
		text=$(explain)
		failed "$base" "${text:-ended with status $status}" || return
	fi
	printf '%s\n' "$text" >"$archive"
	outcome=ok
}

out=${words[1]}
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ "${words[0]}" = - ]; then
	while IFS= read -r line; do
		[ -n "$line" ] || continue
		archive "$line" || true
		printf '%s\t%s%s\n' "$outcome" "$line" "${reason:+$'\t'$reason}"
	done
elif ! archive "${words[0]}"; then
	echo "archive-one: error: ${words[0]}: $reason" >&2
	exit 2
fi
