package stat

import (
	"math"
	"math/cmplx"
)

// Drawn is a sample from a stratum of known size. Weight is the part of the stratum that
// it represents: the size divided by the number of samples in the stratum.
type Drawn struct {
	Weight float64 // above 0, in the unit of the sizes
	// Part is the uninterrupted stretch of the stratum in which it was drawn. Samples of
	// one part are consecutive, in the order of time.
	Part int32
	Kind int32 // what was sampled, from 0
	// Offset is its distance from the start of the part, in mean distances between
	// samples of the stratum.
	Offset float32
}

// Share is the share of a kind, and its uncertainty.
type Share struct {
	Share     float64 // 0 to 1
	Low, High float64 // its 95 % interval
	N         float64 // number of independent samples that it is worth
}

// Sampler describes the moments at which samples were drawn.
type Sampler struct {
	// Random is 1 if the moments are independent of each other (Poisson), less if they
	// are more evenly spaced, more if they come in bursts.
	Random float64
	// InStep is the factor by which the variance of a mean over parts is larger than if
	// each part was sampled at its own moments. It exceeds 1 if parts come at multiples
	// of the distance between samples.
	InStep float64
}

// Shares returns the shares of kinds 0 to kinds-1 over all strata. Sampling rates may
// differ between strata, but not within one.
//
// The interval is Wilson's, with as many samples as have the variance of the weighted
// mean. That is the variance over parts, which are clusters: samples of one part
// resemble each other (Cochran 1977, 9A). Differences between parts count as errors
// although all parts were sampled, so intervals are rather too wide. If parts come at
// multiples of the sampling distance, samples hit the same moments of all of them, and
// together are worth one.
func Shares(drawn []Drawn, kinds int, by Sampler) []Share {
	shares, total := make([]Share, kinds), 0.0
	for _, d := range drawn {
		total += d.Weight
		shares[d.Kind].Share += d.Weight
	}
	for k := range shares {
		shares[k] = clustered(drawn, int32(k), shares[k].Share/total, total, by)
	}
	return shares
}

// clustered returns the share p of kind k with its interval.
func clustered(drawn []Drawn, k int32, p, total float64, by Sampler) Share {
	n := float64(len(drawn))
	if n == 0 {
		return Share{Share: math.NaN(), High: 1}
	}
	variance, part, parts := 0.0, 0.0, 0.0
	for i, d := range drawn {
		if part -= d.Weight * p / total; d.Kind == k {
			part += d.Weight / total
		}
		if i+1 == len(drawn) || drawn[i+1].Part != d.Part {
			variance, part, parts = variance+part*part, 0, parts+1
		}
	}
	if variance > 0 && parts > 1 {
		n = min(n, p*(1-p)/(variance*parts/(parts-1)))
	}
	n = min(n, float64(len(drawn))/max(1, by.InStep, by.Random))
	low, high := wilson(p, n, normal975)
	return Share{p, low, high, n}
}

// Counts is the number of samples in the parts of a stratum. The zero value is a stratum
// without parts.
type Counts struct {
	n, nn, nl, l, ll float64
}

// Add adds a part of a length from which n samples were drawn.
func (c *Counts) Add(n int, length int64) {
	k, l := float64(n), float64(length)
	c.n, c.nn, c.nl, c.l, c.ll = c.n+k, c.nn+k*k, c.nl+k*l, c.l+l, c.ll+l*l
}

// Rate returns the number of samples per unit of length, NaN without parts.
func (c *Counts) Rate() float64 { return c.n / c.l }

// NewSampler estimates at which moments samples were drawn, from how much their numbers
// in parts differ from what the lengths predict. Random samples vary as much as their
// number. lengths are those of the parts, by Drawn.Part, in distances between samples.
//
// If steps last a multiple of the distance, evenly spaced samples hit the same places of
// each step, and miss what lies between them.
func NewSampler(strata []Counts, lengths []float64, drawn []Drawn) Sampler {
	varied, free := 0.0, 0.0
	for _, c := range strata {
		if c.n == 0 {
			continue
		}
		rate := c.Rate()
		varied += c.nn - 2*rate*c.nl + rate*rate*c.ll
		free += c.n * (1 - c.ll/(c.l*c.l))
	}
	by := Sampler{1, inStep(drawn, lengths)}
	if free > 0 { // less what chance may add
		by.Random = varied / free / (1 + math.Sqrt(2/float64(len(lengths))))
	}
	return by
}

// leastInStep is about how large inStep is by chance in one run in a hundred.
const leastInStep = 5

// inStep returns how far the moments of samples within a sampling distance agree between
// parts. The measure is the squared length of their sum, relative to parts with moments
// of their own. It returns 1 if that may be chance. It tries whole and half distances.
// Only whole distances of a part count: the rest is sampled less often.
func inStep(drawn []Drawn, lengths []float64) float64 {
	most := 1.0
	for harmonic := 1.0; harmonic <= 2; harmonic++ {
		var all, part complex128
		own := 0.0
		for i, d := range drawn {
			if float64(d.Offset) < math.Floor(lengths[d.Part]) {
				part += cmplx.Rect(1, 2*math.Pi*harmonic*float64(d.Offset))
			}
			if i+1 == len(drawn) || drawn[i+1].Part != d.Part {
				all, own, part = all+part, own+real(part)*real(part)+imag(part)*imag(part), 0
			}
		}
		if x := (real(all)*real(all) + imag(all)*imag(all)) / max(own, 1); x >= leastInStep {
			most = max(most, x)
		}
	}
	return most
}

// normal975 is the quantile of the normal distribution for a 95 % interval.
var normal975 = math.Sqrt2 * math.Erfinv(Level)

// wilson returns Wilson's interval for a share p found in n samples.
func wilson(p, n, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	d := 1 + z*z/n
	center, half := (p+z*z/(2*n))/d, z/d*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, center-half), min(1, center+half)
}
