package round

// Limits of the verdicts and the stopping rules.
const (
	// SingleRun is the least change of throughput between single runs that counts.
	// Reason: starts of one engine differ by as much.
	SingleRun = 0.02
	// ProfileNoise is the least change of profiled time that counts. Reason: two
	// profiles of the same code differ by as much.
	ProfileNoise = 0.01
	// MinGain: two rounds in a row that gain less are a reason to stop. Source: the
	// method.
	MinGain = 0.05
	// DefaultMax is the number of rounds after the baseline. Source: the method.
	DefaultMax = 3
)

// What a round lists. Reason: a reader's patience.
const (
	maxChanges   = 10   // functions, and lines
	minChange    = 0.01 // as a share of the largest change: smaller ones are left out
	maxRemaining = 5    // remaining hotspots
)
