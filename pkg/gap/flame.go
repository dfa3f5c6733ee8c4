package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/flame"
	"github.com/hostbound/hostbound/pkg/idle"
)

// stacks returns the idle time in the window as stacks: they add up to it, in ns.
func (c *computer) stacks(views []*view) []flame.Stack {
	type place struct {
		rank  int32
		phase event.Phase
		key   idle.Key
	}
	sums := map[place]int64{}
	devices := map[int32]*int32{}
	for _, v := range views {
		if len(v.lanes) == 1 {
			devices[v.id] = &v.lanes[0].Device
		}
		v.eachTotal(func(of *scope, t *idle.Total) { sums[place{v.id, of.phase, t.Key}] += t.Ns })
	}
	stacks := []flame.Stack{}
	for p, ns := range sums {
		s := c.sites.Stack(p.key)
		s.Rank, s.Device, s.Ns = p.rank, devices[p.rank], ns
		if p.phase != noPhase {
			s.Phase = p.phase.String()
		}
		if ns != 0 {
			stacks = append(stacks, s)
		}
	}
	return stacks
}
