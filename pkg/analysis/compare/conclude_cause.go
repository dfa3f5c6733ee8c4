package compare

import "strings"

// Causes of idle time that are not work of the range in which they occur, and the one of
// launched work.
const (
	waitsForGIL = "gil"
	collects    = "gc"
	queued      = "queued"
)

// causeText describes causes of idle time; host:NAME is not among them.
var causeText = map[string]string{
	"launch": "launching kernels", "sync": "calls that wait for the GPU", "memop": "copies and fills",
	"alloc": "allocating and freeing memory", "api": "other CUDA calls",
	waitsForGIL: "waiting for the interpreter lock (GIL)", collects: "garbage collection (GC)",
	"graph": "gaps within graph replays", queued: "launched work that has not begun",
	"tail": "nothing more to run", imbalance: "waiting for a rank whose GPU works longer", waitsUnknown: "waiting for a rank that shows no cause", sender: "waiting for a GPU that works on what this one receives", "untraced": "host time outside of all ranges and calls",
}

// causeTitle describes a cause of package idle.
func causeTitle(cause string) string {
	if name, ok := strings.CutPrefix(cause, "host:"); ok {
		return "host time in " + name
	}
	if words := causeText[cause]; words != "" {
		return words
	}
	return cause
}

// title describes the cause, with the site of a call, or with why and the lock's holder.
func (r *IdleRow) title() string {
	title := causeTitle(r.Cause)
	if r.Site != nil && !strings.HasPrefix(r.Cause, "host:") {
		title += " (" + *r.Site + ")"
	}
	if r.Why != nil {
		title += ": " + *r.Why
	}
	if r.Holder != nil {
		title += ", held by " + *r.Holder
	}
	return title
}
