package sequence

// Scores of an alignment. Only their proportions matter: an element that is missing or
// extra costs as much as an equal one brings, or a little more, so that a stretch goes on
// across single differences and ends where half of it differs.
const (
	ScoreEqual   = 4
	scoreMissing = -4
	scoreExtra   = -5
	scoreOther   = -6
)

const (
	// maxMissing is how many elements in a row may be missing from a repetition.
	maxMissing = 4
	// maxTable bounds the work of one alignment, in cells: of longer sequences only the
	// first part is aligned.
	maxTable = 1 << 24
	// minRun is how long a run has to be to be a candidate, in tenths of its lag.
	minRun = 8
	// How many lags are tried: the shortest, and those with the best runs.
	shortest = 12
	longest  = 4
	// Enough is the share of the best alignment's score that a shorter unit needs.
	Enough = 0.9
)
