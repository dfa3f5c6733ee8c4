package metric

import (
	"github.com/hostbound/hostbound/pkg/stat"
)

// Interval holds the truth of a ratio with a probability of 95 %: what the run
// would come to if it went on like this. It is of this start of the program; what
// differs from start to start is not in it.
type Interval struct {
	Low, High float64 // ratios, Low <= High; within 0 to 1 but for those of launches
}

// series is what was measured step after step in a scope. Ranks run in step, and
// what all of them feel at once is one sample: the steps of the ranks that are
// equally far on through those of their rank are added up.
type series struct {
	samples []figures
	steps   int // of the rank with the most
}

// newSeries returns the whole steps of a scope, over the ranks, in at most stat.MaxBins
// samples; none where no rank has MinSteps. The last step of a segment has no
// whole period and would count as an outlier.
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

// intervals gives the rows of a scope their intervals.
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

// bound is the interval of the row, given that of the whole steps and their ratio, kept
// to what the ratio can be. The row counts cut steps, too, whose share is another in a run
// of another length: the interval is moved to the ratio of all steps, and holds both.
func (r *Row) bound(lo, hi, whole float64) *Interval {
	moved := r.Value() - whole
	lo, hi = max(0, lo+min(0, moved)), hi+max(0, moved)
	switch r.Metric {
	case Launch, GraphLaunch, Backpressure: // sums over threads
	default:
		hi = min(hi, 1)
	}
	return &Interval{lo, hi}
}
