package metric

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The idle time of a GPU that has a host cause, as package idle defines causes: of a gap what
// lies before the launching call of the activity that ends it has returned, unless one graph
// replay runs on both sides of it, and but for the time in which threads wait for requests.
// What no activity of the window ends has none.

// What waits in collectives are due to, as far as metrics tell.
const (
	hostKey  collective.Key = iota // a host cause
	otherKey                       // none: replays, queues, requests
)

// calls finds the launching calls of activities by correlation: of the last ones, many more
// than can wait in a queue.
type calls []call

type call struct{ correlation, end int64 }

// callsKept is how many there are, a power of two.
const callsKept = 1 << 15

// add adds a launching call; of two of one correlation the first counts.
func (c *calls) add(correlation, end int64) {
	if *c == nil {
		*c = make([]call, callsKept)
	}
	if at := &(*c)[correlation&(callsKept-1)]; at.correlation != correlation || at.end == 0 {
		*at = call{correlation, end}
	}
}

// end returns when the call of an activity returned; false where it is not known.
func (c calls) end(correlation int64) (int64, bool) {
	if c == nil {
		return 0, false
	}
	at := &c[correlation&(callsKept-1)]
	return at.end, at.correlation == correlation && at.end != 0
}

// place is where time of a rank belongs to.
type place struct {
	from, to int64
	step     int32 // -1: to none
	kind     step.Place
	trace    bool
	segment  int32
}

// hostIdle is what is known of idle time that has not ended.
type hostIdle struct {
	calls   calls
	places  []place                       // of slices in which a GPU may have been idle to their end
	origin  int64                         // start of the first slice that counts
	waits   [step.RequestWays][]stat.Span // for requests, of which a part may be in an open gap
	late    []lateHost
	segment int64 // start of the open segment
}

// lateHost is idle time in a gap that ended after the latest end of the open segment so far: it
// has ended in the window only if another step follows.
type lateHost struct {
	step          int32 // -1: of a gap between segments
	segment       int32
	ns, following int64
}

// endPlace ends a slice of the rank at t.
func (r *rank) endPlace(s step.Slice, t int64) {
	h := &r.hosts
	if s.Unrecorded {
		for k := range r.gpus {
			r.gpus[k].end, r.gpus[k].replay = max(r.gpus[k].end, t), stat.None
		}
		if h.origin < stat.Never {
			h.origin = t
		}
		return
	}
	if s.Place == step.Outside && !s.Trace {
		return
	}
	if h.origin == stat.Never {
		h.origin = s.Start
	}
	least := t
	if len(r.gpus) < r.expected || r.expected == 0 {
		least = h.origin
	}
	for k := range r.gpus {
		least = min(least, r.gpus[k].end)
	}
	if least > h.origin {
		h.origin = least
		h.places = slices.DeleteFunc(h.places, func(p place) bool { return p.to <= least })
		for way, list := range h.waits {
			h.waits[way] = slices.DeleteFunc(list, func(s stat.Span) bool { return s.To <= least })
		}
	}
	if t > least {
		p := place{from: s.Start, to: t, step: -1, kind: s.Place, trace: s.Trace, segment: int32(len(r.walk.Segments)) - 1}
		if s.Place == step.InStep {
			p.step = s.Step
		}
		h.places = append(h.places, p)
	}
}

// settle says where pending time of step k belongs to.
func (h *hostIdle) settle(r *rank, k int, owner step.Owner) {
	for i := range h.places {
		if p := &h.places[i]; p.kind == step.Pending {
			switch owner {
			case step.StepOwner:
				p.kind, p.step = step.InStep, int32(k)
			case step.GapOwner:
				p.kind, p.step, p.segment = inGap, -1, -1
			default:
				p.kind, p.step = step.Outside, -1
			}
		}
	}
	for _, l := range h.late {
		if owner == step.NoOwner {
			break
		}
		segment := int32(-1) // none is open after a gap
		if owner == step.StepOwner {
			segment = r.walk.Steps.At(k).Segment
		}
		r.addHost(l, segment)
	}
	h.late = h.late[:0]
}

// inGap is the place of time between two segments.
const inGap = step.Pending + 1

// endGap observes that an activity ends an idle gap of a GPU, which began at from.
func (r *rank) endGap(d *gpu, from, to int64, graph bool, b *event.Batch, i int) {
	h, now, origin := &r.hosts, r.walk.Slice(), r.hosts.origin
	if origin == stat.Never && (now.Place != step.Outside || now.Trace) {
		origin = now.Start
	}
	if from = max(from, origin); from >= to || now.Unrecorded {
		return
	}
	until := to
	switch end, known := h.calls.end(b.Correlation.Values[i]); {
	case graph:
		until = from
	case known && b.Correlation.Valid.Get(i):
		until = min(max(end, from), to)
	}
	if len(h.waits[step.Fetching])+len(h.waits[step.Following]) == 0 && from >= max(now.Start, h.segment) { // Fast path
		r.acc.host += until - from
		d.log.Idle(hostKey, until-from)
		d.log.Idle(otherKey, to-until)
		return
	}
	host := stat.Span{From: from, To: until}
	parts := stat.Union([]stat.Span{host})
	if q := h.waits[step.Fetching]; len(q) > 0 && host.Len() > 0 {
		parts = stat.Subtract(parts, stat.Union(q))
	}
	if since := max(from, h.segment); since < to {
		ns := stat.Length(stat.Intersection(parts, []stat.Span{{From: since, To: to}}))
		d.log.Idle(hostKey, ns)
		d.log.Idle(otherKey, to-since-ns)
	}
	if stat.Length(parts) > 0 {
		r.creditHost(parts)
	}
}

// creditHost credits idle time with a host cause, which ends now.
func (r *rank) creditHost(parts []stat.Span) {
	h, now := &r.hosts, r.walk.Slice()
	var follows []stat.Span
	if q := h.waits[step.Following]; len(q) > 0 {
		follows = stat.Intersection(parts, stat.Union(q))
	}
	clip := func(from, to int64) (ns, following int64) {
		w := []stat.Span{{From: from, To: to}}
		if to <= from {
			return 0, 0
		}
		return stat.Length(stat.Intersection(parts, w)), stat.Length(stat.Intersection(follows, w))
	}
	ns, following := clip(now.Start, stat.Never)
	r.acc.host, r.acc.following = r.acc.host+ns, r.acc.following+following
	for i := len(h.places) - 1; i >= 0 && h.places[i].to > parts[0].From; i-- {
		p := &h.places[i]
		ns, following := clip(p.from, p.to)
		if ns == 0 {
			continue
		}
		if p.trace {
			r.trace.host, r.trace.following = r.trace.host+ns, r.trace.following+following
		}
		l := lateHost{p.step, p.segment, ns, following}
		switch {
		case p.kind == step.Pending:
			r.pending.host, r.pending.following = r.pending.host+ns, r.pending.following+following
		case p.kind == step.Outside:
		case now.Place == step.Pending:
			h.late = append(h.late, l)
		default:
			r.addHost(l, int32(len(r.walk.Segments)-1))
		}
	}
}

// addHost adds idle time with a host cause of a gap that ended in a segment.
func (r *rank) addHost(l lateHost, segment int32) {
	switch {
	case l.step < 0:
		r.gaps.host, r.gaps.following = r.gaps.host+l.ns, r.gaps.following+l.following
	case l.segment == segment:
		t := r.steps.at(int(l.step))
		t.host, t.following = t.host+l.ns, t.following+l.following
	default:
		r.steps.at(int(l.step)).hostTail += l.ns
	}
}
