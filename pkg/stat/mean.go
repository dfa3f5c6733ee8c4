package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Estimate is a mean and its uncertainty.
type Estimate struct {
	Mean  float64 // in the unit of the samples, NaN if there are none
	N     int     // samples
	Steps float64 // that the samples cover: more than N if a sample is the mean of several steps

	variance float64   // of the mean
	df       float64   // its degrees of freedom
	sample   float64   // variance of the mean if samples were independent
	runs     int       // above 0: the mean is over this many runs
	band     []float64 // squares of the cosine coefficients, times n
}

// Known reports whether the uncertainty of the mean is known.
func (e *Estimate) Known() bool { return e.N >= MinSamples }

// Effective returns how many independent steps the samples are worth, at most Steps.
func (e *Estimate) Effective() float64 {
	if e.runs > 0 || e.variance <= e.sample {
		return e.Steps
	}
	return max(1, e.Steps*e.sample/e.variance)
}

// Half returns half the width of the mean's interval.
func (e *Estimate) Half() float64 { return math.Sqrt(e.variance) * tQuantile(e.df, (1+Level)/2) }

// Apart returns how far two such means differ by chance: 95 % of the differences are
// smaller. For several runs, they are the means of single runs, otherwise those of
// halves of the run.
func (e *Estimate) Apart() float64 {
	return math.Sqrt(2*float64(max(2, e.runs))*e.variance) * tQuantile(e.df, (1+Level)/2)
}

// Constant returns the estimate of samples that are all equal, with variance 0.
func Constant(mean float64, n int, steps float64) Estimate {
	return Estimate{Mean: mean, N: n, Steps: steps, df: Cosines}
}

// Repeated estimates a mean over several runs. u is the deviation that each run
// contributes to it, n the number of samples in all of them.
func Repeated(mean float64, u []float64, n int) Estimate {
	e := Estimate{Mean: mean, N: n, Steps: float64(n), runs: len(u), df: float64(len(u) - 1)}
	for _, v := range u {
		e.variance += v * v
	}
	e.variance *= float64(e.runs) / e.df
	return e
}

// Estimator estimates means. It caches a table and is not safe for concurrent use.
type Estimator struct {
	// Longer is how many times as long the sequences are as those with which they will
	// be compared; only values above 1 matter.
	Longer float64

	n       int
	cosines [][]float64 // row j-1 is sqrt(2/n) cos(pi j (t+1/2)/n) for t in [0,n)
	rest    []float64
}

// Mean estimates the mean of a sequence of samples x, which may be correlated.
func (w *Estimator) Mean(x []float64) Estimate {
	m := Mean(x)
	u := make([]float64, len(x))
	for i, v := range x {
		u[i] = (v - m) / float64(len(x))
	}
	return w.Influence(m, u, float64(len(x)))
}

// Influence estimates a mean, or another linear figure. u is the deviation that each
// part of a sequence contributes to it. The error is that of the sum of u, which is
// about 0.
func (w *Estimator) Influence(mean float64, u []float64, steps float64) Estimate {
	e := Constant(mean, len(u), steps)
	n, product, squares := float64(len(u)), 0.0, 0.0
	for t, v := range u {
		squares += v * v
		if t > 0 {
			product += v * u[t-1]
		}
	}
	if !e.Known() || squares*n <= roundingError*roundingError*mean*mean {
		return e
	}
	e.sample = squares * n / (n - 1)
	phi := product / squares
	phi = min(max(0, phi+(1+3*phi)/n), mostMemory)
	w.rest = append(w.rest[:0], math.Sqrt(1-phi*phi)*u[0]/(1-phi))
	for t := 1; t < len(u); t++ {
		w.rest = append(w.rest, (u[t]-phi*u[t-1])/(1-phi))
	}
	count := min(len(w.rest)-1, Cosines)
	if w.Longer > unlike {
		count = min(len(w.rest)-1, int(Cosines*min(w.Longer, MostUnlike)))
	}
	for j := range count {
		c := w.coefficient(j)
		e.band = append(e.band, c*c*n)
	}
	e.df = float64(min(count, Cosines))
	e.variance = Mean(e.band[:int(e.df)])
	return e
}

// coefficient returns cosine coefficient j+1 of the prewhitened sequence.
func (w *Estimator) coefficient(j int) (c float64) {
	if n := len(w.rest); w.n != n {
		w.n, w.cosines = n, w.cosines[:0]
	}
	for k := len(w.cosines); k <= j; k++ {
		row := make([]float64, w.n)
		for t := range row {
			row[t] = math.Sqrt(2/float64(w.n)) * math.Cos(math.Pi*float64(k+1)*(float64(t)+0.5)/float64(w.n))
		}
		w.cosines = append(w.cosines, row)
	}
	for t, v := range w.rest {
		c += v * w.cosines[j][t]
	}
	return c
}

