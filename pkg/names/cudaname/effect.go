package cudaname

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Effect is what a call does, as bits, as far as it matters to whoever waits for it.
type Effect uint8

// Effects.
const (
	Blocks       Effect = 1 << iota // a copy or fill that blocks the calling thread
	MakesObjects                    // makes or destroys memory, streams, events or code: a steady step should not
	LoadsCode                       // loads or links code, or instantiates a graph
	Polls                           // asks if the GPU is done, without waiting
)

// EffectOf returns the effects of a call, by its canonical name; 0 if it has none.
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
	case listed("objects", call) && !listed("pool", call):
		return MakesObjects
	}
	return 0
}

// overheads are CUPTI's kinds of overhead by number (overheadType of an export), with
// the names that nsys gives them. Not every export has tables of enums, and their
// wording differs, so the names are fixed here.
var overheads = [...]string{
	2: "Driver Compiler",                  // JIT
	3: "CUPTI Buffer Flush",               // the profiler's own, like the next two
	4: "CUPTI Instrumentation",            //
	5: "CUPTI Resource",                   //
	6: "Runtime Triggered Module Loading", //
	7: "Lazy Function Loading",            //
	8: QueueFull,
}

// QueueFull is the overhead of a launch call that waits because the GPU's queue is full.
// The GPU is late, not the host.
const QueueFull = "Command Buffer Full"

// ClassOverhead returns the class of a CUPTI overhead by the name that nsys or PyTorch's
// profiler gives it, -1 if it is undefined, unknown or new.
func ClassOverhead(name string) event.Class {
	switch slices.Index(overheads[:], name) {
	case 2, 6, 7:
		return event.Load
	case 8:
		return event.QueueFull
	}
	switch strings.TrimPrefix(name, "CUPTI ") {
	case "Buffer Flush", "Instrumentation", "Resource":
		return event.ByProfiler
	}
	return -1
}

// Overhead returns the name of a kind of CUPTI overhead, "" if it is undefined, unknown
// or new.
func Overhead(overheadType int64) string {
	if overheadType < 0 || overheadType >= int64(len(overheads)) {
		return ""
	}
	return overheads[overheadType]
}
