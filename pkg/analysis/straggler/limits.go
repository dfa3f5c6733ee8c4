package straggler

// When a rank is late.
const (
	// Persistence is the share of steps, or of all lateness, that a rank has to have to be
	// named, and the share of a step's lateness for it to be late in that step and not only last
	// at some collectives, as one rank always is. Of equal ranks the one that is so most has 57 % of a
	// step's lateness among two and 36 % among four, of those of which one is late 98 % (doc.go).
	Persistence = 0.8
	// quiet is the share of steps without such a rank for there to be none: halfway.
	quiet = 0.5
	// kept is the correlation of lateness with that of the step before above which ranks are not late
	// in turn but stay behind: halfway. In simulated host-bound runs in which no rank is slower it
	// is 0.84 to 0.97.
	kept = 0.5
)

// Statistics.
const (
	// unlikely is how rarely a rank may be named by chance where all are equal.
	unlikely = 1e-3
	// What a rank's share of all lateness needs to be no chance: so many equally late steps
	// that the lateness is worth, and so many standard deviations from an equal share.
	minWorth   = 8
	deviations = 3.5
)

// What is compared at least.
const (
	minSteps      = 8
	minMatched    = 16
	minAllreduces = 16 // for the clock error: they are enough
)

// Shares of the lateness: what an operation explains at least to be called a cause of it,
// and what one side explains at least to be called the one.
const (
	enoughExcess = 0.1
	mostExcess   = 0.5
)

// maxSpreads is how many distances between ends are kept.
const maxSpreads = 1 << 16
