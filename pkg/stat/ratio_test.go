package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRatioHolds: the interval of a ratio holds the truth about as often as it says
// where steps are independent, and where the host has two states of twenty steps each,
// of which a run of 120 has six.
func TestRatioHolds(t *testing.T) {
	const runs, n = 500, 120
	var est Estimator
	holds := func(step float64) (held int) {
		for k := range runs {
			rng := rand.New(rand.NewPCG(uint64(k), 5))
			num, den := make([]float64, n), make([]float64, n)
			state := step * float64(2*rng.IntN(2)-1)
			for i := range num {
				if rng.Float64() < 1.0/20 {
					state = -state
				}
				num[i] = 1 + 0.1*rng.NormFloat64() + state
				den[i] = num[i] + 3
			}
			if lo, hi, ok := est.Ratio(num, den, n); ok && lo <= 0.25 && 0.25 <= hi {
				held++
			}
		}
		return held
	}
	for _, step := range []float64{0, 0.05} {
		if held := holds(step); held < 455 || held > 492 {
			t.Errorf("states %g from the mean: %d of %d intervals hold the truth", step, held, runs)
		}
	}
}

// TestRatioLongMemory: the same where correlations have no sum. What goes by two
// coefficients alone holds nine in ten.
func TestRatioLongMemory(t *testing.T) {
	const runs, n, before, d = 500, 120, 400, 0.3
	var est Estimator
	weight := []float64{1}
	for k := 1.0; k < before; k++ {
		weight = append(weight, weight[len(weight)-1]*(k-1+d)/k)
	}
	held, den := 0, slices.Repeat([]float64{3}, n)
	for k := range runs {
		rng := rand.New(rand.NewPCG(uint64(k), 7))
		num, z := slices.Repeat([]float64{1}, n), make([]float64, n+before)
		for i := range z {
			z[i] = rng.NormFloat64()
		}
		for i := range num {
			for k, w := range weight {
				num[i] += 0.1 * w * z[i+before-k]
			}
		}
		if lo, hi, ok := est.Ratio(num, den, n); ok && lo <= 1.0/3 && 1.0/3 <= hi {
			held++
		}
	}
	if held < 465 || held > 490 {
		t.Errorf("%d of %d intervals hold the truth", held, runs)
	}
}

// TestRatioWithinStretches: two bursts in sixty steps make the interval wide, but not below
// what any pair of steps idles, nor above; where few stretches have a denominator they
// bound nothing.
func TestRatioWithinStretches(t *testing.T) {
	const n = 60
	var est Estimator
	num, den := make([]float64, n), make([]float64, n)
	for i := range num {
		num[i] = 0.56 + 0.001*float64(i%3)
	}
	num[11], num[21], num[22] = 1.5, 6, 1
	for i := range den {
		den[i] = num[i] + 0.44
	}
	lo, hi, ok := est.Ratio(num, den, n)
	if !ok || lo < 0.56 || lo > 0.565 || hi < 0.65 || hi > 0.93 {
		t.Errorf("two bursts: %.3f to %.3f, %v", lo, hi, ok)
	}
	for i := range num {
		if num[i], den[i] = 0, 0; i%10 == 0 {
			num[i], den[i] = 1+float64(i/30), 3
		}
	}
	if lo, _, ok := est.Ratio(num, den, n); !ok || lo > 0.33 {
		t.Errorf("six steps with a denominator: from %.3f, %v", lo, ok)
	}
}

