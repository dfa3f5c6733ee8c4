// Package compare finds what costs more per step in one run than in another, and
// whether that is real; of one run alone it tells what a step consists of.
//
// [Profile] (or a [Profiler], where the pass over the stream serves others, too)
// turns the events of a run, with steps and phases, into per-step samples.
// [Compare] puts two such runs next to each other. [Comparison] is the answer: as
// JSON, as a document ([Comparison.Document]), as a table of rows
// ([Comparison.Table]), and as an exit status ([Comparison.Check]).
//
// # What is compared
//
// Steady steps: those of the benchmark segment of each rank without context
// requests and with the largest number of generation requests; all of its steps
// where the numbers are not known. Package step tells them, and what row belongs to
// what step. A step whose period is not whole (the last of a segment ends with it)
// is left out, unless there is nothing else. Other phases can be chosen, and with MatchBatch
// steps of equal numbers of requests are compared with one another: each batch has
// the weight of its steps on both sides together. All figures are means over
// rank-steps.
//
//	wall       the period of a step: from its start to that of the next one in its
//	           segment
//	busy       the activity of the rank's GPUs inside the period, summed over
//	           GPUs; idle is the rest of GPUs x wall
//	duration   the extent of the step: from the start of its first to the end of
//	           its last kernel, or the marker range or graph launch that it is
//	gap        period - extent, where that is positive: mean, P50, P90
//	idle_inter_step
//	           idle time that ends with the first activity of a step, as package
//	           idle has it, the same whichever way steps are found; idle_in_step is
//	           the rest
//	gpu        full durations of kernels and whole-graph rows that start in the
//	           period; also by name and by class
//
// An operation is the NVTX ranges of one name, digits folded, of all threads of a
// rank's process; forward-step markers and ranges of the interpreter lock are left
// out. A range belongs as a whole to the step in whose period it starts.
//
//	inclusive  its full duration
//	self       less the union of the ranges nested in it on the same thread: those
//	           that start no earlier and end no later, and come after it in the
//	           stream. Markers and lock ranges are looked through, so that self
//	           times add up to the time covered by any range.
//	exposed    the part during which GPUs of the rank were idle, on average over
//	           its GPUs. Only that can be won back: it is the ceiling on the gain
//	           if the operation went to zero.
//
// Idle time goes by cause and site, as package idle has it: the rows of all causes
// and sites add up to the idle time, each with its parts within and between steps.
//
// Where it is asked for, idle time also goes by cause and why the launching thread did not
// go on, as idle (hoststate.go) has it, and while it waits for the interpreter lock by what
// its holder does. These rows add up to the same, and have a share of the false alarms of
// their own. A change of them is believed only where both sides have a record of when
// threads were on a CPU, or neither has, and of calls of the system likewise.
//
// API calls count with their full durations in the step in which they start.
//
// # What is believed
//
// Each row is a sequence of samples, one per step. Package stat estimates how
// uncertain its mean is, with the correlation of neighbouring steps; the interval
// of a difference holds the truth in 95 of 100 cases. Ranks run in step, so what
// they do in the same step is put together first: two ranks are not twice as many
// independent samples. Above 1024 steps neighbours are put together, too.
//
// Among all rows together the probability of a false alarm is at most alpha (5 %).
// Sections and the wall time have fixed shares of it (evidence.go), which Holm's
// method with weights divides among their rows and passes on when a row has used
// its own. The tail of the wall time, P99 and maximum, has a share to itself, and
// what happens in few steps is asked only where the tail changed, with that share.
// With the control "discovery" it is instead the expected share of false alarms
// among the rows that are flagged (Benjamini and Hochberg): this finds more where
// much has changed. Only a row with evidence has a status: NEW, REMOVED, REGRESSION
// (more than +50 %), IMPROVED (less than -30 %), or none where the change is smaller.
//
// Where nothing can be told a row says why and has no status: neighbouring steps
// are so similar that all are worth fewer than five independent ones, of the tail eight
// (below 100 steps no row counts as worth more than half of the operations' time is: one
// row alone shows too little), and the change is not both large enough for a status and
// far above any change of level inside either run, or in every step more than three times
// what any step of the other run takes (stat.Beyond); or a run has fewer than 12 steps, or one side more than ten
// times as many as the other, and the change is not large enough to have a status. So
// it is where the wall time was for a while, in one run, where it is in the other
// (levels that last many steps), and below 100 steps where all operations change by
// the same factor and that is far beyond the noise of a step, or neighbouring steps
// are similar, or slow changes within the runs are enough to explain it: then it may
// be the machine. Rows without evidence say the same where their interval excludes 0 and
// the runs have such levels or differ by such a factor; not where steps are only similar: that
// is in the width of intervals, and were those withdrawn that exclude 0, what is left
// would hold the truth too often. Several runs a side lift all but the first.
//
// Quantiles near the end of their samples have no bound there. How the largest wall
// times differ is told by counting: how many steps of one run are above the longest
// of the other, and whose the largest of both are. Where steps resemble those before
// them, or are too few to show it, slow ones close together are one.
//
// An operation is rare where it comes in fewer than a tenth of the steps, or has
// over half of its time in fewer than a tenth of them. Its events are counted and
// dealt out by chance, their durations compared by rank.
//
// The noise floor of a row is how far apart halves of the same run are by chance,
// measured by dealing eight blocks of steps out to two halves in all ways; of
// several runs it is how far apart two of them are.
//
// Sides that cannot be compared (other ranks, other workload, markers or ranges on
// one side only, other methods of isolation or of recording graphs, steps that are
// not the iterations that forward-step markers show, fewer than five steps) are said
// to be so: their rows have deltas and nothing more, and the conclusion is
// not_comparable.
//
// A side may be several runs of one version, put together by [Join]. What differs
// between two starts of one engine is beyond what one run a side can tell: it is in
// the intervals only where both sides have several, and the answer says which.
//
// # Conclusion
//
// Host overhead where the idle time grew beyond the noise and more than the busy
// time did: between the steps where the idle time between them grew more than that
// within, else inside them. GPU execution where the busy time grew more. Where only
// their sum, the wall time, grew beyond the noise, the larger part decides; so it does
// where the median of the wall time did, and its mean may have, which few slow steps leave
// uncertain. None where nothing did. What to do about it follows from patterns in the rows
// (conclude.go) and from the table of ranges, their functions and topics
// (sources.json).
//
// # Cost
//
// Rows of a rank come in the order of their start. So a GPU's busy time before t
// is known when the first row at or after t comes, and a range's exposed time is
// the difference of two such readings; a heap of the open ranges says when. The
// nested ranges of one are a union that grows at its end. The samples
// are rows in a store (package spill), 4 to 8 bytes for each name in each step, which are
// read name by name. In memory are 110 bytes for each step, and the ranges that are open.
package compare
