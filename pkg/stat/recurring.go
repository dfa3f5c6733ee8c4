package stat

import "math"

// What makes a sequence one that recurs.
const (
	// leastCycles is how many times a sequence must hold a period: of fewer, chance may
	// have made one.
	leastCycles = 4
	// longestPeriod is up to where it is looked for, in steps.
	longestPeriod = 64
	// unforetold is the share of the variance of samples that the other cycles may
	// not foretell.
	unforetold = 0.5
	// clearer is how much less of it a longer period must leave: its multiples fit as well.
	clearer = 0.9
)

// recurrence is what a mean owes to what comes every so many steps (housekeeping, batches
// that take turns), with which it hardly varies: the cosine coefficients would take that
// for noise.
type recurrence struct {
	period int       // steps; 0: nothing recurs
	power  []float64 // squares of the coefficients of all else
	edge   float64   // square of what a cycle that is not whole adds to the mean
}

// periodOf returns the period at which each cycle of u is foretold best by the mean of the
// others, 0 where that leaves more than unforetold of the squares.
func periodOf(u []float64) (period int) {
	total := 0.0
	for _, v := range u {
		total += v * v
	}
	least := unforetold * total
	var phases [longestPeriod]float64
	for p := 2; p <= min(longestPeriod, len(u)/leastCycles); p++ {
		sums := phases[:p]
		clear(sums)
		for rest := u; len(rest) > 0; rest = rest[min(p, len(rest)):] {
			for k, v := range rest[:min(p, len(rest))] {
				sums[k] += v
			}
		}
		missed := total
		for k, s := range sums {
			missed -= s * s / inPhase(len(u), p, k)
		}
		// From the mean of the others a sample is further than from that of all.
		others := 1 - 1/float64(len(u)/p)
		if missed /= others * others; missed < least {
			least, period = clearer*missed, p
		}
	}
	return period
}

// inPhase is how many of n samples are the k-th of their period.
func inPhase(n, period, k int) float64 { return float64((n - k + period - 1) / period) }

// recurring returns what recurs in the contributions of single steps to a mean.
func (w *Estimator) recurring(u []float64) (r recurrence) {
	if r.period = periodOf(u); r.period == 0 {
		return r
	}
	n, largest := float64(len(u)), 0.0
	phases := make([]float64, r.period)
	for t, v := range u {
		phases[t%r.period] += v / inPhase(len(u), r.period, t%r.period)
		largest = max(largest, math.Abs(v))
	}
	rest := make([]float64, len(u))
	for t, v := range u {
		if v -= phases[t%r.period]; math.Abs(v) > 1e-9*largest { // what else is rounding
			rest[t] = v
		}
	}
	r.power = make([]float64, cosinesFor(len(u)))
	w.transform(rest, r.power)
	for j := range r.power {
		r.power[j] *= n / (n - float64(r.period)) // the phases have taken as many degrees of freedom
	}
	edge := Mean(phases) * n
	r.edge = edge * edge
	return r
}

// besides returns two estimates without what recurs in both. It must have the same
// period: one alone is not what the engine does, but chance, or its load.
func besides(a, b *Estimate) (x, y *Estimate) {
	if a.again.period == 0 || a.again.period != b.again.period {
		return a, b
	}
	return a.besides(), b.besides()
}

func (e *Estimate) besides() *Estimate {
	rest := *e
	rest.power, rest.edge = e.again.power, e.again.edge
	rest.zero = isZero(rest.power)
	return &rest
}
