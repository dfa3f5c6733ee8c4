package replay

import "math"

// The constants of the model. Source, if none is named: SPEC 12, except for the last
// three, which bound memory.
const (
	// jitter, 1 us: host and GPU times agree to within this, and work that is ready
	// follows what it waits for within this.
	jitter = int64(1_000)
	// near, 3 us: a unit that starts this soon after a unit of another stream may have
	// waited for it.
	near = int64(3_000)
	// idleThread, 100 us: a thread that does nothing for longer was waiting for others.
	idleThread = int64(100_000)
	// threadWait, 20 us: shorter OS waits are host time.
	threadWait = int64(20_000)
	// wakes, 60 us: a thread that wakes another does so within this time.
	wakes = int64(60_000)
	// contradicted, 2 %: the share of waits that may contradict what they are assumed to
	// wait for.
	contradicted = 0.02
	// worthBoth, 2 % of a step: if --waits follow and keep differ by more, both are
	// reported.
	worthBoth = 0.02

	// graphCall, 10 us, and nodeGap, 1.3 us: the duration of a graph launch and the gap
	// between the graph's kernels, if the run has no graphs.
	graphCall = int64(10_000)
	nodeGap   = int64(1_300)
	// limitPeriod, 100 ms: the period of a CPU limit. Source: the kernel's default of
	// cpu.cfs_period_us.
	limitPeriod = int64(100_000_000)
	// limitJitter, 2 ms: the spread, within the period, of the times at which threads
	// resume that a limit stopped. Source: the kernel's scheduler tick of 1 to 4 ms.
	limitJitter = int64(2_000_000)
	// leastLimits, 3: this many stops at one place of the period are no chance: one in
	// 600 (two of 50 bins).
	leastLimits = 3

	// offStep, 0.1 % of the step, and offGain, 1 % of the gain: the error of predictions
	// beyond the spread over steps. Source: measured, 95 % of 380 pairs of a simulator
	// that shares no code with ours (74 kinds of engine, 29 causes).
	offStep = 0.001
	offGain = 0.01

	// queuedCopy, 5 us: the duration of a call that only queues a copy (testdata/h100: 3
	// to 10 us).
	queuedCopy = int64(5_000)

	// sampleRows, 262144: how many rows of a larger run are replayed for findings. This
	// takes a tenth of the time needed to read five million. sampleWindows, 4: in how
	// many windows these are.
	sampleRows    = 1 << 18
	sampleWindows = 4

	// maxPaths, 131072: how many paths of ranges are distinguished, as in package idle.
	maxPaths = 1 << 17
	// queueRoom, 1,016 launches: a launch that finds as many waiting has to wait itself.
	// CUDA's queue holds about 1,024: in a public recording of a V100 that trains, at
	// most 1,021 wait, and 2,968 of 6,095 launches find 1,015 or more. nsys records when
	// the queue is full, PyTorch's profiler does not.
	queueRoom = 1_016

	// maxLaunches, 4096 calls: how many launch calls of a thread are kept at least, more
	// than can wait.
	maxLaunches = 4096
	// recent, 64 units: how many units of a stream a wait may be for, counted from the
	// latest.
	recent = 64
	// maxAge, 8 records: how many event records back a wait may be for.
	maxAge = 8
)

// never is later than every time.
const never = int64(math.MaxInt64)
