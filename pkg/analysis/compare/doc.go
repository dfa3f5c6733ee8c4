// Package compare finds what costs more per step in one run than in another, and whether that is
// real. For one run alone it says what a step consists of.
//
// [Profile] turns the events of a run, with steps and phases, into per-step samples. [Compare] puts
// two such runs next to each other. [Comparison] is the answer: as JSON, as a document
// ([Comparison.Document]), as a table of rows ([Comparison.Table]), and as an exit status
// ([Comparison.Check]).
//
// # What is compared
//
// Steady steps: of each rank's benchmark segment, those without context requests and with the
// largest number of generation requests, or all of its steps if the numbers are not known. Package
// step identifies them, and decides which row belongs to which step. A step whose period is not
// whole (the last of a segment ends with it) is left out, unless there is nothing else. Other
// phases can be selected. With MatchBatch, steps with equal numbers of requests are compared with
// one another, as many of each on both sides; differences between batch sizes then do not count as
// noise. All figures are means over rank-steps.
//
//	wall       the period of a step: from its start to that of the next one in its
//	           segment
//	busy       the activity of the rank's GPUs inside the period, summed over
//	           GPUs; idle is the rest of GPUs x wall
//	duration   the extent of the step: from the start of its first to the end of
//	           its last kernel, or the marker range or graph launch that it is
//	gap        period - extent, where that is positive: mean, P50, P90
//	idle_inter_step
//	           idle time that ends with the first activity of a step, as defined by
//	           package idle, however steps were found; idle_in_step is the rest
//	gpu        full durations of kernels and whole-graph rows that start in the
//	           period; also by name and by class
//
// An operation is the NVTX ranges of one name, digits folded, of all threads of a rank's process,
// without forward-step markers and ranges of the interpreter lock. A range belongs as a whole to
// the step in whose period it starts.
//
//	inclusive  its full duration
//	self       its duration less the union of the ranges nested in it on the same
//	           thread: those that start no earlier and end no later, and come after
//	           it in the stream. Markers and lock ranges are transparent, so that
//	           self times add up to the time covered by any range.
//	exposed    the part during which GPUs of the rank were idle, on average over
//	           its GPUs. Only that can be won back: it is the ceiling on the gain
//	           if the operation went to zero.
//
// Idle time is divided by cause and site (package idle): the rows of all causes and sites add up to
// the idle time, each with its parts within and between steps.
//
// On request, idle time is also divided by cause and why the launching thread was stalled
// (hoststate.go of package idle), and while it waits for the interpreter lock, by what the lock's
// holder does. A change of these is believed only if both sides recorded when threads were on a
// CPU, or neither did, and the same for OS calls.
//
// API calls count with their full durations in the step in which they start.
//
// # Four parts
//
// Files are named after them.
//
// Measure: a profile becomes samples, one per step for each row. Ranks run in step, so what they do
// in the same step is combined first: two ranks are not twice as many independent samples. Above
// 1024 steps, neighbours are combined, too.
//
// Evidence: package stat has one estimator for each design, with its sources and its cost where its
// assumptions do not hold. One run per side: the long-run variance and Student's t. Several:
// Welch's t over the runs. Several against one: a prediction interval. Quantiles: order statistics
// at the effective number of steps. P99, maximum and events in few steps: Fisher's test. False
// alarms are controlled once, over all rows (Benjamini and Hochberg, 5 %). Only a row with evidence
// has a status: NEW, REMOVED, REGRESSION (more than +50 %), IMPROVED (less than -30 %), or none if
// the change is smaller.
//
// Operations are tested beside the factor that all host work of a step shares. It may be due to the
// machine, and is the row "all host work". The test takes the logarithm of an operation's time in a
// step, nested ranges included as in its other figures, less the median of the other operations.
// (Less the median of all, the one in the middle would not vary: of two runs it was flagged by
// chance.) Operations that do not occur in nearly all steps are tested on their plain time, and so
// are all of them if fewer than five do.
//
// A row is not testable, and says why, only because of its own steps: fewer than 12, or worth fewer
// than five independent ones, or a quantile without a bound on either side. It keeps its figures,
// and three runs per side settle it. No row takes back what another one has.
//
// Sides may not be comparable: other ranks, another workload, markers or ranges on one side only,
// steps isolated or graphs recorded in another way, steps that are not the iterations that
// forward-step markers show, fewer than five steps. Then the conclusion is not_comparable, and rows
// have deltas and nothing more. Another model, or another build of it, is reported first and
// compared all the same.
//
// Conclude: the mean of the step decides, or its median if only that has evidence. If a step
// changed by more than 1 %, the time of its GPUs is divided into work, idle time, and waits in
// collectives (package collective), which together with work make busy time. The sides are compared
// by the interval of their difference. The host's side is idle time and waits with a host cause;
// the GPUs' side is work, waits for a rank with more of it, and waits for what the stage before in a
// pipeline works on. The conclusion is
//
//   - host overhead if the host's side changed more: between steps if the idle time between them
//     changed more than the idle time and the waits within them, else inside steps;
//   - imbalance if the GPUs' side changed more and much of that is waits, else GPU execution;
//   - unclear if neither can be told to have changed more, or if other idle time changed most;
//   - none if the step did not change.
//
// It names the causes, or classes of kernels, that changed most in the same direction, until they
// explain half of the change. What to do comes from tables of ranges, their functions and topics,
// and of causes (package findings), for what is named. Idle time in a range is host time: whether
// the thread worked or was off the CPU is known only with why.
//
// Document: sentences are made from rows, by tables of what is said when, so that no sentence says
// what its table does not. The script accuracy reads them all and counts.
//
// # Cost
//
// Rows of a rank come in the order of their start. So a GPU's busy time before t is known when the
// first row at or after t comes, and a range's exposed time is the difference of two such readings.
// Open ranges are kept by their ends; the ranges nested in one are a union that grows at its end.
// Samples are rows in a store (package spill), 4 to 8 bytes for each name in each step, and are
// read name by name. Memory holds 200 bytes for each step, and the open ranges.
package compare
