package gap

import "github.com/hostbound/hostbound/pkg/event"

// collective is a kernel that ranks run together.
type collective struct {
	start, end int64
	step, name int32
	allreduce  bool
}

// collectives is a list in pieces: growing a long one would copy it.
type collectives [][]collective

// pieceLen is the number of collectives in a piece.
const pieceLen = 4096

func (all *collectives) add(c collective) {
	n := len(*all)
	switch {
	case n == 0:
		*all = append(*all, nil) // the first one grows, as there may be few
		n++
	case len((*all)[n-1]) == pieceLen:
		*all = append(*all, make([]collective, 0, pieceLen))
		n++
	}
	(*all)[n-1] = append((*all)[n-1], c)
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
	r.lane.collectives.add(collective{
		a.start, a.end, int32(len(r.steps) - 1), a.name, a.class == event.Allreduce,
	})
}

// kernelTime is the time of a step's kernels by class.
type kernelTime [event.Other + 1]int64

// takeOwn takes a kernel that a rank runs by itself, where ranks are compared.
func (r *rank) takeOwn(a *activity) {
	n := len(r.steps)
	if !r.c.compared || n == 0 {
		return
	}
	for len(r.own) < n {
		r.own = append(r.own, kernelTime{})
	}
	class := a.class
	if class < 0 || class > event.Other {
		class = event.Other
	}
	r.own[n-1][class] += a.end - a.start
}
