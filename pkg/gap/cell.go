package gap

import "github.com/hostbound/hostbound/pkg/thread"

// Idle causes that are no states of a thread; they fill the room that package
// thread leaves between its own states.
const (
	graphCause  thread.State = thread.GC + 1 + iota // inside one graph replay
	queuedCause                                     // the launch call had returned
	tailCause                                       // nothing came any more
)

// causeNames are the names of the causes that are no ranges.
var causeNames = [thread.Named]string{
	thread.Untraced: "untraced", thread.Launch: "launch", thread.Sync: "sync", thread.Memop: "memop",
	thread.Alloc: "alloc", thread.API: "api", thread.GIL: "gil", thread.GC: "gc",
	graphCause: "graph", queuedCause: "queued", tailCause: "tail",
}

// cell is a stretch of a rank's time that belongs to one step, to a hole between
// two segments, or to nothing. It ends where the next one starts.
type cell struct {
	start   int64
	step    int32 // -1: none
	segment int32 // -1: none
	hole    bool  // between two segments
	trace   bool  // in the window of the trace, where that was asked for
	aside   bool  // what it belongs to is not known yet
	counts
}

// wanted tells whether a window may hold the cell.
func (c *cell) wanted() bool { return c.segment >= 0 || c.hole || c.trace || c.aside }

// counts is what started in a cell.
type counts struct {
	kernels  int64
	replayed int64 // kernels that a graph replay ran
	launches int64 // calls that launch a kernel
	calls    int64 // calls that launch a graph
	recorded int64 // graph replays that were recorded
	whole    int64 // of them those without their kernels
}

func (c *counts) add(d *counts) {
	c.kernels += d.kernels
	c.replayed += d.replayed
	c.launches += d.launches
	c.calls += d.calls
	c.recorded += d.recorded
	c.whole += d.whole
}

// piece is time of one cause in one cell.
type piece struct {
	cell  int32
	cause thread.State
	ns    int64
}

// latePiece is a piece of a gap that goes on behind the segment of its cell: it is
// tail for windows that end at or before until, where the gap ends.
type latePiece struct {
	piece
	until int64
}

// dense adds up time by cause.
type dense struct {
	ns      []int64
	touched []thread.State
}

func (d *dense) add(cause thread.State, ns int64) {
	for int(cause) >= len(d.ns) {
		d.ns = append(d.ns, make([]int64, max(64, len(d.ns)))...)
	}
	if d.ns[cause] == 0 {
		d.touched = append(d.touched, cause)
	}
	d.ns[cause] += ns
}

// drain empties d into pieces of a cell, dropping them where the cell is not wanted.
func (d *dense) drain(pieces []piece, cell int32, wanted bool) []piece {
	for _, cause := range d.touched {
		if wanted {
			pieces = append(pieces, piece{cell, cause, d.ns[cause]})
		}
		d.ns[cause] = 0
	}
	d.touched = d.touched[:0]
	return pieces
}
