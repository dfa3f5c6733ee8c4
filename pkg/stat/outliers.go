package stat

import (
	"math"
	"slices"
)

// normalMAD, 1/Φ⁻¹(3/4): how many times the median distance from the median the standard deviation
// of normal values is (Hampel 1974).
var normalMAD = 1 / (math.Sqrt2 * math.Erfinv(0.5))

// efficiency, 37 %: of the values that a standard deviation is taken from, what the median distance
// is worth (Rousseeuw and Croux 1993).
const efficiency = 0.37

// Outliers says of each of some values, most of which are of one kind, how likely a value of that
// kind is as far from their median: distances in the median distance, with Student's t of as many
// degrees of freedom as that is worth. Up to half of the values may be of another kind. Where more
// than half of the values are one number, any other is none of its kind. p is NaN where a value is,
// and for fewer than [MinSamples] values.
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
