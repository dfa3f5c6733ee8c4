package stat

import (
	"math"
	"slices"
)

// table is what the shapes make of a sequence of so many bins.
type table struct {
	n            int
	steps, reach float64
	shapes       []shape
	flat         []float64 // row k, column j: 1 over the expected square of coefficient j+1
	logs         []float64 // half the sum of the logarithms of those squares
	ofMean       []float64 // variance of the mean
	effective    []float64 // 1 over the effective number of steps
}

// cosinesFor returns how many coefficients a sequence of n samples has.
func cosinesFor(n int) int { return min(n-1, maxCosines) }

// newTable works the shapes out for sequences of n bins made of so many steps.
func newTable(n int, steps, reach float64) *table {
	t := &table{n: n, steps: steps, reach: reach, shapes: shapes(reach, steps)}
	b := cosinesFor(n)
	for k := range t.shapes {
		s := &t.shapes[k]
		sum := 0.0
		for j := 1; j <= b; j++ {
			d := s.density(math.Pi*float64(j)/float64(n), steps/float64(n))
			t.flat = append(t.flat, 1/d)
			sum += math.Log(d) / 2
		}
		m := s.ofMean(steps)
		t.logs = append(t.logs, sum)
		t.ofMean = append(t.ofMean, m)
		t.effective = append(t.effective, m/s.variance())
	}
	return t
}

// scale returns the variance of the noise that a sequence has if shape k is true.
func (t *table) scale(power []float64, k int) float64 {
	row := t.flat[k*len(power):][:len(power)]
	sum := 0.0
	for j, c := range power {
		sum += c * row[j]
	}
	return sum / float64(len(power))
}

// component is a t-distribution with its weight in a mixture.
type component struct{ weight, variance, df float64 }

// mixture is the distribution of the error of a difference: what it is under each
// shape, weighted by how well the shape fits both sequences.
type mixture struct {
	of        []component
	effective float64
}

// mix weighs the shapes by both sequences. Where they are pooled both have the
// variance of the two together, as they do if nothing differs.
func (w *Estimator) mix(a, b *Estimate, pooled bool) mixture {
	reach := max(a.Steps, b.Steps)
	x, y := w.table(a, reach), w.table(b, reach)
	prior := x.shapes // of the shorter one, which is believed less
	if b.Steps < a.Steps {
		prior = y.shapes
	}
	of := make([]component, len(x.shapes))
	best := math.Inf(-1)
	for k := range of {
		va, la := x.error(a, k)
		vb, lb := y.error(b, k)
		dfa, dfb := float64(len(a.power)), float64(len(b.power))
		if pooled {
			dfa += dfb
			va = (va*a.Steps + vb*b.Steps) / (a.Steps + b.Steps)
			vb, dfb = va, dfa
		}
		// The shorter of unlike sequences may have missed what the longer shows.
		if a.Steps*unlike < b.Steps && vb > va {
			va, dfa = vb, dfb
		}
		if b.Steps*unlike < a.Steps && va > vb {
			vb, dfb = va, dfa
		}
		of[k] = welch(va*x.ofMean[k]+a.edge, dfa, vb*y.ofMean[k]+b.edge, dfb)
		of[k].weight = la + lb
		best = max(best, of[k].weight)
	}
	return weigh(of, prior, best, x, y)
}

// weigh makes weights of how well the shapes fit, of which best is the largest, and joins
// what they say.
func weigh(of []component, prior []shape, best float64, x, y *table) mixture {
	total := 0.0
	for k := range of {
		of[k].weight = prior[k].prior * math.Exp(of[k].weight-best)
		total += of[k].weight
	}
	m := mixture{}
	ends := 0.0 // the weight of memory that has an end, of which alone it is known for how many steps it lasts
	for k := range of {
		of[k].weight /= total
		if x.shapes[k].order == 0 {
			ends += of[k].weight
			m.effective += of[k].weight * max(x.effective[k], y.effective[k])
		}
	}
	m.effective = max(1, ends/max(m.effective, 1e-300))
	m.of = lump(of)
	return m
}

// error returns the scale of a sequence under shape k and how well it fits.
func (t *table) error(e *Estimate, k int) (scale, fit float64) {
	if len(e.power) == 0 || e.zero {
		return 0, 0
	}
	scale = t.scale(e.power, k)
	return scale, -float64(len(e.power))/2*math.Log(scale) - t.logs[k]
}

// unlike is how many times as long a sequence is that says what a shorter one may
// have missed.
const unlike = 1.25

// lump puts components of about equal variance together.
func lump(of []component) []component {
	slices.SortFunc(of, func(a, b component) int {
		switch {
		case a.variance < b.variance:
			return -1
		case a.variance > b.variance:
			return 1
		}
		return 0
	})
	var few []component
	for _, c := range of {
		if c.weight < 1e-9 {
			continue
		}
		if n := len(few) - 1; n >= 0 && c.variance <= 1.1*few[n].variance {
			l := &few[n]
			sum := l.weight + c.weight
			l.variance = (l.weight*l.variance + c.weight*c.variance) / sum
			l.df = (l.weight*l.df + c.weight*c.df) / sum
			l.weight = sum
			continue
		}
		few = append(few, c)
	}
	return few
}

// likely is the variance that is as probably too large as too small.
func (m *mixture) likely() float64 {
	sum := 0.0
	for _, c := range m.of {
		if sum += c.weight; sum >= 0.5 {
			return c.variance
		}
	}
	return m.of[len(m.of)-1].variance
}

// tail is the probability of an error as far from 0.
func (m *mixture) tail(x float64) float64 {
	p := 0.0
	for _, c := range m.of {
		switch {
		case c.variance > 0:
			p += c.weight * tTail(c.df, x/math.Sqrt(c.variance))
		case x == 0:
			p += c.weight
		}
	}
	return min(1, p)
}

// beyond returns what an error exceeds with probability p, to a thousandth.
func (m *mixture) beyond(p float64) float64 {
	lo, hi := math.Inf(1), 0.0
	for _, c := range m.of {
		x := math.Sqrt(c.variance) * tQuantile(c.df, 1-p/2)
		lo, hi = min(lo, 0.999*x), max(hi, 1.001*x)
	}
	// Between two bounds the logarithm of the tail is about linear.
	above, below := math.Log(m.tail(lo)/p), math.Log(m.tail(hi)/p)
	for hi-lo > 1e-3*hi && above > 0 && below < 0 {
		at := lo + (hi-lo)*min(0.9, max(0.1, above/(above-below)))
		if v := math.Log(m.tail(at) / p); v > 0 {
			lo, above = at, v
		} else {
			hi, below = at, v
		}
	}
	return (lo + hi) / 2
}
