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

const (
	// maxMissing is how many elements in a row may be missing from a repetition.
	maxMissing = 4
	// maxTable bounds the work of one alignment, in cells: of longer sequences only the
	// first part is aligned.
	maxTable = 1 << 24
	// How many lags are tried: the shortest, and those with the best runs.
	mostShortest = 12
	mostLongest  = 4
	// Enough is the share of the best alignment's score that a shorter unit needs, and of its lag
	// that a run needs to be a candidate.
	Enough = 0.9
)
