// Hoststate tells why a host thread was stalled: whether it was on a CPU, in which OS runtime
// call, and whether the profiler, a full GPU queue or the loading of code held it up. What it
// was in, a CUDA call or a range, is for thread.go.
//
// # Why
//
// At an instant the answer is the first of these that holds:
//
//	profiler       the profiler's own work on the thread
//	queue_full     a launch waits because the GPU's queue is full
//	load           code is compiled or loaded
//	blocked:CLASS  off the CPU, inside a call of that class; the innermost
//	blocked:cuda   off the CPU, inside a CUDA call and no OS call
//	descheduled    off the CPU, in neither
//	os:NAME        on a CPU, inside the call NAME
//	spin           on a CPU, inside a CUDA call that waits for the GPU
//	running        on a CPU
//	in:CLASS       whether it is on a CPU is not known; inside a call of that class
//	unknown        none of these
//
// Without recorded OS calls, the thread may have been inside one when it was descheduled. The
// answer is then "off".
//
// A thread is on a CPU during its runs and off it between them. Whether it is on a CPU is
// unknown before its first run, and during runs that say so. The innermost call is the one
// with the latest start, of equal starts the one with the earlier end. Spans are half-open.
//
// # Rejected
//
// Counting CPU samples instead: the sampling rate differs by up to a factor of forty between
// situations. Taking any OS call as the reason for being off the CPU, without knowing that
// the thread was off: mmap is off for 3 % of its time, poll for 99 %.

package idle

