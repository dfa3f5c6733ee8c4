package idle

import (
	"github.com/hostbound/hostbound/pkg/event"
)

// Lane is a device of the rank.
type Lane struct {
	Device int32 // CUDA device number
	End    int64 // busy up to here
	Idle   int64 // idle time between its activities so far, in ns
	// GapStart and GapEnd are its last idle gap.
	GapStart, GapEnd int64

	replay  int64 // correlation of the graph replay that the latest end belongs to, none where it does not
	partial []foldedPiece
	folded  int64 // number of the fold from which its gap goes on
	foldEnd int64
	edge    laneEdge
}

// Activity is a row that keeps a lane busy.
type Activity struct {
	Start, End   int64      // ns
	Device       int32      // CUDA device number
	Name         int32      // of Sites.Names
	Kind         event.Kind // kernel, graph, memcpy or memset
	Replayed     bool       // a graph replay ran it, or it is one
	Correlation  int64      // NoTime where there is none
	LaunchStart  int64      // NoTime where there is no launching call
	LaunchEnd    int64      // 0 where there is no launching call
	LaunchThread int64      // NoTime where it is not known
}

// NoTime stands for what is null in an [Activity].
const NoTime = none

// IsActivity tells whether row i, of the GPU, keeps its lane busy.
func (r *Rank) IsActivity(b *event.Batch, i int) bool {
	return r.busy>>uint32(b.Kind.Values[i])&1 != 0 && b.End.Values[i] > b.Start.Values[i]
}

// Read reads row i, of the GPU, into a.
func (r *Rank) Read(b *event.Batch, i int, a *Activity) {
	a.Start, a.End, a.Device, a.Kind = b.Start.Values[i], b.End.Values[i], b.Device.Values[i], b.Kind.Values[i]
	a.Name = r.sites.Names.Of(&b.Name, i)
	a.Replayed = b.GraphNode.Valid.Get(i) || a.Kind == event.Graph
	a.Correlation, a.LaunchStart, a.LaunchEnd, a.LaunchThread = none, none, 0, none
	if !b.Correlation.Valid.Get(i) {
		return
	}
	a.Correlation = b.Correlation.Values[i]
	if !b.LaunchStart.Valid.Get(i) {
		return
	}
	a.LaunchStart, a.LaunchEnd = b.LaunchStart.Values[i], b.LaunchEnd.Values[i]
	if b.LaunchThread.Valid.Get(i) {
		a.LaunchThread = b.LaunchThread.Values[i]
	}
}

// Activity observes an activity, which starts no earlier than the rows before, and
// returns its lane.
func (r *Rank) Activity(a *Activity) *Lane {
	l := r.lane
	if l == nil || l.Device != a.Device {
		l = r.findLane(a.Device)
		r.lane = l
	}
	r.last = a.Start
	first := r.edges.first(&l.edge, a)
	if a.Start > l.End {
		r.endGap(l, a, first)
	} else if l.edge.awaited {
		r.passEdge(l)
	}
	if a.End >= l.End {
		l.End, l.replay = a.End, none
		if a.Replayed {
			l.replay = a.Correlation
		}
	}
	return l
}

// findLane returns the lane of a device, which may be a new one.
func (r *Rank) findLane(device int32) *Lane {
	for _, l := range r.lanes {
		if l.Device == device {
			return l
		}
	}
	l := &Lane{Device: device, End: none, replay: none, foldEnd: r.folds}
	for _, s := range r.pauses {
		r.pauseLane(l, s)
	}
	r.lanes = append(r.lanes, l)
	return l
}

// endGap observes the end of an idle gap; first tells whether a is the first activity
// of a step on the lane.
func (r *Rank) endGap(l *Lane, a *Activity, first bool) {
	from := max(l.End, r.origin)
	if l.End > none {
		l.Idle += a.Start - l.End
	}
	r.gap = r.gap[:0]
	if from < a.Start {
		r.attribute(l, from, a, first)
		if !r.edges.marked() {
			r.matchEdge(l, from, a.Start)
		}
	}
	l.GapStart, l.GapEnd = from, a.Start
	l.partial, l.folded, l.foldEnd = l.partial[:0], r.numFolded, none
}

// Part is a part of a gap.
type Part struct {
	Key Key   // its cause, with its site
	Ns  int64 // 1 or more
}

