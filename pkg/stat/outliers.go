package stat

import (
	"math"
	"slices"
)

// normalMAD, 1/Φ⁻¹(3/4): the ratio of the standard deviation of normal values to their
// median distance from the median (Hampel 1974).
var normalMAD = 1 / (math.Sqrt2 * math.Erfinv(0.5))

// efficiency, 37 %: that of the median distance, compared with the standard deviation
// (Rousseeuw and Croux 1993).
const efficiency = 0.37

// Outliers returns, for each value, the probability that a value of the main kind lies
// as far from the median. It measures distances in the median distance, and uses
// Student's t with the degrees of freedom that this is worth. Up to half of the values
// may be of other kinds. If more than half of the values are equal, any other has
// probability 0. p is NaN for NaN, and everything is NaN for fewer than [MinSamples]
// values. deviation is the standard deviation of the main kind.
func Outliers(x []float64) (median, deviation float64, p []float64) {
	known := slices.DeleteFunc(slices.Clone(x), math.IsNaN)
	p = slices.Repeat([]float64{math.NaN()}, len(x))
	if len(known) < MinSamples {
		return math.NaN(), math.NaN(), p
	}
	slices.Sort(known)
	median = Quantile(known, 0.5)
	far := make([]float64, len(known))
	for i, v := range known {
		far[i] = math.Abs(v - median)
	}
	slices.Sort(far)
	deviation = normalMAD * Quantile(far, 0.5)
	for i, v := range x {
		switch z := math.Abs(v-median) / deviation; {
		case math.IsNaN(v):
		case v == median:
			p[i] = 1
		case deviation == 0:
			p[i] = 0
		default:
			p[i] = tTail(efficiency*float64(len(known)-1), z)
		}
	}
	return median, deviation, p
}
