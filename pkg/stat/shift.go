package stat

import (
	"math"
	"slices"
)

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

// share estimates the share of the samples of which holds is true.
func (w *Estimator) share(s *Sequence, holds func(float64) bool) Estimate {
	u := make([]float64, len(s.Bins))
	n, of := 0.0, 0.0
	for t, bin := range s.Bins {
		for _, v := range bin {
			if of++; holds(v) {
				n++
				u[t]++
			}
		}
	}
	for t, bin := range s.Bins {
		u[t] = (u[t] - float64(len(bin))*n/of) / of
	}
	return w.Influence(n/of, u, s.Steps)
}

// bounded is a quantile with the bounds between which it lies. A bound beyond the
// samples is infinite: what lies there is not known.
func (w *Estimator) bounded(s *Sequence, p float64) (lo, q, hi float64) {
	all := s.Sorted()
	q = Quantile(all, p)
	e := w.share(s, func(v float64) bool { return v <= q })
	half := w.Compare(new(Constant(e.Mean, e.N, e.Steps)), &e).Hi
	lo, hi = math.Inf(-1), math.Inf(1)
	// Between the outermost samples and the end of the distribution lies a share
	// of 1/n: a bound there is as good as none.
	edge := 0.5 / float64(len(all))
	if at := p - half; at > edge {
		lo = Quantile(all, at)
	}
	if at := p + half; at < 1-edge {
		hi = Quantile(all, at)
	}
	return lo, q, hi
}

// CompareQuantiles returns how far the p-quantile of b is from that of a. The
// probability is that of other shares of samples below the quantile of both
// together.
func (w *Estimator) CompareQuantiles(a, b *Sequence, p float64) Difference {
	xl, xq, xh := w.bounded(a, p)
	yl, yq, yh := w.bounded(b, p)
	delta := yq - xq
	q := quantileOf(a.Sorted(), b.Sorted(), p)
	below := func(v float64) bool { return v <= q }
	x, y := w.share(a, below), w.share(b, below)
	d := w.comparePooled(&x, &y)
	d.Delta = delta
	d.Lo, d.Hi = delta-math.Hypot(yq-yl, xh-xq), delta+math.Hypot(yh-yq, xq-xl)
	if delta == 0 {
		d.P = 1
	}
	return d
}

// quantileOf returns the p-quantile of two ascending lists together, as Quantile, without
// putting them together.
func quantileOf(a, b []float64, p float64) float64 {
	n := len(a) + len(b)
	at := p * float64(n-1)
	i := min(max(int(math.Floor(at)), 0), max(n-2, 0))
	next := func() float64 {
		if len(b) == 0 || len(a) > 0 && a[0] <= b[0] {
			a, b = b, a
		}
		v := b[0]
		b = b[1:]
		return v
	}
	for range i {
		next()
	}
	var pair [2]float64
	for k := range min(n, 2) {
		pair[k] = next()
	}
	return Quantile(pair[:min(n, 2)], at-float64(i))
}

// comparePooled returns the probability of shares so far apart if both have the
// same variance.
func (w *Estimator) comparePooled(a, b *Estimate) Difference {
	d := Unknown(b.Mean - a.Mean)
	if !a.Known() || !b.Known() {
		return d
	}
	d.erring(a, b, w.mix(a, b, true))
	if d.P = 1; d.Delta != 0 {
		d.P = max(d.tail(math.Abs(d.Delta)), leastP(a.N, b.N))
	}
	return d
}
