#!/usr/bin/env bash
# Archives the same 16 reports with archive.sh, with archive.sh stopped half-way
# and started again, with GNU parallel, as a job array on a Slurm of one node, on a
# Dask of two workers of which one is killed, and the way Spark does, and fails where the results or the merged metric rows differ
# by a byte, or from the metrics of all reports in one process.
#
#	scripts/cluster_test.sh
#
# As root it installs what it needs from Debian's packages (parallel, slurmctld,
# slurmd, slurm-client, munge, python3-distributed). What cannot be installed or started is left out,
# and it says so. Slurm's daemons are its own, on ports and in a folder of their
# own, and are ended with it. Spark itself is not run: RDD.pipe() is replaced by
# what PySpark's does. Takes about a minute.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/hostbound-XXXXXX")
chmod 755 "$work"
declare -a daemons=() ran=() left_out=()

# finish ends the daemons: a daemon that has not ended 5 s after it was asked to is killed.
finish() {
	local pid
	for pid in "${daemons[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	for pid in "${daemons[@]}"; do
		timeout 5 tail --pid="$pid" -f /dev/null || kill -9 "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap finish EXIT

fail() {
	echo "cluster_test: FAILED: $1" >&2
	exit 1
}

leave_out() {
	echo "cluster_test: left out: $1"
	left_out+=("${1%%:*}")
}

# install installs packages where one of the given programs is missing.
install() {
	local program missing='' policy=/usr/sbin/policy-rc.d
	for program in $1; do
		command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || missing=1
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		return 1
	fi
	if [ ! -e "$policy" ]; then # so that no package starts a daemon
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		trap 'rm -f /usr/sbin/policy-rc.d; finish' EXIT
	fi
	# shellcheck disable=SC2086 # a list of packages
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $2; } >"$work/apt.log" 2>&1
}

step() { echo "cluster_test: $*, at $SECONDS s"; }

step "building"
export HOSTBOUND_BIN=$work/bin
mkdir "$HOSTBOUND_BIN"
go build -o "$HOSTBOUND_BIN/" ./cmd/nsys2arrow ./cmd/isolate ./cmd/phase ./cmd/metrics ./cmd/verdict ./scripts/gentrace
tree=$work/tree
mkdir -p "$tree/run 1" "$tree/b/run2"
"$HOSTBOUND_BIN/gentrace" --ranks 16 --steps 20 --layers 8 --reports -o "$tree/rank%d.sqlite" 2>/dev/null
mv "$tree"/rank1?.sqlite "$tree/b/run2"
mv "$tree"/rank[5-9].sqlite "$tree/run 1"
"$root/scripts/archive.sh" --list "$tree" >"$work/reports.txt"
[ "$(wc -l <"$work/reports.txt")" -eq 16 ] || fail "archive.sh --list does not list 16 reports: $(cat "$work/reports.txt")"

# merge adds up the metric rows of an archive.
merge() {
	find "$1" -name '*.metrics.arrows' -print0 | sort -z | xargs -0 "$HOSTBOUND_BIN/metrics" -o "$1.arrows" --merge
}

# compare compares an archive with that of archive.sh: all files, and the merged
# metric rows.
compare() {
	merge "$1"
	cmp "$1.arrows" "$work/plain.arrows" || fail "$1: other metric rows after the merge"
	diff -r -x runs.parquet "$1" "$work/plain" || fail "$1: another archive"
	ran+=("$(basename "$1")")
}

step "archive.sh"
scripts/archive.sh "$tree" "$work/plain" 2>/dev/null
[ -s "$work/plain/runs.parquet" ] || fail "archive.sh wrote no runs.parquet"
merge "$work/plain"
"$HOSTBOUND_BIN/metrics" "$work/plain.arrows" --format csv >"$work/merged.csv"
find "$tree" -name '*.sqlite' -print0 | sort -z | xargs -0 "$HOSTBOUND_BIN/metrics" --format csv >"$work/whole.csv" 2>/dev/null
# Numerators, denominators and values add up; the intervals in the last two columns
# need the steps, and merged rows have none.
# So do waits in collectives: a part has the rows of some ranks, and does not know when the
# others arrived.
sums() { cut -d , -f 1-6 "$1"; }
alone() { grep -vE '^[a-z]+,(collective_wait|host_wait|host_bound)_ratio,' "$1"; }
cmp <(sums "$work/merged.csv") <(alone "$work/whole.csv" | sums /dev/stdin) || fail "the merged rows are not those of all reports in one process"
! sed 1d "$work/merged.csv" | grep -v ',,$' || fail "merged rows have intervals"
[ "$(wc -l <"$work/merged.csv")" -ge 19 ] || fail "metric rows are missing"

