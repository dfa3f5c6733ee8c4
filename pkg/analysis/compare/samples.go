package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Samples are per-step samples of a run as figures, for whoever has them from
// elsewhere: from a simulation, or from a log.
type Samples struct {
	Name string // what the run is called
	// Gen is the number of generation requests in each step, negative where that
	// is not known.
	Gen   int
	Ranks []RankSamples
}

// RankSamples are the samples of one rank, with one GPU; all slices are as long as
// Wall. Times are us.
type RankSamples struct {
	Wall     []float64 // the period of each step
	Busy     []float64 // GPU time in it
	Duration []float64 // the extent of the step
	// Gens are the generation requests of each step where they differ.
	Gens []int
	// Operations are the times of ranges by name, all while the GPU is idle and
	// none nested in another.
	Operations map[string][]float64
	// Kernels and Calls are times by name, of one kernel and one call a step.
	Kernels, Calls map[string][]float64
}

// FromSamples returns the profile of such a run.
func FromSamples(s Samples) *Run {
	run := &Run{Name: s.Name, Method: "samples", Ranges: true, calls: true, repeats: 1, names: newSections(), store: newStore(0)}
	for id := range s.Ranks {
		r := &rank{id: int32(id), gpus: make([]gpu, 1), sections: sectionsIn(run.store), store: run.store}
		r.fromSamples(&s.Ranks[id], int32(s.Gen), &run.names)
		run.ranks = append(run.ranks, r.sampled())
	}
	run.settle()
	return run
}

// sampled returns the profile of a rank whose steps are samples: all are whole, and
// those with the most generation requests are steady.
func (r *rank) sampled() *profile {
	p := r.measured(0, r.steps.Len())
	most, steps := int32(unknown), r.steps.Reader()
	for i := range r.steps.Len() {
		most = max(most, steps.At(i).gen)
	}
	p.steady = p.of(func(s *step) bool { return s.gen == most })
	return p
}

// fromSamples fills a rank with the samples of all its steps, to the nanosecond.
func (r *rank) fromSamples(s *RankSamples, gen int32, names *[numSections]*names) {
	for i := range s.Wall {
		one := step{period: nanoseconds(s.Wall[i]), extent: nanoseconds(s.Duration[i]), gen: gen}
		if s.Gens != nil {
			one.gen = int32(s.Gens[i])
		}
		if one.phase = event.Generation; one.gen < 0 {
			one.ctx, one.gen, one.phase = unknown, unknown, event.Unknown
		}
		one.busy = nanoseconds(s.Busy[i])
		one.inter = min(max(0, one.period-one.extent), one.period-one.busy)
		one.gpu, one.work.Loose = one.busy, int32(len(s.Kernels))
		r.steps.Append(one)
	}
	for section, of := range map[int]map[string][]float64{operations: s.Operations, kernels: s.Kernels, calls: s.Calls} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			row := r.sections[section].at(names[section].add(name))
			for i, v := range of[name] {
				row.add(int32(i), nanoseconds(v), nanoseconds(v), 0)
			}
		}
	}
	r.seal()
}

// nanoseconds rounds a time in us.
func nanoseconds(us float64) int64 { return int64(math.Round(us * 1e3)) }
