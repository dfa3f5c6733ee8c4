package round

// The limits of the verdicts, and of the stopping rules.
const (
	// SingleRun is the change of throughput between single runs below which nothing is said.
	// Reason: starts of one engine differ by as much.
	SingleRun = 0.02
	// ProfileNoise is the change of profile time below which nothing is said: times of two
	// profiles of the same code differ by as much.
	ProfileNoise = 0.01
	// MinGain: a round that gains less, twice in a row, is a reason to stop. Source: the method.
	MinGain = 0.05
	// DefaultMax is how many rounds there are after the baseline. Source: the method.
	DefaultMax = 3
)

// What a round lists. Reason: a reader's patience.
const (
	maxChanges   = 10   // functions and lines
	minChange    = 0.01 // of the largest change: smaller ones are left out
	maxRemaining = 5    // hotspots that remain
)
