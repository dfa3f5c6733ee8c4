package isolate

// Limits on irregular steps.
const (
	// unlike: steps of a rank that take this many times as long as those of another are
	// of another kind.
	unlike = 1.25
)

// Limits of the search for a period.
const (
	// minRepetitions is how often a period, or evidence for one, must recur.
	minRepetitions = 3
	// maxStray is the share of steps that may be wrong without a warning. Two
	// independent counts of steps may differ by it (SPEC 3 warns from 5 % on). So may
	// the places of a token that begins steps lie inside steps: recordings lose rows.
	maxStray = 0.02
	// maxLag is the longest period, in collectives or replays that have evidence before
	// them. It bounds the work of the search.
	maxLag = 64
	// maxScheduled is how many steps engines keep queued on the GPU while the host
	// prepares more.
	maxScheduled = 3
)

// Limits on memory and time.
const (
	// Rows held back to learn from: before the first try, and at most.
	minHeld = 1 << 14
	maxHeld = 1 << 18
	// minGroups is how many steps must have been seen to decide before the end of the
	// rows.
	minGroups = 24
	// maxQueued is how many marker ranges of a rank are remembered, and how many waits
	// and copies. A launch queue holds a few thousand at most, so the range around a
	// launch is among them.
	maxQueued = 1 << 14
	// maxReplays is how many graph replays may begin between the first and the last GPU
	// row of one.
	maxReplays = 8
)
