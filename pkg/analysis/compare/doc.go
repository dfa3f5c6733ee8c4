// Package compare finds what costs more per step in one run than in another, and
// whether that is real; of one run alone it tells what a step consists of.
//
// [Profile] turns the events of a run, with steps and phases, into per-step samples.
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
// steps of equal numbers of requests are compared with one another: as many of each on both
// sides, and what differs from one number to another is no noise. All figures are means over
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
// its holder does. A change of them is believed only where both sides have a record of when
// threads were on a CPU, or neither has, and of calls of the system likewise.
//
// API calls count with their full durations in the step in which they start.
//
// # Four parts
//
// Files are named after them.
//
// Measure: a profile becomes samples, one per step of each row.
// Ranks run in step, so what they do in the same step is put together first: two ranks are not
// twice as many independent samples. Above 1024 steps neighbours are put together, too.
//
// Evidence: package stat has one estimator for each design, with its sources and what it costs
// where its assumptions do not hold. One run a side: the long-run variance and Student's t. Several: Welch's t over the runs; against one: a prediction. Quantiles: order
// statistics at the effective number of steps. P99, maximum and what happens in few
// steps: Fisher's test. One control of false alarms over all rows, Benjamini and Hochberg
// at 5 %. Only a row with evidence has a status: NEW, REMOVED, REGRESSION (more than
// +50 %), IMPROVED (less than -30 %), or none where the change is smaller.
//
// Operations are tested beside the factor that all host work of a step shares, which may be
// the machine's and is the row "all host work": on the logarithm of what they take in a step,
// nested ranges included, as their other figures are, less the median of the others. (Less that of
// all, the one in the middle would not vary, and of two runs it was flagged by chance.) Operations
// that do not come in nearly all steps, and all of them where fewer than five do, are tested on
// their plain time.
//
// A row cannot be told, and says why, by its own steps alone: fewer than 12, or worth fewer than
// five independent ones, or a quantile without a bound on either side. It keeps its
// figures, and three runs a side settle it. No row takes back what another one has.
//
// Sides that cannot be compared (other ranks, other workload, markers or ranges on
// one side only, other methods of isolation or of recording graphs, steps that are
// not the iterations that forward-step markers show, fewer than five steps) are said
// to be so: their rows have deltas and nothing more, and the conclusion is
// not_comparable. Another model, or build of it, is said first, and compared all the same.
//
// Conclude: the step's mean has the word, or its median where that alone has
// evidence. Of a step that changed by more than 1 % the time of the GPUs is work, idle
// time, and waits in collectives (package collective), which make busy time with the
// work. Host overhead is the conclusion where idle time and waits with a host cause changed more
// than work and waits for a rank with more of it did, by the interval of their difference:
// between the steps where the idle time between them changed more than that within and those
// waits, else inside them; imbalance where work did and much of it is such waits; GPU
// execution where work did without; unclear where that cannot be told, or other idle time
// changed most; none where the step did not change. Named are the causes, or classes of
// kernels, that changed most in the same direction, until they explain half of it.
// What to do is said of what is named, by the table of ranges, their functions and
// topics and of causes (package findings). Idle time in a range is host time: whether the thread
// worked or was off the CPU is told where why was asked for.
//
// Document: sentences are made of rows, by tables of what is said when, so that no sentence says what its table does not; the script accuracy
// reads them all and counts.
//
// # Cost
//
// Rows of a rank come in the order of their start. So a GPU's busy time before t
// is known when the first row at or after t comes, and a range's exposed time is
// the difference of two such readings; the open ranges are kept by their ends. The
// nested ranges of one are a union that grows at its end. The samples
// are rows in a store (package spill), 4 to 8 bytes for each name in each step, which are
// read name by name. In memory are 200 bytes for each step, and the ranges that are open.
package compare