// Difference is the difference of two estimates. What is unknown is NaN.
type Difference struct {
	Delta float64 // b - a, in the unit of the samples
	// Lo and Hi bound the interval with probability Level.
	Lo, Hi float64
	// P is the p-value of Delta.
	P float64
	// Effective is how many independent steps the side with fewer of them is worth.
	Effective float64

	deviation, df float64
}

// Unknown returns a difference of which only Delta is known.
func Unknown(delta float64) Difference {
	nan := math.NaN()
	return Difference{Delta: delta, Lo: nan, Hi: nan, P: nan, Effective: nan, deviation: nan}
}

// Compare returns b less a. Everything except Delta is NaN if the uncertainty of either
// is unknown. If only one side has several runs, the variance between its runs is used
// for both.
func Compare(a, b *Estimate) Difference {
	d := Unknown(b.Mean - a.Mean)
	if !a.Known() || !b.Known() {
		return d
	}
	va, vb := a.against(b), b.against(a)
	d.deviation, d.df = math.Sqrt(va+vb), welch(va, a.df, vb, b.df)
	if a.repeated() != b.repeated() { // one side's variance is used for both: a prediction interval
		d.df = float64(max(a.runs, b.runs) - 1)
	}
	d.Effective = min(a.Effective(), b.Effective())
	half := d.deviation * tQuantile(d.df, (1+Level)/2)
	d.Lo, d.Hi = d.Delta-half, d.Delta+half
	if d.P = 1; d.Delta != 0 {
		d.P = max(tTail(d.df, math.Abs(d.Delta)/d.deviation), leastP(a.N, b.N))
	}
	return d
}

// repeated reports whether the mean is over several runs.
func (e *Estimate) repeated() bool { return e.runs > 1 }

// against returns the variance of the mean for a comparison with o, which may know more
// about it.
func (e *Estimate) against(o *Estimate) float64 {
	switch {
	case !e.repeated() && o.repeated():
		return o.variance * float64(o.runs)
	case e.repeated() || o.Steps <= unlike*e.Steps || len(o.band) == 0:
		return e.variance
	}
	times := o.Steps / e.Steps
	cut := Mean(o.band[:min(len(o.band), int(Cosines*times))]) * times
	return max(e.variance, cut)
}

// welch returns the degrees of freedom of the sum of two variances (Welch 1947).
func welch(va, dfa, vb, dfb float64) float64 {
	if va+vb == 0 {
		return dfa + dfb
	}
	return (va + vb) * (va + vb) / (va*va/dfa + vb*vb/dfb)
}

// tTail returns the probability that the absolute value of Student's t exceeds x.
func tTail(df, x float64) float64 { return mathext.RegIncBeta(df/2, 0.5, df/(df+x*x)) }

// tQuantile returns the p-quantile of Student's t, for p above one half, by Newton's
// method from the normal quantile. The tail is convex and heavier than the normal one,
// so no step overshoots. (The inverse incomplete beta function of gonum takes ten times
// as long, and each row needs several.)
func tQuantile(df, p float64) float64 {
	tail, t := 2*(1-p), math.Sqrt2*math.Erfinv(2*p-1)
	above, _ := math.Lgamma((df + 1) / 2)
	below, _ := math.Lgamma(df / 2)
	density := 2 * math.Exp(above-below) / math.Sqrt(df*math.Pi) // two-sided, at 0
	for {
		step := (tTail(df, t) - tail) / (density * math.Pow(1+t*t/df, -(df+1)/2))
		if t += step; !(step > 1e-7*t) {
			return t
		}
	}
}

// leastP returns the least p-value that exchanging samples between sequences of n and m
// could give: two of all ways to choose. Without it two constant sequences, such as
// counts of kernels, would differ beyond any doubt after a handful of steps.
func leastP(n, m int) float64 { return math.Exp(math.Ln2 - ways(n+m, n)) }

// Detectable returns the least difference that a test at level alpha finds with a
// probability of 80 %, NaN if unknown.
func (d *Difference) Detectable(alpha float64) float64 {
	if math.IsNaN(d.deviation) {
		return d.deviation
	}
	return d.deviation * (tQuantile(d.df, 1-alpha/2) + tQuantile(d.df, power))
}
