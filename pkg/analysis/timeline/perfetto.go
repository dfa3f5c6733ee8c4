// WritePerfetto writes the kept steps of a run as JSON for chrome://tracing, which
// ui.perfetto.dev, Speedscope and others open.
//
// # Tracks
//
// A rank is a process, a group of tracks. From the top these are:
//
//	steps               the steps that are shown, with their idle time and phase
//	GPU 0 waits for     the idle time of each GPU, by cause; with site, path of ranges
//	                    and why the thread was stalled, as far as known
//	GPU 0, stream 7     kernels, graph replays, copies
//	thread 4000         ranges, CUDA calls and OS calls
//	thread 4000, CPU    when the thread ran, if that was recorded
//	profiler            overhead of the profiler without a thread
//
// An arrow goes from each launch call to the first row that it launched. What overlaps
// on a track without nesting, such as concurrent kernels of a stream, goes to a second
// track of the same name, and so on.
//
// Times are those of the stream in ns, shifted by a constant if some are below 0. The
// same steps give the same bytes. Names come from the trace, as valid UTF-8 of at most
// 1,024 bytes. Only names and numbers of rows are written.

package timeline
