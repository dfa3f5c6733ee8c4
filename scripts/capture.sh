#!/usr/bin/env bash
# Starts an engine under Nsight Systems with the options that hostbound needs,
# and exports what was recorded. Without --run it only prints what it would do.
#
#	scripts/capture.sh [OPTIONS] -- COMMAND [ARGUMENTS]
#
#	scripts/capture.sh --run -- trtllm-bench --model MODEL throughput ...
#	mpirun -n 4 scripts/capture.sh --run --for causes -o run1 -- trtllm-serve ...
#	scripts/capture.sh --run --range api -- vllm serve MODEL --profiler-config.profiler=cuda
#
#	--run             record; otherwise the plan is printed and nothing started
#	-o, --output NAME the report, without extension (default: trace). A process
#	                  that mpirun or srun started adds .rankN
#	--engine NAME     trtllm, vllm, sglang or none; otherwise that of COMMAND
#	--for verdict     CUDA calls, kernels and NVTX ranges: little overhead (default)
#	--for causes      also OS calls, the GIL, CPU samples and context switches:
#	                  what the host did while the GPU waited. It slows the host;
#	                  take the verdict from a capture without it
#	--iterations A-B  TensorRT-LLM: the iterations to record (default: 100-150)
#	--range api       record between cudaProfilerStart and cudaProfilerStop
#	                  (default for TensorRT-LLM), as /start_profile calls them
#	--range none      record all of it (default otherwise); see --delay
#	--delay, --duration SECONDS
#	--graph node      the kernels inside CUDA graph replays (default)
#	--graph graph     whole replays only: less overhead, steps from markers
#	--checkpoint DIR  also keep the rows as Parquet there
#	--nsys PROGRAM    (default: nsys)
#
# Options that this nsys does not know are left out, and it is said. Exit status:
# that of COMMAND where it failed, 2 bad usage or nothing recorded, else 0.
set -euo pipefail
export LC_ALL=C

fail() {
	echo "capture: error: $1" >&2
	[ -z "${2:-}" ] || echo "capture: hint: $2" >&2
	exit 2
}

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }

number() { [[ $2 =~ ^[0-9]+(\.[0-9]+)?$ ]] || fail "$1 $2: not a number of seconds"; }

run='' output=trace engine='' purpose=verdict iterations='' range='' graph=node
checkpoint='' nsys=nsys delay='' duration=''
while [ $# -gt 0 ]; do
	case $1 in
	--) shift && break ;;
	-h | --help) usage && exit 0 ;;
	--run) run=1 && shift && continue ;;
	-o | --output | --engine | --for | --iterations | --range | --graph | --checkpoint | --nsys | --delay | --duration)
		[ $# -ge 2 ] || fail "$1 takes a value" ;;
	-*) fail "unknown option $1" "--help lists them; the command comes after --" ;;
	*) break ;;
	esac
	case $1=$2 in
	-o=* | --output=*) output=$2 ;;
	--engine=trtllm | --engine=vllm | --engine=sglang | --engine=none) engine=$2 ;;
	--for=verdict | --for=causes) purpose=$2 ;;
	--iterations=*) [[ $2 =~ ^[0-9]+-[0-9]+$ ]] || fail "--iterations $2: not FIRST-LAST, such as 100-150"
		iterations=$2 ;;
	--range=api | --range=none) range=$2 ;;
	--graph=node | --graph=graph) graph=$2 ;;
	--checkpoint=*) checkpoint=$2 ;;
	--nsys=*) nsys=$2 ;;
	--delay=*) number "$1" "$2" && delay=$2 ;;
	--duration=*) number "$1" "$2" && duration=$2 ;;
	*) fail "unknown $1 $2" "--help lists what it takes" ;;
	esac
	shift 2
done
[ $# -gt 0 ] || fail "no command to record" "scripts/capture.sh [OPTIONS] -- COMMAND"

# engine_of names the engine that a command line starts.
engine_of() {
	local word
	for word; do
		case ${word##*/} in
		trtllm-*) echo trtllm && return ;;
		vllm | vllm.*) echo vllm && return ;;
		sglang | sglang.*) echo sglang && return ;;
		esac
	done
	echo none
}
[ -n "$engine" ] || engine=$(engine_of "$@")
if [ -n "$iterations" ] && [ "$engine" != trtllm ]; then
	fail "--iterations is TensorRT-LLM's, and this is ${engine/none/another command}" \
		"use --delay and --duration, or --range api"
fi
if [ -z "$range" ]; then
	[ "$engine" = trtllm ] && range=api || range=none
fi

# rank is the number that a launcher of several processes gave to this one.
rank=''
for variable in OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID; do
	[ -n "$rank" ] || rank=${!variable:-}
