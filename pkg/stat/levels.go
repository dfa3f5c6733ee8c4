package stat

import (
	"math"
	"slices"
)

// What makes levels, and visits of one run to another's.
const (
	// levelsApart is by how many standard deviations of a sample, as neighbours show
	// it, the means must differ for it to be clear near which of them a sample is.
	levelsApart = 4
	// leastVisit is how many samples in a row make a visit, and visitShare how many
	// of a run: a single hiccup is no level.
	leastVisit = 3
	visitShare = 1.0 / 40
	// manyVisits is the number of visits from which on the coefficients show how
	// uncertain the means are.
	manyVisits = 8
)

// CompareLevels tells whether the levels of two runs are apart, far compared with how
// neighbouring samples differ, and whether one of the runs has been for a while near
// where the other is. Then the engine has levels between which it switches, so
// seldom that the runs may have had unlike parts of each by chance.
func CompareLevels(a, b []float64) (apart, shared bool) {
	x, y := Mean(withoutHiccups(a)), Mean(withoutHiccups(b))
	if !(math.Abs(y-x) > levelsApart*max(jitter(a), jitter(b))) {
		return false, false
	}
	center := (x + y) / 2
	n, p := visits(a, center, y > x)
	m, q := visits(b, center, x > y)
	return true, (p || q) && n+m < manyVisits
}

// withoutHiccups returns a run's samples without those that are no visit, by medians of as many
// as two hiccups and a visit less one: else the mean is far from where the run was at any time.
func withoutHiccups(x []float64) []float64 {
	smooth := slices.Clone(x)
	var near [2*leastVisit - 1]float64
	for t := leastVisit - 1; t+leastVisit <= len(x); t++ {
		copy(near[:], x[t-leastVisit+1:])
		slices.Sort(near[:])
		smooth[t] = near[leastVisit-1]
	}
	return smooth
}

// visits counts how often samples in a row are beyond a limit, and tells whether one
// such visit is long.
func visits(x []float64, limit float64, above bool) (n int, long bool) {
	length := 0
	for _, v := range x {
		if v == limit || (v > limit) != above {
			length = 0
			continue
		}
		if length++; length == leastVisit {
			n++
		}
		long = long || length >= leastVisit && float64(length) >= visitShare*float64(len(x))
	}
	return n, long
}

// jitter is the standard deviation of independent samples whose neighbours differ
// as those of x do, by the median: switches and outliers do not count.
func jitter(x []float64) float64 {
	apart := make([]float64, 0, len(x))
	for t := 1; t < len(x); t++ {
		apart = append(apart, math.Abs(x[t]-x[t-1]))
	}
	if len(apart) == 0 {
		return 0
	}
	slices.Sort(apart)
	return Quantile(apart, 0.5) / (0.6745 * math.Sqrt2)
}
