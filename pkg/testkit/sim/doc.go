// Package sim makes nsys exports: it is where this project's test data comes
// from, and the only place that knows the export's tables for writing.
//
// A [Trace] holds a run in neutral rows. [Simulate] makes one of an inference
// engine from a [Config], [Random] a small adversarial one, [ParseText] one
// that somebody wrote down. [Trace.WriteSQLite] and [Trace.WriteParquetDir]
// write it as an export of any schema since 2020, with the columns, the
// metadata and the places for secrets that the schema has. Everything is
// deterministic: the same seed, the same bytes.
//
// # What is written
//
// Besides exports, [Trace.WriteKineto] writes what PyTorch's profiler would have recorded
// of a process, in the form of any of its versions.
//
// # What the simulator models
//
// Each rank has one host thread that works through the operations of a step and
// makes its calls, and for each GPU a queue, or one a stream. A kernel starts when its launch
// call was made, a while ago, and the kernel before it is done; a collective
// starts on each rank when that rank is ready and ends on all at once. So a run
// whose host is slow leaves its GPUs idle, and a slow rank makes the others
// wait, as in life. Noise is drawn for each rank and step apart: two runs that
// differ in one cost differ nowhere else.
//
// All that a plain run lacks is switched on by a part of the Config of its own
// and draws its chances from a source of its own, so that other runs keep their
// bytes: [Traffic] (chunked prefill, requests that end, pauses), [Model] (Mamba
// hybrids, experts, attention data parallelism, further streams), [Draft]
// (speculative decoding), [Engine] (hosts ahead of their GPUs, pipelines,
// piecewise graphs, capture ranges), [Noise], [Fault] and [HostCause] (what the operating
// system and samples show of hosts that lose time).
//
// [SimulateTruth] returns beside the traces what really happened: the steps of
// each rank, its layers, who the others wait for.
//
// Not modelled: the creation of graphs, transfers of KV caches.
//
// # The text form
//
// One statement a line; a # at the start of a line makes a comment, and the
// first line says what is odd about the trace. Words are separated by spaces;
// a word in double quotes, with the escapes of Go, may hold anything. Times are
// numbers with a unit (0us, 1.5ms, -20ns); options are key=value in any place.
//
//	# a generation step whose kernel outlives its launch call
//	schema 3.25.0
//	session utc=1780000000000000000
//	process 100 name=python3
//	domain 1 TensorRT-LLM
//	range 0us 350us "[Executor] _forward_step 1: 0 ctx reqs, 0 ctx tokens, 4 gen reqs" domain=1
//	api 10us 12us cudaLaunchKernel_v7000 corr=5
//	kernel 15us 40us allreduce_fusion_kernel_oneshot_lamport corr=5
//
// The statements, with their options in brackets:
//
//	schema VERSION [reduced] [empty-tables]   how the trace is written
//	drop TABLE | TABLE.COLUMN                 what is left out of it
//	mode Node | Graph                         what the capture says of graphs
//	session [utc=NS] [clock=NS] [shift=TIME] [normalize]
//	secret TEXT                               see Capture.Secret
//	gpu ID NAME
//	process PID [name=] [hw=] [vm=]           of all lines that follow; a PID
//	                                          seen before returns to it
//	domain ID NAME [tid=] [at=TIME]
//	range START END TEXT [tid=] [domain=] [id=] [endtid=] [type=] [literal|json]
//	mark TIME TEXT [tid=] [domain=] [literal|json]
//	api START END NAME [tid=] [corr=] [return=]
//	kernel START END NAME [corr=] [graph=NODE] [graphid=] [demangled=]
//	graph START END [corr=] [id=] [exec=]
//	memcpy START END [corr=] [bytes=] [kind=] [graph=NODE]
//	memset START END [corr=] [bytes=] [graph=NODE]
//	sync START END [corr=] [type=]
//	overhead START END NAME [tid=] [type=] [cupti]
//
// GPU rows also take dev= (0), stream= (7) and context= (1). A missing tid is
// that of the main thread, a missing corr NULL. A range whose END is - was
// never closed; one with an id is a start/end range. A text is registered
// unless it is said to be literal, or in the jsonText.
package sim
