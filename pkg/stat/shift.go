package stat

import (
	"math"
	"slices"
)

// Sequence is a sequence of samples for the estimation of quantiles.
type Sequence struct {
	// Cells are the samples, in the order of time; those of one cell were taken
	// at the same time.
	Cells [][]float64
}

// share is what is known of a quantile of a sequence: the samples in order and
// how uncertain the share of samples below the quantile is.
type share struct {
	sorted []float64
	p      float64
	est    Estimate
}

func (w *Estimator) share(s Sequence, p float64) share {
	all := slices.Concat(s.Cells...)
	slices.Sort(all)
	q := Quantile(all, p)
	u := make([]float64, len(s.Cells))
	below := 0
	for _, v := range all {
		if v <= q {
			below++
		}
	}
	mean := float64(below) / float64(len(all))
	for t, cell := range s.Cells {
		for _, v := range cell {
			if v <= q {
				u[t]++
			}
			u[t] -= mean
		}
		u[t] /= float64(len(all))
	}
	return share{all, p, w.Influence(p, u)}
}

// interval returns the quantile and the bounds between which it lies with the
// given probability.
func (s *share) interval(level float64) (lo, q, hi float64) {
	half := math.Sqrt(s.est.Var) * tQuantile(s.est.DF, (1+level)/2)
	return Quantile(s.sorted, max(0, s.p-half)), Quantile(s.sorted, s.p), Quantile(s.sorted, min(1, s.p+half))
}

// CompareQuantiles returns how far the p-quantile of b is from that of a. SE and
// DF of the result are NaN: a quantile's error is not normal.
func (w *Estimator) CompareQuantiles(a, b Sequence, p float64) Difference {
	x, y := w.share(a, p), w.share(b, p)
	d := Unknown(Quantile(y.sorted, p) - Quantile(x.sorted, p))
	if !x.est.Known() || !y.est.Known() {
		return d
	}
	d.Lo, d.Hi = together(&x, &y, Level)
	d.P = 1
	if d.Delta == 0 {
		return d
	}
	// The probability is that of the widest interval without a 0 in it.
	in, out := 0.0, 1.0
	for range 50 {
		level := (in + out) / 2
		if lo, hi := together(&x, &y, level); lo <= 0 && 0 <= hi {
			out = level
		} else {
			in = level
		}
	}
	d.P = max(1-in, leastP(x.est.N, y.est.N))
	return d
}

// together returns the interval of the difference of two quantiles.
func together(x, y *share, level float64) (lo, hi float64) {
	xl, xq, xh := x.interval(level)
	yl, yq, yh := y.interval(level)
	d := yq - xq
	return d - math.Hypot(yq-yl, xh-xq), d + math.Hypot(yh-yq, xq-xl)
}