import (
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Why is why a thread was stalled, or that it was not.
type Why int32

// The answers. Blocked, Preempted and In each start a series with one answer for each class of
// OS calls, in the order of cudaname.OSClasses. Preempted has the same text as Blocked. It
// means a call that does not wait: the thread lost its CPU in it.
const (
	None        Why = iota // not divided by why
	Profiler               // the profiler's own work
	QueueFull              // a launch waits for a full queue
	Load                   // code is compiled or loaded
	BlockedCUDA            // off the CPU in a CUDA call
	Descheduled            // off the CPU in no call
	Off                    // off the CPU; OS calls were not recorded
	Spin                   // on a CPU in a CUDA call that waits for the GPU
	Running                // on a CPU
	Unknown                // none of these
	Blocked                // in a call of the first class
	Preempted   = Blocked + maxClasses
	In          = Preempted + maxClasses
	Call        = In + maxClasses // os:NAME for the name with number 0; the others follow
)

// maxClasses is how many classes of OS calls there is room for.
const maxClasses = 16

var whyNames = [...]string{
	Profiler: "profiler", QueueFull: "queue_full", Load: "load", BlockedCUDA: "blocked:cuda", Descheduled: "descheduled",
	Off: "off", Spin: "spin", Running: "running", Unknown: "unknown",
}

// String returns the answer as text; "os:" lacks the name of the call, see Name.
func (w Why) String() string {
	switch {
	case w >= Call:
		return "os:"
	case w >= In:
		return "in:" + cudaname.OSClasses[w-In].String()
	case w >= Preempted:
		return "blocked:" + cudaname.OSClasses[w-Preempted].String()
	case w >= Blocked:
		return "blocked:" + cudaname.OSClasses[w-Blocked].String()
	}
	return whyNames[w]
}

// Name returns the number of the name in os:NAME, -1 for any other answer.
func (w Why) Name() int32 { return int32(max(w-Call, -1)) }

// OnCPU reports whether the thread is known to be on a CPU.
func (w Why) OnCPU() bool { return w == Spin || w == Running || w >= Call }

// OffCPU reports whether the thread is known to be off the CPU.
func (w Why) OffCPU() bool {
	return w == BlockedCUDA || w == Descheduled || w == Off || w >= Blocked && w < In
}

// Lost reports whether the thread is known to be off the CPU although it waits for nothing.
func (w Why) Lost() bool { return w == Descheduled || w >= Preempted && w < In }

// MayWait reports whether the thread may wait for something: it is known neither to be on a
// CPU nor to be ready for one.
func (w Why) MayWait() bool { return !w.OnCPU() && !w.Lost() }

// ForOthers reports whether the thread is blocked until another thread or process does
// something.
func (w Why) ForOthers() bool {
	class := event.Class(w-Blocked) + event.OSLock
	return class == event.OSWait || class == event.OSIO || class == event.OSJoin
}

// InCall reports whether the thread is inside an OS call.
func (w Why) InCall() bool { return w >= Blocked }

// HostState is the state of a thread in the operating system. Its spans must come in order of
// start, of equal starts the longer first. Times are in ns.
type HostState struct {
	held  [event.Load - event.ByProfiler + 1]int64 // latest end of each overhead
	calls stack[call]
	ran   bool  // a run was observed
	known bool  // of the last run: whether the thread is known to be on a CPU
	end   int64 // end of the last run

	silent   bool // OS calls were not recorded
	observed bool // anything was observed
}

// call is an OS call.
type call struct {
	name    int32
	in, off Why // answers if it is unknown whether the thread is on a CPU, and if it is off it
}

// NewHostState returns the state of a thread of which nothing is known before time at. calls
// says whether OS calls were recorded in its process.
func NewHostState(at int64, calls bool) *HostState {
	return &HostState{held: [...]int64{at, at, at}, silent: !calls}
}

// Hold observes an overhead that ends at end. Only the classes from event.ByProfiler to
// event.Load hold the thread up.
func (h *HostState) Hold(class event.Class, end int64) {
	if event.ByProfiler <= class && class <= event.Load {
		by := class - event.ByProfiler
		h.held[by], h.observed = max(h.held[by], end), true
	}
}

// Call observes an OS call of a class; name is the number of its name, and waits says whether
// it may wait.
func (h *HostState) Call(start, end int64, of event.Class, name int32, waits bool) {
	if end <= start {
		return
	}
	class, off := Why(len(cudaname.OSClasses)-1), Preempted
	if event.OSLock <= of && of <= event.OSFile { // same order as OSClasses
		class = Why(of - event.OSLock)
	}
	if waits {
		off = Blocked
	}
	h.calls.push(end, call{name, In + class, off + class})
	h.observed = true
}

// Run observes a run on a CPU that ends at end. If known is false, it is unknown whether the
// thread is on a CPU.
func (h *HostState) Run(end int64, known bool) {
	h.ran, h.observed, h.known, h.end = true, true, known, end
}

// At returns the answer at time now, and until when it holds, at most limit. The
// thread is in the state in otherwise. now must not decrease from call to call.
func (h *HostState) At(now, limit int64, in Cause) (Why, int64) {
	if !h.observed { // Fast path: most recordings have no such rows.
		return Unknown, limit
	}
	for by, end := range h.held {
		if end > now {
			return Profiler + Why(by), min(limit, end)
		}
	}
	on, off, limit := h.cpu(now, limit)
	if c := h.calls.innermost(now); c != nil {
		limit = min(limit, c.end)
		switch {
		case off:
			return c.of.off, limit
		case on:
			return Call + Why(c.of.name), limit
		}
		return c.of.in, limit
	}
	switch {
	case off && in.InCall():
		return BlockedCUDA, limit
	case off && h.silent:
		return Off, limit
	case off:
		return Descheduled, limit
	case on && in == Sync:
		return Spin, limit
	case on:
		return Running, limit
	}
	return Unknown, limit
}

// cpu reports whether the thread is on a CPU or off it, and until when. Both are false if that
// is unknown.
func (h *HostState) cpu(now, limit int64) (on, off bool, until int64) {
	switch {
	case !h.ran:
		return false, false, limit
	case now < h.end:
		return h.known, false, min(limit, h.end)
	}
	return false, true, limit
}
