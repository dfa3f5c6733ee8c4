package metric

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Idle time with a host cause, as package idle defines causes: the part of a gap before the
// launching call of the activity that ends it returned. Excluded are gaps inside one graph
// replay, gaps that no activity of the window ends, and time in which threads wait for
// requests.

// The causes of waits in collectives that metrics distinguish.
const (
	hostKey  collective.Key = iota // a host cause
	otherKey                       // no host cause: replays, queues, requests
)

// hostIdle is the state for idle time that has not ended, or whose owner is not known yet.
type hostIdle struct {
	origin  int64                         // start of the first slice that counts, ns
	segment int64                         // start of the open segment, ns
	waits   [step.RequestWays][]stat.Span // waits for requests that an open gap may overlap
	earlier []earlier
}

// earlier is idle time with a host cause from before the slice in which its gap ended. All of it
// belongs to the same step, or to the time between two.
type earlier struct {
	at            int64 // a time in it, ns
	ended         int64 // end of the gap, ns
	ns, following int64
}

// endGap observes an idle gap of a GPU from from to to, which row i ends. graph says that the
// gap is inside one graph replay.
func (r *rank) endGap(d *gpu, from, to int64, graph bool, b *event.Batch, i int) {
	h, now := &r.hosts, r.walk.Slice()
	if from = max(from, h.origin); from >= to || now.Unrecorded {
		return
	}
	until := to
	if graph {
		until = from
	} else if end, known := b.LaunchEnd.Get(i); known { // as in package idle
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
	observe := func(idle func(collective.Key, int64), from, to int64) {
		if from < to {
			ns := stat.Length(stat.Intersection(parts, []stat.Span{{From: from, To: to}}))
			idle(hostKey, ns)
			idle(otherKey, to-from-ns)
		}
	}
	observe(d.log.IdleBefore, from, min(to, h.segment))
	observe(d.log.Idle, max(from, h.segment), to)
	if stat.Length(parts) > 0 {
		r.creditHost(parts, to)
	}
}

// creditHost credits idle time with a host cause, parts of a gap that ended at ended.
func (r *rank) creditHost(parts []stat.Span, ended int64) {
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
	if from, to, ok := r.walk.TraceWindow(); ok {
		ns, following := clip(from, min(to, now.Start))
		r.trace.host, r.trace.following = r.trace.host+ns, r.trace.following+following
	}
	for to, k, s := now.Start, r.walk.Steps.Len()-1, len(r.walk.Segments)-1; k >= 0 && to > parts[0].From; {
		from := r.walk.Steps.At(k).Start
		if end := r.walk.Segments[s].End; end < to && end >= from {
			from = end
		} else if k--; k < r.walk.Segments[s].First {
			s--
		}
		if ns, following := clip(from, to); ns > 0 {
			h.earlier = append(h.earlier, earlier{max(from, parts[0].From), ended, ns, following})
		}
		to = min(to, from)
	}
}

// forget drops, at the end t of slice s, the waits that no open gap can overlap. Gaps do not
// span time that was not recorded.
func (r *rank) forget(s step.Slice, t int64) {
	h, least := &r.hosts, t
	if s.Unrecorded {
		for k := range r.gpus {
			r.gpus[k].end, r.gpus[k].replay = max(r.gpus[k].end, t), stat.None
		}
		if h.origin < stat.Never {
			h.origin = t
		}
	}
	if len(r.gpus) < r.expected || r.expected == 0 {
		least = min(t, h.origin)
	}
	for k := range r.gpus {
		least = min(least, r.gpus[k].end)
	}
	for way, list := range h.waits {
		h.waits[way] = slices.DeleteFunc(list, func(s stat.Span) bool { return s.To <= least })
	}
}

// settle credits earlier idle time to steps, once all steps are known.
func (r *rank) settle() {
	w := r.walk
	if len(r.hosts.earlier) == 0 || w.Steps.Len() == 0 {
		return
	}
	near, last := step.NewCursor(&w.Steps), w.Segments[len(w.Segments)-1].End
	for _, e := range r.hosts.earlier {
		to := &r.gaps.credit
		near.Find(e.at)
		if near.Step < w.Steps.Len() && near.Start <= e.at {
			to = r.steps.creditOf(near.Step)
			if e.ended >= w.Segments[w.Steps.At(near.Step).Segment].End {
				if e.ended < last {
					to.hostTail += e.ns
				}
				continue
			}
		}
		if e.at < last && e.ended < last {
			to.host, to.following = to.host+e.ns, to.following+e.following
		}
	}
	r.hosts.earlier = nil
}
