#!/usr/bin/env bash
# Starts an engine under Nsight Systems with the options that hostbound needs,
# and exports what was recorded. Without --run it only prints what it would do.
#
#	scripts/capture.sh [OPTIONS] -- COMMAND [ARGUMENTS]
#
#	scripts/capture.sh --run -- trtllm-bench --model MODEL throughput ...
#	mpirun -n 4 scripts/capture.sh --run --for causes -o run1 -- trtllm-serve ...
#	scripts/capture.sh --run --load 'vllm bench serve --model MODEL ...' -- vllm serve MODEL
#	scripts/capture.sh --run --range api --load ... -- vllm serve MODEL --profiler-config.profiler=cuda
#
# A server (vllm serve, sglang.launch_server, trtllm-serve) is stopped when the
# recording ends: after --delay and --duration, or at the end of the capture range.
# It is recorded under load only: --load COMMAND, or requests of your own.
#
# What docker run, kubectl, srun or ssh start is no child of nsys, which does not
# follow it: run this script inside of the container, or under srun.
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
#	                  of a server 120 (give it more than loading takes) and 10; with
#	                  --range api and --load the delay, 5, is from the load's start
#	--load COMMAND    run this with sh once the server answers, until the end
#	--ready URL       that answers then (default: /health on the port of COMMAND)
#	--graph node      the kernels inside CUDA graph replays (default)
#	--graph graph     whole replays only: less overhead, steps from markers
#	--checkpoint DIR  also keep the rows as Parquet there
#	--nsys PROGRAM    (default: nsys)
#
# Unsupported nsys options are skipped, with a note. Exit status:
# that of COMMAND where it failed, 2 bad usage or nothing recorded, else 0.
set -euo pipefail
export LC_ALL=C

fail() {
	echo "capture: error: $1" >&2
	[ -z "${2:-}" ] || echo "capture: hint: $2" >&2
	exit 2
}

# usage names the script as it was called: it is installed as hostbound-capture.
usage() {
	local name=${0##*/}
	sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" | sed "s|scripts/capture.sh|${name/#capture.sh/scripts/capture.sh}|g"
}

number() { [[ $2 =~ ^[0-9]+(\.[0-9]+)?$ ]] || fail "$1 $2: not a number of seconds"; }

run='' output=trace engine='' purpose=verdict iterations='' range='' graph=node
checkpoint='' nsys=nsys delay='' duration='' load='' ready=''
while [ $# -gt 0 ]; do
	case $1 in
	--) shift && break ;;
	-h | --help) usage && exit 0 ;;
	--run) run=1 && shift && continue ;;
	-o | --output | --engine | --for | --iterations | --range | --graph | --checkpoint | --nsys | --delay | --duration | --load | --ready)
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
	--load=?*) load=$2 ;;
	--ready=?*) ready=$2 ;;
	*) fail "unknown $1 $2" "--help lists what it takes" ;;
	esac
	shift 2
done
[ $# -gt 0 ] || fail "no command to record" "scripts/capture.sh [OPTIONS] -- COMMAND"

case ${1##*/} in
docker | podman | nerdctl | docker-compose)
	fail "what $1 starts is not followed: it is no child of nsys" "run this script and nsys inside of the container" ;;
kubectl | oc) fail "what $1 starts is not followed: it runs on another machine" "run this script and nsys inside of the pod" ;;
srun | ssh) fail "what $1 starts is not followed: it is no child of nsys" "$1 ... scripts/capture.sh ... -- COMMAND" ;;
esac

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

