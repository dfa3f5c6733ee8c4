package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
)

// meanKind is how the mean of a run behaves as the run gets longer.
type meanKind int

const (
	settles meanKind = iota
	// wanders: there is no long-run mean. For equal runs, the only right answer is that
	// nothing can be told.
	wanders
	// recurs: it comes at regular intervals and hardly moves the mean. If no period is
	// visible, intervals made for chance always hold the truth.
	recurs
)

// noise is a kind of noise: the factors by which steps differ from their mean.
type noise struct {
	name string
	mean meanKind
	// host draws the noise that all host operations of a rank share, op that of one
	// operation.
	host, op func(rng *rand.Rand, n int) []float64
}

// stepNoises are the kinds of noise.
var stepNoises = []noise{
	{"independent 10 %", settles, quiet, normal(0, 0.1)},
	{"log-normal 50 %", settles, quiet, normal(0, 0.5)},
	{"Pareto 2.5", settles, quiet, pareto(2.5)},
	{"AR(1) 0.3", settles, quiet, normal(0.3, 0.1)},
	{"AR(1) 0.6", settles, quiet, normal(0.6, 0.1)},
	{"AR(1) 0.9", settles, quiet, normal(0.9, 0.1)},
	{"AR(1) 0.9 of the host", settles, normal(0.9, 0.1), normal(0, 0.05)},
	{"two states, 5 steps, 20 %", settles, states(5, 0.2), normal(0, 0.05)},
	{"two states, 20 steps, 10 %", settles, states(20, 0.1), normal(0, 0.05)},
	{"two states, 20 steps, 30 %", settles, states(20, 0.3), normal(0, 0.05)},
	{"two states, 50 steps, 20 %", settles, states(50, 0.2), normal(0, 0.05)},
	{"bursts", settles, bursts(0.01, 6, 0.5), normal(0, 0.05)},
	{"a pause every 20 steps", recurs, pauses(20, 1), normal(0, 0.05)},
	{"drift of 10 %", wanders, drift(0.1), normal(0, 0.05)},
	{"random walk, 0.5 % per step", wanders, walk(0.005), normal(0, 0.05)},
	// The following were added after the method was fixed.
	{"throttling, 30 to 50 steps, 10 %", recurs, throttled(0.1), normal(0, 0.05)},
	{"housekeeping every 10 steps, 30 %", recurs, pauses(10, 0.3), normal(0, 0.05)},
	{"a batch that grows, 10 %", settles, growing(0.1), normal(0, 0.05)},
}

func quiet(_ *rand.Rand, n int) []float64 { return slices.Repeat([]float64{1}, n) }

// normal returns log-normal noise in which neighbouring steps have correlation phi.
func normal(phi, sd float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		z := rng.NormFloat64()
		for t := range x {
			x[t] = math.Exp(sd*z - sd*sd/2)
			z = phi*z + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
		return x
	}
}

// pareto returns noise with mean 1 and a tail with index alpha, above 0.9.
func pareto(alpha float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for t := range x {
			x[t] = 0.9 + 0.1*(alpha-1)*(math.Pow(1-rng.Float64(), -1/alpha)-1)
		}
		return x
	}
}

// states returns noise with two states, each kept for stay steps on average; the slow one
// takes shift longer.
func states(stay, shift float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		slow := rng.IntN(2)
		for t := range x {
			x[t] = 1 + shift*float64(slow)
			if rng.Float64() < 1/stay {
				slow = 1 - slow
			}
		}
		return x
	}
}

// bursts returns noise with bursts that take shift longer. They last length steps on
// average, and begin with probability share in each quiet step.
func bursts(share, length, shift float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		slow := false
		for t := range x {
			x[t] = 1
			if slow {
				x[t] += shift
				slow = rng.Float64() > 1/length
			} else {
				slow = rng.Float64() < share
			}
		}
		return x
	}
}

// pauses returns noise with a pause in every n-th step, beginning at a random one.
func pauses(every int, shift float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		first := rng.IntN(every)
		for t := range x {
			x[t] = 1
			if t%every == first {
				x[t] += shift
			}
		}
		return x
	}
}

// throttled returns noise that rises from share below the mean to share above it, until the
// clock recovers after 30 to 50 steps.
func throttled(share float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		period := 30 + rng.IntN(21)
		at := rng.IntN(period)
		for t := range x {
			x[t] = 1 + share*(2*float64(at)/float64(period)-1)
			if at++; at >= period {
				at, period = 0, 30+rng.IntN(21)
			}
		}
		return x
	}
}

// growing returns noise that rises by share over each run, 0 on average.
func growing(share float64) func(*rand.Rand, int) []float64 {
	return func(_ *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for t := range x {
			x[t] = 1 + share*((float64(t)+0.5)/float64(n)-0.5)
		}
		return x
	}
}

// drift returns a straight line whose slope differs between runs.
func drift(share float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		slope := share * rng.NormFloat64() / float64(n)
		for t := range x {
			x[t] = 1 + slope*float64(t)
		}
		return x
	}
}

func walk(sd float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		z := 0.0
		for t := range x {
			x[t] = math.Exp(z)
			z += sd * rng.NormFloat64()
		}
		return x
	}
}

// draw returns a run with the given steps and ranks. Costs of operations are multiplied
// by factor; change is applied to the samples of each rank.
func (z *noise) draw(rng *rand.Rand, steps, ranks int, factor float64, change func(*compare.RankSamples)) *compare.Run {
	s := compare.Samples{Name: "run", Gen: 8}
	host := z.host(rng, steps)
	shared := make([][]float64, len(costs))
	for i := range costs {
		shared[i] = z.op(rng, steps)
	}
	for range ranks {
		one := compare.RankSamples{Operations: map[string][]float64{}}
		one.Busy = times(gpuCost, normal(0, 0.02)(rng, steps))
		one.Wall, one.Duration = slices.Clone(one.Busy), times(1.05, one.Busy)
		for i, cost := range costs {
			own := z.op(rng, steps)
			x := make([]float64, steps)
			for t := range x {
				x[t] = cost * factor * host[t] * (shared[i][t] + own[t]) / 2
				one.Wall[t] += x[t]
			}
			one.Operations[opName(i)] = x
		}
		one.Kernels, one.Calls = similar(rng, "kernel", kernelNames, 0.04, steps), similar(rng, "call", callNames, 0.1, steps)
		if change != nil {
			change(&one)
		}
		s.Ranks = append(s.Ranks, one)
	}
	return compare.FromSamples(s)
}

func times(by float64, x []float64) []float64 {
	y := make([]float64, len(x))
	for t, v := range x {
		y[t] = by * v
	}
	return y
}

// similar returns rows that do not differ between runs.
func similar(rng *rand.Rand, name string, n int, sd float64, steps int) map[string][]float64 {
	rows := map[string][]float64{}
	for i := range n {
		rows[fmt.Sprint(name, i)] = times(20, normal(0, sd)(rng, steps))
	}
	return rows
}
