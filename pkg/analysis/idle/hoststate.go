// Hoststate says what the operating system was doing with a host thread: whether
// it was on a CPU, in which call of the system's libraries, and whether the profiler, a full
// queue of the GPU or the loading of code held it up. It answers why, where thread.go
// answers in what.
//
// # Why
//
// At an instant the answer is the first of these that holds:
//
//	profiler       the profiler's own work on the thread
//	queue_full     a launch waits because the GPU's queue is full
//	load           code is compiled or loaded
//	blocked:CLASS  off the CPU, inside a call of that class; the innermost
//	blocked:cuda   off the CPU, inside a CUDA call and no call of the system
//	descheduled    off the CPU, in neither
//	os:NAME        on a CPU, inside the call NAME
//	spin           on a CPU, inside a CUDA call that waits for the GPU
//	running        on a CPU
//	in:CLASS       whether it is on a CPU is not known; inside a call of that class
//	unknown        nothing of that
//
// Where calls of the system were not recorded, descheduled means less: the thread may have
// been inside one, and it is called off.
//
// A thread is on a CPU during its runs, off it between them, and unknown before the first
// one and during runs that say so. Of calls the innermost is the one with the latest start,
// of equal starts with the earlier end. All spans are half-open.
//
// # Rejected
//
// To count samples of the CPU instead: they come up to forty times as often in one
// situation as in another. To take the name of a call for the reason why a thread is off
// the CPU without knowing that it is: mmap is off for 3 % of its time, poll for 99 %.

package idle

