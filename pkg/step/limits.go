package step

// Source: SPEC 3.
const (
	// DefaultGap, ns, ends an allreduce step outside markers, DefaultSegmentGap, ns, a
	// segment.
	DefaultGap        = 1_000_000
	DefaultSegmentGap = 100_000_000
	// MergeMarkers, ns: a marker range with the same number that starts at most this
	// long after the first one is part of the same marker.
	MergeMarkers = 100_000
	// MinSteps is the least number of steps of a benchmark segment: of fewer, nothing
	// can be called usual.
	MinSteps = 5
)

// Limits on what a step ran.
const (
	// MinForward is the least number of kernels in a forward pass, without elementwise
	// ones: a sampler or the preparation of inputs has fewer.
	MinForward = 16
	// triedOut: this many more kernels outside a forward pass than nine in ten steps
	// launch are an autotuner at work. PyTorch's runs each of some dozen candidates for
	// 100 ms (its source).
	triedOut = 300
	// someLost and lostShare, 1 %, are how many replays may be missing, beside those
	// recorded (SPEC 6).
	someLost  = 2
	lostShare = 0.01
)

// Limits on waits.
const (
	// minSpell, ns, is the least length of a wait that counts; waits that are less apart
	// are one.
	minSpell = 20_000
	// maxSpells is how many waits of a thread are kept.
	maxSpells = 1 << 15
)

// Limits on periods.
const (
	// maxMissing is how many consecutive elements may be missing from a repetition.
	maxMissing = 4
	// maxTable bounds the work of one alignment, in table entries: only the first part
	// of a longer sequence is aligned.
	maxTable = 1 << 24
	// How many lags are tried: the shortest ones, and of the others those with the best
	// runs.
	mostShortest = 12
	mostLongest  = 4
	// Enough is the share that counts as all. A shorter unit needs this share of the
	// best alignment's score, and a candidate run this share of its lag. It is also the
	// share of waits that end after another's, and of what runs that a period covers.
	// And it is the share of a period's repetitions in which evidence occurs once. If a
	// tenth differs, a warning says so (SPEC 3).
	Enough = 0.9
)
