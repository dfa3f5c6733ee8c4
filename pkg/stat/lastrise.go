package stat

import "math"

// LastRise tests whether the mean of a series rose at one of its last places: whether the
// values from place since on, at most `most` of them, are more than those before. It is
// the likelihood-ratio test for a change of the mean of independent normal values with
// one unknown variance (K. J. Worsley, JASA 74, 1979): the largest of Student's t over
// the places, which Bonferroni's inequality makes a probability. p is the chance of as
// large a rise where nothing changed, or more than that, never less. At least minBefore
// values come before the place; of a shorter series p is 1.
func LastRise(x []float64, most int) (since int, p float64) {
	p, tried := 1.0, 0
	for m := 1; m <= most && len(x)-m >= minBefore; m++ {
		tried++
		if q := rise(x[:len(x)-m], x[len(x)-m:]); q < p {
			since, p = len(x)-m, q
		}
	}
	return since, min(1, p*float64(tried))
}

// minBefore is how many values a rise is compared with at least.
const minBefore = 5

// rise is the chance of as large a difference of means of two samples of one variance.
func rise(before, after []float64) float64 {
	a, b := Mean(before), Mean(after)
	squares := 0.0
	for _, v := range before {
		squares += (v - a) * (v - a)
	}
	for _, v := range after {
		squares += (v - b) * (v - b)
	}
	df := float64(len(before) + len(after) - 2)
	error := math.Sqrt(squares / df * (1/float64(len(before)) + 1/float64(len(after))))
	switch {
	case b <= a:
		return 1
	case error < 1e-9*math.Abs(b): // figures that repeat to the last digit
		return 0
	}
	return tTail(df, (b-a)/error) / 2
}
