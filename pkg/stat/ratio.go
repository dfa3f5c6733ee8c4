package stat

import "math"

// lowest is how many cosine coefficients of a sequence, the lowest, are enough for
// an estimate of how large that of its mean is, whatever its shape (at most four, or
// a state of twenty steps is missed in a run of sixty; fewer make the interval of
// independent steps half as wide again).
const lowest = 4

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
	m := w.mix(&zero, &e, false)
	half := max(m.beyond(1-Level), e.slowly())
	return r - half, r + half, true
}

// slowly is the error that a mean exceeds one time in twenty if it varies as much as
// the lowest coefficients do.
func (e *Estimate) slowly() float64 {
	n := min(lowest, len(e.power))
	variance := Mean(e.power[:n]) / float64(e.N)
	return math.Sqrt(variance) * tQuantile(float64(n), (1+Level)/2)
}
