#!/usr/bin/env bash
# The optimisation loop: PROFILE, ANALYZE, a change by you, TEST, VALIDATE, REPORT,
# until a stopping rule of hotspots holds; then the summary of all rounds.
#
#	scripts/optimize.sh [flags] FOLDER
#
#	--profile CMD   runs the engine under its profiler; what it writes to
#	                $TLLM_LINE_PROFILER_PATH is the profile. vLLM, SGLang or a loop of your
#	                own: profile_lines.py -- COMMAND, which needs no option more
#	--test CMD      the unit tests, without which no round is believed
#	--bench CMD     the serving benchmark without the profiler: writes JSON to $BENCH_FILE
#	--trace CMD     records a trace of the same load without the profiler, with nsys or PyTorch's
#	                profiler, at $TRACE_FILE, whose name it may end as it likes. Then what
#	                each line brings is predicted by replaying it, and compared with what came
#	--double CMD    the benchmark with twice the batch, where there is no trace: says whether most
#	                of a step grows with the batch
#	--bench-runs N  benchmark runs per round (3): with several there is an interval
#	--change CMD    makes the next change and prints its name (letters, digits, "_") as
#	                its last line; status 3: no change is left. Without it the script
#	                ends where a change is due, and goes on with --changed NAME
#	--changed NAME  the change is made, and is called NAME
#	--revert CMD    takes the last change back after a regression; without it you do
#	--rounds N      rounds after the baseline (3)
#	--evidence FILE JSON of verdict, diff or gaps: what a GPU waits for comes first
#	--dry-run       prints the plan, and does nothing
#
# The flags are kept in FOLDER/settings: later calls need the folder alone. Whatever
# ended (a test, a machine, you), the next call goes on where the last one stopped:
# FOLDER/state says where. It writes there
#
#	roundN_NAME.rankK.txt      profiles      roundN_NAME.bench.K.json  benchmarks
#	roundN_NAME.trace*         traces
#	roundN_NAME.analysis.md    what hotspots said of it; .analysis.json with what lines bring
#	roundN_NAME.moved.json     what tracediff says of its trace against the last kept one
#	roundN_NAME.diff           its change, in a git work tree: against the last round that was kept
#	roundN_NAME.test.log       what its tests printed
#	failed/                    the same of changes that were given up: their tests failed,
#	                           and --changed came with another name, or git shows no change any more
#	log.tsv                    a line per round: round, CPUs, change, tests, verdict, reason
#	notes.toml                 the same for hotspots; edit it to say more
#	summary.md                 the end
#
# Commands get ROUND (roundN_NAME) and EXTRA_SUFFIX (the same) in their environment,
# and --profile TLLM_LINE_PROFILER_PATH and TLLM_LINE_PROFILER_FUNCTIONS, too (the same as
# HOSTBOUND_LINES_PATH and HOSTBOUND_LINES). Begin with `hotspots --targets ENGINE`. With
# several ranks all of them would write to one file, and the last would win: put
# $RANK_EXEC in front of what each rank runs (mpirun -n 4 $RANK_EXEC python serve.py),
# which gives each its own path, by the rank that MPI, Slurm or torchrun states.
#
# Exit status: 0 done, or waiting for a change; 1 tests failed or a command did; 2 usage.
set -euo pipefail
export LC_ALL=C

me=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$(basename "${BASH_SOURCE[0]}")

if [ "${1:-}" = rank-exec ]; then # the wrapper of a rank
	shift
	rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PMI_RANK:-${SLURM_PROCID:-${RANK:-0}}}}}
	[[ $rank =~ ^[0-9]+$ ]] || rank=0
	export TLLM_LINE_PROFILER_PATH=${TLLM_LINE_PROFILER_PATH%.rank*.txt}.rank$rank.txt
	exec "$@"
fi

die() {
	printf 'optimize: error: %s\n' "$1" >&2
	[ -z "${2:-}" ] || printf 'optimize: hint: %s\n' "$2" >&2
	exit "${3:-2}"
}

