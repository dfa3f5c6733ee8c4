package stat

import (
	"math"
	"slices"
)

// Mean returns the mean of x, NaN where there is none.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Quantile returns the p-quantile of x, which is in ascending order: the order
// statistics 0 to n-1 stand for the quantiles 0 to 1, and between them it
// interpolates linearly. It is NaN where x is empty. (Of gonum's two kinds neither
// is this one, nor is go-moremath's.)
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

// Sequence is a sequence of samples for the estimation of quantiles. It must not
// be changed once a quantile was asked for.
type Sequence struct {
	// Bins are the samples, in the order of time; those of one bin were taken at
	// the same time.
	Bins [][]float64
	// Steps is the number of steps that the bins stand for.
	Steps float64

	all []float64 // in ascending order, nil: not sorted yet
}

// Sorted returns all samples in ascending order, which must not be changed.
func (s *Sequence) Sorted() []float64 {
	if s.all == nil {
		s.all = slices.Concat(s.Bins...)
		slices.Sort(s.all)
	}
	return s.all
}

// below is the share of the samples that are at most v.
func (s *Sequence) below(v float64) float64 {
	n, _ := slices.BinarySearchFunc(s.Sorted(), v, func(x, v float64) int {
		if x <= v {
			return -1
		}
		return 1
	})
	return float64(n) / float64(len(s.Sorted()))
}

// bounded is a quantile with the bounds between which it lies, infinite beyond the samples.
type bounded struct {
	lo, q, hi float64
	variance  float64 // of the share of samples below it
	df        float64
	effective float64
}

// bound finds the p-quantile of s and its bounds. The variance of the share below it is that
// of as many independent steps as the samples are worth.
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
	// Between the outermost samples and the end of the distribution lies a share of 1/n: a
	// bound there is as good as none.
	edge := 0.5 / float64(len(all))
	if p-half > edge {
		b.lo = Quantile(all, p-half)
	}
	if p+half < 1-edge {
		b.hi = Quantile(all, p+half)
	}
	return b
}

// CompareQuantiles returns how far the p-quantile of b is from that of a.
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
	if d.Lo <= 0 && d.Hi >= 0 { // the interval and the probability are of one mind
		d.P = max(d.P, 1-Level)
	}
	return d
}
