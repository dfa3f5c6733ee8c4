package step

// Of SPEC 3.
const (
	// DefaultGap ends an allreduce step outside of markers, DefaultSegmentGap a segment, ns.
	DefaultGap        = 1_000_000
	DefaultSegmentGap = 100_000_000
	// MergeMarkers is how long, in ns, after the first range of a marker another one with the
	// same number starts at most that is the same marker.
	MergeMarkers = 100_000
	// MinSteps is how many steps a benchmark segment has at least; of fewer nothing is usual.
	MinSteps = 5
)

// Of what a step ran.
const (
	// MinForward is how many kernels a forward pass has at least, without elementwise ones: a
	// sampler or the preparation of inputs has fewer.
	MinForward = 16
	// triedOut is how many more kernels outside of a forward pass than nine in ten steps launch are
	// tried out: PyTorch's autotuner runs each of some dozen candidates for 100 ms (its source).
	triedOut = 300
	// someLost and lostShare, 1 %, are how many replays may be missing beside those recorded (SPEC 6).
	someLost  = 2
	lostShare = 0.01
)

// Of waits.
const (
	// minSpell is how long one is that counts, ns, and what lies between two that are not one.
	minSpell = 20_000
	// maxSpells is how many of a thread are kept.
	maxSpells = 1 << 15
)

// Of periods.
const (
	// maxMissing is how many elements in a row may be missing from a repetition.
	maxMissing = 4
	// maxTable bounds the work of one alignment, in cells: of longer sequences only the
	// first part is aligned.
	maxTable = 1 << 24
	// How many lags are tried: the shortest, and those with the best runs.
	mostShortest = 12
	mostLongest  = 4
	// Enough is the share that is as good as all: of the best alignment's score that a shorter unit
	// needs, of its lag that a run needs to be a candidate, of waits that end after another's, of
	// what runs that a period covers, of its repetitions that have evidence once. A tenth that is
	// otherwise is told (SPEC 3).
	Enough = 0.9
)
