package stat

import (
	"math"
	"slices"
)

// MinBefore is the least number of values with which the last one is compared. They
// leave four degrees of freedom. With fewer, the quantiles of Student's t are so large
// that a rise of 8 % is not found if values vary by 1.2 %.
const MinBefore = 5

// minSlope is the least number of values in a drift: twice as many as in a level, since
// a drift has two parameters. A faster growth is found as a step.
const minSlope = 2 * MinBefore

// Rise is the most significant rise of the last value of a series over those before it.
type Rise struct {
	// From is the index at which the level before begins, Since that at which the rise
	// begins. Slope says that the values grow from there one by one; otherwise the rise
	// is a step.
	From, Since int
	Slope       bool
	// By is how far the level of the last value lies above the level before the rise.
	By float64
	// P bounds the probability of so significant a rise if the level of the last value
	// lies at most the margin above the level before.
	P float64
}

// LastRise tests whether the level of the last value of a series lies more than margin
// above the level before. The noise must be independent and normal, with one unknown
// variance. levels are the indexes at which a new level is known to begin, in order,
// without 0.
//
// The model is a mean for each known level and, in the last of them, one change. That is
// a step at any index, or a straight line from there on. Each is a regression on one
// shape, whose coefficient follows Student's t. For a step at the last index this is the
// prediction interval of one value, for a step at an unknown index the likelihood-ratio
// test of K. J. Worsley (JASA 74, 1979). P is the smallest p-value times the number of
// shapes (Bonferroni). The first level has at least MinBefore values before a change,
// and a line has at least minSlope values. For shorter series ok is false. P is 1 if the
// last value itself is not margin above the level before. A rise that has gone again is
// no rise of the last value.
func LastRise(x []float64, levels []int, margin float64) (r Rise, ok bool) {
	n, start, first := len(x), 0, MinBefore
	if len(levels) > 0 {
		start = levels[len(levels)-1]
		first = start + 1
	}
	df := float64(n - 2 - len(levels))
	if n <= MinBefore || df < MinBefore-1 || first >= n {
		return r, false
	}
	rest := deviations(x, levels)
	mean := x[n-1] - rest[n-1]
	r = Rise{From: start, Since: n - 1, P: math.Inf(1)}
	others := 0.0
	for _, v := range rest[:start] {
		others += v * v
	}
	tried := 0
	for since := start + 1; since < n; since++ {
		for _, slope := range []bool{false, true} {
			if !slope && since < first || slope && n-since < minSlope {
				continue
			}
			tried++
			before, by, err := fit(rest[start:], since-start, slope, others, df)
			p := 1.0
			switch above := by - margin; {
			case above <= 0 || x[n-1]-mean-before <= margin:
			case err < 1e-9*math.Abs(mean): // values that are equal to the last digit
				p = 0
			default:
				p = tTail(df, above/err) / 2
			}
			if p < r.P {
				r = Rise{From: start, Since: since, Slope: slope, By: by, P: p}
			}
		}
	}
	r.P = min(1, r.P*float64(tried))
	return r, true
}

// deviations returns each value less the mean of its level.
func deviations(x []float64, levels []int) []float64 {
	rest := make([]float64, len(x))
	from := 0
	for _, to := range append(slices.Clone(levels), len(x)) {
		m := Mean(x[from:to])
		for i := from; i < to; i++ {
			rest[i] = x[i] - m
		}
		from = to
	}
	return rest
}

// fit is the regression of y, deviations from a mean, on a shape that is zero before
// index since. It returns the level before, relative to that mean, how far the level of
// the last value lies above it, and the standard error of that. others is a sum of
// squares with the same variance.
func fit(y []float64, since int, slope bool, others, df float64) (before, by, err float64) {
	n := len(y)
	shape := make([]float64, n)
	for i := since; i < n; i++ {
		shape[i] = 1
		if slope {
			shape[i] = float64(i - since + 1)
		}
	}
	middle, product, square := Mean(shape), 0.0, 0.0
	for i, v := range y {
		product += (shape[i] - middle) * v
		square += (shape[i] - middle) * (shape[i] - middle)
	}
	b := product / square
	for i, v := range y {
		d := v - b*(shape[i]-middle)
		others += d * d
	}
	last := shape[n-1]
	return -b * middle, b * last, last * math.Sqrt(others/df/square)
}