done
if [ -n "$rank" ]; then
	output=$output.rank$rank
	[ -z "$checkpoint" ] || checkpoint=$checkpoint/rank$rank
fi

help=''
if command -v "$nsys" >/dev/null; then
	help=$("$nsys" profile --help 2>&1) || true
elif [ -n "$run" ]; then
	fail "no $nsys on PATH" "install Nsight Systems, or name it with --nsys"
fi

# known says whether this nsys knows a word; one that cannot be asked knows all.
known() { [ -z "$help" ] || [[ $help == *"$1"* ]]; }

declare -a options=() notes=() variables=()
option() { # an option, and what is lost without it
	if known "${1%%=*}"; then
		options+=("$1")
	else
		notes+=("$nsys does not know ${1%%=*}: $2")
	fi
}

traces=cuda,nvtx
if [ "$purpose" = causes ]; then
	traces+=,osrt
	if known python-gil; then
		traces+=,python-gil
	else
		notes+=("$nsys does not know python-gil: who holds the GIL stays unknown")
	fi
fi
options+=("--trace=$traces" "--force-overwrite=true" "--output=$output")
option "--cuda-graph-trace=$graph" "kernels in CUDA graphs are recorded as it does by default"
option --trace-fork-before-exec=true "processes that fork before they exec are not recorded"
if [ "$purpose" = causes ]; then
	option --sample=process-tree "no CPU samples" # context switches come with it
	option --cpuctxsw=process-tree "it is not known when a thread ran"
	option --samples-per-backtrace=1 "few samples have a stack"
else
	option --sample=none "it takes CPU samples"
	option --cpuctxsw=none "it records context switches"
fi
if [ "$range" = api ]; then
	options+=(--capture-range=cudaProfilerApi)
	option --capture-range-end=stop "it records on after the range"
fi
[ -z "$delay" ] || options+=("--delay=$delay")
[ -z "$duration" ] || options+=("--duration=$duration")

case $engine in
trtllm)
	[ "$range" != api ] || variables+=("TLLM_PROFILE_START_STOP=${iterations:-100-150}")
	variables+=(TLLM_PROFILE_RECORD_GC=1)
	[ "$purpose" = verdict ] || variables+=(TLLM_LLMAPI_ENABLE_NVTX=1)
	;;
vllm)
	variables+=(VLLM_WORKER_MULTIPROC_METHOD=spawn VLLM_NVTX_SCOPES_FOR_PROFILING=1)
	[ "$range" != api ] || notes+=("the server must be started with --profiler-config.profiler=cuda; POST /start_profile and /stop_profile set the range")
	;;
sglang)
	variables+=(SGLANG_ENABLE_NVTX_SCHEDULER=1)
	[ "$range" != api ] || notes+=('POST /start_profile with {"activities": ["CUDA_PROFILER"]} and /stop_profile set the range')
	;;
esac

# line prints a command so that it can be pasted into a shell.
line() {
	local word
	printf ' '
	for word; do
		if [[ $word =~ ^[A-Za-z0-9_./:=,@%+-]+$ ]]; then
			printf ' %s' "$word"
		else
			printf " '%s'" "${word//\'/\'\\\'\'}"
		fi
	done
	printf '\n'
}

declare -a record=("$nsys" profile "${options[@]}" "$@")
[ ${#variables[@]} = 0 ] || record=(env "${variables[@]}" "${record[@]}")
declare -a export=("$nsys" export --type=sqlite --force-overwrite=true "--output=$output.sqlite" "$output.nsys-rep")
declare -a keep=(nsys2arrow --checkpoint "$checkpoint" "$output.sqlite")

for note in ${notes[@]+"${notes[@]}"}; do
	echo "capture: note: $note" >&2
done
if [ -z "$run" ]; then
	echo "Engine: $engine. Nothing was started; --run would run:"
	echo
	line "${record[@]}"
	line "${export[@]}"
	[ -z "$checkpoint" ] || line "${keep[@]}"
	echo
	echo "Then:"
	echo
	line verdict "${checkpoint:-$output.sqlite}"
	exit 0
fi

# What an earlier run left must not pass for this one's.
rm -f "$output.nsys-rep" "$output.sqlite"
status=0
"${record[@]}" || status=$?
if [ ! -s "$output.nsys-rep" ]; then
	[ "$status" = 0 ] || exit "$status"
	fail "nothing was recorded" "with --range api the range must be reached: fewer --iterations, or --range none"
fi
"${export[@]}" >&2 || fail "$output.nsys-rep could not be exported"
if [ -n "$checkpoint" ]; then
	"${keep[@]}" >/dev/null || fail "no checkpoint of $output.sqlite" "it holds what was recorded; 'verdict $output.sqlite' says what is missing"
fi
echo "$output.sqlite"
exit "$status"
