package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/thread"
)

// lane is a device of a rank.
type lane struct {
	device  int32
	end     int64 // busy up to here; none: no activity yet
	replay  int64 // correlation of the graph replay that the latest end belongs to, none where it does not
	idle    int64 // idle time between its activities so far
	gap     span  // the last idle gap
	streams []*stream
	stream  *stream // of the last row
	partial []foldedPiece
	folded  int // index in rank.folded from which its gap goes on
	foldEnd int64

	collectives collectives
}

type span struct{ start, end int64 }

// activity is a row that keeps a lane busy.
type activity struct {
	start, end  int64
	kind        int32
	name        int32
	class       int32 // -1: none
	correlation int64 // none where there is none
	launchStart int64 // none where there is no launching call
	launchEnd   int64
	thread      int64 // none where the thread is not known
	replayed    bool  // a graph replay ran it
	phase       int32
	launch      *launch
}

// takeGPU takes a kernel, a whole-graph row, a copy or a memset.
func (r *rank) takeGPU(b *event.Batch, i int, t, e int64, kind int32) {
	a := activity{start: t, end: e, kind: kind, class: -1, correlation: none, launchStart: none, thread: none}
	if v, ok := b.Class.Get(i); ok {
		a.class = v
	}
	if v, ok := b.Correlation.Get(i); ok {
		a.correlation = v
		a.launchStart, a.launchEnd = r.launchOf(b, i, &a)
	}
	a.replayed = b.GraphNode.Valid.Get(i)
	if a.replayed || kind == event.Graph {
		r.takeReplay(&a)
	}
	if kind == event.Kernel {
		r.now.kernels++
		if a.replayed {
			r.now.replayed++
		}
	}
	if kind >= event.Memcpy {
		if r.c.busy>>uint32(kind)&1 == 0 {
			return
		}
	} else if a.launchStart != none && r.firstOf(&a) && r.counting() {
		r.takeSlack(t - a.launchEnd)
	}
	a.name = r.c.kernels.id(b.Name.Get(i))
	if kind == event.Kernel && r.counting() {
		r.takeKernel(b, i, &a)
	}
	if e <= t {
		return
	}
	device := b.Device.Values[i]
	if r.lane == nil || r.lane.device != device {
		r.lane = r.findLane(device)
	}
	r.takeActivity(r.lane, b.Stream.Values[i], &a)
	if kind == event.Kernel {
		r.takeSample(b, i, &a)
	}
}

// launchOf returns when the call that launched row i began and ended, and fills
// what else is known of it.
func (r *rank) launchOf(b *event.Batch, i int, a *activity) (start, end int64) {
	start, ok := b.LaunchStart.Get(i)
	if !ok {
		return none, 0
	}
	if v, ok := b.LaunchThread.Get(i); ok {
		a.thread = v
	}
	a.launch = r.ring.find(a.correlation, start)
	return start, b.LaunchEnd.Values[i]
}

// takeReplay counts the replay that a row is of, at its first row.
func (r *rank) takeReplay(a *activity) {
	switch {
	case a.launch != nil:
		if a.launch.recorded {
			return
		}
		a.launch.recorded = true
	case a.correlation >= 0 && !r.replays.first(a.correlation):
		return
	}
	r.now.recorded++
	if a.kind == event.Graph {
		r.now.whole++
	}
}

// firstOf tells whether a kernel or replay is the first of its launch.
func (r *rank) firstOf(a *activity) bool {
	switch {
	case a.launch != nil:
		first := !a.launch.ran
		a.launch.ran = true
		return first
	case a.correlation >= 0:
		return r.runs.first(a.correlation)
	}
	return true
}

// findLane returns the lane of a device, which may be a new one.
func (r *rank) findLane(device int32) *lane {
	for _, l := range r.lanes {
		if l.device == device {
			return l
		}
	}
	l := &lane{device: device, end: none, replay: none, foldEnd: r.folds}
	r.lanes = append(r.lanes, l)
	return l
}

