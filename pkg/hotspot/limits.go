package hotspot

// Limits of what a line's time says, in us per hit. "The method" is TensorRT-LLM's
// perf-host-optimization, which the types are from. Times are those of line_profiler, which adds
// 0.1 to 0.3 us to each line.
const (
	// viewUs is what the smallest tensor operation takes at least: shorter ones are of arrays or
	// strings. Reason: dispatching it takes about that.
	viewUs = 1.0
	// helperUs is what a call takes that does next to nothing.
	// Reason: the method's 0.1 for a call, and what the profiler adds to each line that it traces.
	helperUs = 2.5
	// emptyUs is what a comprehension over next to nothing takes. Reason: a call, and the list.
	emptyUs = 3.0
	// realUs is what a line takes that a loop without Python would have to do, too.
	// Source: the method calls 1 to 10 us of logic COMPUTE.
	realUs = 5.0
	// cheapUs is what a look-up, a member of an enumeration or a crossing into C++ takes at most.
	// Source: the method's 1.5 to 2 for an enumeration, with what the profiler adds to a call.
	cheapUs = 8.0
	// plainCallUs is what a call takes that may only ask. Reason: longer ones do something.
	plainCallUs = 20.0
	// plainUs is what an iteration takes in which the body does real work.
	// Source: the method's "body a few us", ten times.
	plainUs = 50.0
)

// Limits of counts.
const (
	manyItems    = 100     // iterations that make a loop in Python one. Source: the method's "over 100 items"
	someItems    = 8       // the same with medium confidence. Reason: the least batch that is served
	oftenPerStep = 8       // times that a line runs per step to be repeated. Reason: the same
	chainLines   = 3       // small tensor operations in a row that one would do. Source: the method
	manyHits     = 100_000 // hits by which a line is repeated where nobody knows the steps. Reason: no profile has so many
	perLayer     = 2.5     // hits a layer of what runs once or twice in it. Reason: attention and feed-forward
	rarely       = 0.1     // share of cases in which a result is used, to be rarely used. Source: the method's DEAD_WORK
)

// Limits of what is shown. Reason: a reader's patience.
const (
	leastShare = 0.001 // of the profiled time, from which a line is a hotspot
	thin       = 100   // hotspots where none has that
	detailed   = 5     // hotspots with their options; COMPUTE has none
	maxOptions = 4     // things to do about one
)

// Limits of what is read. Reason: time and memory stay bounded whatever the input is.
const (
	maxBodies   = 1000      // functions that are looked into, those that took longest; an engine's profile has dozens
	maxNested   = 100       // blocks in each other, as Python has it
	maxTokens   = 4000      // of a statement; longer ones are data
	maxDepth    = 60        // of brackets that are followed; deeper ones count as operators
	maxFollow   = 6         // assignments from a name to what it holds
	maxEvidence = 256 << 20 // bytes of evidence
)

// Limits of how time is attributed and what is proposed to profile.
const (
	// hidden is the share of its function's time above which a line hides where it goes.
	// Source: the method's drill-down.
	hidden = 0.8

	// callerSlack is how many times as long as the line that calls it a callee may take per entry.
	// Reason: both are measured, and the callee's time holds what the profiler adds to its lines.
	callerSlack = 1.5

	// resolution, 0.05 us: exposed time a step that is less than a trace resolves.
	resolution = 0.05

	// leastDrilled is the share of the profiled time from which a function's lines are looked
	// into for where its time goes. Reason: a reader's patience.
	leastDrilled = 0.01

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
