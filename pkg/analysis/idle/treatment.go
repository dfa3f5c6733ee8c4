package idle

import (
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/native"
)

// Treatment is what there is to do about launching threads that do not go on.
type Treatment struct {
	Pattern string   // the kind of optimisation
	Whys    []string // for which it is, with the class of the call for those on a CPU: os:CLASS
	What    string   // goes on from "launching threads"
	Do      string   // what to do, as an order
}

// Treatments are the treatments of whys that have one. Who is in a call of the classes lock,
// sleep, io, wait and join is nearly always blocked there, so that in them it is no matter
// whether the recording says when threads were on a CPU; of other classes it is.
var Treatments = []Treatment{
	{"SERIALIZE", []string{"blocked:lock", "in:lock"}, "wait for a lock that another thread holds", "let one thread launch, or hold it for less"},
	{"IO", []string{"blocked:file", "os:file"}, "do file I/O, or read() and write() on a pipe or socket", "move it to another thread, or check the process at the other end"},
	{"WAIT", []string{"blocked:other"}, "block in other system calls, such as flock, sigwait and system", "move that to another thread"},
	{"SLEEP", []string{"blocked:sleep", "in:sleep"}, "sleep", "wait on an event instead of polling, unless it is a deliberate rate limit"},
	{
		"WAIT", []string{"blocked:io", "blocked:wait", "blocked:join", "in:io", "in:wait", "in:join"}, "block on a lock, a condition variable or a message from another thread or process, or until a time-out",
		"find out what that one is doing, move it off the critical path, or start the next step without waiting",
	},
	{
		"AFFINITY", []string{"descheduled"}, "are runnable but not scheduled, or blocked in the kernel",
		"give each a CPU of its own (taskset, numactl), and check the limits of the container",
	},
	{
		"JIT", []string{"load"}, "wait for code that is compiled or loaded",
		"warm up what runs before requests come, or load it eagerly (CUDA_MODULE_LOADING=EAGER)",
	},
}

// TreatmentOf returns the treatment of a why as text, nil where there is none.
func TreatmentOf(why string) *Treatment {
	if name, ok := strings.CutPrefix(why, Call.String()); ok {
		why = Call.String() + native.ClassOf(name)
	}
	k := slices.IndexFunc(Treatments, func(t Treatment) bool { return slices.Contains(t.Whys, why) })
	if k < 0 {
		return nil
	}
	return &Treatments[k]
}

// Phrase says what launching threads do for which a why, as text, holds: it goes on from
// "launching threads". It is "" where that is not known.
func Phrase(why string) string {
	if t := TreatmentOf(why); t != nil && !strings.HasPrefix(why, In.prefix()) {
		return t.What
	}
	class := strings.TrimPrefix(why, Blocked.prefix())
	switch {
	case why == Running.String():
		return "run on a CPU"
	case why == Spin.String():
		return "spin on a CPU until the GPU is done"
	case why == BlockedCUDA.String():
		return "are blocked inside a CUDA call"
	case why == Off.String():
		return "are off their CPU"
	case why == Profiler.String():
		return "are held up by the profiler"
	case why == QueueFull.String():
		return "wait for a full queue of the GPU"
	case class != why:
		return "are blocked in a call of the system (" + class + ")"
	case strings.HasPrefix(why, In.prefix()):
		return "are in a call of the system (" + strings.TrimPrefix(why, In.prefix()) + ")"
	case strings.HasPrefix(why, Call.String()):
		return "run inside " + strings.TrimPrefix(why, Call.String())
	}
	return ""
}

// prefix is what a why of several classes begins with.
func (w Why) prefix() string {
	before, _, _ := strings.Cut(w.String(), ":")
	return before + ":"
}
