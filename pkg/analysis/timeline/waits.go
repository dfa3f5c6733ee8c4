package timeline

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// observeCollective observes a GPU activity for the waits in collectives.
func (r *rank) observeCollective(d *gpu, a *idle.Activity, b *event.Batch, i int) {
	class, ok := b.Class.Get(i)
	if a.Kind != event.Kernel || !ok || !class.IsCollective() {
		d.log.Work(a.Start, a.End)
		return
	}
	d.log.Collective(collective.Collective{
		Step: int32(r.walk.Steps.Len() - 1), Name: a.Name, Allreduce: class == event.Allreduce, Start: a.Start, End: a.End,
	})
}

// addWaits divides the collectives of all ranks, and adds to the kept steps how long
// their GPUs wait in them, and for what.
func (c *Collector) addWaits(kept []*Step) {
	var lanes []collective.Lane
	for _, r := range c.ranks {
		for _, d := range r.gpus {
			if d.log.Seal(); d.log.Len() > 0 {
				lanes = append(lanes, collective.NewLane(c.header, r.id, d.Device, d.log, &r.walk.Steps, c.sites.Names.Text))
			}
		}
	}
	if len(lanes) == 0 {
		return
	}
	m := collective.New(lanes)
	m.Each(func(ev *collective.Meeting) {
		late := "in a collective"
		if !ev.Estimated {
			late = fmt.Sprintf("for rank %d", m.Lanes[ev.Members[ev.Late].Lane].Rank)
		}
		for i := range ev.Members {
			w := &ev.Members[i]
			for _, s := range kept {
				if l := &m.Lanes[w.Lane]; s.Rank == l.Rank && w.At < s.Until && w.At+w.Wait > s.Start {
					c.addWait(s, l.Device, w, late)
				}
			}
		}
	})
}

// addWait adds a wait to a step, clipped to it. Its parts are consecutive.
func (c *Collector) addWait(s *Step, device int32, w *collective.Member, late string) {
	at := w.At
	for _, p := range w.Parts {
		g := Gap{Cause: "unknown"}
		switch p.Key {
		case collective.Imbalance:
			g.Cause = collective.ImbalanceName
		case collective.Sender:
			g.Cause = collective.SenderName
		case collective.Unknown:
		default:
			g = c.label(idle.Key(p.Key))
		}
		g.Device, g.Start, g.End, g.Late = device, max(at, s.Start), min(at+p.Ns, s.Until), late
		if at += p.Ns; g.Start < g.End {
			s.Waits = append(s.Waits, g)
		}
	}
}
