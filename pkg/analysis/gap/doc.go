// Package gap says where the idle time of a run's GPUs goes: what each nanosecond of it
// waits for, which gaps lie between kernels, how much of the work comes from CUDA graphs,
// what the layers of the model are and where in them time is lost, and which rank the
// others wait for.
//
// # Windows
//
// A GPU is a pair of rank and device with activity: kernels and whole-graph replays, and
// with Options.BusyAll also copies and memsets. Rows without a length are not activity.
// All figures cover the benchmark window of each rank or, with WindowTrace and for
// streams without steps, the time from the rank's first GPU activity to its last. Figures
// of phases and of single steps always cover the periods of the benchmark segment's
// steps, and per-step figures are divided by the number of these steps. All steps of a
// rank count if it has no benchmark segment, or if the stream holds nothing of its window
// (because rows were selected). Time that was not recorded is in no window, period or
// gap.
//
// # Idle causes
//
// Package idle splits the idle time of a GPU by cause and by site, without remainder. A
// gap across the boundary of two steps is split by time. A gap that begins in a window
// and ends after it counts as tail up to the end of the window.
//
// # Waits in collectives
//
// A GPU that waits in a collective for a late rank is busy. Package collective measures
// how long it waits and what the late rank was idle for meanwhile. Over the same steps,
// the sum is that of collective_wait_ratio (package metric). It is null where whole-graph
// rows hide collectives, and for ranks with several GPUs.
//
// # Gaps
//
// A gap is the time between two consecutive activities of one stream of a GPU, in the
// order of start, then end, if that time is positive. It counts if the first activity
// ends at or after the beginning of the window and the second starts at or before its
// end. Other streams may run during a gap. For the longest gaps the report therefore says
// how long the whole GPU was idle, and what the thread that launched the next kernel was
// doing in the GPU's last idle stretch before it.
//
// # Graph coverage
//
// Coverage is the share of the kernels starting in the window that have a graph node.
// Graph launches and recorded replays (whole-graph rows, or correlations with graph
// nodes) are counted where their first row starts. The recording is partial if launches
// outnumber replays by more than two and by more than one percent: what looks idle may
// then be work that was lost. Kernels that should be captured are gemm, norm, allreduce,
// activation, rope and quant. A kernel's range is the innermost one around its launching
// call.
//
// Package layer finds the layer, package straggler the straggler. To see what the
// straggler spends more time on than the others, their own kernels are compared by class,
// the host time of launching threads by operation (package replay), and idle time by
// cause. Waiting for the GPU is left out: the ranks that wait for the straggler do more
// of it. If the straggler's own kernels explain at least half of its lateness, its GPU is
// slow: a host operation then is a cause only to the extent that it leaves that GPU idle.
//
// # Meanwhile, and placement
//
// While launching threads are blocked on others (blocked:wait, blocked:io, blocked:join),
// the report names threads on the same machine that spend a larger share of that time on
// a CPU than they do of the window: at most three, with a share of at least 5 % and at
// least 1.5 times their share of the window. That does not prove that they were waited
// for. They may belong to another process, to another rank or to none, such as an engine
// core that schedules for its workers (company.go).
//
// For each launching thread, changes of its CPU in the window are counted. If the
// recording says which socket and NUMA node each CPU belongs to, and which node the GPU,
// then changes between sockets and time away from the GPU's node are counted, too. What
// is not known is null.
//
// # Stacks and samples
//
// Idle time is divided into strata by what is known of it exactly (rank, phase, cause,
// why, path). Time that a stratum's thread spent in a call with a recorded stack belongs
// to that stack. The remaining time on a CPU is divided, to the ns, among the stacks of
// that thread's samples, in proportion to their numbers. Samples of Python functions,
// which are taken whether or not a thread runs, take precedence over those of the CPU,
// and samples with callers over those without. The number of samples never determines how
// long anything took: the sampling rate differs by up to a factor of forty from one
// situation to another. Lines of Python ([PythonLine]) divide the time of a cause and
// range by samples of Python functions, whatever the why: the profiler stops a thread to
// take one.
//
// The shares of function families (package cudaname) over several strata are weighted by
// the time of each stratum. Their intervals ([stat.Shares]) describe this window only,
// and there is none below 30 independent samples.
//
// # Findings
//
// Package findings knows what to do about idle time; this package only gathers the facts
// that its catalogue asks for (facts.go, factsteps.go). The gain of a finding is what
// package replay predicts for the same rows, or for a sample of them in a large run, when
// the finding's sites are treated: it is a row of whatif's table, a mean over the same
// steps. A run with one whole step cannot tell what a change would bring.
//
// # Why one pass is enough
//
// Package step cuts time into slices and assigns each to a step or gap; package idle adds
// up idle time by slice. Everything else goes into a bin for the scope of its slice,
// which is the phase of a segment. Only at the end, when the window rows have come, is it
// known which scopes count.
//
// Launches wait in a ring for the kernels that they caused. A few steps are kept with all
// their kernels, to look for the layer. Whatever grows with the trace is rows in a store
// (package spill): what each step did, the times of every collective if there are ranks
// to compare, and the samples of package idle. Memory holds only the steps themselves
// (package step) and their slices, about 150 bytes each.
package gap