// TestRatioOfBursts: a run of few bursts shows too little of both their time and how uncertain
// it is. Were intervals as long below as above nine in ten would hold the truth. What is
// left of the time has the same interval, turned around.
func TestRatioOfBursts(t *testing.T) {
	const runs, n, chance, size, lasts = 1000, 60, 0.06, 0.6, 3
	const truth = 1 + chance*size*lasts
	rng := rand.New(rand.NewPCG(8, 8))
	var est Estimator
	held, den, rest := 0, make([]float64, n), slices.Repeat([]float64{3}, n)
	for range runs {
		num := make([]float64, n+lasts)
		for i := range num {
			if num[i] += 1 + 0.03*rng.NormFloat64(); rng.Float64() < chance {
				more := size * rng.ExpFloat64()
				for k := i; k < min(i+lasts, n+lasts); k++ {
					num[k] += more
				}
			}
		}
		num = num[lasts:]
		for i := range den {
			den[i] = num[i] + rest[i]
		}
		lo, hi, ok := est.Ratio(num, den, n)
		if ok && lo <= truth/(truth+3) && truth/(truth+3) <= hi {
			held++
		}
		low, high, _ := est.Ratio(rest, den, n)
		if math.Abs(low-(1-hi)) > 1e-12 || math.Abs(high-(1-lo)) > 1e-12 {
			t.Fatalf("%v to %v, and the rest %v to %v", lo, hi, low, high)
		}
	}
	if held < 915 || held > 980 {
		t.Errorf("%d of %d intervals hold the truth", held, runs)
	}
}

// TestRatioOfSmooth: where neighbouring stretches are similar the run does not show how far
// it goes, and more of the intervals hold the truth than if it did.
func TestRatioOfSmooth(t *testing.T) {
	const runs, n = 2000, 60
	rng := rand.New(rand.NewPCG(4, 8))
	var est Estimator
	held, den := 0, slices.Repeat([]float64{3}, n)
	for range runs {
		num := sequence(rng, n, 0.95)
		for i := range num {
			num[i] = 1 + 0.1*(num[i]-5)
		}
		if lo, hi, ok := est.Ratio(num, den, n); ok && lo <= 1.0/3 && 1.0/3 <= hi {
			held++
		}
	}
	if held < 1810 {
		t.Errorf("%d of %d intervals hold the truth", held, runs)
	}
	// All stretches are equal, and one has no denominator.
	num := make([]float64, n)
	for i := range num {
		num[i] = float64(i % 2)
	}
	if lo, hi, ok := est.Ratio(num, den, n); !ok || !(lo <= 1.0/6 && 1.0/6 <= hi) {
		t.Errorf("equal stretches: %v to %v, %v", lo, hi, ok)
	}
	den = slices.Clone(den)
	den[20], den[21] = 0, 0
	if lo, hi, ok := est.Ratio(num, den, n); !ok || !(lo < hi) {
		t.Errorf("a stretch without a denominator: %v to %v, %v", lo, hi, ok)
	}
}

// TestSlowly: means of two equal runs are rarely improbable, whether steps are independent
// or wander, and those of runs that differ by six standard errors are.
func TestSlowly(t *testing.T) {
	const runs, n = 400, 40
	var est Estimator
	improbable := func(walk, apart float64) (found int) {
		for k := range runs {
			rng := rand.New(rand.NewPCG(uint64(k), 6))
			x, y := make([]float64, n), make([]float64, n)
			for _, s := range [][]float64{x, y} {
				at := 0.0
				for i := range s {
					s[i] = rng.NormFloat64() + at
					at += walk * rng.NormFloat64()
				}
			}
			for i := range y {
				y[i] += apart * math.Sqrt(2.0/n)
			}
			a, b := est.Mean(x), est.Mean(y)
			if p := Slowly(&a, &b); p < 0.05 {
				found++
			}
		}
		return found
	}
	if n := improbable(0, 0); n < 2 || n > 30 {
		t.Errorf("independent steps: %d of %d", n, runs)
	}
	if n := improbable(0.2, 0); n > 80 {
		t.Errorf("walks: %d of %d", n, runs)
	}
	if n := improbable(0, 6); n < 320 {
		t.Errorf("six standard errors apart: %d of %d", n, runs)
	}
	few := est.Mean([]float64{1, 2, 3})
	if p := Slowly(&few, &few); !math.IsNaN(p) {
		t.Errorf("three samples: p = %v", p)
	}
}
