package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Level is the probability that an interval is to hold the truth with.
const Level = 0.95

// MinSamples is the number of samples below which there is no estimate of how
// uncertain their mean is.
const MinSamples = 4

const (
	maxCosines = 48
	maxCorr    = 0.9
	// doubtOfCorrelation says how much of the variance of the autoregression's
	// coefficient, (1-rho^2)/n, is taken from the degrees of freedom: all of it
	// were 2, but the cosines of the residuals make good most of what it gets
	// wrong. With 0, one comparison in thirteen of equal runs of 20 steps raised a
	// false alarm; with 0.7, one in twenty.
	doubtOfCorrelation = 0.7
)

// Estimate is a mean and how uncertain it is.
type Estimate struct {
	Mean float64
	// Var is the variance of the mean, DF the degrees of freedom behind it. Both
	// are NaN where there are fewer than MinSamples samples.
	Var, DF float64
	// N is the number of samples.
	N int
}

// Known tells whether it is known how uncertain the mean is.
func (e Estimate) Known() bool { return !math.IsNaN(e.Var) }

// Estimator estimates means. It keeps tables between calls and is for one
// goroutine.
type Estimator struct {
	n       int
	cosines []float64 // row j-1 holds cos(pi j (t+1/2)/n) for t in [0,n)
	rest    []float64
}

// Mean estimates the mean that x is a sequence of samples of.
func (w *Estimator) Mean(x []float64) Estimate {
	m := Mean(x)
	rest := make([]float64, len(x))
	for i, v := range x {
		rest[i] = (v - m) / float64(len(x))
	}
	return w.Influence(m, rest)
}

// Influence estimates a mean, or another linear figure, to which the parts of a
// sequence have contributed what u says more or less than was to be expected: the
// variance is that of the sum of u, which is about 0.
func (w *Estimator) Influence(mean float64, u []float64) Estimate {
	e := Estimate{Mean: mean, Var: math.NaN(), DF: math.NaN(), N: len(u)}
	if len(u) < MinSamples {
		return e
	}
	rho := correlation(u)
	if cap(w.rest) < len(u) {
		w.rest = make([]float64, len(u))
	}
	flat := w.rest[:len(u)-1]
	m := Mean(u)
	for t := range flat {
		flat[t] = (u[t+1] - m) - rho*(u[t]-m)
	}
	b := cosinesFor(len(u))
	e.Var = w.spectrum(flat, b) * float64(len(u)) / ((1 - rho) * (1 - rho))
	e.DF = 1 / (1/float64(b) + doubtOfCorrelation*(1+rho)/(1-rho)/float64(len(u)))
	return e
}

// cosinesFor returns how many coefficients the variance is estimated with from n
// samples.
func cosinesFor(n int) int {
	b := int(math.Round(0.8 * math.Pow(float64(n), 2.0/3)))
	return max(2, min(b, maxCosines, n-2))
}

// correlation returns the coefficient of the first-order autoregression of x,
// corrected for its bias of -(1+3 rho)/n and kept in bounds.
func correlation(x []float64) float64 {
	m := Mean(x)
	var own, next float64
	for t, v := range x {
		own += (v - m) * (v - m)
		if t > 0 {
			next += (v - m) * (x[t-1] - m)
		}
	}
	if own == 0 {
		return 0
	}
	n := float64(len(x))
	return max(0, min((next/own*n+1)/(n-3), maxCorr))
}

// spectrum returns the mean square of the first b cosine coefficients of x.
func (w *Estimator) spectrum(x []float64, b int) float64 {
	n := len(x)
	if w.n != n {
		w.n, w.cosines = n, w.cosines[:0]
	}
	for j := len(w.cosines)/n + 1; j <= b; j++ {
		for t := range n {
			w.cosines = append(w.cosines, math.Cos(math.Pi*float64(j)*(float64(t)+0.5)/float64(n)))
		}
	}
	sum := 0.0
	for j := range b {
		row := w.cosines[j*n:][:n]
		c := 0.0
		for t, v := range x {
			c += v * row[t]
		}
		sum += c * c
	}
	return sum * 2 / float64(n) / float64(b)
}

// Difference is how far one estimate is from another.
type Difference struct {
	Delta float64
	// Lo and Hi bound the interval that holds the truth with probability Level.
	Lo, Hi float64
	// P is the probability of a difference as large where there is none.
	P float64
	// SE is the standard error of Delta, DF the degrees of freedom behind it.
	SE, DF float64
}

// Unknown is a difference of which no more is known.
func Unknown(delta float64) Difference {
	nan := math.NaN()
	return Difference{delta, nan, nan, nan, nan, nan}
}

// Compare returns how far b is from a. All but Delta is NaN where the uncertainty
// of one of them is not known.
func Compare(a, b Estimate) Difference {
	d := Unknown(b.Mean - a.Mean)
	if !a.Known() || !b.Known() {
		return d
	}
	v := a.Var + b.Var
	d.SE, d.DF = math.Sqrt(v), a.DF+b.DF
	if v > 0 {
		d.DF = v * v / (a.Var*a.Var/a.DF + b.Var*b.Var/b.DF)
	}
	half := d.SE * tQuantile(d.DF, (1+Level)/2)
	d.Lo, d.Hi = d.Delta-half, d.Delta+half
	d.P = max(d.tail(), leastP(a.N, b.N))
	if d.Delta == 0 {
		d.P = 1
	}
	return d
}

// tail returns the probability of a t as far from 0.
func (d *Difference) tail() float64 {
	if d.SE == 0 {
		return 0
	}
	return tTail(d.DF, math.Abs(d.Delta)/d.SE)
}

// tTail is the probability of a t beyond plus or minus x.
func tTail(df, x float64) float64 {
	// By the lower tail: the upper one is a difference from 1 there.
	return min(1, 2*distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-x))
}

func tQuantile(df, p float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p)
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
	if math.IsNaN(d.SE) || d.SE == 0 {
		return d.SE
	}
	return d.SE * (tQuantile(d.DF, 1-alpha/2) + tQuantile(d.DF, 0.8))
}
