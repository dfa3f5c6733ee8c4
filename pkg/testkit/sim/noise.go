package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Noise makes steps differ beyond the noise of each operation. A factor applies to all
// host work of a step, and with Kernels also to its kernels. The zero value is none.
type Noise struct {
	// Kind is one of
	//
	//	normal   independent from step to step
	//	heavy    independent, with a Pareto tail: a few steps take many times as long
	//	bursty   a tenth of the steps, in runs of five, take longer
	//	sticky   two states, redrawn with probability 1-Rho
	//	ar1      autoregressive, with coefficient Rho
	//	drift    from -Scale to +Scale over the run
	Kind    string
	Scale   float64 // relative size: standard deviation, or distance between states
	Rho     float64
	Kernels bool
	Private bool // each rank has its own factors; otherwise all have the same
}

var noiseKinds = []string{"", "normal", "heavy", "bursty", "sticky", "ar1", "drift"}

// chance returns a source of randomness for one purpose, rank and step. A new feature
// draws from a source of its own, so that other draws stay the same.
func (s *simulator) chance(what string, rank, step int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(what))
	return rand.New(rand.NewPCG(s.c.Seed^h.Sum64(), uint64(rank+2)<<40+uint64(step+2)))
}

// process is a sequence of factors around 1.
type process struct {
	noise  Noise
	rng    *rand.Rand
	length int
	state  float64
	left   int
	n      int
}

// next returns the factor of the next step.
func (p *process) next() float64 {
	n := &p.noise
	p.n++
	switch n.Kind {
	case "normal":
		return positive(1 + n.Scale*p.rng.NormFloat64())
	case "heavy":
		// Tail exponent 1.5: the mean is finite, the variance is not.
		return 1 + n.Scale*(math.Pow(1-p.rng.Float64(), -1/1.5)-1)
	case "bursty":
		if p.left > 0 {
			p.left--
			return 1 + 3*n.Scale
		}
		if p.rng.Float64() < 0.02 {
			p.left = 4
		}
		return 1
	case "sticky":
		if p.n == 1 || p.rng.Float64() > n.Rho {
			p.state = float64(p.rng.IntN(2))
		}
		return 1 + n.Scale*p.state
	case "ar1":
		fresh := p.rng.NormFloat64()
		if p.n > 1 {
			fresh = n.Rho*p.state + math.Sqrt(1-n.Rho*n.Rho)*fresh
		}
		p.state = fresh
		return positive(1 + n.Scale*fresh)
	case "drift":
		return 1 + n.Scale*(2*float64(p.n)/float64(max(1, p.length))-1)
	}
	return 1
}

// positive limits a factor to at least 0.2, so that time never runs backwards.
func positive(x float64) float64 { return max(0.2, x) }

// addNoise gives each rank its sequence of factors.
func (s *simulator) addNoise() {
	n := s.c.Noise
	for i, r := range s.ranks {
		r.factor = 1
		if n.Kind != "" {
			who := 0
			if n.Private {
				who = i
			}
			r.noise = &process{noise: n, rng: s.chance("noise", who, 0), length: s.c.Warmup + s.c.Steps}
		}
	}
}
