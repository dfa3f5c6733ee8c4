package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/straggler"
)

// addCollective observes a kernel of class allreduce or comm of a step.
func (r *rank) addCollective(a *activity) {
	n := len(r.walk.Steps)
	if !r.c.compared || n == 0 {
		return
	}
	if r.gpu.collectives == nil {
		r.gpu.collectives = straggler.NewCollectives(r.c.store)
	}
	r.gpu.collectives.Add(straggler.Collective{
		Step: int32(r.launchStep(a)), Name: a.Name, Allreduce: a.class == event.Allreduce, Start: a.Start, End: a.End,
	})
}

// launchStep returns the step in which the collective of an activity was launched, where
// steps are ranges of the host, and else in which it runs. (Where hosts run ahead, that
// differs from rank to rank.) It never goes back.
func (r *rank) launchStep(a *activity) int {
	k := len(r.walk.Steps) - 1
	if r.c.method == step.NVTX && a.LaunchStart != none {
		for k > 0 && r.walk.Steps[k].Start > a.LaunchStart {
			k--
		}
	}
	r.gpu.step = max(r.gpu.step, k)
	return r.gpu.step
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