# is_server says whether a command line starts a server, which ends only when it is stopped.
is_server() {
	local word last=''
	for word; do
		case $last/${word##*/} in
		*/trtllm-serve | vllm/serve | sglang/serve | */sglang.launch_server | */vllm.entrypoints.*) return 0 ;;
		esac
		last=${word##*/}
	done
	return 1
}
server=''
if is_server "$@"; then server=1; fi
[ -z "$load" ] || [ -n "$server" ] || fail "--load is for servers, and this command is none that is known" "start the load yourself"

# port_of is the port that a server's command line names, or its default.
port_of() {
	local word last=''
	for word; do
		[ "$last" != --port ] || { echo "$word" && return; }
		[[ $word != --port=* ]] || { echo "${word#--port=}" && return; }
		last=$word
	done
	[ "$engine" = sglang ] && echo 30000 || echo 8000
}
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
	advice="install Nsight Systems, or name it with --nsys"
	[ "$engine" != trtllm ] ||
		advice+="; without it, TLLM_PROFILE_START_STOP=${iterations:-100-150} TLLM_TORCH_PROFILE_TRACE=trace.json makes a trace of PyTorch's profiler, which verdict reads"
	fail "no $nsys on PATH" "$advice"
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
# posts: the script sets the range by itself, under load.
posts=''
[ "$range$load" != "api$load" ] || [ -z "$load" ] || [ "$engine" = trtllm ] || posts=1
if [ -n "$server" ]; then
	option --kill=sigterm "a server may outlive the recording"
	[ "$range" = api ] && : "${delay:=${posts:+5}}" || : "${delay:=120}"
	[ "$range$posts" = api ] || : "${duration:=10}"
	notes+=("the server is stopped when the recording ends")
	if [ "$range" = none ]; then
		notes+=("recording begins after $delay s, and takes $duration s: the model must be loaded by then")
	fi
	[ -n "$load" ] || notes+=("it must have requests while it is recorded: --load 'COMMAND' sends them once it answers")
fi
if [ "$range" = api ]; then
	options+=(--capture-range=cudaProfilerApi)
	end=stop
	[ -z "$server" ] || end=stop-shutdown
	option --capture-range-end=$end "it records on after the range"
fi
after=$delay for=$duration
[ -z "$posts" ] || delay='' duration=''
[ -z "$delay" ] || options+=("--delay=$delay")
[ -z "$duration" ] || options+=("--duration=$duration")

case $engine in
trtllm)
	[ "$range" != api ] || variables+=("TLLM_PROFILE_START_STOP=${iterations:-100-150}")
	variables+=(TLLM_PROFILE_RECORD_GC=1)
	if [ "$purpose" = causes ]; then
		variables+=(TLLM_LLMAPI_ENABLE_NVTX=1 TLLM_NVTX_DEBUG=1) # the ranges of requests and of debugging
		notes+=("PyTorch's operators are not in it: TLLM_TORCH_PROFILE_TRACE=trace.json records them in a run of its own, without nsys")
	fi
	;;
vllm)
	variables+=(VLLM_WORKER_MULTIPROC_METHOD=spawn VLLM_NVTX_SCOPES_FOR_PROFILING=1)
	[ "$range" != api ] || notes+=("the server must be started with --profiler-config.profiler=cuda")
	[ "$range$posts" != api ] || notes+=('POST /start_profile and /stop_profile set the range')
	;;
sglang)
	variables+=(SGLANG_ENABLE_NVTX_SCHEDULER=1)
	[ "$range$posts" != api ] || notes+=('POST /start_profile with {"activities": ["CUDA_PROFILER"]} and /stop_profile set the range')
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
	[ -z "$load" ] || echo "  $load   # once the server answers${posts:+; then /start_profile, $for s later /stop_profile}"
	line "${export[@]}"
	[ -z "$checkpoint" ] || line "${keep[@]}"
	echo
	echo "Then:"
	echo
	line verdict "${checkpoint:-$output.sqlite}"
	exit 0
fi

# post asks the server for something, as the engines' profiling switches want it.
post() {
	curl -sf -X POST -H 'Content-Type: application/json' -d "${2:-{\}}" "${ready%/health}/$1" >/dev/null ||
		echo "capture: note: the server refused /$1" >&2
}

