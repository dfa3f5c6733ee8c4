// Thread tells what a host thread is doing at each instant: the state of
// a thread as a function of time, built from the thread's API calls and NVTX
// ranges as they come, in the order of their start.
//
// # States
//
// At an instant a thread is in the first of these states that holds:
//
//	a call    inside API calls; the innermost one tells which class: the one with
//	          the latest start, of equal starts the earlier end, of equal spans
//	          the class that comes first in the list of states
//	GIL       waiting for the interpreter lock and not holding it
//	GC        collecting garbage
//	a range   inside NVTX ranges; the one with the latest start, of equal starts
//	          the earlier end
//	Untraced  nothing of it is known
//
// Spans are half-open, so an empty one is never the state of an instant.
//
// # How
//
// Open calls and open ranges are two stacks whose ends fall from the bottom to
// the top: a span that ends before a later one does can never be seen again, so
// it leaves when that one comes. Waiting, holding and collecting are unions, of
// which only the latest end matters. The states that time went through are kept
// as runs until they are forgotten.

package idle

import "math"

// State is what a thread is doing. From Named on it is a range, by the number of
// its path.
type State = int32

// The states. Those from Launch to API are calls of that class.
const (
	InUntraced State = iota // nothing that was recorded
	InLaunch                // graph launches included
	InSync                  // the calls that wait for the GPU
	InMemop                 // copies and memsets
	InAlloc                 // class alloc
	InAPI                   // every other CUDA call
	InGIL                   // ranges of class gil
	InGC                    // ranges of class gc
	// Named and what follows are ranges: State - Named is the number of the path.
	// The states between GC and Named are free for who uses this package.
	Named State = 16
)

// Run is a stretch of time in one state. It ends where the next run begins.
type Run struct {
	At    int64 // ns
	State State // from At on
}

// Never is a time after all others.
const Never = math.MaxInt64