step "archive.sh, stopped and started again"
scripts/archive.sh --jobs 1 "$tree" "$work/stopped" 2>"$work/stopped.log" &
pid=$!
until [ -e "$work/stopped/b/run2/rank12.metrics.arrows" ] || ! kill -0 "$pid" 2>/dev/null; do
	sleep 0.01
done
status=0
kill "$pid"
wait "$pid" || status=$?
[ "$status" -eq 143 ] || fail "archive.sh was stopped and ended with status $status: $(cat "$work/stopped.log")"
grep -q 'archive: stopped, .* of 16 done' "$work/stopped.log" || fail "archive.sh does not say that it was stopped"
cp "$tree/rank0.sqlite" "$tree/bad.sqlite"
truncate -s -1000 "$tree/bad.sqlite"
status=0
scripts/archive.sh "$tree" "$work/stopped" >"$work/again.log" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "archive.sh ends with status $status where a report is bad"
grep -Eq '^archive: 17 reports: [0-9]+ done, [1-9][0-9]* kept, 1 failed$' "$work/again.log" || fail "archive.sh started again: $(cat "$work/again.log")"
grep -q '^archive: failed: bad.sqlite: .*truncated' "$work/again.log" || fail "archive.sh does not list the bad report: $(cat "$work/again.log")"
rm "$tree/bad.sqlite" "$work/stopped/bad.failed" "$work/stopped/.bad.archive"
compare "$work/stopped"

if install parallel parallel; then
	step "GNU parallel"
	timeout -k 5 120 parallel --will-cite --jobs 2 --sshlogin : --joblog "$work/joblog" \
		scripts/archive-one.sh --tree "$tree" {} "$work/parallel" <"$work/reports.txt"
	compare "$work/parallel"
else
	leave_out "parallel: GNU parallel is not there and cannot be installed"
fi

step "the job of archive_spark.py, with a stand-in for Spark"
if command -v python3 >/dev/null; then
	mkdir -p "$work/python/pyspark"
	: >"$work/python/pyspark/__init__.py"
	cat >"$work/python/pyspark/sql.py" <<-'PYTHON'
		"""Does what PySpark does for archive_spark.py, a process a partition."""
		import shlex
		from subprocess import PIPE, Popen


		class Lines:
		    def __init__(self, partitions):
		        self.partitions = partitions

		    def pipe(self, command, env=None, checkCode=False):
		        result = []
		        for part in self.partitions:
		            p = Popen(shlex.split(command), env=env, stdin=PIPE, stdout=PIPE)
		            out, _ = p.communicate("".join(line.rstrip("\n") + "\n" for line in part).encode())
		            if checkCode and p.returncode:
		                raise RuntimeError(f"Pipe function `{command}' exited with error code {p.returncode}")
		            result += [line.decode().rstrip("\n") for line in out.splitlines()]
		        return Lines([result])

		    def collect(self):
		        return [line for part in self.partitions for line in part]


		class SparkSession:
		    class builder:
		        appName = staticmethod(lambda name: SparkSession.builder)
		        getOrCreate = staticmethod(lambda: SparkSession())

		    @property
		    def sparkContext(self):
		        return self

		    def parallelize(self, items, slices):
		        return Lines([items[i::slices] for i in range(slices)])

		    def stop(self):
		        pass
	PYTHON
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$work/python:scripts python3 scripts/archive_spark.py "$tree" "$work/spark" >"$work/spark.log"
	grep -q '^archive: 16 reports: 16 done, 0 kept, 0 failed$' "$work/spark.log" || fail "archive_spark.py: $(cat "$work/spark.log")"
	compare "$work/spark"
else
	leave_out "spark: python3 is not there"
fi

