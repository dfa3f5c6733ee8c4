package gap

// Limits of what threads are said to do.
const (
	// quotaPeriod, 100 ms: how long a period of the kernel's limit on CPU time is where nobody changed
	// it. Source: docs.kernel.org/scheduler/sched-bwc.html (cpu.cfs_period_us); Kubernetes does not
	// change it (cpuCFSQuotaPeriod).
	quotaPeriod = 100_000_000
	// minStop, 1 ms: the shortest stop that counts, in ns. Source: the kernel's slice of CPU time
	// is at most a few ms (sched_base_slice 3 ms); a shorter one is no end of a quota.
	minStop = 1_000_000
	// quotaChance, 0.001: how likely instants at random have as much of a common phase. Source: the
	// usual level of a test of which many are made.
	quotaChance = 0.001
	// mostScattered, 25 %: of n instants at random and m with one phase the mean has the length m / (n + m);
	// its square is this where half of them have it.
	mostScattered = 0.25
	// saturated, 90 %: the share of the run that a thread with one core's work is on a CPU at
	// least. Source: queueing (a server that is busy 90 % of the time has nine in ten wait).
	saturated = 0.9
	// spinning, 50 %: "most of": the share of the run in calls that ask again and again.
	spinning = 0.5
	// maxStops is how many stops of a process are kept, the first ones.
	maxStops = 1 << 16
)