import (
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Why is why a thread did not go on.
type Why int32

// The answers. Blocked, Preempted and In are followed by one for each class of calls, in the
// order of cudaname.OSClasses. Preempted is as text what Blocked is, and means that the call is
// one that does not wait: the thread has lost its CPU in it.
const (
	None        Why = iota // not asked
	Profiler               // the profiler's own work
	QueueFull              // a launch waits for a full queue
	Load                   // code is compiled or loaded
	BlockedCUDA            // off the CPU in a CUDA call
	Descheduled            // off the CPU in no call
	Off                    // off the CPU; calls of the system were not recorded
	Spin                   // on a CPU in a CUDA call that waits for the GPU
	Running                // on a CPU
	Unknown                // nothing of these
	Blocked                // of the first class
	Preempted   = Blocked + maxClasses
	In          = Preempted + maxClasses
	Call        = In + maxClasses // os:NAME, of the name with number 0; the others follow
)

// maxClasses is the room for classes of calls.
const maxClasses = 16

var whyNames = [...]string{
	Profiler: "profiler", QueueFull: "queue_full", Load: "load", BlockedCUDA: "blocked:cuda", Descheduled: "descheduled",
	Off: "off", Spin: "spin", Running: "running", Unknown: "unknown",
}

// String is the answer as text; that of a call lacks its name, which Name gives.
func (w Why) String() string {
	switch {
	case w >= Call:
		return "os:"
	case w >= In:
		return "in:" + cudaname.OSClasses[w-In]
	case w >= Preempted:
		return "blocked:" + cudaname.OSClasses[w-Preempted]
	case w >= Blocked:
		return "blocked:" + cudaname.OSClasses[w-Blocked]
	}
	return whyNames[w]
}

// Whys are all answers as text, but for calls of the operating system by their names.
func Whys() (all []string) {
	for k := range cudaname.OSClasses {
		all = append(all, (Blocked + Why(k)).String(), (In + Why(k)).String())
	}
	return append(all, whyNames[Profiler:]...)
}

// Name returns the number of the name of the call that a thread is on a CPU in, -1 for
// any other answer.
func (w Why) Name() int32 { return int32(max(w-Call, -1)) }

// OnCPU reports whether the thread is known to be on a CPU.
func (w Why) OnCPU() bool { return w == Spin || w == Running || w >= Call }

// OffCPU reports whether the thread is known to be off its CPU.
func (w Why) OffCPU() bool {
	return w == BlockedCUDA || w == Descheduled || w == Off || w >= Blocked && w < In
}

// Lost reports whether the thread is known to be off its CPU although it waits for nothing.
func (w Why) Lost() bool { return w == Descheduled || w >= Preempted && w < In }

// MayWait reports whether the thread may wait for something: it is not known to be on a CPU, nor to
// be ready for one.
func (w Why) MayWait() bool { return !w.OnCPU() && !w.Lost() }

// ForOthers reports whether the thread is blocked until another one, or another process, has done
// something.
func (w Why) ForOthers() bool {
	class := event.Class(w-Blocked) + event.OSLock
	return class == event.OSWait || class == event.OSIO || class == event.OSJoin
}

// InCall reports whether the thread is inside a call of the system's libraries.
func (w Why) InCall() bool { return w >= Blocked }

// CUDA is which CUDA call a thread is in.
type CUDA int

// The CUDA calls.
const (
	NoCall   CUDA = iota // outside of CUDA calls
	AnyCall              // one that does not wait for the GPU
	SyncCall             // one that waits for the GPU
)

// HostState is what is known of a thread. All its spans come in the order of their start, of
// equal starts the longer first.
type HostState struct {
	held  [event.Load - event.ByProfiler + 1]int64 // the latest end of each overhead
	calls []call                                   // that are open; those that ended are dropped when they are met
	ran   bool                                     // a run was seen
	known bool                                     // of the last run
	end   int64                                    // of the last run

	silent   bool // calls were not recorded
	observed bool // anything was observed
}

// call is an open call of the system's libraries.
type call struct {
	end     int64
	name    int32
	in, off Why // of the class where it is not known whether the thread is on a CPU, and where it is off it
}

// NewHostState returns a thread of which nothing is known before time at; calls reports whether calls
// of the system's libraries were recorded in its process.
func NewHostState(at int64, calls bool) *HostState {
	return &HostState{held: [...]int64{at, at, at}, silent: !calls}
}

// Hold observes a stretch in which an overhead may hold the thread up; those of other classes do not.
func (h *HostState) Hold(class event.Class, end int64) {
	if event.ByProfiler <= class && class <= event.Load {
		by := class - event.ByProfiler
		h.held[by], h.observed = max(h.held[by], end), true
	}
}

// Call observes a call of the system's libraries, of a class, and the number of its name; waits
// reports whether it may wait.
func (h *HostState) Call(start, end int64, of event.Class, name int32, waits bool) {
	if end <= start {
		return
	}
	n := len(h.calls)
	for n > 0 && h.calls[n-1].end <= end { // This one hides it from here on.
		n--
	}
	class, off := Why(len(cudaname.OSClasses)-1), Preempted
	if event.OSLock <= of && of <= event.OSFile { // which are in the order of OSClasses
		class = Why(of - event.OSLock)
	}
	if waits {
		off = Blocked
	}
	h.calls, h.observed = append(h.calls[:n], call{end, name, In + class, off + class}), true
}

// Run observes a stretch in which the thread is on a CPU, or, where known is not set,
// nobody knows whether it is.
func (h *HostState) Run(end int64, known bool) {
	h.ran, h.observed, h.known, h.end = true, true, known, end
}

// At returns why at a time, and until when that lasts, at most limit. Times do not go back.
func (h *HostState) At(now, limit int64, in CUDA) (Why, int64) {
	if !h.observed { // Fast path: most recordings say nothing.
		return Unknown, limit
	}
	for by, end := range h.held {
		if end > now {
			return Profiler + Why(by), min(limit, end)
		}
	}
	on, off, limit := h.cpu(now, limit)
	if c := h.open(now); c != nil {
		limit = min(limit, c.end)
		switch {
		case off:
			return c.off, limit
		case on:
			return Call + Why(c.name), limit
		}
		return c.in, limit
	}
	switch {
	case off && in != NoCall:
		return BlockedCUDA, limit
	case off && h.silent:
		return Off, limit
	case off:
		return Descheduled, limit
	case on && in == SyncCall:
		return Spin, limit
	case on:
		return Running, limit
	}
	return Unknown, limit
}

// cpu reports whether the thread is on a CPU or off it, neither where that is not known, and
// until when.
func (h *HostState) cpu(now, limit int64) (on, off bool, until int64) {
	switch {
	case !h.ran:
		return false, false, limit
	case now < h.end:
		return h.known, false, min(limit, h.end)
	}
	return false, true, limit
}

// open returns the innermost open call, nil for none.
func (h *HostState) open(now int64) *call {
	for n := len(h.calls); n > 0; n-- {
		if c := &h.calls[n-1]; c.end > now {
			return c
		}
		h.calls = h.calls[:n-1]
	}
	return nil
}
