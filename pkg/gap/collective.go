package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/straggler"
)

// addCollective observes a kernel of class allreduce or comm of a step.
func (r *rank) addCollective(a *activity) {
	n := len(r.walk.Steps)
	if !r.c.compared || n == 0 {
		return
	}
	if r.lane.collectives == nil {
		r.lane.collectives = straggler.NewCollectives(r.c.store)
	}
	r.lane.collectives.Add(straggler.Collective{
		Step: int32(n - 1), Name: a.Name, Allreduce: a.class == event.Allreduce, Start: a.Start, End: a.End,
	})
}

// kernelTime is the time of a step's kernels by class.
type kernelTime [event.Other + 1]int64

// addOwn observes a kernel that a rank runs by itself.
func (r *rank) addOwn(a *activity) {
	class := a.class
	if class < 0 || class > event.Other {
		class = event.Other
	}
	r.own[class] += a.End - a.Start
}
