package kineto

// Limits of what is taken for one clock, and one process.
const (
	// minMatched is the number of collectives below which nothing is said of clocks: a median of
	// fewer says nothing of nine in ten.
	minMatched = 4
	// sameClock, 50 us, is the difference up to which clocks are taken for one: more than the ends
	// of one collective differ by on one host.
	sameClock = 50_000
	// sureApart is how many times as far apart clocks are as nine in ten of the differences
	// spread, so that they are corrected. Reason: a median of what spreads is no offset.
	sureApart = 4
	// mergedCalls: more than one call in so many is of another process in a document of several.
	// Reason: helpers of an engine make a few.
	mergedCalls = 10
)
