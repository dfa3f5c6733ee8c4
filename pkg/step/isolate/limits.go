package isolate

// Of what is odd about steps.
const (
	// unlike is how many times as long as those of another the steps of a rank are that are of
	// another kind.
	unlike = 1.25
)

// Of the search for a period.
const (
	// minRepetitions is how often what is taken for a period, or for evidence, recurs.
	minRepetitions = 3
	// maxStray is the share of steps that may be wrong without being told, by which two independent
	// counts of them may differ (SPEC 3 warns from 5 % on), and of the places of
	// what begins steps that lie inside them: recordings lose rows.
	maxStray = 0.02
	// maxLag is the longest period, in collectives or replays before which there is evidence, and
	// bounds the work of the search.
	maxLag = 64
	// maxScheduled is how many steps engines keep on the GPU while the host prepares more.
	maxScheduled = 3
)

// Of memory and time.
const (
	// Rows that are held back to learn from, before the first try and at most.
	minHeld = 1 << 14
	maxHeld = 1 << 18
	// minGroups is how many steps must have been seen to decide before the end of the rows.
	minGroups = 24
	// maxQueued is how many marker ranges of a rank are remembered, and how many waits and copies. A
	// launch waits in a queue of some thousand at most, so the range that it was made in is among them.
	maxQueued = 1 << 14
	// maxReplays is how many graph replays may begin between the first and the last GPU row of
	// one.
	maxReplays = 8
)
