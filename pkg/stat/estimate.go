package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Level is the probability that an interval is to hold the truth with.
const Level = 0.95

// MinSamples is the number of samples below which there is no estimate of how
// uncertain their mean is.
const MinSamples = 4

// Estimate is a mean and what is known of its uncertainty.
type Estimate struct {
	Mean float64 // in the unit of the samples, NaN where there are none
	// N is the number of samples, Steps the number of steps that they are of: more
	// than N where a sample is the mean of several.
	N     int
	Steps float64

	power  []float64 // squares of the lowest cosine coefficients of the samples
	zero   bool      // all of them are 0
	edge   float64   // variance of the mean that is in none of them
	extent extent
	again  recurrence

	// Of several runs: how many, and the variance of their mean.
	runs     int
	variance float64
}

// Repeated estimates the mean of a figure over several runs, to which each has
// contributed what u says more or less than was to be expected. What differs from
// run to run is its variance, of which that within a run is a part; N is the number
// of samples in all of them.
func Repeated(mean float64, u []float64, n int) Estimate {
	e := Estimate{Mean: mean, N: n, Steps: float64(n), runs: len(u)}
	for _, v := range u {
		e.variance += v * v
	}
	e.variance *= float64(e.runs) / float64(e.runs-1)
	return e
}

// Apart is how far two single runs differ by chance: 95 % of the differences are
// below it.
func (e *Estimate) Apart() float64 {
	return math.Sqrt(2*e.spread()) * tQuantile(float64(e.runs-1), (1+Level)/2)
}

// spread is the variance between single runs.
func (e *Estimate) spread() float64 { return e.variance * float64(e.runs) }

// Known tells whether it is known how uncertain the mean is.
func (e *Estimate) Known() bool { return e.N >= MinSamples }

// Constant is the estimate of samples that are all equal.
func Constant(mean float64, n int, steps float64) Estimate {
	return Estimate{Mean: mean, N: n, Steps: steps, zero: true, power: make([]float64, max(0, cosinesFor(n)))}
}

// Estimator estimates means. It keeps tables between calls and is for one
// goroutine.
type Estimator struct {
	n       int
	cosines []float64 // row j-1 holds cos(pi j (t+1/2)/n) for t in [0,n)
	tables  []*table

	memories *memories // of the last ratio; nil: none yet
}

// Mean estimates the mean that x is a sequence of samples of.
func (w *Estimator) Mean(x []float64) Estimate {
	m := Mean(x)
	rest := make([]float64, len(x))
	for i, v := range x {
		rest[i] = (v - m) / float64(len(x))
	}
	return w.Influence(m, rest, float64(len(x)))
}

// Influence estimates a mean, or another linear figure, to which the parts of a
// sequence have contributed what u says more or less than was to be expected: the
// error is that of the sum of u, which is about 0.
func (w *Estimator) Influence(mean float64, u []float64, steps float64) Estimate {
	e := w.influence(mean, u, steps)
	if !e.zero && steps == float64(len(u)) {
		e.again = w.recurring(u)
	}
	return e
}

// influence is Influence that does not ask what recurs.
func (w *Estimator) influence(mean float64, u []float64, steps float64) Estimate {
	e := Constant(mean, len(u), steps)
	if !e.Known() {
		return e
	}
	e.extent = extentOf(mean, u)
	if slices.ContainsFunc(u, func(v float64) bool { return v != 0 }) {
		w.transform(u, e.power)
	}
	e.zero = isZero(e.power)
	return e
}

func isZero(power []float64) bool {
	return !slices.ContainsFunc(power, func(c float64) bool { return c > 0 })
}

// transform puts the squares of the lowest cosine coefficients of n u into power.
func (w *Estimator) transform(u, power []float64) {
	n := len(u)
	if w.n != n {
		w.n, w.cosines = n, slices.Grow(w.cosines[:0], n*len(power))
		for j := 1; j <= len(power); j++ {
			for t := range n {
				w.cosines = append(w.cosines, math.Cos(math.Pi*float64(j)*(float64(t)+0.5)/float64(n)))
			}
		}
	}
	largest := 0.0
	for _, v := range u {
		largest = max(largest, math.Abs(v))
	}
	for j := range power {
		row := w.cosines[j*n:][:n]
		c := 0.0
		for t, v := range u {
			c += v * row[t]
		}
		if math.Abs(c) > 1e-12*float64(n)*largest { // what else is rounding
			power[j] = c * c * 2 * float64(n)
		}
	}
}

// table returns what the shapes make of a sequence.
func (w *Estimator) table(e *Estimate, reach float64) *table {
	for _, t := range w.tables {
		if t.n == e.N && t.steps == e.Steps && t.reach == reach {
			return t
		}
	}
	if len(w.tables) == maxTables {
		w.tables = w.tables[:0]
	}
	t := newTable(e.N, e.Steps, reach)
	w.tables = append(w.tables, t)
	return t
}

const maxTables = 8

// Difference is how far one estimate is from another.
type Difference struct {
	Delta float64 // b - a, in the unit of the samples
	// Lo and Hi bound the interval that holds the truth with probability Level.
	Lo, Hi float64
	// P is the probability of a difference as large where there is none.
	P float64
	// Effective is how many independent steps the side with the fewest is worth,
	// infinite where the variance is that between runs.
	Effective float64

	error *mixture
	slow  *mixture // what else the error may be, where steps resemble one another; nil: nothing
}

