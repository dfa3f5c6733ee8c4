package main

import (
	"math"
	"math/rand/v2"
)

// hostNoise is how host time varies from step to step. draw returns n factors; their mean
// is 1 in the long run, or for a drift over the run.
type hostNoise struct {
	name string
	draw func(rng *rand.Rand, n int) []float64
}

// noiseScale is the relative standard deviation of host time in a step.
const noiseScale = 0.1

var hostNoises = []hostNoise{
	{"independent", normal(0, noiseScale)},
	{"AR(1) 0.3", normal(0.3, noiseScale)},
	{"AR(1) 0.6", normal(0.6, noiseScale)},
	{"AR(1) 0.9", normal(0.9, noiseScale)},
	{"bursts", evenBursts},
	{"two states, 20 steps each", evenStates},
	{"drift of 10 %", evenDrift},
	{"start to start", perStart},
	// The following were added after the method was fixed.
	{"log-normal, 30 %", normal(0, 0.3)},
	{"mean of the last eight steps", moving(8)},
	{"swinging AR(2)", swinging},
	{"long memory, d = 0.3", longMemory},
	{"three states, eight steps each", threeStates},
	{"half as long again, one step in twenty", slowSteps},
	{"throttling, 30 to 50 steps", over(throttled(noiseScale))},
	{"housekeeping every 10 steps", over(housekeeping)},
	// What recorded runs look like: quiet except for bursts.
	{"bursts that fade, one step in fifteen", fadingBursts},
	{"a flush every 40 steps", flushes},
	{"storms of eight steps", storms},
}

// fadingBursts are rare, of very different sizes, and fade over four steps.
func fadingBursts(rng *rand.Rand, n int) []float64 {
	const chance, size, spread, fade, lasts = 1.0 / 15, 0.8, 0.8, 0.4, 4
	x := make([]float64, n+lasts)
	for t := range x {
		x[t] += 1 + noiseScale/3*rng.NormFloat64() - chance*size*(1+fade+fade*fade+fade*fade*fade)
		if rng.Float64() < chance {
			burst := size * math.Exp(spread*rng.NormFloat64()-spread*spread/2)
			for k := t; k < min(t+lasts, len(x)); k++ {
				x[k] += burst
				burst *= fade
			}
		}
	}
	return x[lasts:]
}

// flushes come every 40 steps and take as long as a step; the next step is a little
// longer, too.
func flushes(rng *rand.Rand, n int) []float64 {
	const every, size, after = 40, 1, 0.4
	x := make([]float64, n)
	first := rng.IntN(every)
	for t := range x {
		x[t] = 1 + noiseScale/5*rng.NormFloat64() - size*(1+after)/every
		switch (t + first) % every {
		case 0:
			x[t] += size
		case 1:
			x[t] += size * after
		}
	}
	return x
}

// storms are stretches of eight steps, a quarter of all steps, in which each step is
// longer by a different time. There is no extra time between them.
func storms(rng *rand.Rand, n int) []float64 {
	const lasts, share, size = 8, 0.25, 0.5
	x := make([]float64, n)
	storm := rng.Float64() < share
	for t := range x {
		if leave := 1.0 / lasts; storm && rng.Float64() < leave || !storm && rng.Float64() < leave*share/(1-share) {
			storm = !storm
		}
		if x[t] = 1 + noiseScale/3*rng.NormFloat64() - share*size; storm {
			x[t] += size * rng.ExpFloat64()
		}
	}
	return x
}

// over adds a kind of noise to independent steps.
func over(kind func(*rand.Rand, int) []float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := normal(0, noiseScale)(rng, n)
		for t, v := range kind(rng, n) {
			x[t] += v - 1
		}
		return x
	}
}

// housekeeping takes a third of a step in every tenth step; the mean is 1.
func housekeeping(rng *rand.Rand, n int) []float64 {
	x := pauses(10, 0.3)(rng, n)
	for t := range x {
		x[t] -= 0.03
	}
	return x
}