# under_load records a server, and sends it requests from when it answers.
under_load() {
	command -v curl >/dev/null || fail "no curl on PATH, which --load asks the server with" "start the load yourself"
	: "${ready:=http://127.0.0.1:$(port_of "${record[@]}")/health}"
	local recorder requests=''
	set -m # groups of their own, which do not ignore SIGINT and are stopped as a whole
	"${record[@]}" &
	recorder=$!
	set +m
	trap 'kill -INT $recorder' INT TERM
	until curl -sf "$ready" >/dev/null 2>&1; do
		if ! kill -0 $recorder 2>/dev/null; then
			wait $recorder || status=$?
			echo "capture: note: the server had not answered $ready by then" >&2
			return
		fi
		sleep 0.5
	done
	if [ "$range" = none ] && [ "$SECONDS" -gt "${after%.*}" ]; then
		echo "capture: note: the server answered after $SECONDS s only, and recording began after $after s: give more --delay" >&2
	fi
	set -m
	sh -c "$load" >&2 &
	requests=$!
	set +m
	if [ -n "$posts" ]; then
		local body='{}'
		[ "$engine" != sglang ] || body='{"activities": ["CUDA_PROFILER"]}'
		sleep "$after"
		post start_profile "$body"
		sleep "$for"
		post stop_profile
		runs() { kill -0 $recorder 2>/dev/null && curl -sf "$ready" >/dev/null 2>&1; }
		for _ in {1..20}; do # the end of the range stops the server
			runs || break
			sleep 0.5
		done
		if runs; then
			echo "capture: note: the server runs on 10 s after /stop_profile: it set no capture range, and is stopped" >&2
			kill -INT $recorder
		fi
	elif [ "$range" = api ]; then
		while kill -0 $recorder 2>/dev/null && kill -0 $requests 2>/dev/null; do sleep 0.5; done
		sleep 1
		if kill -0 $recorder 2>/dev/null && ! kill -0 $requests 2>/dev/null; then
			echo "capture: note: the load ended before the range did" >&2
			kill -INT $recorder
		fi
	fi
	wait $recorder || status=$?
	if kill -0 $recorder 2>/dev/null; then # a signal ended the first wait
		wait $recorder || status=$?
	fi
	kill -TERM -- -$requests 2>/dev/null || true
	wait $requests 2>/dev/null || true
}

# cpu_stat says how often the limit on CPU time of this control group, or of the first one around it
# that has one, stopped its threads (version 1: throttled_time in ns, 2: throttled_usec).
cpu_stat() {
	local root=${HOSTBOUND_CGROUP:-/sys/fs/cgroup} group line file
	while IFS=: read -r _ line group; do
		case ,$line, in
		,, | *,cpu,*) ;;
		*) continue ;;
		esac
		for file in "$root/$line" "$root/cpu" "$root"; do
			local at=$group
			while :; do
				if grep -qs '^nr_periods [1-9]' "$file$at/cpu.stat"; then
					sed -n "s/^nr_\|^throttled_/$1 &/p" "$file$at/cpu.stat"
					return
				fi
				[ -n "$at" ] && [ "$at" != / ] || break
				at=${at%/*}
			done
		done
	done <"${HOSTBOUND_CGROUPS:-/proc/self/cgroup}"
}

# What an earlier run left must not pass for this one's.
rm -f "$output.nsys-rep" "$output.sqlite" "$output.cpu.stat"
before=$(cpu_stat before || true)
status=0
if [ -z "$load" ]; then
	"${record[@]}" || status=$?
else
	under_load
fi
after=$(cpu_stat after || true)
if [ -n "$after" ]; then # a limit on CPU time: how often it stopped threads is read beside the report
	printf '%s\n%s\n' "$before" "$after" >"$output.cpu.stat"
fi
if [ -n "$server" ] && [ -s "$output.nsys-rep" ]; then
	status=0 # it was stopped
fi
if [ ! -s "$output.nsys-rep" ]; then
	[ "$status" = 0 ] || exit "$status"
	case $range$engine in
	apitrtllm) fail "nothing was recorded" "the iterations of the range must be reached: fewer --iterations, or --range none" ;;
	apivllm) fail "nothing was recorded" "the server sets the range if it is started with --profiler-config.profiler=cuda and asked for /start_profile; or --range none" ;;
	api*) fail "nothing was recorded" "the command must call cudaProfilerStart and cudaProfilerStop; or --range none" ;;
	esac
	fail "nothing was recorded" "the command must run for longer than --delay, if that was given"
fi
"${export[@]}" >&2 || fail "$output.nsys-rep could not be exported"
if [ -n "$checkpoint" ]; then
	"${keep[@]}" >/dev/null || fail "no checkpoint of $output.sqlite" "it holds what was recorded; 'verdict $output.sqlite' says what is missing"
fi
echo "$output.sqlite"
exit "$status"
