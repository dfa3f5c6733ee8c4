package cudaname

// CUPTI's kinds of overhead by the number that an export has in overheadType,
// and what Nsight Systems calls them. Tables of enums are not in every export
// and differ in wording, so the names are fixed here.
var overheads = [...]string{
	2: "Driver Compiler",                  // JIT
	3: "CUPTI Buffer Flush",               // the profiler's own, as the next two
	4: "CUPTI Instrumentation",            //
	5: "CUPTI Resource",                   //
	6: "Runtime Triggered Module Loading", //
	7: "Lazy Function Loading",            //
	8: QueueFull,
}

// QueueFull is the overhead of a launch call that waits because the GPU's queue
// is full: the GPU is late, not the host.
const QueueFull = "Command Buffer Full"

// Overhead returns the name of a kind of CUPTI overhead, "" for one that has
// none: undefined, unknown, or new.
func Overhead(overheadType int64) string {
	if overheadType < 0 || overheadType >= int64(len(overheads)) {
		return ""
	}
	return overheads[overheadType]
}
