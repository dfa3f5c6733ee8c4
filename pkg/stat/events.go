package stat

import (
	"math"
	"slices"
)

// Marks says of each step of a run whether something happened in it.
type Marks []bool

// Count is in how many steps it did.
func (m Marks) Count() int {
	n := 0
	for _, yes := range m {
		if yes {
			n++
		}
	}
	return n
}

// CompareEvents returns how far apart the shares of steps are in which something happened,
// with the probability of dealing the events out to the steps of both runs so unevenly by
// chance: Fisher's exact test. So many steps in a row as together are worth one independent
// step count as one. Lo and Hi are NaN.
func CompareEvents(a, b Marks, together int) Difference {
	if len(a) == 0 || len(b) == 0 {
		return Unknown(math.NaN())
	}
	d := Unknown(float64(b.Count())/float64(len(b)) - float64(a.Count())/float64(len(a)))
	x, y := a.joined(together), b.joined(together)
	d.P = dealt(x.Count(), len(x), y.Count(), len(y))
	d.Effective = float64(min(len(x), len(y)))
	return d
}

// joined has a mark for so many steps each, where any of them has one.
func (m Marks) joined(together int) Marks {
	if together <= 1 {
		return m
	}
	var few Marks
	for part := range slices.Chunk(m, together) {
		few = append(few, slices.Contains(part, true))
	}
	return few
}

// Together is how many steps in a row are worth one independent step, by the share of those
// that are marked in either sequence.
func (w *Estimator) Together(all ...Marks) int {
	most := 1.0
	for _, m := range all {
		x := make([]float64, len(m))
		for t, yes := range m {
			if yes {
				x[t] = 1
			}
		}
		e := w.Mean(x)
		most = max(most, e.Steps/e.Effective())
	}
	return int(math.Round(most))
}

// CompareTops compares how many of the largest samples are each run's: of those above the
// p-quantile of both together, or for 1 above the largest one of the other run (Rosenbaum 1954):
// evidence that the largest differ, of which there is no other. Lo and Hi are NaN.
func CompareTops(a, b []float64, p float64, together int) Difference {
	limit := min(slices.Max(a), slices.Max(b))
	if p < 1 {
		all := slices.Concat(a, b)
		slices.Sort(all)
		limit = Quantile(all, p)
	}
	return CompareEvents(above(a, limit), above(b, limit), together)
}

// above marks the samples above a limit.
func above(x []float64, limit float64) Marks {
	m := make(Marks, len(x))
	for t, v := range x {
		m[t] = v > limit
	}
	return m
}

// dealt is the probability, on both sides, of at least so uneven a deal of x + y
// events to n and m steps.
func dealt(x, n, y, m int) float64 {
	k := x + y
	upper, lower := 0.0, 0.0
	for i := max(0, k-m); i <= min(k, n); i++ {
		p := math.Exp(ways(n, i) + ways(m, k-i) - ways(n+m, k))
		if i >= x {
			upper += p
		}
		if i <= x {
			lower += p
		}
	}
	return min(1, 2*min(upper, lower))
}

// ways is the logarithm of the number of ways to choose k of n.
func ways(n, k int) float64 {
	log := func(k int) float64 {
		v, _ := math.Lgamma(float64(k + 1))
		return v
	}
	return log(n) - log(k) - log(n-k)
}