// takeActivity takes a row that keeps the lane busy.
func (r *rank) takeActivity(l *lane, stream int64, a *activity) {
	if a.start > l.end {
		from := max(l.end, r.origin)
		if l.end > none {
			l.idle += a.start - l.end
		}
		if from < a.start {
			r.attribute(l, from, a)
		}
		l.gap = span{from, a.start}
		l.partial, l.folded, l.foldEnd = nil, len(r.folded), none
	}
	r.takeStream(l, stream, a)
	if a.end >= l.end {
		l.end, l.replay = a.end, none
		if a.correlation != none && (a.replayed || a.kind == event.Graph) {
			l.replay = a.correlation
		}
	}
}

// attribute splits the idle time of the lane before a by its causes.
func (r *rank) attribute(l *lane, from int64, a *activity) {
	r.parts = r.parts[:0]
	to := a.start
	if l.replay != none && l.replay == a.correlation && (a.replayed || a.kind == event.Graph) {
		r.credit(from, to, to, graphCause)
		return
	}
	if a.launchStart == none {
		r.credit(from, to, to, thread.Untraced)
		return
	}
	called := min(max(a.launchEnd, from), to)
	if from < called {
		r.attributeHost(l, from, called, to, a.thread)
	}
	r.credit(called, to, to, queuedCause)
}

// attributeHost credits the time between from and to with what a thread did then.
func (r *rank) attributeHost(l *lane, from, to, until, id int64) {
	var h *hostThread
	if id != none {
		h = r.byID[id]
	}
	if from < l.foldEnd {
		from = r.attributeFolded(l, h, from, to, until)
	}
	if h == nil {
		r.credit(from, to, until, thread.Untraced)
		return
	}
	h.Advance(to)
	runs := h.Runs(from)
	if len(runs) == 0 {
		r.credit(from, to, until, thread.Untraced)
		return
	}
	if first := min(runs[0].At, to); from < first {
		r.credit(from, first, until, thread.Untraced)
		from = first
	}
	for k := range runs {
		end := to
		if k+1 < len(runs) {
			end = min(to, runs[k+1].At)
		}
		if from < end {
			r.credit(from, end, until, runs[k].State)
			from = end
		}
	}
	r.credit(from, to, until, thread.Untraced)
}

// part is a part of one gap.
type part struct {
	cause thread.State
	ns    int64
}

// credit credits a cause with the time between from and to, a part of a gap that
// ends at until, in the cells that it lies in.
func (r *rank) credit(from, to, until int64, cause thread.State) {
	if to <= from {
		return
	}
	r.note(cause, to-from)
	k := len(r.cells) - 1
	if start := r.cells[k].start; to > start { // Fast path: the gap began in the open cell.
		r.idle.add(cause, to-max(from, start))
		to = start
	}
	for k--; from < to; k-- {
		if start := r.cells[k].start; to > start {
			r.creditCell(piece{int32(k), cause, to - max(from, start)}, until)
			to = start
		}
	}
}

// note adds a part to those of the gap.
func (r *rank) note(cause thread.State, ns int64) {
	for k := range r.parts {
		if r.parts[k].cause == cause {
			r.parts[k].ns += ns
			return
		}
	}
	r.parts = append(r.parts, part{cause, ns})
}

// creditCell keeps a piece of a closed cell.
func (r *rank) creditCell(p piece, until int64) {
	c := &r.cells[p.cell]
	switch {
	case !c.wanted():
	case r.place == inStep && c.segment == r.steps[len(r.steps)-1].segment && c.segment >= 0:
		r.pieces = append(r.pieces, p)
	default:
		r.late = append(r.late, latePiece{p, until})
	}
}

// endLane takes the end of the rank's rows.
func (r *rank) endLane(l *lane) {
	from := max(l.end, r.origin)
	for k := len(r.cells) - 1; k >= 0; k-- {
		end := int64(never)
		if k+1 < len(r.cells) {
			end = r.cells[k+1].start
		}
		if end <= from {
			return
		}
		if c := &r.cells[k]; c.wanted() {
			r.pieces = append(r.pieces, piece{int32(k), tailCause, end - max(from, c.start)})
		}
	}
}
