package stat

import "math"

// lowest is how many coefficients of a sequence, the lowest, say how uncertain its mean
// is. With three, or with more the longer the run, kinds of noise lie further apart.
const lowest = 2

// levelIndependent is the probability with which the interval of a ratio holds the truth
// where steps are independent: above Level, as what lasts for a tenth of a run or more
// adds less to the coefficients than to the mean. It is chosen so that of runs of 60
// steps an autoregression of 0.9, bursts and states of twenty steps are held with 0.93
// to 0.95 (Müller 2014 chooses critical values so, for a class of ways to be similar).
const levelIndependent = 0.966

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
	e := w.Influence(r, u, steps)
	variance, df := e.slowly()
	half := math.Sqrt(variance) * tQuantile(df, (1+levelIndependent)/2)
	return r - half, r + half, true
}

// Slowly is the probability of means as far apart by chance, if each varies as much as
// the lowest coefficients of its sequence do, NaN where that is not known.
func Slowly(a, b *Estimate) float64 {
	if !a.Known() || !b.Known() {
		return math.NaN()
	}
	va, dfa := a.slowly()
	vb, dfb := b.slowly()
	m := mixture{of: []component{welch(va, dfa, vb, dfb)}}
	return m.tail(math.Abs(b.Mean - a.Mean))
}

// slowly is the variance of a mean, and of how many degrees of freedom it is, if the
// mean varies as the lowest coefficients do.
func (e *Estimate) slowly() (variance, df float64) {
	n := min(lowest, len(e.power))
	return Mean(e.power[:n]) / float64(e.N), float64(n)
}
