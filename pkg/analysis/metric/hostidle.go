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

// hostIdle is what is known of idle time that has not ended, or whose owner is not known.
type hostIdle struct {
	origin  int64                         // start of the first slice that counts
	segment int64                         // start of the open segment
	waits   [step.RequestWays][]stat.Span // for requests, of which a part may be in an open gap
	earlier []earlier
}

// earlier is idle time with a host cause that began before the slice in which it ended: of one
// stretch of time that belongs to one thing.
type earlier struct {
	at            int64 // in the stretch
	ended         int64 // of the gap
	ns, following int64
}

// endGap observes that an activity ends an idle gap of a GPU, which began at from.
func (r *rank) endGap(d *gpu, from, to int64, graph bool, b *event.Batch, i int) {
	h, now := &r.hosts, r.walk.Slice()
	if from = max(from, h.origin); from >= to || now.Unrecorded {
		return
	}
	until := to
	if graph {
		until = from
	} else if end, known := b.LaunchEnd.Get(i); known { // as package idle has it
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

// creditHost credits idle time with a host cause, of a gap that ended.
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

// forget forgets, at the end of a slice, waits that are in no open gap.
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

// settle says to which steps idle time belongs whose owner is known now: all steps are.
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
