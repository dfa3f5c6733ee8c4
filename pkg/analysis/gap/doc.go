// Package gap says where the idle time of a run's GPUs goes: what each nanosecond of
// it waits for, which gaps there are between kernels, how much comes out of CUDA
// graphs, what the layers of the model are and where in them time is lost, and which rank
// the others wait for.
//
// # Windows
//
// A GPU is a pair of rank and device with activity: kernels and whole-graph
// replays, with Options.BusyAll copies and memsets, too; rows without a length are
// none. Everything is said of the benchmark window of each rank, or, with WindowTrace
// and for streams without steps, of the time from the rank's first GPU activity to its
// last. Figures of phases and of single steps are those of the periods of the
// benchmark segment's steps in any case, and so is the number of steps that a figure
// per step is divided by. Of a rank without a benchmark segment, or of whose window row
// the stream holds nothing (rows were chosen), all steps count. What was not recorded
// is in no window, no period and no gap.
//
// # Idle causes
//
// Package idle splits the idle time of a GPU without remainder, by cause and by site.
// A gap over the border of steps is split by time. One that begins in a window and
// ends after it is tail inside.
//
// # Waits in collectives
//
// A GPU that waits in a collective for a late rank is busy. How long it waits, and what that rank was
// idle for meanwhile, is package collective's; of the steps that count it is the same as
// collective_wait_ratio of package metric. It is null where whole-graph rows hide collectives, and of
// ranks of several GPUs.
//
// # Gaps
//
// A gap is what is between two consecutive activities of one stream of a GPU, in the
// order of start, then end, where that is positive. It counts where the former ends
// at or after the begin of the window and the latter starts at or before its end.
// While a stream has a gap, others may run: of the longest gaps the report says for how
// long the whole GPU was idle, and what the thread that launched the next kernel did
// in the last idle stretch of the GPU before it.
//
// # Graph coverage
//
// Coverage is the share of the kernels that start in the window which have a graph
// node. Graph launches and recorded replays (whole-graph rows, or correlations with
// graph nodes) are counted by where their first row starts; where launches outnumber
// replays by more than two and by more than a hundredth the recording is partial, and
// what looks idle may be work that was lost. Kernels that should be captured are gemm,
// norm, allreduce, activation, rope and quant. A kernel's range is the innermost one
// around its launching call.
//
// The layer is package layer's, the straggler package straggler's. What the straggler
// spends more on than the others is found by the time of its own kernels by class, by
// the host time of the threads that launch (package replay's), and by the idle
// causes; waiting for the GPU is left out, because those who wait for it do more of that.
// Where its own kernels explain at least half of its lateness, its GPU is slow: then a
// host operation is a cause only as far as it leaves that GPU idle.
//
// # Meanwhile, and placement
//
// While launching threads are blocked until others do something (blocked:wait, blocked:io,
// blocked:join), a thread of the same report that is on a CPU for a larger share of that time than of
// the window is named: three at most, of a share of 5 % and 1.5 times that of the window at least.
// It need not be who is waited for. It may be of another process, a rank or none: an engine core that
// schedules for its workers is one (company.go). Of each launching thread the changes of its CPU in the
// window are counted. Where the recording says which socket and NUMA node each CPU is in, and which node
// the GPU, changes between sockets and time away from the GPU's node are counted, too; what is not
// known is null.
//
// # Stacks and samples
//
// What is known exactly of idle time (rank, phase, cause, why, path) makes strata. The
// time of a stratum in which its thread was inside a call with a recorded stack belongs
// to that stack. The rest, where the thread was on a CPU, is divided among the stacks of
// the samples of that thread in it, by their number, to the ns; samples of Python
// functions, which come whether a thread runs or not, go before those of the CPU, and
// those with callers before those without. Never does the number of samples say how long
// anything took: they come up to forty times as often in one situation as in another.
// Lines of Python ([PythonLine]) divide the time of a cause and range by samples of Python
// functions, whatever the why: the profiler stops a thread to take one.
//
// Shares of families of functions (package cudaname) over several strata are weighted by
// the strata's times, and have intervals ([stat.Shares]) for what was in this window;
// without 30 independent samples there is none.
//
// # Findings
//
// What there is to do is package findings's: here only the facts are gathered that its catalogue
// asks for (facts.go, factsteps.go). What a finding brings is what package replay says of the same
// rows, or in a large run of a sample of them, when its sites are treated: a row of whatif's table,
// the mean over the same steps. Of a run with one whole step nobody knows what a change brings.
//
// # Why one pass is enough
//
// Package step cuts time into slices and says what each belongs to; package idle adds
// up idle time by slice. All else that is measured goes to the bin of its slice's scope, the phase
// of a segment, and only at the end, when the window rows have come, it is said which scopes count.
//
// Launches wait in a ring for the kernels that they caused. Of steps a few are kept
// with all their kernels, to look for the layer. What grows with the trace is
// rows in a store (package spill): what each step did, every collective's times where
// there are ranks to compare, and the samples of package idle. In memory are the step
// itself (package step) and its slices, some 150 bytes.
package gap
