// Package step defines the steps of a run, the forward iterations of each rank, that
// package isolate has found. A [Walker] walks through the rows of a rank and says which
// step, or gap between steps, each time slice belongs to. A [Tagger] says whether a step
// is prefill or decode.
//
// # Kinds of steps
//
// Only this package decides whether a step ran eagerly while others replay a graph, and
// whether it compiled code. It also decides whether replays are missing, and what is a
// wait for requests. A [Walker] counts what each step ran ([Work]), [Kinds] and
// [LostReplays] draw the conclusions, and a [Requester] observes a thread.
package step

// Isolation methods.
const (
	Auto      = "auto"      // the first of the following that suits the stream, by its header
	Allreduce = "allreduce" // by all-reduce kernels
	NVTX      = "nvtx"      // by forward-step marker ranges
	Graph     = "graph"     // by graph launches
)

// None is the method in the header of a stream in which no steps can be found.
const None = "none"

// Methods lists the methods, the default first.
var Methods = []string{Auto, Allreduce, NVTX, Graph}

// NotFound is the error for a stream that is complete but whose steps cannot be
// identified: an analysis may continue without steps.
type NotFound struct {
	Msg, Advice string // as in event.Error
	// Ranks are those whose steps cannot be identified, while other ranks have steps by
	// their forward-step markers: an analysis may leave these out. If nil, no steps of
	// the stream are known.
	Ranks []int32
	// Isolated says that the stream had been isolated before, and its window rows
	// reported this.
	Isolated bool
}

// Error says what is missing.
func (e *NotFound) Error() string { return e.Msg }

// Hint says what to do about it.
func (e *NotFound) Hint() string { return e.Advice }