// Unknown is a difference of which no more is known.
func Unknown(delta float64) Difference {
	nan := math.NaN()
	return Difference{Delta: delta, Lo: nan, Hi: nan, P: nan, Effective: nan}
}

// Compare returns how far b is from a. All but Delta is NaN where the uncertainty
// of one of them is not known.
func (w *Estimator) Compare(a, b *Estimate) Difference {
	d := Unknown(b.Mean - a.Mean)
	if !a.Known() || !b.Known() {
		return d
	}
	x, y := besides(a, b)
	d.erring(x, y, w.error(x, y))
	half := d.beyond(1 - Level)
	d.Lo, d.Hi = d.Delta-half, d.Delta+half
	d.P = max(d.tail(math.Abs(d.Delta)), leastP(a.N, b.N))
	if d.Delta == 0 {
		d.P = 1
	}
	return d
}

// fewEffective is the number of independent steps below which the interval is not taken
// for narrower than the lowest coefficients say: where 100 steps are worth five, one
// pair in five seems to be worth eight to sixteen, and three in ten of the intervals of
// these would miss the truth.
const fewEffective = 16

// erring says what distribution the error of b - a has. Where it is as if it had been
// worth few independent steps, or fewer than half of them all, how few is uncertain: a
// run in which less lasts by chance than usual is taken for a better one. The lowest
// coefficients have less of that chance, as they are of no shape. What they say fades
// over the last third of that: the same runs, with their steps found in another way, seem
// to be worth a little more or less, and the answer must not hang on that.
func (d *Difference) erring(a, b *Estimate, m mixture) {
	d.error, d.Effective = &m, m.effective
	few := min(fewEffective, min(a.Steps, b.Steps)/2)
	if left := min(1, 3*(1-m.effective/few)); left > 0 {
		slow := slowly(a, b)
		slow.of[0].variance *= left
		d.slow = &slow
	}
}

// beyond returns what the error exceeds with probability p.
func (d *Difference) beyond(p float64) float64 {
	half := d.error.beyond(p)
	if d.slow != nil {
		half = max(half, d.slow.beyond(p))
	}
	return half
}

// tail is the probability of an error as far from 0.
func (d *Difference) tail(x float64) float64 {
	p := d.error.tail(x)
	if d.slow != nil {
		p = max(p, d.slow.tail(x))
	}
	return p
}

// error returns the distribution of the error of b - a.
func (w *Estimator) error(a, b *Estimate) mixture {
	if a.runs > 1 || b.runs > 1 {
		return acrossRuns(a, b)
	}
	return w.mix(a, b, false)
}

// acrossRuns is the error where a side has several runs. A single run
// differs from the next as much as those of the other side do.
func acrossRuns(a, b *Estimate) mixture {
	va, dfa, vb, dfb := a.variance, float64(a.runs-1), b.variance, float64(b.runs-1)
	if a.runs < 2 {
		va, dfa = b.spread(), dfb
	}
	if b.runs < 2 {
		vb, dfb = a.spread(), dfa
	}
	return mixture{[]component{welch(va, dfa, vb, dfb)}, math.Inf(1)}
}

// welch is the error of the difference of two figures, with the degrees of freedom that
// its variance has (Welch 1947).
func welch(va, dfa, vb, dfb float64) component {
	c := component{weight: 1, variance: va + vb, df: dfa + dfb}
	if c.variance > 0 {
		c.df = c.variance * c.variance / (va*va/dfa + vb*vb/dfb)
	}
	return c
}

// tTail is the probability of a t beyond plus or minus x.
func tTail(df, x float64) float64 {
	if df < 10 {
		return mathext.RegIncBeta(df/2, 0.5, df/(df+x*x))
	}
	// Fast path: the normal deviate of the same tail (Hill 1970), to six digits.
	a := df - 0.5
	b := 48 * a * a
	y := a * math.Log1p(x*x/df)
	z := math.Sqrt(y) * (((((-0.4*y-3.3)*y-24)*y-85.5)/(0.8*y*y+100+b)+y+3)/b + 1)
	return math.Erfc(z / math.Sqrt2)
}

// tQuantile is the p-quantile of a t.
func tQuantile(df, p float64) float64 {
	if df < 10 {
		t := mathext.InvRegIncBeta(df/2, 0.5, 2*min(p, 1-p))
		return math.Copysign(math.Sqrt(df*(1-t)/t), p-0.5)
	}
	// Fast path: from the normal quantile (Fisher and Cornish 1960), to four digits.
	z := mathext.NormalQuantile(p)
	y := z * z
	return z * (1 + (y+1)/(4*df) + ((5*y+16)*y+3)/(96*df*df) + (((3*y+19)*y+17)*y-15)/(384*df*df*df))
}

// leastP is the least probability that any way of exchanging samples between
// sequences of n and m could give: two of all ways to choose. Without it two
// constant sequences, counts of kernels for instance, would be different beyond
// any doubt on a handful of steps.
func leastP(n, m int) float64 {
	ways := func(k int) float64 {
		v, _ := math.Lgamma(float64(k + 1))
		return v
	}
	return math.Exp(math.Ln2 + ways(n) + ways(m) - ways(n+m))
}

// Detectable returns the least difference that would have been found, with a
// probability of 80 %, by a test that calls differences real below the
// probability alpha. It is NaN where that is not known.
func (d *Difference) Detectable(alpha float64) float64 {
	if d.error == nil {
		return math.NaN()
	}
	return d.beyond(alpha) + d.beyond(0.4)
}
