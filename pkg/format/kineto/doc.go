// Package kineto reads traces of PyTorch's profiler (Kineto) of any version as
// events: JSON, or that compressed by gzip, in one member or several, told by what
// it is and not by its name. One file is of one process; one with the calls of several,
// as tools merge them, is refused: their launches have the same numbers. Several files of
// one process that do not overlap in time, as a schedule of several cycles writes them,
// are parts of one rank. A byte order mark of UTF-8 is
// left out; UTF-16, and what follows a document or its compressed form, is refused.
//
// # What becomes of an event
//
// Only events with a duration (ph X) are read, by their category, in any case:
//
//	kernel                     kernel; name and class as everywhere, from the demangled name
//	gpu_memcpy, memcpy         memcpy: "memcpy HtoD"
//	gpu_memset, memset         memset
//	cuda_runtime, cuda_driver, runtime    api; HIP's calls have these categories, too, those
//	                           of others their own: xpu_runtime
//	cuda_sync                  sync
//	user_annotation            nvtx, domain torch, with the markers of package marker
//	cpu_op, operator           nvtx, domain aten, class range
//	python_function            nvtx, domain python, with Options.Python; else counted
//	overhead                   overhead
//
// All others are left out: what a GPU annotation says the host's does, and flows say
// what correlations do. Of the arguments device, stream, correlation, bytes and
// graph node id are read. A GPU row's launch is the call with its correlation; what
// a graph launch ran has the node's id, or where the trace has none the number of
// the row within its launch.
//
// Nothing else leaves the file: no host, user, path, trace name or address, and of
// the paths of Python functions only what a package has (pythonName).
//
// # Times
//
// Start and duration are decimal text in microseconds, each rounded to whole ns:
// floating point numbers would lose them. They are relative to
// baseTimeNanoseconds, which comes after the events in some versions, or since
// 1970. Time 0 of a report is the whole microsecond in which its first row starts.
//
// Versions, which no trace names, by their marks: a bare array (2020); categories
// with capitals and text as thread ids (1.8 to 1.10); whole microseconds since 1970
// (1.12 to 2.3); fractions since 1970 (a few weeks of 2024, for some of which
// leading zeros of the fraction are missing: a warning says so); fractions since a
// base (from 2.4 on); graph node ids (2026).
//
// # Steps
//
// Markers of forward steps are the annotations that say counts of requests; where
// none does, the steps of the profiler's schedule. Of two in each other the inner one
// counts. The first step is not taken
// for one: it holds what starting the profiler took.
//
// # Broken documents
//
// Real ones have quotes in names that are not escaped, control characters, bytes
// that are no UTF-8, NaN, arguments without a value, and ends that are missing. An
// event that is no JSON, or lacks a usable time, is skipped and counted, and reading
// goes on where the next one seems to begin; the report's warnings say how many. A
// document that ends early is an error, or with Options.Partial a warning. An event
// has 16 MiB at most, a value outside of the events 64 MiB, and objects lie 64 deep.
//
// # How it is read
//
// One goroutine splits the document into events, which takes finding the ends of
// strings and brackets; others find the fields of events and make rows, sorted in
// chunks of 32 Ki, which go to a store (package spill) with a quarter of
// Options.Memory, in 20 to 25 bytes each; what does not fit is in a temporary file.
// They are merged when they are written: traces are not in order of time. Calls are
// kept besides by their correlation, and looked up once to count what has no launch,
// and once more for each row that is written. What else grows with a trace are its
// names, at most another quarter, the markers of its steps and the ends of its
// collectives.
//
// A library of JSON is not used: of those that are as fast none takes real traces as
// they are (jsontext refuses NaN, control characters and wrong escapes; a parser that
// takes them returns wrong values), and none goes on after an error.
package kineto