say() { printf 'optimize: %s\n' "$*"; }

# settings, which flags change
keys="profile test bench trace double bench_runs change revert rounds evidence"
profile= test= bench= trace= double= bench_runs=3 change= revert= rounds=3 evidence=
dry_run= changed= folder=

flags=()
while [ $# -gt 0 ]; do
	case $1 in
	--profile | --test | --bench | --trace | --double | --bench-runs | --change | --revert | --rounds | --evidence | --changed)
		[ $# -ge 2 ] || die "$1 needs a value" "the head of $(basename "$me") lists the flags"
		flags+=("$1" "$2")
		shift 2
		;;
	--dry-run) dry_run=1 && shift ;;
	-h | --help) sed -n '2,/^set -euo/{/^set -euo/d;s/^# \{0,1\}//;p}' "$me" && exit 0 ;;
	-*) die "unknown flag $1" "the head of $(basename "$me") lists the flags" ;;
	*)
		[ -z "$folder" ] || die "two folders: $folder and $1"
		folder=$1 && shift
		;;
	esac
done
[ -n "$folder" ] || die "no folder to work in" "optimize.sh --profile 'python serve.py' --test pytest FOLDER"

if [ -f "$folder/settings" ]; then # lines KEY=VALUE: read, never run
	while IFS='=' read -r key value; do
		[[ " $keys " == *" $key "* ]] || die "$folder/settings: unknown key $key" "remove the line"
		printf -v "$key" %s "$value"
	done <"$folder/settings"
