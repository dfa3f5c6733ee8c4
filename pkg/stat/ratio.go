package stat

// Ratio returns the interval that holds, with probability Level, the ratio of the sums of
// two sequences that num and den are samples of, made of so many steps: the ratio is made
// linear in both, and what each sample contributes to it beyond its share is a
// sequence as for [Estimator.Influence]. ok is false where there are fewer than MinSamples
// samples, or den adds up to nothing.
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
