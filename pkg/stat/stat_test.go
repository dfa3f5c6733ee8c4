package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
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
	if !math.IsNaN(Quantile[float64](nil, 0.5)) {
		t.Error("quantile of nothing is a number")
	}
}

// TestAdjust has the values of R's p.adjust.
func TestAdjust(t *testing.T) {
	p := []float64{0.01, math.NaN(), 0.04, 0.03, 0.005, 0.9}
	for name, c := range map[string]struct{ got, want []float64 }{
		"Holm":               {Holm(p, nil), []float64{0.04, math.NaN(), 0.09, 0.09, 0.025, 0.9}},
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
	d := compare(&w, threes, fours)
	if d.Delta != 1 || d.Lo != 1 || d.Hi != 1 {
		t.Errorf("difference %+v", d)
	}
	if want := 2.0 / 252; math.Abs(d.P-want) > 1e-12 {
		t.Errorf("p is %v, want 2 of the 252 ways to choose five of ten", d.P)
	}
	if d := compare(&w, threes, threes); d.P != 1 || d.Delta != 0 {
		t.Errorf("of equal sequences: %+v", d)
	}
}

func TestFewSamples(t *testing.T) {
	var w Estimator
	for n := range 12 {
		e := w.Mean(make([]float64, n))
		if e.Known() != (n >= MinSamples) {
			t.Errorf("%d samples: known %v", n, e.Known())
		}
		if floor := Halves(make([]float64, n)); math.IsNaN(floor) != (n < 8) {
			t.Errorf("%d samples: halves %v", n, floor)
		}
	}
	if d := compare(&w, []float64{1}, []float64{2, 3}); d.Delta != 1.5 || !math.IsNaN(d.P) {
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

// TestIndependentSteps: what memory fifty independent steps may have widens their interval by
// no more than a tenth, and changes of 0.885 standard deviations are found.
func TestIndependentSteps(t *testing.T) {
	const pairs, steps, most = 1000, 50, 2.18 // standard errors; 1.98 are those of a t-test
	rng := rand.New(rand.NewPCG(9, 1))
	var w Estimator
	half, held, found := 0.0, 0, 0
	for range pairs {
		x, y := sequence(rng, steps, 0), sequence(rng, steps, 0)
		a, b := w.Mean(x), w.Mean(y)
		d := w.Compare(&a, &b)
		half += (d.Hi - d.Lo) / 2 / math.Sqrt(2.0/steps) / pairs
		held += one(d.Lo <= 0 && 0 <= d.Hi)
		for k := range y {
			y[k] += 0.885
		}
		b = w.Mean(y)
		d = w.Compare(&a, &b)
		found += one(d.P < 0.0065)
	}
	if half > most || held < 940 || found < 800 {
		t.Errorf("half widths of %.2f standard errors, %d of %d hold, %d are found", half, held, pairs, found)
	}
}

// TestWanderingSteps: of pairs of twenty steps that wander by a seventh of their noise per
// step, of which nothing shows it, few differ beyond it.
func TestWanderingSteps(t *testing.T) {
	const pairs, steps, wander, most = 3000, 20, 1.0 / 7, 80
	rng := rand.New(rand.NewPCG(9, 2))
	var w Estimator
	found := 0
	walk := func() []float64 {
		x := sequence(rng, steps, 0)
		level := 0.0
		for t := range x {
			x[t] += level
			level += wander * rng.NormFloat64()
		}
		return x
	}
	for range pairs {
		a, b := w.Mean(walk()), w.Mean(walk())
		d := w.Compare(&a, &b)
		found += one(d.P < 0.0065 && d.Effective >= 14)
	}
	if found > most {
		t.Errorf("of %d pairs %d differ", pairs, found)
	}
}

// TestScale compares sequences in other units: nothing may depend on them.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var w Estimator
	for range 200 {
		x, y := sequence(rng, 4+rng.IntN(60), 0.5), sequence(rng, 4+rng.IntN(60), 0.5)
		a := compare(&w, x, y)
		for i := range x {
			x[i] = 1000*x[i] + 7
		}
		for i := range y {
			y[i] = 1000*y[i] + 7
		}
		b := compare(&w, x, y)
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
// about 95 % of cases. Of 20 correlated samples that cannot be had: how strongly
// they are correlated cannot be told from so few.
func TestCoverage(t *testing.T) {
	const pairs, medians = 1500, 400
	var w Estimator
	for _, c := range []struct {
		n   int
		rho float64
	}{{20, 0}, {40, 0.3}, {100, 0}, {100, 0.6}, {200, 0.9}} {
		rng := rand.New(rand.NewPCG(uint64(c.n), uint64(10*c.rho)))
		held, quantile := 0, 0
		for k := range pairs {
			x, y := sequence(rng, c.n, c.rho), sequence(rng, c.n, c.rho)
			if d := compare(&w, x, y); d.Lo <= 0 && 0 <= d.Hi {
				held++
			}
			if k >= medians {
				continue
			}
			if d := w.CompareQuantiles(cells(x), cells(y), 0.5); d.Lo <= 0 && 0 <= d.Hi {
				quantile++
			}
		}
		if share := 100 * float64(held) / pairs; share < 93 || share > 98 {
			t.Errorf("%d samples, correlation %v: %.1f %% of intervals hold the truth", c.n, c.rho, share)
		}
		// An interval between samples cannot be had to the last percent.
		if share := 100 * float64(quantile) / medians; share < 91 {
			t.Errorf("%d samples, correlation %v: %.1f %% of intervals of the median hold the truth", c.n, c.rho, share)
		}
	}
}

// TestEnds puts one slow step at either end and elsewhere: it is as much noise at
// the ends, and the same at both.
func TestEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var w Estimator
	x, y := sequence(rng, 40, 0), sequence(rng, 40, 0)
	slow := func(at int) Difference {
		z := slices.Clone(y)
		for i := range z {
			z[i] = 5
		}
		z[at] += 100
		return compare(&w, x, z)
	}
	first, last, center := slow(0), slow(39), slow(20)
	if math.Abs(first.P-last.P) > 1e-6 || first.P < 0.05 || center.P < 0.05 {
		t.Errorf("one slow step first, last and in the middle: p %v, %v, %v", first.P, last.P, center.P)
	}
}

// TestTooFewSamples says of sequences that wander or keep one of two states that they
// are worth few steps, of independent ones that they are not.
func TestTooFewSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var w Estimator
	worth := func(n int, x func() []float64) float64 {
		told := 0
		for range n {
			if compare(&w, x(), x()).Effective >= 8 {
				told++
			}
		}
		return float64(told) / float64(n)
	}
	if got := worth(300, func() []float64 { return sequence(rng, 20, 0) }); got < 0.97 {
		t.Errorf("of 20 independent samples something is told in %v", got)
	}
	if got := worth(300, func() []float64 { return sequence(rng, 40, 0.98) }); got > 0.05 {
		t.Errorf("of 40 samples that wander something is told in %v", got)
	}
}

// TestFewAnswers: where 100 steps are worth five, some pairs seem to be worth no less. The
// intervals of these hold the truth, too, though they seem better than they are.
func TestFewAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var w Estimator
	told, held := 0, 0
	for range 800 {
		if d := compare(&w, sequence(rng, 100, 0.9), sequence(rng, 100, 0.9)); d.Effective >= 5 {
			told++
			if d.Lo <= 0 && 0 <= d.Hi {
				held++
			}
		}
	}
	if share := float64(held) / float64(told); told < 300 || told > 600 || share < 0.92 {
		t.Errorf("of 800 pairs %d seem to be worth five steps; %.0f %% of the intervals of these hold the truth", told, 100*share)
	}
}

// TestFewEnds: what the lowest coefficients say fades. Runs that seem to be worth a little
// more than others have intervals that are a little narrower.
func TestFewEnds(t *testing.T) {
	// A slow wave below a fast one: the lowest coefficients are larger than most.
	x := make([]float64, 100)
	for i := range x {
		x[i] = 0.3*math.Cos(math.Pi*float64(i)/75) + math.Cos(2*float64(i))
	}
	var w Estimator
	a := w.Mean(x)
	m := w.error(&a, &a)
	half := func(effective float64) float64 {
		m.effective = effective
		var d Difference
		d.erring(&a, &a, m)
		return d.beyond(1 - Level)
	}
	for effective := 10.0; effective <= 17; effective += 0.1 {
		if now, before := half(effective), half(effective-0.1); math.Abs(now-before) > 0.1*before {
			t.Errorf("with %.1f steps the interval is %.3f wide, with 0.1 fewer %.3f", effective, now, before)
		}
	}
	if slow := slowly(&a, &a); half(17) != m.beyond(1-Level) || half(10) != slow.beyond(1-Level) || half(17) > 0.6*half(10) {
		t.Errorf("the interval is %.3f wide with 10 steps and %.3f with 17", half(10), half(17))
	}
}

// TestIntegrated: noise whose correlations have no sum has the variance of its mean, and of
// its coefficients, that its covariances say, and holds where one time of memory does not.
func TestIntegrated(t *testing.T) {
	for _, n := range []int{20, 200, 1500} {
		for _, order := range []float64{0.05, 0.2, 0.35} {
			s := shape{order: order}
			c := covariances(n, func(k, before float64) float64 { return before * (k - 1 + order) / (k - order) })
			m := memories{n: n, power: 5}
			for j, row := range m.waves() {
				sum := 0.0
				for k, v := range row {
					sum += v * c[k] * s.variance()
				}
				got, most := s.ofMean(float64(n))*float64(n), 1e-6
				if j > 0 {
					got, most = s.density(math.Pi*float64(j)/float64(n), 1), 0.3 // the lowest are off where memory is longest
				}
				if math.Abs(got/sum-1) > most {
					t.Errorf("%d steps, order %v, coefficient %d: %v, want %v", n, order, j, got, sum)
				}
			}
		}
	}
	// The sum of a short and a long time of memory.
	rng := rand.New(rand.NewPCG(9, 9))
	var w Estimator
	held := 0
	two := func() []float64 {
		x, y := sequence(rng, 200, 0.3), sequence(rng, 200, 0.95)
		for i := range x {
			x[i] += y[i]
		}
		return x
	}
	for range 400 {
		d := compare(&w, two(), two())
		held += b2i(d.Lo <= 0 && 0 <= d.Hi)
	}
	if held < 364 {
		t.Errorf("of 400 intervals of two times of memory only %d hold the truth", held)
	}
}

// TestBeyond: a difference far above any change of level inside the runs is told from one
// that is not, and from a wandering level that the runs are too short to show.
func TestBeyond(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var w Estimator
	run := func(n int, level, shift float64) Estimate {
		x := make([]float64, n)
		for i := range x {
			x[i] = level * (1 + 0.02*rng.NormFloat64())
			if 2*i > n {
				x[i] *= 1 + shift
			}
		}
		return w.Mean(x)
	}
	for _, n := range []int{20, 40, 400, 2000} {
		a, near, far := run(n, 1, 0.1), run(n, 1.2, 0.1), run(n, 2.6, 0.1)
		if d := w.Compare(&a, &far); d.Effective > 5 {
			t.Errorf("%d steps with a change of level seem to be worth %v", n, d.Effective)
		}
		if _, ok := Beyond(&a, &near); ok {
			t.Errorf("%d steps: 20 %% more is beyond a change of 10 %%", n)
		}
		if d, ok := Beyond(&a, &far); !ok || d.P > 0.001 || d.Lo < 1 || d.Hi > 2.5 {
			t.Errorf("%d steps: 160 %% more is %+v, %v", n, d, ok)
		}
		if d, ok := Beyond(&far, &a); !ok || d.P > 0.001 || d.Hi > -1 {
			t.Errorf("%d steps: 160 %% less is %+v, %v", n, d, ok)
		}
	}
	nothing, some := w.Mean(make([]float64, 50)), run(50, 1, 0.1)
	if d, ok := Beyond(&nothing, &some); !ok || d.P > 0.001 {
		t.Errorf("something in place of nothing: %+v, %v", d, ok)
	}
	if _, ok := Beyond(&nothing, &nothing); ok {
		t.Error("nothing is beyond nothing")
	}
	scattered := func(n int, level float64) Estimate {
		x := make([]float64, n)
		for i := range x {
			x[i] = level * (1 + rng.Float64())
			if 2*i > n {
				x[i] *= 1.1
			}
		}
		return w.Mean(x)
	}
	a, b, c := scattered(60, 1), scattered(60, 4), scattered(60, 10)
	if _, ok := Beyond(&a, &b); ok {
		t.Error("four times as much is beyond a scatter of twice as much")
	}
	if d, ok := Beyond(&a, &c); !ok || d.P > 0.002 {
		t.Errorf("ten times as much is %+v, %v", d, ok)
	}
	wander := func(n int) Estimate {
		x := sequence(rng, n, 0.98)
		for i := range x {
			x[i] = math.Exp(0.4 * x[i])
		}
		return w.Mean(x)
	}
	for _, n := range []int{20, 40, 60} {
		beyond := 0
		for range 1000 {
			a, b := wander(n), wander(n)
			if d, ok := Beyond(&a, &b); ok && d.P < 0.0065 && (d.Delta > 0.5*a.Mean || d.Delta < -0.3*a.Mean) {
				beyond++
			}
		}
		if beyond > 20 {
			t.Errorf("%d of 1000 pairs of %d steps that wander are beyond one another", beyond, n)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestEvents has probabilities that can be counted.
func TestEvents(t *testing.T) {
	if got := dealt(0, 20, 4, 20); math.Abs(got-2*20*19*18*17/(40.0*39*38*37)) > 1e-12 {
		t.Errorf("four events in one of two runs: %v", got)
	}
	if got := RankSum([]float64{1, 2, 3}, []float64{4, 5, 6}); math.Abs(got-0.1) > 1e-12 {
		t.Errorf("three durations above three: %v, want 2 of 20 ways", got)
	}
	if got := RankSum([]float64{1, 4}, []float64{2, 3}); got != 1 {
		t.Errorf("durations around others: %v", got)
	}
	var w Estimator
	calm, burst, spread := make([]float64, 200), make([]float64, 200), make([]float64, 200)
	for i := range 10 {
		burst[90+i], spread[20*i+7*i%5] = 1, 1
	}
	if d := w.ComparePeaks(calm, burst, 0); d.P < 0.02 {
		t.Errorf("one burst of ten slow steps: p %v", d.P)
	}
	if d := w.ComparePeaks(calm, spread, 0); d.P > 0.01 || d.Delta != 1 {
		t.Errorf("ten slow steps: p %v", d.P)
	}
	if d, few := w.ComparePeaks(calm, spread, 0), w.ComparePeaks(calm, spread, 25); few.P < 10*d.P {
		t.Errorf("ten slow steps of a run in which steps resemble those 25 before: p %v, of independent ones %v", few.P, d.P)
	}
}

// TestLevels has runs at two levels, ten times the noise apart.
func TestLevels(t *testing.T) {
	run := func(slow ...int) []float64 { // in steps from slow[0] on, up to slow[1]
		x := make([]float64, 100)
		for i := range x {
			x[i] = 100 + float64(i*7%5)
			if i >= slow[0] && i < slow[1] {
				x[i] += 20
			}
		}
		return x
	}
	paused := func(x []float64) []float64 {
		for i := 4; i < len(x); i += 25 {
			x[i] += 900
		}
		return x
	}
	for _, c := range []struct {
		name          string
		a, b          []float64
		apart, shared bool
	}{
		{"one level", run(0, 0), run(0, 0), false, false},
		{"a level each", run(0, 0), run(0, 100), true, false},
		{"one was where the other is", run(0, 0), run(20, 100), true, true},
		{"one ends where the other is", run(95, 100), run(0, 100), true, true},
		{"a single slow step", run(50, 51), run(0, 100), true, false},
		{"pauses on one level", run(0, 0), paused(run(0, 0)), false, false},
		{"pauses on the upper level", run(0, 0), paused(run(0, 100)), true, false},
	} {
		for _, back := range []bool{false, true} {
			if back {
				c.a, c.b = c.b, c.a
			}
			if apart, shared := CompareLevels(c.a, c.b); apart != c.apart || shared != c.shared {
				t.Errorf("%s (exchanged: %v): apart %v, shared %v", c.name, back, apart, shared)
			}
		}
	}
}

// TestRepeated compares the means of runs with Welch's test.
func TestRepeated(t *testing.T) {
	of := func(x ...float64) Estimate {
		u := make([]float64, len(x))
		for i, v := range x {
			u[i] = (v - Mean(x)) / float64(len(x))
		}
		return Repeated(Mean(x), u, 300)
	}
	var w Estimator
	a, b := of(10, 11, 12), of(14, 16, 18)
	d := w.Compare(&a, &b)
	// The variances of the means are 1/3 and 4/3, with 2 degrees of freedom each.
	df := (5.0 / 3) * (5.0 / 3) / (1.0/9/2 + 16.0/9/2)
	want := 2 * distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-5/math.Sqrt(5.0/3))
	if math.Abs(d.P-want) > 1e-9 || d.Delta != 5 || d.Lo > 5 || d.Hi < 5 {
		t.Errorf("%+v, want a p of %v", d, want)
	}
	one := w.Mean(sequence(rand.New(rand.NewPCG(1, 1)), 300, 0))
	if d := w.Compare(&a, &one); d.error.of[0].variance != 1+1.0/3 {
		t.Errorf("a single run has not the spread of the others: %+v", d.error.of)
	}
}

func cells(x []float64) *Sequence {
	s := &Sequence{Steps: float64(len(x))}
	for _, v := range x {
		s.Bins = append(s.Bins, []float64{v})
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
	if d.P > 1e-2 || d.Lo < 1.5 || d.Hi > 4.5 || d.Lo > d.Delta || d.Hi < d.Delta {
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
	d := Difference{error: &mixture{of: []component{{1, 4, 1e6}}}}
	if got := d.Detectable(0.05); math.Abs(got-2*(1.96+0.8416)) > 0.01 {
		t.Errorf("detectable %v", got)
	}
}

// compare compares the means of two sequences.
func compare(w *Estimator, x, y []float64) Difference {
	a, b := w.Mean(x), w.Mean(y)
	return w.Compare(&a, &b)
}

func BenchmarkCompare(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := sequence(rng, 400, 0.3), sequence(rng, 400, 0.3)
	var w Estimator
	for b.Loop() {
		compare(&w, x, y)
	}
}

// TestTail compares the fast tail with that of gonum.
func TestTail(t *testing.T) {
	for _, df := range []float64{10, 12.5, 19, 64, 128, 1000} {
		for _, x := range []float64{0, 0.5, 2, 4, 8, 20} {
			want := min(1, 2*distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-x))
			if got := tTail(df, x); math.Abs(got-want) > 1e-3*want {
				t.Errorf("%v degrees of freedom beyond %v: %v, want %v", df, x, got, want)
			}
		}
	}
}

// TestEitherWay compares runs of unlike lengths both ways: what is significant must not depend on
// which of them is called the baseline.
func TestEitherWay(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var w Estimator
	for _, steps := range [][2]int{{20, 60}, {40, 44}, {20, 200}, {300, 90}} {
		var of [2]Estimate
		var walls [2]Sequence
		for k, n := range steps {
			x, bins, last := make([]float64, n), make([][]float64, n), 0.0
			for i := range x {
				last = 0.6*last + rng.NormFloat64()
				x[i] = 10 + last
				bins[i] = x[i : i+1]
			}
			of[k], walls[k] = w.Mean(x), Sequence{Bins: bins, Steps: float64(n)}
		}
		there, back := w.Compare(&of[0], &of[1]), w.Compare(&of[1], &of[0])
		if there.Delta != -back.Delta || math.Abs(there.Lo+back.Hi) > 1e-9 || math.Abs(there.Hi+back.Lo) > 1e-9 || math.Abs(there.P-back.P) > 1e-9 {
			t.Errorf("%v steps: %+v, the other way %+v", steps, there, back)
		}
		there, back = w.CompareQuantiles(&walls[0], &walls[1], 0.5), w.CompareQuantiles(&walls[1], &walls[0], 0.5)
		if math.Abs(there.Lo+back.Hi) > 1e-9 || math.Abs(there.P-back.P) > 1e-9 {
			t.Errorf("%v steps, medians: %+v, the other way %+v", steps, there, back)
		}
	}
}
