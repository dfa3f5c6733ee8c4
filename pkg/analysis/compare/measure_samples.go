package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Samples are per-step samples of a run from another source: a simulation or a log.
type Samples struct {
	Name string // the name of the run
	// Gen is the number of generation requests in each step, negative if unknown.
	Gen   int
	Ranks []RankSamples // rank 0 first
}

// RankSamples are the samples of one rank with one GPU. All slices are as long as Wall.
// Times are in us.
type RankSamples struct {
	Wall     []float64 // the period of each step
	Busy     []float64 // busy GPU time in the period
	Duration []float64 // the extent of the step
	// Gens are the generation requests of each step if they differ; nil to use
	// Samples.Gen.
	Gens []int
	// Operations are the times of ranges by name, all while the GPU is idle, none nested
	// in another.
	Operations map[string][]float64
	// Kernels and Calls are times by name, of one kernel and one call per step.
	Kernels, Calls map[string][]float64
}

// FromSamples returns the profile of such a run, rounded to ns. All its steps are whole;
// those with the most generation requests are steady.
func FromSamples(s Samples) *Run {
	run := newRun(0)
	run.Name, run.Method, run.Ranges, run.calls = s.Name, "samples", true, true
	for id := range s.Ranks {
		p, r, most := run.newProfile(int32(id)), &s.Ranks[id], int32(unknown)
		p.gpus = 1
		for i := range r.Wall {
			one := r.step(i, int32(s.Gen))
			most = max(most, one.gen)
			p.steps = append(p.steps, one)
		}
		for section, of := range map[int]map[string][]float64{operations: r.Operations, kernels: r.Kernels, calls: r.Calls} {
			for _, name := range slices.Sorted(maps.Keys(of)) {
				row := p.sections[section].at(run.names[section].ID([]byte(name)))
				for i, v := range of[name] {
					row.add(int32(i), nanoseconds(v), nanoseconds(v), 0)
				}
			}
		}
		p.seal()
		p.benchmark(0, len(p.steps))
		p.steady = p.of(func(s *step) bool { return s.gen == most })
		run.ranks = append(run.ranks, p)
	}
	run.settle()
	return run
}

// step returns step i.
func (s *RankSamples) step(i int, gen int32) step {
	if s.Gens != nil {
		gen = int32(s.Gens[i])
	}
	one := step{period: nanoseconds(s.Wall[i]), extent: nanoseconds(s.Duration[i]), busy: nanoseconds(s.Busy[i]), gen: gen, phase: event.Generation}
	if gen < 0 {
		one.ctx, one.gen, one.phase = unknown, unknown, event.Unknown
	}
	one.inter = min(max(0, one.period-one.extent), one.period-one.busy)
	one.gpu, one.work.Loose = one.busy, int32(len(s.Kernels))
	return one
}

// nanoseconds converts us to ns, rounded.
func nanoseconds(us float64) int64 { return int64(math.Round(us * 1e3)) }
