// Package step holds what other packages need to know of the steps of a run, the forward
// iterations of each rank, which package isolate has found. A [Walker] goes through the rows
// of a rank and says which step, or gap between steps, each stretch of time belongs to. A
// [Tagger] says whether a step is prefill or decode.
//
// # Kinds of steps
//
// Only this package decides whether a step ran eagerly where others replay a graph, whether it
// ran compiled code, whether replays are missing, and what is a wait for requests: a [Walker]
// counts what each step ran ([Work]), [Kinds] and [LostReplays] draw the conclusions, and a
// [Requester] observes a thread.
package step

// Methods of isolation.
const (
	Auto      = "auto"      // that of the following which the header says will do
	Allreduce = "allreduce" // by all-reduce kernels
	NVTX      = "nvtx"      // by ranges that mark forward steps
	Graph     = "graph"     // by launches of graphs
)

// None is the method of a stream in whose header there is nothing to find steps by.
const None = "none"

// Methods lists the methods, the default first.
var Methods = []string{Auto, Allreduce, NVTX, Graph}

// NotFound is the error of a stream whose steps cannot be identified, though it is
// whole: an analysis may do without them.
type NotFound struct {
	Msg, Advice string // as in event.Error
	// Ranks are those whose steps cannot be identified where others have steps by
	// their forward-step markers: an analysis may do without these alone. nil: none
	// of the stream's steps are known.
	Ranks []int32
	// Isolated: the stream came with steps, of which isolate said so at its end.
	Isolated bool
}

// Error says what the stream lacks.
func (e *NotFound) Error() string { return e.Msg }

// Hint tells what to do about it.
func (e *NotFound) Hint() string { return e.Advice }
