// Package kineto reads traces of PyTorch's profiler (Kineto) of any version as events:
// JSON, plain or compressed by gzip in one member or several, recognised by content and
// not by name. A file is the trace of one process. Files with the calls of several
// processes, as tools merge them, are refused, because their launches have the same
// numbers. Several files of one process that do not overlap in time, as a schedule of
// several cycles writes them, are parts of one rank. A UTF-8 byte order mark is skipped;
// UTF-16, and anything after a document or its compressed form, is refused.
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
// All others are left out: GPU annotations repeat the host's, and flows repeat
// correlations. Of the arguments, device, stream, correlation, bytes and graph node id
// are read. A GPU row's launch is the call with its correlation. What a graph launch ran
// has the node's id or, if the trace has none, the number of the row within its launch.
//
// Nothing else leaves the file: no host, user, path, trace name or address, and of the
// paths of Python functions only the part within a package (pythonName).
//
// # Times
//
// Start and duration are decimal text in microseconds, each rounded to whole ns:
// floating point numbers would lose them. They are relative to
// baseTimeNanoseconds, which comes after the events in some versions, or since
// 1970. Time 0 of a report is the whole microsecond in which its first row starts.
//
// No trace names its version. Marks tell them apart: a bare array (2020); categories with
// capitals and text as thread ids (1.8 to 1.10); whole microseconds since 1970 (1.12 to
// 2.3); fractions since 1970 (a few weeks of 2024, in some of which leading zeros of the
// fraction are missing: a warning says so); fractions since a base (from 2.4 on); graph
// node ids (2026).
//
// # Steps
//
// Forward-step markers are the annotations that state counts of requests or, if none
// does, the steps of the profiler's schedule. Of two nested ones the inner counts. The
// first step is not taken for one: it includes profiler start-up.
//
// # Broken documents
//
// Real ones have quotes in names that are not escaped, control characters, bytes that are
// not UTF-8, NaN, arguments without a value, and missing ends. An event that is not JSON,
// or lacks a usable time, is skipped and counted, and reading goes on where the next one
// seems to begin; the report's warnings say how many. A document that ends early is an
// error, or with Options.Partial a warning. An event has at most 16 MiB, a value outside
// of the events 64 MiB, and objects are at most 64 deep.
//
// # How it is read
//
// One goroutine splits the document into events, which takes finding the ends of strings
// and brackets. Others find the fields of events and make rows, sorted in chunks of 32
// Ki. These go to a store (package spill) with a quarter of Options.Memory, at 20 to 25
// bytes per row; what does not fit goes to a temporary file. Traces are not in order of
// time, so the rows are merged when they are written. Calls are also kept by their
// correlation, and looked up twice: to count rows without a launch, and for each row that
// is written. What else grows with a trace are its names, at most another quarter, the
// markers of its steps and the ends of its collectives.
//
// No JSON library is used: none that is as fast takes real traces as they are (jsontext
// refuses NaN, control characters and wrong escapes; a parser that takes them returns
// wrong values), and none goes on after an error.
package kineto
