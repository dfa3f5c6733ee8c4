package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ar is n samples with a correlation of neighbours.
func ar(rng *rand.Rand, n int, phi float64) []float64 {
	x := make([]float64, n)
	z := rng.NormFloat64()
	for t := range x {
		x[t] = 100 + z
		z = phi*z + math.Sqrt(1-phi*phi)*rng.NormFloat64()
	}
	return x
}

// TestFalseAlarms counts how many of equal pairs are called different at 5 %.
func TestFalseAlarms(t *testing.T) {
	var w Estimator
	for _, c := range []struct {
		phi   float64
		steps int
		most  int // of 1000: three standard errors above what package doc says
	}{{0, 20, 70}, {0, 60, 70}, {0.6, 60, 75}, {0.9, 60, 80}, {0.9, 400, 75}} {
		rng := rand.New(rand.NewPCG(1, uint64(c.steps)))
		flagged := 0
		for range 1000 {
			a, b := w.Mean(ar(rng, c.steps, c.phi)), w.Mean(ar(rng, c.steps, c.phi))
			d := Compare(&a, &b)
			if (d.P < 0.05) != (d.Lo > 0 || d.Hi < 0) {
				t.Fatalf("p %v beside the interval %v to %v", d.P, d.Lo, d.Hi)
			}
			if d.P < 0.05 {
				flagged++
			}
		}
		if flagged > c.most || flagged < 20 {
			t.Errorf("correlation %v, %d steps: %d of 1000 flagged", c.phi, c.steps, flagged)
		}
	}
}

// TestOneSample: no end of a sequence is special, and one large sample is noise anywhere.
func TestOneSample(t *testing.T) {
	var w Estimator
	rng := rand.New(rand.NewPCG(3, 3))
	a := w.Mean(ar(rng, 60, 0))
	for _, at := range []int{0, 1, 30, 59} {
		x := ar(rng, 60, 0)
		x[at] += 1000
		b := w.Mean(x)
		if d := Compare(&a, &b); d.P < 0.05 {
			t.Errorf("sample %d is large: p %v", at, d.P)
		}
	}
}

// TestConstants: two constant sequences differ, as far as so few samples can tell.
func TestConstants(t *testing.T) {
	a, b := Constant(1, 5, 5), Constant(2, 5, 5)
	if d := Compare(&a, &b); d.Lo != 1 || d.Hi != 1 || math.Abs(d.P-2/252.) > 1e-12 {
		t.Errorf("%+v", d)
	}
	if d := Compare(&a, &a); d.P != 1 {
		t.Errorf("%+v", d)
	}
	few := Constant(1, 3, 3)
	if d := Compare(&a, &few); !math.IsNaN(d.P) || d.Delta != 0 {
		t.Errorf("three samples: %+v", d)
	}
}

// TestUnlike takes the noise of a short run from a long one that shows more of it.
func TestUnlike(t *testing.T) {
	short, long := Estimator{}, Estimator{Longer: 5}
	rng := rand.New(rand.NewPCG(5, 5))
	quiet, noisy := ar(rng, 40, 0), ar(rng, 200, 0)
	for k := range noisy {
		noisy[k] = 100 + 10*(noisy[k]-100)
	}
	a, b := short.Mean(quiet), long.Mean(noisy)
	alone := Compare(&b, &b)
	if d := Compare(&a, &b); d.Hi-d.Lo < 1.5*(alone.Hi-alone.Lo) {
		t.Errorf("interval of %v beside %v of the long run twice", d.Hi-d.Lo, alone.Hi-alone.Lo)
	}
}

// TestRepeated is Welch's t-test of the runs' means, by hand.
func TestRepeated(t *testing.T) {
	runs := func(x ...float64) Estimate {
		m := Mean(x)
		u := make([]float64, len(x))
		for k, v := range x {
			u[k] = (v - m) / float64(len(x))
		}
		return Repeated(m, u, 100)
	}
	a, b := runs(10, 12, 14), runs(20, 24, 28)
	d := Compare(&a, &b)
	// Means 12 and 24, variances of them 4/3 and 16/3, degrees of freedom (20/3)²/((4/3)²/2+(16/3)²/2).
	if half := math.Sqrt(20./3) * tQuantile(50./17, 0.975); math.Abs(d.Lo-(12-half)) > 1e-9 || math.Abs(d.P-tTail(50./17, 12/math.Sqrt(20./3))) > 1e-12 {
		t.Errorf("%+v, half %v", d, half)
	}
	one := Constant(24, 100, 100)
	if d := Compare(&a, &one); d.Hi-d.Lo < 2*math.Sqrt(4./3+4)*tQuantile(4, 0.975)-1e-9 {
		t.Errorf("a single run beside three: %+v", d)
	}
}

