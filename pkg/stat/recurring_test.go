package stat

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// pulses are steps of 100 with a noise of 1, of which every so many take half as long
// again, the first of them by chance.
func pulses(rng *rand.Rand, n, every int) []float64 {
	x := sequence(rng, n, 0)
	first := rng.IntN(every)
	for t := range x {
		if x[t] += 100; t%every == first {
			x[t] += 50
		}
	}
	return x
}

func halfWidth(x, y []float64) float64 {
	var w Estimator
	a, b := w.Mean(x), w.Mean(y)
	d := w.Compare(&a, &b)
	return (d.Hi - d.Lo) / 2
}

// TestRecurring: what comes every so many steps in both runs does not widen the interval,
// which holds the truth all the same; what comes at other distances, or in one run,
// or too seldom, does.
func TestRecurring(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var w Estimator
	for _, every := range []int{2, 7, 10, 20} {
		held, narrow := 0, 0
		for range 300 {
			a, b := w.Mean(pulses(rng, 200, every)), w.Mean(pulses(rng, 203, every))
			d := w.Compare(&a, &b)
			held += one(d.Lo <= 0 && 0 <= d.Hi)
			narrow += one(d.Hi-d.Lo < 2)
		}
		if held < 279 || narrow < 285 {
			t.Errorf("every %d steps: of 300 intervals %d hold the truth, %d are narrow", every, held, narrow)
		}
	}
	x := pulses(rng, 200, 10)
	narrow := halfWidth(x, pulses(rng, 200, 10))
	turned := slices.Clone(x)
	slices.Reverse(turned)
	if again := halfWidth(turned, pulses(rng, 200, 10)); again > 1.5*narrow || narrow > 1.5*again {
		t.Errorf("half width %v, turned around %v", narrow, again)
	}
	shuffled := slices.Clone(x)
	rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for what, wide := range map[string]float64{
		"another period": halfWidth(x, pulses(rng, 200, 11)),
		"in one run":     halfWidth(x, shuffled),
		"three cycles":   halfWidth(pulses(rng, 65, 20), pulses(rng, 65, 20)),
	} {
		if wide < 5*narrow {
			t.Errorf("%s: half width %v, with a period in both %v", what, wide, narrow)
		}
	}
}

// TestRecurringEnds: a cycle that is not whole is in the interval, where there is no noise.
func TestRecurringEnds(t *testing.T) {
	x, y := make([]float64, 45), make([]float64, 45)
	for k := range x {
		x[k], y[k] = 100, 100
		if k%10 == 2 {
			x[k] = 150
		}
		if k%10 == 7 {
			y[k] = 150
		}
	}
	var w Estimator
	a, b := w.Mean(x), w.Mean(y)
	if d := w.Compare(&a, &b); d.Delta >= 0 || d.Hi < 0 || d.P < 0.05 {
		t.Errorf("five pulses of 45 steps and four of the same period differ: %+v", d)
	}
	again := w.Mean(x[:40])
	if d := w.Compare(&again, &again); d.P != 1 || d.Hi != 0 {
		t.Errorf("a run and itself: %+v", d)
	}
}

// TestPeriod: a sequence without one has none, and a period is not its multiple.
func TestPeriod(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	found := 0
	for _, rho := range []float64{0, 0.6, 0.95} {
		for range 1000 {
			found += one(periodOf(centred(sequence(rng, 20+rng.IntN(180), rho))) > 0)
		}
	}
	if found > 3 {
		t.Errorf("%d of 3000 sequences without a period have one", found)
	}
	for every := 2; every <= 25; every++ {
		if got := periodOf(centred(pulses(rng, 200, every))); got != every {
			t.Errorf("period %d is found as %d", every, got)
		}
	}
}

func centred(x []float64) []float64 {
	m := Mean(x)
	for k := range x {
		x[k] -= m
	}
	return x
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
