package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
)

// effects are the relative changes of an operation's cost to be found.
var effects = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1}

// cell is one kind of pair.
type cell struct {
	steps       int
	noise       float64 // relative standard deviation of an operation between steps
	correlation float64 // correlation of neighbouring steps
	collects    bool    // the garbage collector runs in one step of fifty
	index       int
}

func (c cell) String() string {
	gc := ""
	if c.collects {
		gc = ", GC"
	}
	return fmt.Sprintf("%d steps, %.0f %% noise, correlation %.1f%s", c.steps, 100*c.noise, c.correlation, gc)
}

// grid returns all cells.
func grid() []cell {
	var all []cell
	for _, steps := range []int{20, 50, 100, 400} {
		for _, noise := range []float64{0.02, 0.1, 0.3} {
			for _, correlation := range []float64{0, 0.3, 0.6} {
				for _, collects := range []bool{false, true} {
					all = append(all, cell{steps, noise, correlation, collects, len(all)})
				}
			}
		}
	}
	return all
}

// costs are the mean costs of a step's operations, in us.
var costs = []float64{1160, 1050, 790, 420, 310, 250, 190, 120, 120, 80, 36, 10}

// Further rows of a step that can raise a false alarm.
const (
	kernelNames = 12
	callNames   = 4
)

const (
	ranks    = 2
	gpuCost  = 560
	gcCost   = 900 // us of a collection, in operation gcVictim
	gcVictim = 2
)

func opName(i int) string { return fmt.Sprintf("operation %c", 'a'+i) }

// simulate draws the samples of a run whose costs are multiplied by factor. Both ranks
// share half of an operation's noise.
func (c cell) simulate(rng *rand.Rand, factor []float64) *compare.Run {
	s := compare.Samples{Name: "run", Gen: 8, Ranks: make([]compare.RankSamples, ranks)}
	for r := range s.Ranks {
		one := &s.Ranks[r]
		one.Wall, one.Busy, one.Duration = make([]float64, c.steps), make([]float64, c.steps), make([]float64, c.steps)
		one.Operations = map[string][]float64{}
	}
	var gc [ranks][]float64
	for r := range gc {
		gc[r] = make([]float64, c.steps)
		s.Ranks[r].Operations["Python GC"] = gc[r]
	}
	for i, cost := range costs {
		shared := c.sequence(rng)
		for r := range s.Ranks {
			own := c.sequence(rng)
			x := make([]float64, c.steps)
			for t := range x {
				z := (shared[t] + own[t]) / math.Sqrt2
				// Log-normal: costs are positive and skewed to the right.
				x[t] = cost * factor[i] * math.Exp(c.noise*z-c.noise*c.noise/2)
				if c.collects && i == gcVictim && rng.Float64() < 0.02 {
					gc[r][t] = gcCost * (0.8 + 0.4*rng.Float64())
					x[t] += gc[r][t]
				}
				s.Ranks[r].Wall[t] += x[t]
			}
			s.Ranks[r].Operations[opName(i)] = x
		}
	}
	for r := range s.Ranks {
		one := &s.Ranks[r]
		one.Kernels, one.Calls = c.steady(rng, "kernel", kernelNames, 0.04), c.steady(rng, "call", callNames, 0.1)
		gpu := c.sequence(rng)
		for t := range one.Wall {
			one.Busy[t] = gpuCost * math.Exp(0.02*gpu[t])
			one.Wall[t] += one.Busy[t]
			one.Duration[t] = 1.05 * one.Busy[t]
		}
	}
	return compare.FromSamples(s)
}

// steady draws rows that are equal in all runs.
func (c cell) steady(rng *rand.Rand, name string, n int, noise float64) map[string][]float64 {
	rows := map[string][]float64{}
	for i := range n {
		x := c.sequence(rng)
		for t := range x {
			x[t] = 20 * math.Exp(noise*x[t])
		}
		rows[fmt.Sprint(name, i)] = x
	}
	return rows
}

// sequence returns normal noise with the cell's correlation.
func (c cell) sequence(rng *rand.Rand) []float64 {
	x := make([]float64, c.steps)
	z := rng.NormFloat64()
	for t := range x {
		if t > 0 {
			z = c.correlation*z + math.Sqrt(1-c.correlation*c.correlation)*rng.NormFloat64()
		}
		x[t] = z
	}
	return x
}

// equal compares pairs of equal runs.
func (c cell) equal(pairs int) tally {
	t := tally{cell: c}
	for k := range pairs {
		rng := rand.New(rand.NewPCG(uint64(c.index), uint64(k)))
		same := factors(nil, 0)
		t.pair(c.compare(rng, same, same), costs, same, 0)
	}
	return t
}

// changed compares pairs of runs in which three operations differ.
func (c cell) changed(effect float64, pairs int) tally {
	t := tally{cell: c, effect: effect}
	for k := range pairs {
		rng := rand.New(rand.NewPCG(uint64(c.index)<<8|uint64(effect*100), uint64(k)+1<<40))
		after := factors(rng, effect)
		t.pair(c.compare(rng, factors(nil, 0), after), costs, after, effect)
	}
	return t
}

// factors returns the costs of operations relative to the baseline: two are higher, one
// is lower.
func factors(rng *rand.Rand, effect float64) []float64 {
	f := make([]float64, len(costs))
	for i := range f {
		f[i] = 1
	}
	if rng != nil {
		for k, i := range rng.Perm(len(costs))[:3] {
			if f[i] = 1 + effect; k == 2 {
				f[i] = 1 / (1 + effect)
			}
		}
	}
	return f
}

func (c cell) compare(rng *rand.Rand, before, after []float64) *compare.Comparison {
	result, err := compare.Compare(c.simulate(rng, before), c.simulate(rng, after), compare.Options{})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return read(result)
}
