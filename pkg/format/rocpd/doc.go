// Package rocpd reads the SQLite databases of AMD's profilers (rocprofv3 and
// rocprof-sys, output format rocpd, *.db) as events.
//
// # What is known, and from where
//
// The tables are those of schema version 3 (3.0.0 to 3.0.5), published in
// github.com/ROCm/rocm-systems, projects/rocprofiler-sdk. Their columns are in
// source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql and versions/3.0.0 (commit 0c5fd9b)
// and versions/3.0.3 (ba070c3), the joins of the views in versions/3.0.3/data_views.sql,
// the history in versions.yml (2bb64a5). What rocprofv3 writes into them is in
// source/lib/output/generateRocpd.cpp (07d5a7f), and what rocprof-sys writes in
// projects/rocprofiler-systems/source/lib/core/trace_cache/rocpd_processor.cpp (01aa1ac)
// and core/categories.hpp. No file that a profiler wrote was at hand.
//
// All tables of a recording have its id as a suffix (rocpd_event_ID); views without it
// join the recordings of a file. A file may hold several recordings, of several
// processes. Other schemas, which have a track or timestamps in place of columns, are
// refused.
//
// # What becomes of a row
//
//	rocpd_kernel_dispatch  kernel: display_name of its symbol, else kernel_name; the runtime's own
//	                       __amd_rocclr_copyBuffer… and __amd_rocclr_fillBuffer… are memcpy and memset
//	rocpd_memory_copy      memcpy: MEMORY_COPY_HOST_TO_DEVICE is "memcpy HtoD"
//	rocpd_region           by the category of its event: api for HIP's (HIP_…_API, rocm_hip_api); nvtx,
//	                       domain roctx, for ranges (MARKER_CORE…, rocm_marker_api, user), whose
//	                       text is the message in the event's extdata, else the region's name
//
// Regions of other categories (HSA, RCCL, instrumented functions) are left out and
// counted: HIP's calls make those of HSA. Allocations, counters and samples are left out,
// too.
//
// The correlation is the event's stack_id, which rocprofiler calls the internal
// correlation id: a GPU row has that of the call which launched it. The column
// correlation_id is something else, the program's own id. A device is the agent's
// type_index, its number among the machine's GPUs; a stream is stream_id, else queue_id.
// A thread is the tid of rocpd_info_thread, a rank a process with kernels. A row of a
// graph replay has as its node graph_node_id (since 3.0.2), else its place among the rows
// of its launch.
//
// Times are ns of one steady clock of the machine: files of one machine (the hash of
// rocpd_info_node) need no alignment, and those of several are not aligned here. Time 0 of a
// report is the whole microsecond in which its first row starts.
//
// # Not known
//
//   - when since 1970 a recording was made: no table says it
//   - which HIP call a kernel belongs to where HSA's calls were traced besides, and the kernel
//     has the id of one of those: it has no launching call then
//   - whether events were lost, and when the program paused the profiler (roctxProfilerPause)
//   - what rocprof-sys samples of host threads: not read yet
//
// Nothing else leaves the file: no command, environment, host or user name, and no
// argument of a call; from extdata only the message of a range.
//
// # How it is read
//
// One statement (sql.go) has SQLite join rows, the calls that launched them and what both
// refer to, and order them; what does not fit into its memory goes to temporary files.
// The rows go to a store (package spill) with a quarter of Options.Memory, as the header
// comes before them. What else grows with a file are its names, at most another quarter.
//
// A million rows take about 9 s this way; as JSON of PyTorch's profiler about 2 s, as an
// nsys export less than one. Joining them here, over the page reader of package sqlite,
// would be faster and take a third more code.
package rocpd
