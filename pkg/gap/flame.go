package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/flame"
	"github.com/hostbound/hostbound/pkg/hoststate"
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
		key, why := c.sites.Undivided(p.key)
		s := flame.Stack{
			Rank: p.rank, Device: devices[p.rank], Cause: c.sites.CauseName(key), Leaf: c.sites.Name(key), Evidence: flame.Exact, Ns: ns,
		}
		if p.phase != noPhase {
			s.Phase = p.phase.String()
		}
		if why != hoststate.None {
			s.Why = c.sites.WhyName(why)
		}
		for _, name := range c.sites.RangesOf(c.sites.Path(key)) {
			s.Path = append(s.Path, c.ranges.text(name))
		}
		if ns != 0 {
			stacks = append(stacks, s)
		}
	}
	return stacks
}