# start_dask starts a scheduler and two workers, and waits for these.
start_dask() {
	local n
	dask-scheduler --host 127.0.0.1 --port 38786 --no-dashboard --no-show >"$work/dask.log" 2>&1 &
	daemons+=($!)
	for n in 1 2; do
		dask-worker --no-nanny --nthreads 1 --memory-limit 0 --no-dashboard --local-directory "$work/dask$n" \
			tcp://127.0.0.1:38786 >"$work/dask$n.log" 2>&1 &
		daemons+=($!)
	done
	dask_worker=$!
	wait_for 30 grep -q 'Registered to' "$work/dask1.log" && wait_for 30 grep -q 'Registered to' "$work/dask2.log"
}

# start_slurm starts munged, slurmctld and slurmd, all in the foreground of this
# script, and waits for the node to be idle.
start_slurm() {
	local dir=$work/slurm node
	node=$(hostname -s)
	PATH=$PATH:/usr/sbin
	mkdir -p "$dir/state" "$dir/spool"
	(umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
	cat >"$dir/slurm.conf" <<-CONF
		ClusterName=hostbound
		SlurmctldHost=$node(127.0.0.1)
		SlurmctldPort=36817
		SlurmdPort=36818
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		CredType=cred/munge
		AuthInfo=socket=$dir/munge.socket
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		MpiDefault=none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		SchedulerParameters=sched_interval=1,bf_interval=1
		ReturnToService=2
		NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(awk '/^MemTotal:/ { print int($2 / 1024 * 0.9) }' /proc/meminfo)
		PartitionName=main Nodes=$node Default=YES MaxTime=60 State=UP
	CONF
	export SLURM_CONF=$dir/slurm.conf
	munged --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" \
		--pid-file="$dir/munged.pid" --seed-file="$dir/munge.seed" >"$dir/munged.log" 2>&1 &
	daemons+=($!)
	wait_for 10 test -S "$dir/munge.socket" || return
	slurmctld -D -f "$SLURM_CONF" >"$dir/slurmctld.out" 2>&1 &
	daemons+=($!)
	slurmd -D -f "$SLURM_CONF" -N "$node" >"$dir/slurmd.out" 2>&1 &
	daemons+=($!)
	wait_for 20 node_is_idle
}

node_is_idle() { [ "$(timeout 5 sinfo --noheader --format %T 2>/dev/null)" = idle ]; }

wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

if ! install "dask-scheduler dask-worker" python3-distributed; then
	leave_out "dask: python3-distributed is not there and cannot be installed"
elif ! start_dask; then
	tail -n 20 "$work"/dask*.log >&2 || true
	leave_out "dask: its workers cannot be started here"
else
	step "Dask, a worker killed on the way"
	timeout -k 5 120 /usr/bin/python3 -B scripts/archive_dask.py --scheduler tcp://127.0.0.1:38786 "$tree" "$work/dask" >"$work/dask.out" 2>"$work/dask.err" &
	pid=$!
	wait_for 30 grep -q '^archive: 2 of 16' "$work/dask.err" || fail "archive_dask.py: $(cat "$work/dask.err")"
	kill -9 "$dask_worker"
	wait "$pid" || fail "archive_dask.py ends with status $?: $(tail -n 5 "$work/dask.err")"
	grep -Eq '^archive: 16 reports: [0-9]+ done, [0-9]+ kept, 0 failed$' "$work/dask.out" || fail "archive_dask.py: $(cat "$work/dask.out")"
	compare "$work/dask"
fi

if ! install "slurmctld slurmd sbatch munged" "slurmctld slurmd slurm-client munge"; then
	leave_out "slurm: it is not there and cannot be installed"
elif [ "$(id -u)" -ne 0 ]; then
	leave_out "slurm: its daemons want to be root"
elif ! start_slurm; then
	tail -n 20 "$work"/slurm/*.log "$work"/slurm/*.out >&2 || true
	leave_out "slurm: its daemons cannot be started here"
else
	step "a job array on Slurm"
	timeout 90 sbatch --wait --cpus-per-task=1 --array="1-$(wc -l <"$work/reports.txt")" --output="$work/slurm/task-%a.log" \
		scripts/archive.slurm "$work/reports.txt" "$tree" "$work/array" ||
		fail "the job array: $(tail -n 5 "$work"/slurm/task-*.log 2>&1)"
	compare "$work/array"
fi

echo "cluster_test: passed in $SECONDS s: the same archive and metric rows from plain ${ran[*]}${left_out:+; left out: ${left_out[*]}}"
