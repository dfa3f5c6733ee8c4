package stat

import (
	"math"
	"slices"
)

// MinBefore is how many values the last one is compared with at least. They leave four
// degrees of freedom: with fewer, the quantiles of Student's t grow so fast that a rise of 8 %
// is not found where starts vary by 1.2 %.
const MinBefore = 5

// minSlope is how many values a drift takes at least: twice as many as a level, since it has two
// figures. What grows faster is found as a step.
const minSlope = 2 * MinBefore

// Rise is the surest rise of the last value of a series over those before it.
type Rise struct {
	// From is the place at which the level before begins, Since that of the rise; Slope tells
	// that it grows from there with each value, and is no step.
	From, Since int
	Slope       bool
	// Before is the level that it begins at, By how far the last value's lies above it.
	Before, By float64
	// P is the chance of as sure a rise where the last value's level lies at most the margin
	// above that before, or more than this, never less.
	P float64
}

// LastRise tests whether the level of the last value of a series lies more than margin above
// that before, where the noise is independent, normal and of one unknown variance. levels are
// the places at which a new level is known to begin, in order, 0 not among them.
//
// The level is a mean for each known level, and in the last of these one change: a step at
// any place, or a straight line from there on. Each is a regression on one shape, whose
// coefficient has Student's t; for a step at the last place that is the prediction interval
// of one value, for a step at an unknown place the likelihood-ratio test of K. J. Worsley
// (JASA 74, 1979). The smallest of the chances, times the number of shapes (Bonferroni), is P.
// The first level is at least MinBefore values long before a change; of a shorter series ok is
// false. A line is at least minSlope values long. P is 1 where the last value itself does not lie margin above the level before: what
// has come back is no rise of the last value.
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
			case err < 1e-9*math.Abs(mean): // figures that repeat to the last digit
				p = 0
			default:
				p = tTail(df, above/err) / 2
			}
			if p < r.P {
				r = Rise{From: start, Since: since, Slope: slope, Before: mean + before, By: by, P: p}
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

// fit is the regression of deviations from a mean on one shape, which is zero up to place
// since: the level before, relative to that mean, by how much the last one's lies above it, and
// the standard error of this. others are squares of deviations that have the same variance.
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
