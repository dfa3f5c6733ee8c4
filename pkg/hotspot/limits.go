package hotspot

// Limits of how time is attributed and what is proposed to profile.
const (
	// timeSlack is the share of a time by which a callee may exceed the line that calls it:
	// both are printed numbers, and a share of a total is right to 0.05 % of that. Unit: share.
	// Source: line_profiler's text output, 2.0 to 5.0.
	timeSlack = 0.02

	// leastCallee is the share of a line's time that a function must have taken to be what
	// it calls where the line has no source: hits alone agree by chance. Unit: share.
	// Reason: what explains less than half of a line does not say where its time is.
	leastCallee = 0.5

	// opaqueShare is the share of the profiled time above which a line that calls what was
	// not profiled is to be profiled next, and the rounds go on. Unit: share.
	// Source: the method's rule to stop, under 5 % in each of the last two rounds.
	opaqueShare = 0.05
)
