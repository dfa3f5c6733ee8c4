package gap

import "github.com/hostbound/hostbound/pkg/event"

// collective is a kernel that ranks run together.
type collective struct {
	start, end int64
	step, name int32
	allreduce  bool
}

// takeCollective takes a kernel of class allreduce or comm.
func (r *rank) takeCollective(b *event.Batch, i int, a *activity) {
	if !r.c.compared || len(r.steps) == 0 || !b.Step.Valid.Get(i) || a.end <= a.start {
		return
	}
	device := b.Device.Values[i]
	if r.lane == nil || r.lane.device != device {
		r.lane = r.findLane(device)
	}
	r.lane.collectives = append(r.lane.collectives, collective{
		a.start, a.end, int32(len(r.steps) - 1), a.name, a.class == event.Allreduce,
	})
}
