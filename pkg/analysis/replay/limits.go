package replay

import "math"

// The constants of the model. Source of all but the last three: SPEC 12.
const (
	// jitter, 1 us: times of the GPU and of the host are this exact beside each other, and work
	// that is ready follows what it waits for within it.
	jitter = int64(1_000)
	// near, 3 us: what starts this soon after a unit of another stream may have waited for it.
	near = int64(3_000)
	// idleThread, 100 us: a thread that does nothing for longer was waiting for others.
	idleThread = int64(100_000)
	// threadWait, 20 us: shorter waits in the operating system are host time.
	threadWait = int64(20_000)
	// wakes, 60 us: a thread wakes another within it.
	wakes = int64(60_000)
	// contradicted, 2 %: the share of waits that may contradict what they are taken to wait for.
	contradicted = 0.02
	// worthBoth, 2 % of a step: --waits follow and keep are both reported where they differ by more.
	worthBoth = 0.02

	// graphCall, 10 us, and nodeGap, 1.3 us: what launching a graph takes, and the time between its
	// kernels, where the run has none.
	graphCall = int64(10_000)
	nodeGap   = int64(1_300)
	// limitPeriod, 100 ms: how often a limit on CPU time begins anew. Source: the kernel's default
	// of cpu.cfs_period_us.
	limitPeriod = int64(100_000_000)
	// limitJitter, 2 ms: how far from one another in their period threads go on again that a limit
	// stopped. Source: the kernel's scheduler tick of 1 to 4 ms.
	limitJitter = int64(2_000_000)
	// leastLimits, 3: so many stops at one place of the period are no chance: one in 600 (two of 50 bins).
	leastLimits = 3

	// offStep, 0.1 % of the step, and offGain, 1 % of the gain: how far predictions are off beyond
	// the spread over steps. Source: measured, 95 % of 380 pairs of a simulator that shares nothing
	// with ours (74 kinds of engine, 29 causes).
	offStep = 0.001
	offGain = 0.01

	// queuedCopy, 5 us: what a call takes that only queues a copy (testdata/h100: 3 to 10 us).
	queuedCopy = int64(5_000)

	// sampleRows, 262144: how many rows of a larger run are replayed for findings, so that it takes
	// a tenth of the time that reading five million takes; in sampleWindows, 4, windows.
	sampleRows    = 1 << 18
	sampleWindows = 4

	// maxPaths, 131072: how many paths of ranges are told apart, as in package idle.
	maxPaths = 1 << 17
	// queueRoom, 1,016 launches: a launch that finds as many waiting waits itself. CUDA's queue has
	// room for about 1,024: in a public recording of a V100 that trains, 1,021 wait at most, and 2,968
	// of 6,095 launches find 1,015 or more; nsys says when the queue is full, PyTorch's profiler does not.
	queueRoom = 1_016

	// maxLaunches, 4096 calls: how many launch calls of a thread are kept at least: more than wait.
	maxLaunches = 4096
	// recent, 64 units: how many of a stream a wait may be for, counted from the latest.
	recent = 64
	// maxAge, 8 records: how many records of events back a wait may be for.
	maxAge = 8
)

// never is later than every time.
const never = int64(math.MaxInt64)
