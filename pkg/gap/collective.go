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

// addCollective observes a kernel of class allreduce or comm of a step.
func (r *rank) addCollective(a *activity) {
	if n := len(r.walk.Steps); r.c.compared && n > 0 {
		r.lane.collectives.add(collective{a.Start, a.End, int32(n - 1), a.Name, a.class == event.Allreduce})
	}
}

// kernelTime is the time of a step's kernels by class.
type kernelTime [event.Other + 1]int64

// addOwn observes a kernel that a rank runs by itself.
func (r *rank) addOwn(a *activity) {
	n := len(r.own)
	if n == 0 {
		return
	}
	class := a.class
	if class < 0 || class > event.Other {
		class = event.Other
	}
	r.own[n-1][class] += a.End - a.Start
}
