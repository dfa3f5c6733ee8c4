package metric

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// periods returns the P50 and P90 of the whole periods of the steps of a phase that count, in ns,
// nil if there are none.
func periods(ranks []*rank, p event.Phase) (p50, p90 *float64) {
	var all []float64
	for _, r := range ranks {
		from, to := r.walk.BenchmarkSteps()
		for k := from; k < to; k++ {
			if one := r.walk.Steps.At(k); one.Phase == p && one.Whole {
				all = append(all, float64(one.Period()))
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	slices.Sort(all)
	low, high := stat.Quantile(all, 0.5), stat.Quantile(all, 0.9)
	return &low, &high
}

// span returns the earliest start and the latest end of the benchmark segments, nil if there are
// none.
func span(ranks []*rank) (s *[2]int64) {
	for _, r := range ranks {
		k := r.walk.Benchmark()
		if k < 0 {
			continue
		}
		one := &r.walk.Segments[k]
		if s == nil {
			s = &[2]int64{one.Start, one.End}
		}
		s[0], s[1] = min(s[0], one.Start), max(s[1], one.End)
	}
	return s
}

// steady describes the steady steps of all ranks, nil if there are none.
func steady(ranks []*rank) *Steady {
	var s Steady
	var period, kernels, whole int64
	var gaps []int64
	for _, r := range ranks {
		for k, t := range r.steps.among(r.walk.Steady()) {
			one := r.walk.Steps.At(k)
			s.Steps++
			period += one.Period()
			kernels += t.kernels
			whole += t.whole
			if gap := one.Period() - (one.End - one.Start); gap > 0 {
				gaps = append(gaps, gap)
			}
		}
	}
	if s.Steps == 0 {
		return nil
	}
	s.Wall = float64(period) / float64(s.Steps)
	if whole == 0 {
		s.Kernels = new(float64(kernels) / float64(s.Steps))
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		s.GapP50 = new(stat.Quantile(gaps, 0.5))
	}
	return &s
}
