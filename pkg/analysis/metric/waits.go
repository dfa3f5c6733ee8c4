package metric

import (
	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
)

// Collectives describes the collectives of a run.
type Collectives struct {
	// Matched is how many were matched, over all groups. It is 0, as is the Coverage, if parts with
	// collectives were added up.
	Matched int64 `json:"matched"`
	collective.Coverage
}

// divide matches the collectives of all ranks, and credits to each how long it waits in them.
func (c *computer) divide(res *Result) {
	var lanes []collective.Lane
	var of []*rank
	for _, r := range c.ranks {
		for k := range r.gpus {
			d := &r.gpus[k]
			if d.log.Seal(); d.log.Len() == 0 {
				continue
			}
			l := collective.NewLane(c.header, r.id, d.device, d.log, &r.walk.Steps, c.names.Text)
			l.Stepless = r.walk.Steps.Len() == 0
			lanes, of = append(lanes, l), append(of, r)
		}
	}
	if len(lanes) == 0 {
		return
	}
	for _, r := range of {
		r.waitsUnknown, r.causesUnknown = true, true
	}
	m := collective.Visit(lanes, func(ev *collective.Meeting) {
		for i := range ev.Members {
			r := of[ev.Members[i].Lane]
			r.waitsUnknown, r.causesUnknown = false, r.causesUnknown && ev.Estimated
		}
		for i := range ev.Members {
			if w := &ev.Members[i]; w.Wait > 0 {
				of[w.Lane].creditWait(w)
			}
		}
	})
	res.Collectives = &Collectives{Coverage: m.Coverage()}
	for _, g := range m.Groups {
		res.Collectives.Matched += g.Matched
	}
}

// creditWait credits a wait to the periods that it lies in. Its parts follow one another in the
// order of their keys.
func (r *rank) creditWait(w *collective.Member) {
	host := stat.Span{From: w.At, To: w.At}
	for _, p := range w.Parts {
		switch p.Key {
		case hostKey:
			host.To = host.From + p.Ns
		case collective.Imbalance, collective.Unknown, collective.Sender:
			host.From += p.Ns
			host.To += p.Ns
		}
	}
	all := stat.Span{From: w.At, To: w.At + w.Wait}
	if from, to, ok := r.walk.TraceWindow(); ok {
		r.creditIn(&r.trace.credit, all, host, stat.Span{From: from, To: to})
	}
	steps := &r.walk.Steps
	n := steps.Len()
	if n == 0 {
		return
	}
	if r.near == (step.Cursor{}) {
		r.near = step.NewCursor(steps)
	}
	for r.near.Find(all.From); r.near.Step < n; r.near.Load(r.near.Step + 1) {
		near := &r.near
		r.creditIn(&r.gaps.credit, all, host, stat.Span{From: near.Before, To: near.Start})
		if near.Start >= all.To {
			break
		}
		r.creditIn(r.steps.creditOf(near.Step), all, host, stat.Span{From: near.Start, To: near.Until})
		if near.Until >= all.To {
			break
		}
	}
}

// creditIn credits the part of a wait that lies in a span and was recorded.
func (r *rank) creditIn(t *credit, all, host, in stat.Span) {
	all, host = all.Clip(in), host.Clip(in)
	t.waits, t.hostWaits = t.waits+all.Len(), t.hostWaits+host.Len()
	for _, u := range r.unrecorded {
		lost := stat.Span{From: u[0], To: u[1]}
		t.waits, t.hostWaits = t.waits-all.Clip(lost).Len(), t.hostWaits-host.Clip(lost).Len()
	}
}
