package stat

import "math"

// Mean returns the mean of x, NaN where there is none.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Quantile returns the p-quantile of x, which is in ascending order: the order
// statistics 0 to n-1 stand for the quantiles 0 to 1, and between them it
// interpolates linearly. It is NaN where x is empty. (Of gonum's two kinds neither
// is this one, nor is go-moremath's.)
func Quantile[T int64 | float64](x []T, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	at := p * float64(len(x)-1)
	i := int(math.Floor(at))
	switch {
	case i < 0:
		return float64(x[0])
	case i >= len(x)-1:
		return float64(x[len(x)-1])
	}
	return float64(x[i]) + (at-float64(i))*float64(x[i+1]-x[i])
}
