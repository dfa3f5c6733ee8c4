package metric

import (
	"github.com/hostbound/hostbound/pkg/stat"
)

// Interval is a 95 % confidence interval of a ratio: what the run would come to if it went on
// like this. It is for this start of the program and does not cover how starts differ.
type Interval struct {
	Low, High float64 // ratios, Low <= High; from 0 to 1, except for ratios of launches
}

// series holds the measurements of a scope step by step. Ranks run in step, so what affects
// all of them at once is one sample: steps at the same relative position in their ranks are
// added up.
type series struct {
	samples []figures
	steps   int // number of steps of the rank with the most
}

// newSeries returns the whole steps of a scope, over all ranks, in at most stat.MaxBins samples,
// or none if no rank has MinSteps. The last step of a segment is left out: its period is not
// whole and would be an outlier.
func newSeries(ranks []*rank, in func(r *rank, k int) bool) *series {
	all := make([][]int, len(ranks))
	n := 0
	for i, r := range ranks {
		from, to := r.walk.BenchmarkSteps()
		for k := from; k < to; k++ {
			if r.walk.Steps.At(k).Whole && in(r, k) {
				all[i] = append(all[i], k)
			}
		}
		n = max(n, len(all[i]))
	}
	s := &series{steps: n}
	if n < MinSteps {
		return s
	}
	s.samples = make([]figures, min(n, stat.MaxBins))
	for i, r := range ranks {
		place := 0
		for _, t := range r.steps.among(all[i]) {
			s.samples[place*len(s.samples)/len(all[i])].add(t, r)
			place++
		}
	}
	return s
}

// intervals sets the intervals of the rows of a scope.
func (s *series) intervals(est *stat.Estimator, rows []Row) {
	n := len(s.samples)
	num, den := make([]float64, n), make([]float64, n)
	samples := make([][]Row, n)
	for i := range samples {
		samples[i] = s.samples[i].rows("")
	}
	for m := range rows {
		if !rows[m].Applicable {
			continue
		}
		for i := range samples {
			num[i], den[i] = float64(samples[i][m].Numerator), float64(samples[i][m].Denominator)
		}
		if lo, hi, ok := est.Ratio(num, den, float64(s.steps)); ok {
			rows[m].Interval = rows[m].bound(lo, hi, stat.Mean(num)/stat.Mean(den))
		}
	}
}

// bound returns the interval of the row, given that of the whole steps (lo, hi) and their ratio
// (whole), clipped to possible values. The row also counts cut steps, whose share depends on the
// length of the run. So the interval is extended to cover the ratio of all steps, too.
func (r *Row) bound(lo, hi, whole float64) *Interval {
	moved := r.Value() - whole
	lo, hi = max(0, lo+min(0, moved)), hi+max(0, moved)
	switch r.Metric {
	case Launch, GraphLaunch, Backpressure: // sums over threads, which may exceed 1
	default:
		hi = min(hi, 1)
	}
	return &Interval{lo, hi}
}