// moving returns the mean of the last independent draws, length of them.
func moving(length int) func(rng *rand.Rand, n int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		z := draws(rng, n+length)
		x := make([]float64, n)
		for t := range x {
			sum := 0.0
			for _, v := range z[t : t+length] {
				sum += v
			}
			x[t] = 1 + noiseScale*sum/math.Sqrt(float64(length))
		}
		return x
	}
}

// draws returns standard normal numbers.
func draws(rng *rand.Rand, n int) []float64 {
	z := make([]float64, n)
	for t := range z {
		z[t] = rng.NormFloat64()
	}
	return z
}

// swinging oscillates with a period of about twelve steps, and decorrelates within four.
func swinging(rng *rand.Rand, n int) []float64 {
	const first, second, before = 1.35, -0.6, 50
	z := draws(rng, n+before)
	for t := 2; t < len(z); t++ {
		z[t] += first*z[t-1] + second*z[t-2]
	}
	x := make([]float64, n)
	for t := range x {
		x[t] = 1 + noiseScale/2*z[t+before]
	}
	return x
}

// longMemory is fractionally integrated noise: its correlations decay so slowly that
// their sum is infinite.
func longMemory(rng *rand.Rand, n int) []float64 {
	const d, before = 0.3, 1000
	z := draws(rng, n+before)
	weight := make([]float64, before)
	weight[0] = 1
	for k := 1; k < before; k++ {
		weight[k] = weight[k-1] * (float64(k) - 1 + d) / float64(k)
	}
	x := make([]float64, n)
	for t := range x {
		sum := 0.0
		for k, w := range weight {
			sum += w * z[t+before-k]
		}
		x[t] = 1 + noiseScale*sum
	}
	return x
}

// threeStates has three equally frequent states, each left after eight steps on average.
func threeStates(rng *rand.Rand, n int) []float64 {
	x := normal(0, noiseScale)(rng, n)
	state := rng.IntN(3)
	for t := range x {
		if rng.Float64() < 1.0/8 {
			state = (state + 1 + rng.IntN(2)) % 3
		}
		x[t] += noiseScale * float64(state-1)
	}
	return x
}

// slowSteps makes one step in twenty half as long again.
func slowSteps(rng *rand.Rand, n int) []float64 {
	const chance, more = 0.05, 0.5
	x := normal(0, noiseScale)(rng, n)
	for t := range x {
		if x[t] -= chance * more; rng.Float64() < chance {
			x[t] += more
		}
	}
	return x
}

// evenBursts have five longer steps; one begins in every fiftieth step.
func evenBursts(rng *rand.Rand, n int) []float64 {
	const chance, length, more = 0.02, 5, 0.35
	x := normal(0, noiseScale)(rng, n)
	// Bursts start 1/chance + length steps apart.
	const share = chance * length / (1 + chance*length)
	left := 0
	if rng.Float64() < share {
		left = 2 + rng.IntN(length)
	}
	for t := range x {
		if left == 0 && rng.Float64() < chance {
			left = length
		} else if left > 0 {
			left--
		}
		if x[t] -= more * share; left > 0 {
			x[t] += more
		}
	}
	return x
}

// evenStates has two equally frequent states, each left after twenty steps on average.
func evenStates(rng *rand.Rand, n int) []float64 {
	x := normal(0, noiseScale)(rng, n)
	state := float64(2*rng.IntN(2) - 1)
	for t := range x {
		if rng.Float64() < 1.0/20 {
			state = -state
		}
		x[t] += noiseScale / 2 * state
	}
	return x
}

// evenDrift rises from 5 % below to 5 % above the mean over the run.
func evenDrift(rng *rand.Rand, n int) []float64 {
	x := normal(0, noiseScale)(rng, n)
	for t := range x {
		x[t] += 0.1 * ((float64(t)+0.5)/float64(n) - 0.5)
	}
	return x
}

// perStart returns independent noise. For this kind, verdictCell.run also changes the truth
// of each run by one factor, since the interval is that of one start.
func perStart(rng *rand.Rand, n int) []float64 { return normal(0, noiseScale)(rng, n) }
