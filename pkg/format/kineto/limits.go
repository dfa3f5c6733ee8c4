package kineto

// Limits for recognising a shared clock, and a shared process.
const (
	// minMatched is the least number of collectives by which clocks are compared.
	// Reason: of fewer, nine in ten is not defined.
	minMatched = 4
	// sameClock, 50 us, is the difference up to which clocks count as the same: more
	// than the ends of a collective differ by on one host.
	sameClock = 50_000
	// sureApart: clocks are corrected if they differ by more than sureApart times the
	// spread of nine in ten differences. Reason: the median of widely spread values is
	// no offset.
	sureApart = 4
	// mergedCalls: a document is of several processes if more than 1/mergedCalls of the
	// calls belong to others. Reason: helpers of an engine make a few.
	mergedCalls = 10
)
