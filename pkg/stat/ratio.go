package stat

// Ratio returns the interval that holds, with probability Level, the ratio of the
// sums of two sequences that num and den are samples of, made of so many steps:
// the ratio is made linear in both, and what each sample contributes to it beyond
// its share is a sequence as for Influence. ok is false where there are fewer than
// MinSamples samples, or den adds up to nothing.
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
	zero, e := Constant(0, len(u), steps), w.Influence(r, u, steps)
	d := w.Compare(&zero, &e)
	return d.Lo, d.Hi, true
}