fi
for ((i = 0; i < ${#flags[@]}; i += 2)); do
	key=${flags[i]#--}
	printf -v "${key//-/_}" %s "${flags[i + 1]}"
done
for n in "$bench_runs" "$rounds"; do
	[[ $n =~ ^[1-9][0-9]{0,3}$ ]] || die "$n is no number of rounds or runs" "give a whole number above 0"
done
[ -n "$profile" ] || die "no command to profile with" "--profile 'python serve.py', with TLLM_LINE_PROFILER_PATH as its output"
[ -n "$test" ] || die "no command to test with" "--test 'pytest tests/unittest', or --test true if there are no tests"
for key in $keys; do
	[[ ${!key} != *$'\n'* ]] || die "--${key//_/-} has more than one line" "put it into a script"
done
[[ -z $changed || $changed =~ ^[A-Za-z0-9][A-Za-z0-9_]{0,60}$ ]] || die "$changed is no name of a change" "use letters, digits and _: --changed one_loop"

hotspots=${HOTSPOTS:-$(command -v hotspots || true)}
[ -n "$hotspots" ] || hotspots=$(dirname "$me")/../bin/hotspots
tracediff=$(dirname "$hotspots")/tracediff # as installed, or as built
[ -x "$tracediff" ] || tracediff=$(dirname "$hotspots")/diff
max_drill=4

plan() {
	cat <<END
Plan, in $folder:
 1. PROFILE   round0_baseline: $profile
    TLLM_LINE_PROFILER_PATH=$folder/round0_baseline.rank0.txt, EXTRA_SUFFIX=round0_baseline;
    again with the functions that hotspots names, until none hides over 80 % (at most $max_drill times)
    benchmark: ${bench:-none: throughput stays unknown} (${bench_runs} runs)
    trace: ${trace:-none: what a line brings is not predicted by replay}
 2. ANALYZE   $hotspots $folder${evidence:+ --evidence $evidence}
 3. change    ${change:-by you; then: $(basename "$me") --changed NAME $folder}
 4. TEST      $test
 5. VALIDATE  profile and benchmark again as roundN_NAME; a regression is to be rolled back (${revert:-by you})
 6. REPORT    a line in $folder/log.tsv
 Repeat 2 to 6 until a stopping rule holds (at most $rounds rounds), then $folder/summary.md.
CPUs: $(cpus)
END
}

# cpus are those that the engine may run on.
cpus() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status 2>/dev/null || true; }

if [ -n "$dry_run" ]; then
	plan
	exit 0
fi
command -v "$hotspots" >/dev/null || die "no hotspots" "go build -o bin/ ./cmd/hotspots, or set HOTSPOTS to where it is"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
exec 9>"$folder/.lock"
if command -v flock >/dev/null && ! flock -n 9; then
	die "another optimize works in $folder" "wait for it"
fi
for key in $keys; do printf '%s=%s\n' "$key" "${!key}"; done >"$folder/settings.new"
mv "$folder/settings.new" "$folder/settings"

# state: the number and name of the round, and what is due
number=0 name=baseline due=profile
if [ -f "$folder/state" ]; then
	read -r number name due <"$folder/state"
	[[ $number =~ ^[0-9]+$ && $name =~ ^[A-Za-z0-9_]+$ ]] || die "$folder/state: not ours" "remove it to begin anew"
fi
save() { # name it, then put it in place: never half a state
	printf '%s %s %s\n' "$number" "$name" "$due" >"$folder/state.new"
	mv "$folder/state.new" "$folder/state"
}
round() { printf 'round%s_%s' "$number" "$name"; }

# tree prints the name of the git tree that the work tree is now, nothing outside of one.
tree() {
	local top in=
	top=$(git rev-parse --show-toplevel 2>/dev/null) || return 0
	case $folder/ in "$top"/*) in=":(exclude)${folder#"$top"/}" ;; esac
	rm -f "$folder/index"
	cp "$(git rev-parse --path-format=absolute --git-path index)" "$folder/index" 2>/dev/null || true
	GIT_INDEX_FILE=$folder/index git -C "$top" add -A -- . ':(exclude,glob)**/__pycache__/**' ${in:+"$in"} 2>/dev/null &&
		GIT_INDEX_FILE=$folder/index git -C "$top" write-tree || true
	rm -f "$folder/index"
}

# keep_diff writes the round's change; status 1 where git shows none.
keep_diff() {
	local now
	now=$(tree)
	[ -n "$now" ] && [ -s "$folder/tree" ] || return 0
	[ "$now" != "$(cat "$folder/tree")" ] || return 1
	git diff "$(cat "$folder/tree")" "$now" >"$folder/$(round).diff"
}

# failing keeps why the round did not come to its end, for the notes.
failing() { printf '%s\n' "$1" | tr -d '"\\' | tr -cd '[:print:]\n' | cut -c1-200 >"$folder/reason"; }

# give_up makes the round that is under way a failed attempt after the one before it.
give_up() {
	local reason="given up before it was measured" before
	[ ! -s "$folder/reason" ] || reason=$(cat "$folder/reason")
	say "$(round) is given up: $reason"
	printf '[[rounds.failed]]\nchange = "%s"\nreason = "%s"\n\n' "$name" "$reason" >>"$folder/notes.toml"
	mkdir -p "$folder/failed"
	find "$folder" -maxdepth 1 -name "$(round).*" -exec mv -f {} "$folder/failed/" \;
	rm -f "$folder/reason"
	number=$((number - 1))
	before=$(find "$folder" -maxdepth 1 -name "round${number}_*.analysis.md" | sed -n 1p)
	name=${before##*/round"${number}"_} name=${name%.analysis.md} due=change
	save
}

run() { # a command of the user's, with the round in its environment
	ROUND=$(round) EXTRA_SUFFIX=$(round) RANK_EXEC="$me rank-exec" bash -c "$1" 9>&-
}

ask() { "$hotspots" "$@" ${evidence:+--evidence "$evidence"} 9>&-; }

# field prints the text at a key of the first level, "" for null.
field() { sed -n "s/^  \"$1\": \"\(.*\)\",\{0,1\}\$/\1/p"; }

files_of() { find "$folder" -maxdepth 1 -name "$(round).rank*.txt" -size +0c | sort; }

# sorted prints a list in one order, to compare it.
sorted() { tr , '\n' <<<"$1" | sort -u; }

# profile_round profiles, and again with what the profile says is hidden.
profile_round() {
	local functions=${TLLM_LINE_PROFILER_FUNCTIONS:-${HOSTBOUND_LINES:-}} path next i
	path=$folder/$(round).rank0.txt
	[ ! -f "$folder/functions" ] || functions=$(cat "$folder/functions")
	for ((i = 1; i <= max_drill; i++)); do
		say "PROFILE $(round)${functions:+, with $functions}"
		find "$folder" -maxdepth 1 -name "$(round).rank*.txt" -delete
		TLLM_LINE_PROFILER_PATH=$path TLLM_LINE_PROFILER_FUNCTIONS=$functions HOSTBOUND_LINES_PATH=$path HOSTBOUND_LINES=$functions run "$profile" || {
			failing "the profiling command failed"
			die "the profiling command failed" "it is run again by the next call" 1
		}
		[ -n "$(files_of)" ] || die "no profile at $path" "does the command write to TLLM_LINE_PROFILER_PATH or HOSTBOUND_LINES_PATH?" 1
		mapfile -t files < <(files_of)
		next=$("$hotspots" --format json "${files[@]}" | field profile_next)
		next=${next#*=}
		[ -n "$next" ] && [ "$(sorted "$next")" != "$(sorted "$functions")" ] || break
		functions=$next
		printf '%s\n' "$functions" >"$folder/functions"
	done
}

# traces prints the files of a round's trace, with commas: exports where there are any.
traces() {
	local all
	all=$(find "$folder" -maxdepth 1 -type f -name "$1.trace*.sqlite" | sort | paste -sd,)
	[ -n "$all" ] || all=$(find "$folder" -maxdepth 1 -type f -name "$1.trace*" -size +0c | sort | paste -sd,)
	printf '%s' "$all"
}

trace_round() {
	[ -n "$trace" ] || return 0
	say "TRACE $(round)"
	find "$folder" -maxdepth 1 -name "$(round).trace*" -delete
	TRACE_FILE="$folder/$(round).trace" run "$trace" || {
		failing "the command that records a trace failed"
		die "the command that records a trace failed" "it is run again by the next call" 1
	}
	[ -n "$(traces "$(round)")" ] || die "no trace at \$TRACE_FILE" "the command has to write it there" 1
}

# kept_json keeps the JSON that a command prints, whole or not at all.
kept_json() { # file, command
	"${@:2}" --format json >"$folder/json.new" 2>"$folder/errors" 9>&- || {
		cat "$folder/errors" >&2
		die "$(basename "$2") does not answer for $(round)" "it is asked again by the next call" 1
	}
	mv "$folder/json.new" "$1"
	rm -f "$folder/errors"
}

# predict keeps what each line of the round would bring, and what its change brought.
predict() {
	[ -n "$trace" ] || return 0
	mapfile -t files < <(files_of)
	kept_json "$folder/$(round).analysis.json" "$hotspots" --evidence "$(traces "$(round)")" "${files[@]}"
	[ "$number" = 0 ] || kept_json "$folder/$(round).moved.json" "$tracediff" "$(traces "$(cat "$folder/kept")")" "$(traces "$(round)")"
}

# measure runs a benchmark as often as --bench-runs says.
measure() { # what it is, command, files but for their ends
	local k
	for ((k = 1; k <= bench_runs; k++)); do
		say "$1 $(round), run $k of $bench_runs"
		rm -f "$folder/bench.new"
		BENCH_FILE="$folder/bench.new" run "$2" || {
			failing "the benchmark failed"
			die "the benchmark failed" "it is run again by the next call" 1
		}
		[ -s "$folder/bench.new" ] || die "no benchmark at \$BENCH_FILE" "the command has to write its JSON there" 1
		mv "$folder/bench.new" "$3.$k.json"
	done
}

bench_round() { [ -z "$bench" ] || measure BENCHMARK "$bench" "$folder/$(round).bench"; }

# double_batch runs the benchmark with twice the batch, of the baseline alone. A step takes a + b*B
# with a batch of B, so by how much it gets longer is the part of it that grows with the batch:
# the larger part where the 95 % interval over the runs is above half of a step.
double_batch() {
	[ -n "$double" ] && [ -n "$bench" ] && [ "$number" = 0 ] || return 0
	measure DOUBLE "$double" "$folder/double"
	local first files=() k
	first=$(files_of | sed -n 1p)
	for ((k = 1; k <= bench_runs; k++)); do
		files+=(--bench "round0=$folder/$(round).bench.$k.json" --bench "round1=$folder/double.$k.json")
	done
	"$hotspots" round0_once="$first" round1_twice="$first" "${files[@]}" --format json |
		awk '{gsub(/[",:\[]/, "")} $1 == "name" {twice = $2 == "round1_twice"} $1 == "metric" {tpot = twice && $2 == "tpot_ms"}
			tpot && $1 == "change_pct" {by = $2}
			tpot && $1 == "change_interval_pct" && $2 == "" {getline low; getline high; tpot = 0}
			END {
				if (by == "" || by == "null") {print "no TPOT in both: cannot tell"; exit}
				printf "with twice the batch a step takes %+.0f %%", by
				if (low == "") {print ": cannot tell from single runs, give --bench-runs 3"; exit}
				printf " (95 %% interval %+.0f to %+.0f %%): ", low, high
				if (high + 0 < 50) print "most of a step does not depend on the batch. That is host work or the GPU reading its weights: only a trace tells them apart"
				else if (low + 0 > 50) print "most of a step grows with the batch, on the GPU or on the host"
				else print "cannot tell"
			}' >"$folder/double.txt"
	say "DOUBLE: $(cat "$folder/double.txt")"
}

# note appends what is known of the round to notes.toml, once.
note() { # tests
	grep -qsF "name = \"$(round)\"" "$folder/notes.toml" && return 0
	printf '[[rounds]]\nname = "%s"\nchange = "%s"\ntests = "%s"\ncpus = "%s"\nreverted = false\n\n' \
		"$(round)" "$name" "$1" "$(cpus)" >>"$folder/notes.toml"
}

# reverted says in the notes that the round was taken back.
reverted() {
	awk -v name="name = \"$(round)\"" '/^name = /{here = $0 == name} here && $0 == "reverted = false"{$0 = "reverted = true"} {print}' \
		"$folder/notes.toml" >"$folder/notes.new"
	mv "$folder/notes.new" "$folder/notes.toml"
}

# column prints a column of the last round's row.
column() { ask --by round --format csv "$folder" | awk -F, -v name="$1" 'NR == 1{for (i = 1; i <= NF; i++) if ($i == name) at = i} END{print $at}'; }

# write_report writes the report on all rounds to a file of the folder that it is made of.
write_report() {
	ask --rounds "$rounds" "$folder" | cat >"$folder/report.new"
	mv "$folder/report.new" "$folder/$1"
}

analyze() {
	predict
	write_report "$(round).analysis.md"
	say "ANALYZE $(round): $folder/$(round).analysis.md"
	sed -n '1p' "$folder/$(round).analysis.md"
}

stop_reason() { ask --rounds "$rounds" --format json "$folder" | sed -n '/^  "stop": {/,/^  }/s/^    "reason": "\(.*\)",\{0,1\}$/\1/p'; }

report() { # verdict, reason to stop or ""
	local tests
	tests=$([ "$number" = 0 ] && echo - || echo passed)
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(round)" "$(cpus)" "$name" "$tests" "$1" "$(column change_pct)" >>"$folder/log.tsv"
	say "REPORT $(round): $1"
	sed -n "/^## $(round)/,/^## S/s/^Predicted: /PREDICTED $(round): /p" "$folder/$(round).analysis.md" | sed 's/^/optimize: /'
}

finish() {
	write_report summary.md
	due=done && save
	say "done: $1. Summary: $folder/summary.md"
	exit 0
}

[ -f "$folder/log.tsv" ] || printf 'round\tcpus\tchange\ttests\tverdict\tchange_pct\n' >"$folder/log.tsv"

case $due in # what --changed is of
test | profile | bench)
	if [ -n "$changed" ] && [ "$number" = 0 ]; then
		die "the baseline is not measured yet" "take the change back, and call without --changed first"
	elif [ -n "$changed" ] && [ "$changed" = "$name" ]; then # it was mended
		changed= due=test && save
	elif [ -n "$changed" ]; then
		give_up
	fi
	;;
esac

while true; do
	case $due in
	profile)
		[ "$number" != 0 ] || note ""
		profile_round
		due=bench && save
		;;
	bench)
		bench_round
		double_batch
		trace_round
		due=report && save
		;;
	report)
		[ "$number" = 0 ] || note passed
		analyze
		verdict=$(column verdict)
		reason=$(stop_reason)
		report "$verdict"
		due=change
		if [ "$verdict" = regressed ]; then
			say "ROLL BACK $(round): $(sed -n '/^## '"$(round)"'/,/^## S/p' "$folder/$(round).analysis.md" | sed -n 's/^Against //p')"
			sed -n '/^## '"$(round)"'/,/^## S/p' "$folder/$(round).analysis.md" | sed -n 's/^| \(.*\)/    \1/p' | head -n 12
			due=revert
		else
			tree >"$folder/tree"
			round >"$folder/kept"
		fi
		rm -f "$folder/reason"
		save
		[ -z "$reason" ] || stop=$reason
		;;
	revert)
		if [ -n "$revert" ]; then
			run "$revert" || die "the command that takes a change back failed" "take it back yourself, and call again without --revert" 1
		elif [ -z "$changed" ]; then
			say "take the change back, make another one, then: $(basename "$me") --changed NAME $folder"
			[ -n "${stop:-}" ] || exit 0
		fi
		reverted
		due=change && save
		;;
	change)
		[ -n "$changed" ] || stop=$(stop_reason) # with --changed you know better
		[ -z "${stop:-}" ] || finish "$stop"
		if [ -z "$changed" ] && [ -n "$change" ]; then
			status=0
			number=$((number + 1))
			changed=$(ROUND="round$number" EXTRA_SUFFIX="round$number" bash -c "$change" 9>&- | tail -n 1; exit "${PIPESTATUS[0]}") || status=$?
			number=$((number - 1))
			[ "$status" != 3 ] || finish "no change is left"
			[ "$status" = 0 ] || die "the command that makes a change failed" "" 1
			[[ $changed =~ ^[A-Za-z0-9][A-Za-z0-9_]{0,60}$ ]] || die "the change has no name" "--change is to print one as its last line: letters, digits and _" 1
		fi
		if [ -z "$changed" ]; then
			say "make the change that $folder/$(round).analysis.md proposes, then: $(basename "$me") --changed NAME $folder"
			exit 0
		fi
		number=$((number + 1)) name=$changed changed= due=test
		save
		;;
	test)
		if ! keep_diff; then
			if [ -s "$folder/reason" ]; then # its tests failed, and it was taken back
				give_up
				continue
			fi
			say "warning: git shows no change since the last round that was kept"
		fi
		say "TEST $(round): $test"
		if ! run "$test" 2>&1 | tee "$folder/$(round).test.log"; then
			failing "its tests failed: $(grep . "$folder/$(round).test.log" | tail -n 1)"
			printf '%s\t%s\t%s\tfailed\t-\t-\n' "$(round)" "$(cpus)" "$name" >>"$folder/log.tsv"
			die "the tests of $(round) failed" "mend it and call again, or take it back and call with --changed and another name" 1
		fi
		rm -f "$folder/reason"
		due=profile && save
		;;
	done)
		say "done: $folder/summary.md. Remove $folder/state to begin anew"
		exit 0
		;;
	*) die "$folder/state: not ours" "remove it to begin anew" ;;
	esac
done
