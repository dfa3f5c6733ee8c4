// Thread tells what a host thread is doing at each instant. It builds the thread's state as a
// function of time from its API calls and NVTX ranges, which come in order of start.
//
// # States
//
// At an instant a thread is in the first of these states that holds:
//
//	a call    inside API calls; the class is that of the innermost one: the one with
//	          the latest start, of equal starts the earlier end, of equal spans
//	          the class that comes first in the list of causes
//	GIL       waiting for the interpreter lock and not holding it
//	GC        collecting garbage
//	a range   inside NVTX ranges; the one with the latest start, of equal starts
//	          the earlier end
//	Untraced  in none of these
//
// Spans are half-open, so an empty span is never a state.
//
// # How
//
// Open calls and open ranges are two stacks. For waits, holds and collections only the latest end matters. States are kept as
// runs until they are forgotten.

package idle

import "math"

// Run is a span in which a thread is in one state. It ends where the next run begins.
type Run struct {
	At  int64 // ns
	Key Key   // its state from At on: a cause with its site
}

// Never is a time after all others.
const Never = math.MaxInt64