// LastGap returns what the last idle gap was attributed to, in order; a key may come
// several times.
func (r *Rank) LastGap() []Part {
	parts := make([]Part, len(r.gap))
	for i := range r.gap {
		parts[i] = Part{r.gap[i].code.key(), r.gap[i].ns}
	}
	return parts
}

// GapOpening returns what the last idle gap began in, with its site, undivided, and how
// long that lasted; ok is false where nothing was attributed.
func (r *Rank) GapOpening() (k Key, ns int64, ok bool) {
	for i := range r.gap {
		key, _ := r.sites.Undivided(r.gap[i].code.key())
		if i > 0 && key != k {
			break
		}
		k, ns = key, ns+r.gap[i].ns
	}
	return k, ns, len(r.gap) > 0
}

// attribute splits the idle time of the lane before a by its causes.
func (r *Rank) attribute(l *Lane, from int64, a *Activity, inter bool) {
	to := a.Start
	g := gapOf{until: to, inter: inter}
	if a.Replayed && l.replay != none && l.replay == a.Correlation {
		r.credit(from, to, r.sites.endedBy(Graph, a.Name), g)
		return
	}
	if a.LaunchStart == none {
		r.credit(from, to, Key(Untraced), g)
		return
	}
	called := min(max(a.LaunchEnd, from), to)
	if from < called {
		r.attributeHost(l, span{from, called}, a.LaunchThread, g)
	}
	if called < to {
		r.credit(called, to, r.sites.endedBy(Queued, a.Name), g)
	}
}

// gapOf is what all parts of a gap have in common.
type gapOf struct {
	until int64
	inter bool
}

type span struct{ start, end int64 }

// attributeHost credits a span with what a thread did then.
func (r *Rank) attributeHost(l *Lane, s span, id int64, g gapOf) {
	var h *hostThread
	if id != none {
		if h = r.byID[id]; h != nil && h.quiet {
			h.wake()
		}
	}
	from, to := s.start, s.end
	if from < l.foldEnd {
		from = r.attributeFolded(l, h, s, g)
	}
	if h == nil {
		r.credit(from, to, r.unknown, g)
		return
	}
	h.Advance(to)
	runs := h.Runs(from)
	if len(runs) == 0 {
		r.credit(from, to, r.unknown, g)
		return
	}
	if first := min(runs[0].At, to); from < first {
		r.credit(from, first, r.unknown, g)
		from = first
	}
	for k := range runs {
		end := to
		if k+1 < len(runs) {
			end = min(to, runs[k+1].At)
		}
		if from < end {
			r.observeBeside(from, end, h, Key(runs[k].State))
			r.creditState(from, end, h, Key(runs[k].State), g)
			r.look(h, from, end, Key(runs[k].State), g)
			from = end
		}
	}
	r.credit(from, to, r.unknown, g)
}

// credit credits a key with the time between from and to, a part of a gap, in the
// slices that it lies in.
func (r *Rank) credit(from, to int64, key Key, g gapOf) {
	if to <= from {
		return
	}
	c := key.code(g.inter)
	k := len(r.slices) - 1
	if start := r.slices[k].start; to > start { // Fast path: the gap began in the open slice.
		p := piece{int32(k), c, to - max(from, start)}
		r.now.add(c, p.ns)
		r.gap = append(r.gap, latePiece{p, g.until})
		to = start
	}
	for k--; from < to; k-- {
		if start := r.slices[k].start; to > start {
			p := latePiece{piece{int32(k), c, to - max(from, start)}, g.until}
			r.gap = append(r.gap, p)
			r.keepLate(p)
			to = start
		}
	}
}

// Pause observes that nothing was recorded between two times: no gap reaches over that.
// What is idle before is tail.
func (r *Rank) Pause(from, to int64) {
	r.pauses = append(r.pauses, span{from, to})
	for _, l := range r.lanes {
		r.pauseLane(l, span{from, to})
	}
}

func (r *Rank) pauseLane(l *Lane, s span) {
	if l.End < s.start {
		r.endLane(l, s.start)
	}
	l.End, l.replay = max(l.End, s.end), none
}

// endLane credits the end of a lane's activity up to a time.
func (r *Rank) endLane(l *Lane, to int64) {
	from := max(l.End, r.origin)
	for k := len(r.slices) - 1; k >= 0; k-- {
		start, end := r.Bounds(k)
		end = min(end, to)
		if end <= from {
			return
		}
		if max(from, start) < end {
			r.keepLate(latePiece{piece{int32(k), Key(Tail).code(false), end - max(from, start)}, never})
		}
	}
}
