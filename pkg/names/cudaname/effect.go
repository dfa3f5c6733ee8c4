package cudaname

import (
	"slices"
	"strings"
)

// Effect is what a call does that matters to whoever waits for it, as bits.
type Effect uint8

// The effects.
const (
	Blocks       Effect = 1 << iota // a copy or fill that blocks the calling thread
	MakesObjects                    // makes or drops memory, streams, events or code: a steady step should not
	LoadsCode                       // loads code, links it, or makes a graph ready to replay
	Polls                           // asks whether the GPU is done, and does not wait for it
)

// EffectOf returns what a call does, by its canonical name; 0 for anything else.
func EffectOf(canonical string) Effect {
	call, ok := cutAPI(canonical)
	switch {
	case !ok:
		return 0
	case strings.HasPrefix(call, "Memcpy") && !strings.Contains(call, "Async"):
		return Blocks
	case strings.HasPrefix(call, "ModuleLoad"), strings.HasPrefix(call, "LibraryLoad"), strings.HasPrefix(call, "Link"):
		return MakesObjects | LoadsCode
	case strings.HasPrefix(call, "GraphInstantiate"): // of what was captured
		return LoadsCode
	case call == "EventQuery", call == "StreamQuery":
		return Polls
	case makesObjects(call):
		return MakesObjects
	}
	return 0
}

// objectCalls are the starts of calls, less cuda or cu, that make or drop objects.
var objectCalls = []string{
	"Malloc", "Free", "HostAlloc", "HostRegister", "HostUnregister", "MemAlloc", "MemFree", "MemHostAlloc",
	"MemHostRegister", "MemHostUnregister", "MemCreate", "MemMap", "MemUnmap", "MemRelease", "MemSetAccess",
	"MemAddress", "MemPoolTrim", "EventCreate", "StreamCreate", "StreamDestroy", "ModuleUnload", "LibraryUnload",
}

// makesObjects identifies calls that make or drop objects among those of class [Alloc],
// of which others are cheap: recording an event, asking how much memory is free.
func makesObjects(call string) bool {
	switch call {
	case "MallocAsync", "FreeAsync", "MemAllocAsync", "MemFreeAsync", "MallocFromPoolAsync", "MemAllocFromPoolAsync":
		return false // out of a pool: as cheap as a launch
	}
	return slices.ContainsFunc(objectCalls, func(p string) bool { return strings.HasPrefix(call, p) })
}

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

// ClassOverhead returns the class of a CUPTI overhead by the name that Nsight Systems or
// PyTorch's profiler gives it, "" for one that is undefined, unknown or new.
func ClassOverhead(name string) string {
	switch slices.Index(overheads[:], name) {
	case 2, 6, 7:
		return "load"
	case 8:
		return "queue_full"
	}
	switch strings.TrimPrefix(name, "CUPTI ") {
	case "Buffer Flush", "Instrumentation", "Resource":
		return "profiler"
	}
	return ""
}

// Overhead returns the name of a kind of CUPTI overhead, "" for one that has
// none: undefined, unknown, or new.
func Overhead(overheadType int64) string {
	if overheadType < 0 || overheadType >= int64(len(overheads)) {
		return ""
	}
	return overheads[overheadType]
}
