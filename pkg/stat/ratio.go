package stat

import "math"

// forgotten is within how many steps noise is taken to be where its lowest
// coefficients are smaller than that of the mean would be.
const forgotten = 10

// lowest is how many coefficients of a sequence of so many steps, the lowest, say how
// uncertain its mean is: from two, up to 300 steps, to 16 of 10000.
func lowest(steps float64) int { return max(2, int(math.Sqrt(steps)/6)) }

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
	half := math.Sqrt(variance) * tQuantile(df, (1+Level)/2)
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
// mean varies as much as the lowest coefficients do.
func (e *Estimate) slowly() (variance, df float64) {
	n := min(lowest(e.Steps), len(e.power))
	s := shape{state: 1, tau: forgotten}
	expected := make([]float64, n)
	for j := range expected {
		expected[j] = s.density(math.Pi*float64(j+1)/float64(e.N), e.Steps/float64(e.N))
	}
	return s.ofMean(e.Steps) * Mean(e.power[:n]) / Mean(expected), float64(n)
}
