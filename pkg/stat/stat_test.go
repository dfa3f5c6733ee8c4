package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantile(t *testing.T) {
	x := []float64{1, 2, 4, 8}
	for p, want := range map[float64]float64{0: 1, 1: 8, 0.5: 3, 1.0 / 3: 2, 0.9: 6.8, 0.1: 1.3} {
		if got := Quantile(x, p); math.Abs(got-want) > 1e-12 {
			t.Errorf("quantile %v is %v, want %v", p, got, want)
		}
	}
	if got := Quantile([]float64{7}, 0.9); got != 7 {
		t.Errorf("quantile of one sample is %v", got)
	}
	if !math.IsNaN(Quantile(nil, 0.5)) {
		t.Error("quantile of nothing is a number")
	}
}

// TestAdjust has the values of R's p.adjust.
func TestAdjust(t *testing.T) {
	p := []float64{0.01, math.NaN(), 0.04, 0.03, 0.005, 0.9}
	for name, c := range map[string]struct{ got, want []float64 }{
		"Holm":               {Holm(p), []float64{0.04, math.NaN(), 0.09, 0.09, 0.025, 0.9}},
		"Benjamini-Hochberg": {BenjaminiHochberg(p), []float64{0.025, math.NaN(), 0.05, 0.05, 0.025, 0.9}},
	} {
		for i := range c.want {
			if !(math.Abs(c.got[i]-c.want[i]) < 1e-12 || math.IsNaN(c.got[i]) && math.IsNaN(c.want[i])) {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
				break
			}
		}
	}
}

func TestConstantSequences(t *testing.T) {
	var w Estimator
	threes, fours := slices.Repeat([]float64{3}, 5), slices.Repeat([]float64{4}, 5)
	d := Compare(w.Mean(threes), w.Mean(fours))
	if d.Delta != 1 || d.Lo != 1 || d.Hi != 1 {
		t.Errorf("difference %+v", d)
	}
	if want := 2.0 / 252; math.Abs(d.P-want) > 1e-12 {
		t.Errorf("p is %v, want 2 of the 252 ways to choose five of ten", d.P)
	}
	if d := Compare(w.Mean(threes), w.Mean(threes)); d.P != 1 || d.Delta != 0 {
		t.Errorf("of equal sequences: %+v", d)
	}
}

func TestFewSamples(t *testing.T) {
	var w Estimator
	for n := range 12 {
		e := w.Mean(make([]float64, n))
		if e.Known() != (n >= MinSamples) {
			t.Errorf("%d samples: variance %v", n, e.Var)
		}
		if floor := Halves(make([]float64, n)); math.IsNaN(floor) != (n < 8) {
			t.Errorf("%d samples: halves %v", n, floor)
		}
	}
	if d := Compare(w.Mean([]float64{1}), w.Mean([]float64{2, 3})); d.Delta != 1.5 || !math.IsNaN(d.P) {
		t.Errorf("%+v", d)
	}
}

// sequence is n samples of mean 5 and a deviation of 1 with a correlation between
// neighbours.
func sequence(rng *rand.Rand, n int, rho float64) []float64 {
	x := make([]float64, n)
	z := rng.NormFloat64()
	for t := range x {
		z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		x[t] = 5 + z
	}
	return x
}

// TestScale compares sequences in other units: nothing may depend on them.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var w Estimator
	for range 200 {
		x, y := sequence(rng, 4+rng.IntN(60), 0.5), sequence(rng, 4+rng.IntN(60), 0.5)
		a := Compare(w.Mean(x), w.Mean(y))
		for i := range x {
			x[i] = 1000*x[i] + 7
		}
		for i := range y {
			y[i] = 1000*y[i] + 7
		}
		b := Compare(w.Mean(x), w.Mean(y))
		for _, v := range [][2]float64{{a.Delta, b.Delta / 1000}, {a.Lo, b.Lo / 1000}, {a.Hi, b.Hi / 1000}, {a.P, b.P}} {
			if math.Abs(v[0]-v[1]) > 1e-9 {
				t.Fatalf("%+v, but %+v in thousandths", a, b)
			}
		}
		if a.Lo > a.Delta || a.Hi < a.Delta || (a.P < 1-Level) != (a.Lo > 0 || a.Hi < 0) && a.P > leastP(4, 4) {
			t.Fatalf("interval and probability disagree: %+v", a)
		}
	}
}

// TestCoverage simulates: intervals of means and of quantiles hold the truth in
// about 95 % of cases, with correlated samples and few of them.
func TestCoverage(t *testing.T) {
	const pairs, medians = 1500, 400
	var w Estimator
	for _, n := range []int{20, 100} {
		for _, rho := range []float64{0, 0.6} {
			rng := rand.New(rand.NewPCG(uint64(n), uint64(10*rho)))
			held, quantile := 0, 0
			for k := range pairs {
				x, y := sequence(rng, n, rho), sequence(rng, n, rho)
				if d := Compare(w.Mean(x), w.Mean(y)); d.Lo <= 0 && 0 <= d.Hi {
					held++
				}
				if k >= medians {
					continue
				}
				if d := w.CompareQuantiles(cells(x), cells(y), 0.5); d.Lo <= 0 && 0 <= d.Hi {
					quantile++
				}
			}
			if share := 100 * float64(held) / pairs; share < 93 || share > 97.5 {
				t.Errorf("%d samples, correlation %v: %.1f %% of intervals hold the truth", n, rho, share)
			}
			// An interval between samples cannot be had to the last percent.
			if share := 100 * float64(quantile) / medians; share < 91 || share > 99.5 {
				t.Errorf("%d samples, correlation %v: %.1f %% of intervals of the median hold the truth", n, rho, share)
			}
		}
	}
}

func cells(x []float64) Sequence {
	var s Sequence
	for _, v := range x {
		s.Cells = append(s.Cells, []float64{v})
	}
	return s
}

func TestCompareQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var w Estimator
	x, y := sequence(rng, 80, 0.2), sequence(rng, 80, 0.2)
	for i := range y {
		y[i] += 3
	}
	d := w.CompareQuantiles(cells(x), cells(y), 0.9)
	if d.P > 1e-6 || d.Lo < 1.5 || d.Hi > 4.5 || d.Lo > d.Delta || d.Hi < d.Delta {
		t.Errorf("shifted by 3: %+v", d)
	}
	if d := w.CompareQuantiles(cells(x), cells(x), 0.9); d.P != 1 || d.Delta != 0 {
		t.Errorf("of equal sequences: %+v", d)
	}
}

// TestHalves deals two levels out to halves: the worst way has all of one level
// in one half.
func TestHalves(t *testing.T) {
	x := slices.Concat(slices.Repeat([]float64{0}, 20), slices.Repeat([]float64{8}, 20))
	if got := Halves(x); got < 3 || got > 8 {
		t.Errorf("halves differ by %v", got)
	}
	if got := Halves(slices.Repeat([]float64{4}, 40)); got != 0 {
		t.Errorf("halves of a constant differ by %v", got)
	}
}

func TestDetectable(t *testing.T) {
	d := Difference{SE: 2, DF: 1e6}
	if got := d.Detectable(0.05); math.Abs(got-2*(1.96+0.8416)) > 0.01 {
		t.Errorf("detectable %v", got)
	}
}

func BenchmarkCompare(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := sequence(rng, 400, 0.3), sequence(rng, 400, 0.3)
	var w Estimator
	for b.Loop() {
		Compare(w.Mean(x), w.Mean(y))
	}
}
