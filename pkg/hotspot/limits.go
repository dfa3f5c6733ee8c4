package hotspot

// Limits on what a line's time shows, in us per hit. "The method" is TensorRT-LLM's
// perf-host-optimization, from which the types are taken. Times are line_profiler's,
// which adds 0.1 to 0.3 us per line.
const (
	// viewUs is the least time of the smallest tensor operation: shorter ones are of
	// arrays or strings. Reason: dispatching it takes about that.
	viewUs = 1.0
	// helperUs is the time of a call that does next to nothing. Reason: the method's
	// 0.1 for a call, and what the profiler adds to each line that it traces.
	helperUs = 2.5
	// emptyUs is the time of a comprehension over next to nothing. Reason: a call, and
	// the list.
	emptyUs = 3.0
	// realUs is the time of a line that would also be needed without Python's loop.
	// Source: the method calls 1 to 10 us of logic COMPUTE.
	realUs = 5.0
	// cheapUs is the most that a look-up, an enumeration member or a call into C++
	// takes. Source: the method's 1.5 to 2 for an enumeration, with what the profiler
	// adds to a call.
	cheapUs = 8.0
	// plainCallUs is the most that a call takes that only queries. Reason: longer ones
	// do something.
	plainCallUs = 20.0
	// plainUs is the time of an iteration whose body does real work. Source: the
	// method's "body a few us", ten times.
	plainUs = 50.0
)

// Limits on counts.
const (
	manyItems    = 100     // iterations from which a Python loop is PYLOOP. Source: the method's "over 100 items"
	someItems    = 8       // the same with medium confidence. Reason: the smallest batch that is served
	oftenPerStep = 8       // runs per step from which a line is repeated. Reason: as for someItems
	chainLines   = 3       // small tensor operations in a row that one could replace. Source: the method
	manyHits     = 100_000 // hits from which a line is repeated if steps are unknown. Reason: no profile has that many
	perLayer     = 2.5     // most hits per layer of what runs once or twice in it. Reason: attention and feed-forward
	rarely       = 0.1     // share of cases below which a result is rarely used. Source: the method's DEAD_WORK
)

// Limits on what is shown. Reason: a reader's patience.
const (
	leastShare = 0.001 // of the profiled time: least share of a hotspot
	thin       = 100   // hotspots shown if none has that share
	detailed   = 5     // hotspots shown with options; COMPUTE has none
	maxOptions = 4     // options per hotspot
)

// Limits on what is read. Reason: bounded time and memory for any input.
const (
	maxBodies   = 1000      // functions that are parsed, the longest ones; an engine's profile has dozens
	maxNested   = 100       // nested blocks, as in Python
	maxTokens   = 4000      // of a statement; longer ones are data
	maxDepth    = 60        // of brackets; deeper ones count as operators
	maxFollow   = 6         // assignments followed from a name to its value
	maxEvidence = 256 << 20 // bytes of evidence
)

// Limits on attributing time and on proposing what to profile.
const (
	// hidden is the share of a function's time above which a line hides where it goes.
	// Source: the method's drill-down.
	hidden = 0.8

	// callerSlack is the largest ratio of a callee's time per entry to the line that
	// calls it. Reason: both are measured, and the callee's time includes what the
	// profiler adds to its lines.
	callerSlack = 1.5

	// resolution, 0.05 us: less exposed time per step than that is below a trace's
	// resolution.
	resolution = 0.05

	// leastDrilled is the least share of the profiled time of a function whose lines
	// are examined for hidden time. Reason: a reader's patience.
	leastDrilled = 0.01

	// timeSlack is the share of a time by which a callee may exceed the line that calls
	// it: both are printed numbers, and a share of a total is accurate to 0.05 %. Unit:
	// share. Source: line_profiler's text output, 2.0 to 5.0.
	timeSlack = 0.02

	// leastCallee is the least share of a line's time that a function must have taken
	// to be its callee if the line has no source: hits alone may agree by chance. Unit:
	// share. Reason: what explains less than half of a line does not say where its time
	// goes.
	leastCallee = 0.5

	// opaqueShare is the share of the profiled time above which a line with an
	// unprofiled call is to be profiled next, and rounds go on. Unit: share. Source:
	// the method's rule to stop, under 5 % in each of the last two rounds.
	opaqueShare = 0.05
)
