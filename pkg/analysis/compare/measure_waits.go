package compare

import (
	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/stat"
	steps "github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Causes of waits in collectives that are not idle time of another rank.
const (
	imbalance    = collective.ImbalanceName // the late rank's own kernels took longer
	waitsUnknown = collective.UnknownName   // the late rank was not recorded, or shows no cause
	sender       = collective.SenderName    // the rank that sends works on what is received
)

// observeCollective observes a GPU activity for the waits in collectives. d is the state
// of the GPU in package idle after the activity.
func (r *rank) observeCollective(g *gpu, d *idle.GPU, a *idle.Activity, class event.Class) {
	if r.idle.EndedGap() && d.GapStart >= r.segment {
		for _, p := range r.idle.LastGap() {
			g.log.Idle(collective.Key(r.shared.waits.of(p.Key)), p.Ns)
		}
	}
	if a.Kind != event.Kernel || !class.IsCollective() {
		g.log.Work(a.Start, a.End)
		return
	}
	g.log.Collective(collective.Collective{
		Step: int32(r.walk.Steps.Len() - 1), Name: a.Name, Allreduce: class == event.Allreduce, Start: a.Start, End: a.End,
	})
}

// lanes returns the GPUs with collectives, and their ranks.
func (p *profiler) lanes() (lanes []collective.Lane, of []*rank) {
	for _, r := range p.ranks {
		for k := range r.devices {
			if log := r.devices[k].log; log.Len() > 0 {
				log.Seal()
				lanes, of = append(lanes, collective.NewLane(p.header, r.id, r.devices[k].device, log, &r.walk.Steps, p.sites.Names.Text)), append(of, r)
			}
		}
	}
	return lanes, of
}

// divideWaits finds how long GPUs waited in collectives, and for what, and adds that to
// the steps of their ranks.
func (p *profiler) divideWaits() {
	lanes, of := p.lanes()
	if len(lanes) == 0 {
		return
	}
	m := collective.Visit(lanes, func(ev *collective.Meeting) {
		for w := range each(ev.Members) {
			if w.Wait > 0 {
				of[w.Lane].addWait(w)
			}
		}
	})
	p.run.Warnings = append(p.run.Warnings, m.Doubts()...)
}

// addWait adds a wait to the steps in whose periods it lies. Its parts are consecutive.
func (r *rank) addWait(w *collective.Member) {
	if r.near == nil {
		r.near = new(steps.NewCursor(&r.walk.Steps))
	}
	t := w.At
	for _, p := range w.Parts {
		id := int32(p.Key)
		if id < 0 { // Imbalance, Unknown and Sender, which have the first ids
			id = ^id
		}
		row := r.sections[waitTimes].at(id)
		r.near.Over(stat.Span{From: t, To: t + p.Ns}, func(k int, ns int64) { row.add(int32(k), ns, 0, 0) })
		t += p.Ns
	}
}
