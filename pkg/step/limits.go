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
	// maxApart is by how much two independent counts of steps may differ, as a share.
	maxApart = 0.05
	// unlike is how many times as long as those of another the steps of a rank are that are of
	// another kind.
	unlike = 1.25
)

// Of the search for a period.
const (
	// minRepetitions is how often what is taken for a period, or for evidence, recurs.
	minRepetitions = 3
	// minCover is the share that is as good as all: of what runs that a period covers, of its
	// repetitions that have evidence once. A tenth that is otherwise is told (SPEC 3).
	minCover = 0.9
	// maxStray is the share of steps that may be wrong without being told, and of the places of
	// what begins steps that lie inside them: recordings lose rows.
	maxStray = 0.02
	// maxLag is the longest period, in collectives or replays without what repeats inside it, and
	// bounds the work of the search.
	maxLag = 64
	// minForward is how many kernels a forward pass has at least, without elementwise ones: a
	// sampler or the preparation of inputs has fewer.
	minForward = 16
	// triedOut is how many more kernels outside of a forward pass than nine in ten steps launch are
	// tried out: PyTorch's autotuner runs each of some dozen candidates for 100 ms (its source).
	triedOut = 300
	// someLost and lostShare, 1 %, are how many replays may be missing beside those recorded (SPEC 6).
	someLost  = 2
	lostShare = 0.01
	// maxScheduled is how many steps engines keep on the GPU while the host prepares more.
	maxScheduled = 3
)

// Of memory and time.
const (
	// Rows that are held back to learn from, before the first try and at most, and by how much more
	// of them a try at the end of a segment takes than the one before.
	minHeld = 1 << 14
	maxHeld = 1 << 18
	growth  = 1.25
	// minGroups is how many steps must have been seen to decide before the end of the rows.
	minGroups = 24
	// maxMarkers is how many marker ranges of a rank are remembered at least, an eighth more at
	// most. A launch waits in a queue of some thousand at most, so the range that it was made in is
	// among them.
	maxMarkers = 1 << 14
	// maxHostEvents is how many waits and copies are: more than fit into the queue of a GPU.
	maxHostEvents = 1 << 12
	// maxReplays is how many graph replays may begin between the first and the last GPU row of
	// one.
	maxReplays = 8
)

// mostOf says whether a part is half of the whole or more.
func mostOf[T int | int32 | int64](part, whole T) bool { return 2*part >= whole }
