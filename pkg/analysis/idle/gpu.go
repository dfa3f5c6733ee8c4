package idle

import "github.com/hostbound/hostbound/pkg/trace/event"

// GPU is a device of the rank.
type GPU struct {
	Device int32 // CUDA device number
	End    int64 // latest end of an activity, ns
	Idle   int64 // idle time between its activities so far, in ns
	// GapStart and GapEnd are the bounds of its last idle gap, ns.
	GapStart, GapEnd int64

	replay int64 // correlation of the graph replay that End belongs to, none for no replay
	edge   gpuEdge
}

// Activity is a row that keeps a GPU busy.
type Activity struct {
	Start, End   int64      // ns
	Device       int32      // CUDA device number
	Name         int32      // number in Sites.Names
	Kind         event.Kind // kernel, graph, memcpy or memset
	Replayed     bool       // a graph replay ran it, or it is one
	Correlation  int64      // NoTime for none
	LaunchStart  int64      // NoTime if the launching call is unknown
	LaunchEnd    int64      // 0 if the launching call is unknown
	LaunchThread int64      // NoTime if unknown
}

// NoTime stands for what is null in an [Activity].
const NoTime = none

// IsActivity reports whether row i, a row of a GPU, keeps it busy. Rows without a length do
// not.
func (r *Rank) IsActivity(b *event.Batch, i int) bool {
	return r.busy>>uint32(b.Kind.Values[i])&1 != 0 && b.End.Values[i] > b.Start.Values[i]
}

// Read reads row i, a row of a GPU, into a.
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

// Activity observes an activity, which must not start before an earlier row, and returns its
// GPU.
func (r *Rank) Activity(a *Activity) *GPU {
	d := r.gpu
	if d == nil || d.Device != a.Device {
		d = r.findGPU(a.Device)
		r.gpu = d
	}
	r.last = a.Start
	first := r.edges.first(&d.edge, a)
	if r.ended = a.Start > d.End; r.ended {
		r.endGap(d, a, first)
	} else if d.edge.awaited {
		d.edge.pass(&r.ledger)
	}
	if a.End >= d.End {
		d.End, d.replay = a.End, none
		if a.Replayed {
			d.replay = a.Correlation
		}
	}
	return d
}

// findGPU returns the GPU of a device, which may be new.
func (r *Rank) findGPU(device int32) *GPU {
	for _, d := range r.gpus {
		if d.Device == device {
			return d
		}
	}
	d := &GPU{Device: device, End: none, replay: none}
	for _, s := range r.pauses {
		r.pauseGPU(d, s)
	}
	r.gpus = append(r.gpus, d)
	return d
}

// endGap attributes the idle gap that a ends; first says whether a is the first activity of a
// step on the GPU.
func (r *Rank) endGap(d *GPU, a *Activity, first bool) {
	from := max(d.End, r.origin)
	if d.End > none {
		d.Idle += a.Start - d.End
	}
	r.gap = r.gap[:0]
	if from < a.Start {
		r.attribute(d, from, a, first)
		if !r.edges.marked() {
			r.edges.match(d, from, a.Start, r.gap, &r.ledger)
		}
	}
	d.GapStart, d.GapEnd = from, a.Start
}

// EndedGap reports whether the last activity ended an idle gap of its GPU.
func (r *Rank) EndedGap() bool { return r.ended }

// LastGap returns the parts of the last idle gap, in order of time: each begins where the one
// before ends. A key may occur several times. They are valid until the next activity.
func (r *Rank) LastGap() []Sample { return r.gap }

// attribute splits the idle time of the GPU before a by its causes.
func (r *Rank) attribute(d *GPU, from int64, a *Activity, inter bool) {
	to := a.Start
	g := gapOf{until: to, inter: inter}
	if a.Replayed && d.replay != none && d.replay == a.Correlation {
		r.credit(from, to, r.sites.Call(Graph, -1, a.Name), g)
		return
	}
	if a.LaunchStart == none {
		r.credit(from, to, Key(Untraced), g)
		return
	}
	called := min(max(a.LaunchEnd, from), to)
	if from < called {
		r.attributeHost(span{from, called}, a.LaunchThread, g)
	}
	if called < to {
		r.credit(called, to, r.sites.Call(Queued, -1, a.Name), g)
	}
}

// gapOf is what all parts of a gap have in common: its end, and whether it is inter-step.
type gapOf struct {
	until int64
	inter bool
}

type span struct{ start, end int64 }

// attributeHost attributes a span to what a thread did then, state by state. Time in which the
// thread's state is unknown goes to r.unknown: before its first kept state, or all of it
// without a thread. So the parts always add up to the span.
func (r *Rank) attributeHost(s span, id int64, g gapOf) {
	var h *hostThread
	if id != none {
		h = r.byID[id]
	}
	from, to := s.start, s.end
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
		if r.credit(from, first, r.unknown, g); h.forgot {
			r.forgotten += first - from
		}
		from = first
	}
	for k := range runs {
		end := to
		if k+1 < len(runs) {
			end = min(to, runs[k+1].At)
		}
		if from < end {
			key := runs[k].Key
			undivided, why := r.sites.Undivided(key)
			cause := r.sites.Cause(undivided)
			r.creditState(from, end, h, key, cause, why, g)
			r.collect(h, from, end, key, cause, why, g)
			from = end
		}
	}
	r.credit(from, to, r.unknown, g)
}

// credit adds the time between from and to, a part of a gap, to a key in the slices that it
// lies in.
func (r *Rank) credit(from, to int64, key Key, g gapOf) {
	for k := len(r.slices) - 1; from < to; k-- {
		if start := r.slices[k].start; to > start {
			s := Sample{k, key, g.inter, to - max(from, start), g.until}
			r.gap = append(r.gap, s)
			r.add(s)
			to = start
		}
	}
}

// Pause observes that nothing was recorded between from and to. No gap spans a pause, and idle
// time before it is tail.
func (r *Rank) Pause(from, to int64) {
	r.pauses = append(r.pauses, span{from, to})
	for _, d := range r.gpus {
		r.pauseGPU(d, span{from, to})
	}
}

func (r *Rank) pauseGPU(d *GPU, s span) {
	if d.End < s.start {
		r.endGPU(d, s.start)
	}
	d.End, d.replay = max(d.End, s.end), none
}

// endGPU adds the idle time from the last activity of a GPU up to a time, as tail.
func (r *Rank) endGPU(d *GPU, to int64) {
	r.credit(max(d.End, r.origin), to, Key(Tail), gapOf{until: never})
}
