package stat

import (
	"math"
	"slices"
)

// Marks says, for each step of a run, whether something happened in it.
type Marks []bool

// Count returns the number of steps in which it happened.
func (m Marks) Count() int {
	n := 0
	for _, yes := range m {
		if yes {
			n++
		}
	}
	return n
}

// CompareEvents compares the shares of steps in which something happened. P is the
// probability of so uneven a distribution of the events over the steps of both runs by
// chance: Fisher's exact test. Each together consecutive steps count as one, because
// they are worth one independent step. Lo and Hi are NaN; so is everything if a run has
// no steps.
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

// joined returns one mark for each together steps, set if any of theirs is.
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

// Together returns how many consecutive steps are worth one independent step, at least
// 1, judged by the marks of the sequence in which that is most.
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

// CompareTops compares how many of the largest samples each run has. These are the
// samples above the p-quantile of both together, or for p = 1, above the largest one of
// the other run (Rosenbaum 1954). No other test shows that the largest differ. Neither
// slice may be empty. Lo and Hi are NaN.
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

// dealt is the two-sided probability that x + y events are distributed at least as
// unevenly over n and m steps.
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

// ways is the logarithm of n choose k.
func ways(n, k int) float64 {
	log := func(k int) float64 {
		v, _ := math.Lgamma(float64(k + 1))
		return v
	}
	return log(n) - log(k) - log(n-k)
}