// TestQuantiles of equal runs hold, of runs that are apart are found, and have no bound at
// the end of the samples.
func TestQuantiles(t *testing.T) {
	var w Estimator
	rng := rand.New(rand.NewPCG(7, 7))
	sequence := func(phi, shift float64) *Sequence {
		s := &Sequence{Steps: 100}
		for _, v := range ar(rng, 100, phi) {
			s.Bins = append(s.Bins, []float64{v + shift})
		}
		return s
	}
	flagged, missed := 0, 0
	for range 500 {
		d := w.CompareQuantiles(sequence(0.6, 0), sequence(0.6, 0), 0.5)
		flagged += btoi(d.P < 0.05)
		missed += btoi(d.Lo > 0 || d.Hi < 0)
	}
	if flagged > 40 || missed > 40 {
		t.Errorf("of 500 equal pairs %d are flagged, %d have an interval without 0", flagged, missed)
	}
	if d := w.CompareQuantiles(sequence(0, 0), sequence(0, 10), 0.5); d.P > 1e-6 || d.Lo > 10 || d.Hi < 10 || math.IsInf(d.Hi, 1) {
		t.Errorf("far apart: %+v", d)
	}
	if d := w.CompareQuantiles(sequence(0, 0), sequence(0, 0), 0.99); !math.IsInf(d.Hi, 1) || !math.IsInf(d.Lo, -1) {
		t.Errorf("P99 of 100: %+v", d)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestEvents are known tables: Fisher's tea, and the largest samples.
func TestEvents(t *testing.T) {
	marks := func(n, of int) Marks {
		m := make(Marks, of)
		for k := range n {
			m[k*of/max(1, n)] = true
		}
		return m
	}
	if d := CompareEvents(marks(3, 4), marks(1, 4), 1); math.Abs(d.P-34./70) > 1e-12 || d.Delta != -0.5 {
		t.Errorf("3 and 1 of 4: %+v", d)
	}
	if d := CompareEvents(marks(0, 200), marks(10, 200), 1); d.P > 0.01 {
		t.Errorf("0 and 10 of 200: %+v", d)
	}
	burst := make(Marks, 200)
	for k := range 10 {
		burst[100+k] = true
	}
	if together := (&Estimator{}).Together(burst); together < 5 {
		t.Errorf("ten in a row are %d together", together)
	}
	if d := CompareEvents(marks(0, 200), burst, 10); d.P < 0.5 {
		t.Errorf("one burst: %+v", d)
	}
	if d := CompareTops([]float64{1, 2, 3, 4}, []float64{1, 9, 8, 7}, 1, 1); d.Delta != 0.75 || math.Abs(d.P-2*4./56) > 1e-12 {
		t.Errorf("%+v", d)
	}
}

// TestSeveral are examples by hand, of both controls.
func TestSeveral(t *testing.T) {
	nan := math.NaN()
	p := []float64{0.01, nan, 0.04, 0.03}
	for i, want := range []float64{0.03, nan, 0.04, 0.04} {
		if got := BenjaminiHochberg(p)[i]; !(math.Abs(got-want) < 1e-12) && !math.IsNaN(want) {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
	for i, want := range []float64{0.03, nan, 0.06, 0.06} {
		if got := Holm(p, []float64{1, 1, 1, 1})[i]; !(math.Abs(got-want) < 1e-12) && !math.IsNaN(want) {
			t.Errorf("Holm %d: %v, want %v", i, got, want)
		}
	}
}

// TestRatio holds the truth of a ratio of correlated sums in 95 of 100 runs, about.
func TestRatio(t *testing.T) {
	var w Estimator
	rng := rand.New(rand.NewPCG(11, 11))
	held := 0
	for range 1000 {
		num, den := ar(rng, 100, 0.6), ar(rng, 100, 0.6)
		for k := range den {
			den[k] += num[k]
		}
		lo, hi, ok := w.Ratio(num, den, 100)
		held += btoi(ok && lo <= 0.5 && 0.5 <= hi)
	}
	if held < 930 || held > 970 {
		t.Errorf("%d of 1000 hold", held)
	}
	if _, _, ok := w.Ratio([]float64{1, 1, 1, 1}, make([]float64, 4), 4); ok {
		t.Error("a ratio of nothing")
	}
}

// TestQuantile interpolates between order statistics.
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
	if !math.IsNaN(Quantile[float64](nil, 0.5)) {
		t.Error("quantile of nothing is a number")
	}
}

// TestPrediction compares three runs with one: their variance is both sides', and has two degrees
// of freedom, of which Student's t has a closed form.
func TestPrediction(t *testing.T) {
	three := Repeated(11, []float64{-1. / 3, 0, 1. / 3}, 300) // 10, 11 and 12
	one := Constant(14, 100, 100)
	d := Compare(&three, &one)
	x := 3 / math.Sqrt(1+1./3)
	if want := 1 - x/math.Sqrt(x*x+2); math.Abs(d.P-want) > 1e-9 {
		t.Errorf("p = %v, want %v", d.P, want)
	}
}

// Quantiles of a t are those of its table, and the tails beyond them are what was asked for.
func TestStudent(t *testing.T) {
	for df, want := range map[float64]float64{1: 12.7062047, 2: 4.3026527, 6: 2.4469119, 30: 2.0422725, 1e6: 1.9599664} {
		if got := tQuantile(df, 0.975); math.Abs(got-want) > 2e-6 {
			t.Errorf("%v degrees of freedom: %v, want %v", df, got, want)
		}
		for _, p := range []float64{0.51, 0.8, 0.995, 0.99995} {
			if tail := tTail(df, tQuantile(df, p)); math.Abs(tail/(2*(1-p))-1) > 1e-9 {
				t.Errorf("%v degrees of freedom, beyond the quantile %v: %v", df, p, tail)
			}
		}
	}
	if got := tQuantile(math.NaN(), 0.975); got == got {
		t.Errorf("of no degrees of freedom: %v", got)
	}
}
