package stat

// Ratio returns the interval, with probability Level, of the ratio of two sums, of which
// num and den are the terms, equally many for both. They come from the given number of
// steps. The ratio is linearised in both; the contribution of each sample beyond its
// share is a sequence as for [Estimator.Influence]. ok is false if there are fewer than
// MinSamples samples, or den does not add up to more than 0.
func (w *Estimator) Ratio(num, den []float64, steps float64) (lo, hi float64, ok bool) {
	var x, y float64
	for i := range num {
		x += num[i]
		y += den[i]
	}
	if len(num) < MinSamples || !(y > 0) {
		return 0, 0, false
	}
	r := x / y
	u := make([]float64, len(num))
	for i := range num {
		u[i] = (num[i] - r*den[i]) / y
	}
	e := w.Influence(r, u, steps)
	return r - e.Half(), r + e.Half(), true
}
