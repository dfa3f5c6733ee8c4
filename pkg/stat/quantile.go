package stat

import (
	"math"
	"slices"
)

// Mean returns the mean of x, NaN if x is empty.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Quantile returns the p-quantile of x, which must be sorted. The order statistics 0 to
// n-1 are the quantiles 0 to 1, with linear interpolation between them. It is NaN if x
// is empty. (Neither of gonum's two kinds is this one, nor is go-moremath's.)
func Quantile[T int64 | float64](x []T, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	at := p * float64(len(x)-1)
	i := int(math.Floor(at))
	switch {
	case i < 0:
		return float64(x[0])
	case i >= len(x)-1:
		return float64(x[len(x)-1])
	}
	return float64(x[i]) + (at-float64(i))*float64(x[i+1]-x[i])
}

// Sequence is a sequence of samples for quantiles. It must not be changed after the
// first quantile.
type Sequence struct {
	// Bins are the samples in the order of time; those of one bin coincide.
	Bins [][]float64
	// Steps is the number of steps that the bins cover.
	Steps float64

	all []float64 // sorted, nil until needed
}

// Sorted returns all samples, sorted and read-only.
func (s *Sequence) Sorted() []float64 {
	if s.all == nil {
		s.all = slices.Concat(s.Bins...)
		slices.Sort(s.all)
	}
	return s.all
}

// below returns the share of samples that are at most v.
func (s *Sequence) below(v float64) float64 {
	n, _ := slices.BinarySearchFunc(s.Sorted(), v, func(x, v float64) int {
		if x <= v {
			return -1
		}
		return 1
	})
	return float64(n) / float64(len(s.Sorted()))
}

// bounded is a quantile with its bounds, infinite if they lie beyond the samples.
type bounded struct {
	lo, q, hi float64
	variance  float64 // of the share of samples below it
	df        float64
	effective float64
}

// bound returns the p-quantile of s and its bounds. The share of samples below it has
// the variance of as many independent steps as the samples are worth.
func (w *Estimator) bound(s *Sequence, p float64) bounded {
	all := s.Sorted()
	q := Quantile(all, p)
	u := make([]float64, len(s.Bins))
	share := s.below(q)
	for t, bin := range s.Bins {
		for _, v := range bin {
			u[t] -= share / float64(len(all))
			if v <= q {
				u[t] += 1 / float64(len(all))
			}
		}
	}
	e := w.Influence(share, u, s.Steps)
	k := e.Effective()
	b := bounded{lo: math.Inf(-1), q: q, hi: math.Inf(1), variance: p * (1 - p) / k, df: e.df, effective: k}
	half := math.Sqrt(b.variance) * tQuantile(b.df, (1+Level)/2)
	// Beyond each outermost sample lies a share of 1/n of the distribution: a bound
	// there is none.
	edge := 0.5 / float64(len(all))
	if p-half > edge {
		b.lo = Quantile(all, p-half)
	}
	if p+half < 1-edge {
		b.hi = Quantile(all, p+half)
	}
	return b
}

// CompareQuantiles returns the p-quantile of b less that of a. Everything except Delta
// is NaN if either has fewer than MinSamples bins.
func (w *Estimator) CompareQuantiles(a, b *Sequence, p float64) Difference {
	x, y := w.bound(a, p), w.bound(b, p)
	d := Unknown(y.q - x.q)
	if len(a.Bins) < MinSamples || len(b.Bins) < MinSamples {
		return d
	}
	d.Effective = min(x.effective, y.effective)
	d.Lo, d.Hi = d.Delta-math.Hypot(y.q-y.lo, x.hi-x.q), d.Delta+math.Hypot(y.hi-y.q, x.q-x.lo)
	both := slices.Concat(a.Sorted(), b.Sorted())
	slices.Sort(both)
	q := Quantile(both, p)
	apart, df := math.Abs(b.below(q)-a.below(q)), welch(x.variance, x.df, y.variance, y.df)
	if d.P = 1; d.Delta != 0 {
		d.P = max(tTail(df, apart/math.Sqrt(x.variance+y.variance)), leastP(len(a.Bins), len(b.Bins)))
	}
	if d.Lo <= 0 && d.Hi >= 0 { // the interval and P agree
		d.P = max(d.P, 1-Level)
	}
	return d
}
