package stat

import (
	"math"
	"slices"
)

// Marks says of each step of a run whether something happened in it.
type Marks []bool

// count is in how many steps it did.
func (m Marks) count() int {
	n := 0
	for _, yes := range m {
		if yes {
			n++
		}
	}
	return n
}

// CompareEvents returns how far apart the shares of steps are in which something
// happened. Its probability is the larger of two: that of dealing the events out to
// the steps of both runs by chance (Fisher's exact test), which is right however
// few there are, and that from the likely variance of the shares, which is larger
// where events come in bursts. Lo and Hi are NaN.
func (w *Estimator) CompareEvents(a, b Marks) Difference {
	x, y := w.rate(a), w.rate(b)
	d := Unknown(y.Mean - x.Mean)
	if !x.Known() || !y.Known() {
		return d
	}
	m := w.mix(&x, &y, true)
	d.error, d.Effective = &m, m.effective
	d.P = dealt(a.count(), len(a), b.count(), len(b))
	if v := m.likely(); v > 0 {
		d.P = max(d.P, math.Erfc(math.Abs(d.Delta)/math.Sqrt(2*v)))
	}
	return d
}

// LeastOfEvents is the least probability that CompareEvents could give for so many
// events in runs of so many steps: all of them in one run.
func LeastOfEvents(events, steps, others int) float64 {
	events = min(events, steps, others)
	return min(dealt(events, steps, 0, others), dealt(0, steps, events, others))
}

// rate estimates the share of marked steps.
func (w *Estimator) rate(m Marks) Estimate {
	bins := min(len(m), MaxBins)
	u := make([]float64, bins)
	n := float64(len(m))
	mean := float64(m.count()) / n
	for t, yes := range m {
		v := -mean / n
		if yes {
			v += 1 / n
		}
		u[t*bins/len(m)] += v
	}
	return w.Influence(mean, u, n)
}

// MaxBins is how many samples a sequence is put together to, at most: so the time
// for an estimate does not grow with the run.
const MaxBins = 1024

// dealt is the probability, on both sides, of at least so uneven a deal of x + y
// events to n and m steps.
func dealt(x, n, y, m int) float64 {
	k := x + y
	if k == 0 {
		return 1
	}
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

// above marks the samples above a limit.
func above(x []float64, limit float64) Marks {
	m := make(Marks, len(x))
	for t, v := range x {
		m[t] = v > limit
	}
	return m
}

// apart keeps, of marks no more than memory steps after one another, the first:
// where neighbouring steps resemble one another, all of them are one event.
func (m Marks) apart(memory int) Marks {
	few := make(Marks, len(m))
	last := -memory - 1
	for t, yes := range m {
		if yes {
			few[t] = t-last > memory
			last = t
		}
	}
	return few
}

// ComparePeaks compares how many samples of one run are above the largest of the
// other (Rosenbaum 1954): evidence that the largest differ, of which there is no
// other. Those no more than memory steps after one another are one. The delta is
// that of the largest; Lo and Hi are NaN.
func (w *Estimator) ComparePeaks(a, b []float64, memory int) Difference {
	x, y := slices.Max(a), slices.Max(b)
	limit := min(x, y)
	d := w.CompareEvents(above(a, limit).apart(memory), above(b, limit).apart(memory))
	d.Delta = y - x
	return d
}

// CompareTops compares how many of the largest samples of both runs together are
// each run's. These are one in a hundred, or ten where that is no more than one in
// twenty. Those no more than memory steps after one another are one. The delta is
// that of the shares; Lo and Hi are NaN.
func (w *Estimator) CompareTops(a, b []float64, memory int) Difference {
	all := slices.Concat(a, b)
	slices.Sort(all)
	n := len(all)
	k := max(n/100, min(10, n/20))
	limit := all[n-1-k]
	return w.CompareEvents(above(a, limit).apart(memory), above(b, limit).apart(memory))
}

// RankSum is the probability that samples of one run rank so much above those of
// the other by chance (Wilcoxon, Mann and Whitney), exactly where there are few. It
// is NaN where a run has none.
func RankSum(a, b []float64) float64 {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return math.NaN()
	}
	u, ties := 0.0, 0.0
	for _, v := range a {
		for _, w := range b {
			switch {
			case w > v:
				u++
			case w == v:
				u += 0.5
				ties++
			}
		}
	}
	half := float64(n) * float64(m) / 2
	far := math.Abs(u - half)
	if n+m > exactRanks || ties > 0 {
		sd := math.Sqrt(float64(n) * float64(m) * float64(n+m+1) / 12)
		return max(min(1, math.Erfc(max(0, far-0.5)/sd/math.Sqrt2)), leastP(n, m))
	}
	return exactRankSum(n, m, half+far)
}

const exactRanks = 40

// exactRankSum is the probability of a rank statistic as far from its mean as u.
func exactRankSum(n, m int, u float64) float64 {
	// count[i][s]: ways to place i of the first samples so that the statistic is s.
	count := make([][]float64, n+1)
	for i := range count {
		count[i] = make([]float64, n*m+1)
	}
	count[0][0] = 1
	for k := 1; k <= n+m; k++ {
		for i := min(k, n); i >= 1; i-- {
			// The k-th largest is of the first run: the other's above it count.
			over := k - i
			if over > m {
				continue
			}
			for s := n * m; s >= over; s-- {
				count[i][s] += count[i-1][s-over]
			}
		}
	}
	total, beyond := 0.0, 0.0
	for s, c := range count[n] {
		total += c
		if float64(s) >= u {
			beyond += c
		}
	}
	return min(1, 2*beyond/total)
}
