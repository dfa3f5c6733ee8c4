package stat

import (
	"math"
	"math/cmplx"
)

// Drawn is a sample drawn of a stratum whose size is known: it stands for Weight of it,
// the size by the number of samples in the stratum.
type Drawn struct {
	Weight float64 // more than 0, in the unit of the sizes
	// Part is the uninterrupted stretch of a stratum that it was drawn in: samples of one
	// stand together, in the order of time.
	Part int32
	Kind int32 // what was drawn, from 0 on
	// Offset is how far into the part it was drawn, in mean distances between samples of the
	// stratum.
	Offset float32
}

// Share is the share of a kind.
type Share struct {
	Share     float64 // 0 to 1
	Low, High float64 // its 95 % interval
	N         float64 // how many independent samples it is worth
}

// Sampler says at which moments samples were drawn.
type Sampler struct {
	// Random is 1 for moments that are independent of each other (Poisson), below 1 for more
	// even distances, above 1 for bursts.
	Random float64
	// InStep is how many times the variance of a mean over parts is larger than if each was
	// sampled at moments of its own: above 1 where parts come at multiples of the distance
	// between samples.
	InStep float64
}

// Shares returns the shares of kinds 0 to kinds-1 in all strata together. Samples may be
// drawn at different rates of different strata: only within one are all drawn at the same rate.
//
// The interval is Wilson's, with as many samples as would have the variance of the weighted
// mean. That is the variance over parts, which are clusters: samples of one part resemble
// one another (Cochran 1977, 9A). What differs from part to part counts as an error, although
// all parts were sampled: intervals are rather too wide. Where parts come at multiples of
// the distance samples hit the same moments of all, and as many are worth one.
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

// clustered is the share p of kind k with its interval.
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

// Counts is how many samples were drawn of the parts of a stratum. Its zero value is that of
// a stratum without parts.
type Counts struct {
	n, nn, nl, l, ll float64
}

// Add adds a part of some length of which n samples were drawn.
func (c *Counts) Add(n int, length int64) {
	k, l := float64(n), float64(length)
	c.n, c.nn, c.nl, c.l, c.ll = c.n+k, c.nn+k*k, c.nl+k*l, c.l+l, c.ll+l*l
}

// Rate is how many samples were drawn per unit of length.
func (c *Counts) Rate() float64 { return c.n / c.l }

// NewSampler tells at which moments samples were drawn: from by how much their numbers in
// parts differ from what the lengths of these say. Samples at random vary as much as their
// number. lengths are those of parts of which samples were drawn, in distances between two.
//
// Where steps last a multiple of the distance, samples at equal distances hit the same places of
// each, and do not see what is between them.
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

// leastInStep is how large inStep is by chance in one of a hundred runs, about.
const leastInStep = 5

// inStep returns how many times as far from each other's mean the moments of samples within a
// distance are as if all parts had their own, 1 where that may be chance: of whole and half
// distances. Only whole distances of a part count: a left-over is not sampled as often.
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

// normal975 is the normal distribution's quantile of an interval of 95 %.
var normal975 = math.Sqrt2 * math.Erfinv(Level)

// wilson returns Wilson's interval of a share that n samples found.
func wilson(p, n, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	d := 1 + z*z/n
	center, half := (p+z*z/(2*n))/d, z/d*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, center-half), min(1, center+half)
}
