package straggler

// When a rank is late.
const (
	// Persistence is the share of steps, or of all lateness, that a rank must exceed to be
	// named. It is also the share of a step's lateness that a rank must exceed to be late in that
	// step: some rank is always last at some collectives. Among equal ranks, the one that is last
	// most often has 57 % of a step's lateness with two ranks, and 36 % with four. If one of them
	// is late, it has 98 % (doc.go).
	Persistence = 0.8
	// quiet is the share of steps without such a rank above which nobody is late: halfway.
	quiet = 0.5
	// kept is the correlation of lateness with that of the step before above which ranks do not
	// take turns but stay behind: halfway. In simulated host-bound runs in which no rank is slower
	// it is 0.84 to 0.97.
	kept = 0.5
)

// Statistics.
const (
	// unlikely is the chance of naming a rank though all are equal.
	unlikely = 1e-3
	// What a rank's share of all lateness needs so as not to be chance: the lateness is worth
	// minWorth equally late steps, and exceeds an equal share by this many standard deviations.
	minWorth   = 8
	deviations = 3.5
)

// The least that must be compared.
const (
	minSteps      = 8
	minMatched    = 16
	minAllreduces = 16 // enough for the clock error without other collectives
)

// Shares of the lateness: the least that an operation must explain to be called a cause, and
// that host or GPU must explain to be named as the side.
const (
	enoughExcess = 0.1
	mostExcess   = 0.5
)

// maxSpreads is how many spreads of ends are kept.
const maxSpreads = 1 << 16
