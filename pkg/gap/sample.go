package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/step"
)

// Limits of what is kept to look for a repeating pattern.
const (
	maxSamples   = 8       // steps of a segment
	maxKernels   = 1 << 15 // kernels of a step
	traceKernels = 1 << 14 // kernels of a trace without steps: the last ones
)

// kernelAt is a kernel of a step that is kept.
type kernelAt struct {
	start, end int64
	name, path int32
	class      int32
	stream     int32
	replayed   bool
}

// sample is the kernels of the open step, while they are wanted.
type sample struct {
	keeper  *keeper
	kernels []kernelAt
	pending int // index from which on they are after the segment
}

// keeper keeps the kernels of a few steps, spread over all that it was offered.
type keeper struct {
	gen     int64 // generation requests of the steps; those with the most are kept
	offered int
	stride  int
	kept    [][]kernelAt
}

// wants tells whether the next step, with gen generation requests, is to be kept.
func (k *keeper) wants(gen int64) bool {
	if k.stride == 0 || gen > k.gen {
		*k = keeper{gen: gen, stride: 1}
	}
	if gen < k.gen {
		return false
	}
	k.offered++
	return (k.offered-1)%k.stride == 0
}

func (k *keeper) keep(kernels []kernelAt) {
	if len(k.kept) == maxSamples {
		n := 0
		for i := 0; i < len(k.kept); i += 2 {
			k.kept[n] = k.kept[i]
			n++
		}
		k.kept = k.kept[:n]
		k.stride *= 2
	}
	k.kept = append(k.kept, append([]kernelAt(nil), kernels...))
}

// beginSample begins a step.
func (r *rank) beginSample(seg *segment, s *step.Step) {
	k, gen := &seg.steady, s.Gen
	if s.Ctx > 0 {
		k, gen = &seg.context, 0
	}
	r.sample.keeper = nil
	r.sample.kernels = r.sample.kernels[:0]
	if k.wants(gen) {
		r.sample.keeper = k
	}
}

// addSample observes a kernel of the rank's first lane.
func (r *rank) addSample(b *event.Batch, i int, a *activity) {
	s := &r.sample
	if r.lane != r.lanes[0] {
		return
	}
	switch {
	case s.keeper != nil && r.at.Place != step.Outside:
		if len(s.kernels) >= maxKernels {
			return
		}
	case len(r.walk.Steps) == 0:
		if len(s.kernels) >= 2*traceKernels {
			s.kernels = append(s.kernels[:0], s.kernels[traceKernels:]...)
		}
	default:
		return
	}
	path := int32(-1)
	if a.launch != nil {
		path = a.launch.path
	}
	s.kernels = append(s.kernels, kernelAt{
		start: a.Start, end: a.End, name: a.Name, path: path, class: a.class,
		stream: int32(b.Stream.Values[i]), replayed: a.Replayed,
	})
}

// endSample ends the open step.
func (r *rank) endSample() {
	s := &r.sample
	if s.keeper != nil && len(s.kernels) > 0 {
		s.keeper.keep(s.kernels)
	}
	s.keeper, s.kernels = nil, s.kernels[:0]
}
