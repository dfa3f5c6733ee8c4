// Perfetto writes steps of a run (package timeline) as the JSON of chrome://tracing, which
// ui.perfetto.dev, Speedscope and others open.
//
// # Tracks
//
// A rank is a group of tracks (a process), with these in it, from the top:
//
//	steps               the steps that are shown, with their idle time and phase
//	GPU 0 waits for     the idle time of each GPU, by cause; with the site, the path of
//	                    ranges and why the thread did not go on, where these are known
//	GPU 0, stream 7     kernels, replays, copies
//	thread 4000         ranges, calls of CUDA and of the system's libraries
//	thread 4000, CPU    when the thread ran, where that was recorded
//	profiler            time that the profiler took on no thread
//
// An arrow goes from each launching call to the first row that it launched. What
// overlaps on a track without being within it, such as kernels of a stream that
// overlap, is in a second track of its name, and so on.
//
// Times are those of the stream in ns, moved up by a constant where some lie below 0.
// The same steps give the same bytes. Names come from the trace, as valid UTF-8 and
// 1,024 bytes at most, and nothing but names and numbers of rows is written.

package timeline
