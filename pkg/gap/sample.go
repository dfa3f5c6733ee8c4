package gap

import (
	"github.com/hostbound/hostbound/pkg/event"
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
	aside   int // index from which on they are behind the segment
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
func (r *rank) beginSample(seg *segment, s *stepInfo) {
	k := &seg.steady
	gen := s.gen
	if s.ctx > 0 {
		k, gen = &seg.context, 0
	}
	r.sample.keeper = nil
	r.sample.kernels, r.sample.aside = r.sample.kernels[:0], never32
	if k.wants(gen) {
		r.sample.keeper = k
	}
}

// takeSample takes a kernel of the rank's first lane.
func (r *rank) takeSample(b *event.Batch, i int, a *activity) {
	s := &r.sample
	if r.lane != r.lanes[0] {
		return
	}
	switch {
	case s.keeper != nil && r.place != outside:
		if len(s.kernels) >= maxKernels {
			return
		}
	case r.c.wholeTrace && len(r.steps) == 0:
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
		start: a.start, end: a.end, name: a.name, path: path, class: a.class,
		stream: int32(b.Stream.Values[i]), replayed: a.replayed,
	})
}

// endSample ends the open step.
func (r *rank) endSample() {
	s := &r.sample
	if len(r.steps) == 0 {
		if r.c.wholeTrace {
			r.trace.steady.kept = [][]kernelAt{s.kernels[max(0, len(s.kernels)-traceKernels):]}
		}
		return
	}
	if s.keeper != nil && len(s.kernels) > 0 {
		s.keeper.keep(s.kernels)
	}
	s.keeper, s.kernels = nil, s.kernels[:0]
}
