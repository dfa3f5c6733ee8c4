package stat

import (
	"math"
	"math/cmplx"
)

// Drawn is a sample drawn of a stratum whose size is known: it stands for Weight of it,
// the size by the number of samples in the stratum.
type Drawn struct {
	Weight  float64 // more than 0, in the unit of the sizes
	Stratum int32   // number, from 0 on without gaps
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

// priorSamples is how many samples of the share in all are added to those of a stratum.
const priorSamples = 1.5

// minStratum is how many samples a stratum has at least where it is compared with its own
// mean, and not with that of all.
const minStratum = 10

// Sampler says at which moments samples were drawn.
type Sampler struct {
	// Random is 1 for moments that are independent of each other (Poisson), 0 for equal
	// distances, above 1 for bursts.
	Random float64
	// InStep is how many times the variance of a mean over parts is larger than if each was
	// sampled at moments of its own: above 1 where parts come at multiples of the distance
	// between samples.
	InStep float64
	// Lengths are how long parts are, by their numbers, in mean distances between samples
	// of their strata.
	Lengths []float64
}

// Shares returns the shares of kinds 0 to kinds-1 in all strata together. Samples may be
// drawn at different rates of different strata: only within one are all drawn at the same rate.
//
// What is estimated is the share of the strata as they were, not of those that another run
// would have: that a kind comes in a few long stretches, or in some parts of strata only, is
// no error, as samples are drawn of all of them.
//
// The interval is Wilson's, with as many samples as would have the variance of the
// weighted mean. For samples at random that variance is the sum over strata of m(1-m)/n
// times the squared size, m being the stratum's share of the kind with 1.5 prior samples of the
// share in all, so that strata in which few were drawn are not taken to know it.
//
// Samples at equal distances miss less: of a stretch between two others only where it begins and
// ends is uncertain, by a distance each, which is a variance of 1/12; likewise of a part. But of
// what is shorter than a distance, whether it was met is chance: what one sample found is taken
// to be so, at an end of parts as far as the other parts allow for it. Between the two the
// variance is in proportion. In bursts samples of one part come together, and their mean is
// uncertain as many times more; where parts come at multiples of the distance samples hit the
// same moments of all, and as many are worth one.
//
// # Rejected
//
// To take samples of one step for a cluster: that shares differ from step to step is then
// taken for an error, and all of the intervals hold. To take the less of that and of the
// variance above: where shares hardly differ that is still what samples at random have.
//
// As many prior samples in each stratum as Wilson's interval adds in all (3.84), or two: in
// strata of one kind, which most are, they stand for an error that nobody makes, and the interval
// counts it a second time; of two the intervals are wider than they need be. One: of some ways that
// a kind comes 91 % hold. As many as strata differ by (0.1 to 2): with 50 samples in all 84 % hold.
// To move the strata's shares to the interval's ends instead of Wilson's formula: no better.
//
// To take stretches that one sample found for longer than a distance where as many are found
// by two: those may be several short ones, and 84 % of the intervals hold.
func Shares(drawn []Drawn, kinds int, by Sampler) []Share {
	s := newStrata(drawn, kinds)
	shares := make([]Share, kinds)
	for k := range shares {
		shares[k] = s.share(k, by)
	}
	return shares
}

// strata is samples, added up.
type strata struct {
	drawn  []Drawn
	total  float64     // weight
	kinds  []float64   // weight of each
	sizes  []float64   // weight of each stratum
	counts []float64   // samples of each stratum
	hits   [][]float64 // of each stratum, samples of each kind
}

func newStrata(drawn []Drawn, kinds int) *strata {
	s := &strata{drawn: drawn, kinds: make([]float64, kinds)}
	for _, d := range drawn {
		for int(d.Stratum) >= len(s.sizes) {
			s.sizes, s.counts, s.hits = append(s.sizes, 0), append(s.counts, 0), append(s.hits, make([]float64, kinds))
		}
		s.counts[d.Stratum]++
		s.hits[d.Stratum][d.Kind]++
		s.sizes[d.Stratum] += d.Weight
		s.kinds[d.Kind] += d.Weight
		s.total += d.Weight
	}
	return s
}

// share returns the share of kind k.
func (s *strata) share(k int, by Sampler) Share {
	if s.total == 0 {
		return Share{Share: math.NaN(), Low: 0, High: 1}
	}
	const z = normal975
	p, n := s.kinds[k]/s.total, float64(len(s.drawn))
	prior := (p*n + z*z/2) / (n + z*z)
	variance, times := 0.0, max(1, by.Random)
	if p > 0 {
		times = s.times(k, p, by)
	}
	for i, count := range s.counts {
		m, w := (s.hits[i][k]+prior*priorSamples)/(count+priorSamples), s.sizes[i]/s.total
		variance += w * w * m * (1 - m) / count
	}
	n = prior * (1 - prior) / (variance * times)
	if by.InStep > 1 {
		n = min(n, float64(len(s.drawn))/by.InStep)
	}
	low, high := wilson(p, n, z)
	return Share{p, low, high, n}
}

// times returns how many times the variance of samples at random the actual one is.
func (s *strata) times(k int, p float64, by Sampler) float64 {
	alone, together, regular, same, edges := 0.0, 0.0, 0.0, s.same(k), s.edges(k)
	for i := 0; i < len(s.drawn); {
		end, own, sum := i, 0.0, 0.0
		for part := s.drawn[i].Part; end < len(s.drawn) && s.drawn[end].Part == part; end++ {
			u := s.residual(end, k, p)
			own, sum = own+u*u, sum+u
		}
		alone, together = alone+own, together+sum*sum/float64(end-i)
		first, last := s.residual(i, k, p), s.residual(end-1, k, p)
		left := (first*first + last*last) / 2 * leftOver(by.Lengths[s.drawn[i].Part])
		within := s.borders(i, end, k, &edges)
		if within == 0 && (end == i+1 || same == 0) { // of one kind, as far as parts are
			left = own - same*(own-left)
		}
		regular += left + within
		i = end
	}
	switch {
	case alone == 0:
		return max(1, by.Random, by.InStep)
	case by.Random > 1:
		return 1 + (by.Random-1)*together/alone
	}
	return (by.Random + (1-by.Random)*min(1, regular/alone)) * max(1, by.InStep)
}

// same tells how often, beyond chance, what is next to kind k in its part is of it, too: 0 to
// 1. Where parts are of one kind, one sample of a part says all of it. That two samples of
// another kind stand next to each other says nothing of what comes between them.
func (s *strata) same(k int) float64 {
	pairs := [3]float64{} // by how many of the two are of the kind
	for i := 1; i < len(s.drawn); i++ {
		if s.drawn[i-1].Part == s.drawn[i].Part {
			pairs[s.is(i-1, k)+s.is(i, k)]++
		}
	}
	if pairs[0]+pairs[1]+pairs[2] < minStratum || pairs[0] == 0 || pairs[2] == 0 {
		return 0
	}
	return max(0, 2*pairs[0]/(2*pairs[0]+pairs[1])+2*pairs[2]/(2*pairs[2]+pairs[1])-1)
}

// leftOver is the variance of how many samples at equal distances are drawn of a part of
// some length in such distances, of which at least one is.
func leftOver(length float64) float64 { return max(1-length, 1.0/6) }

// residual is by how much sample j differs from its stratum's mean, weighted.
func (s *strata) residual(j, k int, p float64) float64 {
	d := &s.drawn[j]
	u := -p
	if s.counts[d.Stratum] >= minStratum {
		u = -s.hits[d.Stratum][k] / s.counts[d.Stratum]
	}
	if int(d.Kind) == k {
		u++
	}
	return u * d.Weight
}

// unseen is by how much the variance of a stretch that one sample found is larger than that of
// two borders where it is one of many so short that most were met by none: of length l, in
// distances, each has l(1-l) and l of them are found, which leaves 1-l-1/6. The shortest are assumed.
const unseen = 5.0 / 6

// edges returns that for stretches at which parts begin, and at which they end, of other kinds and
// of kind k. Where one was missed its neighbour stands at the edge. So l is at least the share of
// edges, with these, that one sample found, for stretches of one length, and they are the worst.
func (s *strata) edges(k int) (left [2][2]float64) {
	var found, missed [2][2]float64
	for i := 0; i < len(s.drawn); {
		end := i + 1
		for end < len(s.drawn) && s.drawn[end].Part == s.drawn[i].Part {
			end++
		}
		if s.hits[s.drawn[i].Stratum][k] > 0 {
			for edge, at := range [2]int{i, end - 1} {
				of, next := s.is(at, k), at+1-2*edge
				missed[edge][1-of]++
				if end > i+1 && s.is(next, k) != of {
					found[edge][of]++
				}
			}
		}
		i = end
	}
	for edge := range left {
		for of := range left[edge] {
			n := found[edge][of]
			left[edge][of] = max(0, unseen-n/(n+missed[edge][of]+1))
		}
	}
	return left
}

// is returns 1 for a sample of kind k, else 0.
func (s *strata) is(j, k int) int {
	if int(s.drawn[j].Kind) == k {
		return 1
	}
	return 0
}

// borders is the variance of where stretches of kind k begin and end within samples from to end,
// which are of one part: 1/12 of a sample each, and half of what is unseen of a stretch that
// one sample found. Of one at an edge of the part all that is left is at its one border, but
// to miss it is an error of only its neighbour's residual.
func (s *strata) borders(from, end, k int, left *[2][2]float64) (sum float64) {
	for j := from + 1; j < end; j++ {
		before, after := s.is(j-1, k), s.is(j, k)
		if before == after {
			continue
		}
		w, of := s.drawn[j].Weight, 0.0
		if j == from+1 {
			of += left[0][before]
		} else if s.is(j-2, k) == after {
			of = unseen / 2
		}
		if j == end-1 {
			of += left[1][after]
		} else if s.is(j+1, k) == before {
			of = max(of, unseen/2)
		}
		sum += (1.0/12 + of) * w * w
	}
	return sum
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
// number, those at equal distances by what is left over of a length. lengths are those of
// parts of which n samples were drawn, in distances between two. Where that does not tell
// the two apart, samples are taken to be at random.
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
	by := Sampler{1, inStep(drawn, lengths), lengths}
	regular := 0.0
	for _, x := range lengths {
		regular += leftOver(x) / float64(len(drawn))
	}
	if free <= 0 || regular > 0.8 {
		return by
	}
	chance := 1 + math.Sqrt(2/float64(len(lengths)))
	if least := varied / free / chance; least > 1 {
		by.Random = least
	} else {
		by.Random = min(1, max(0, (varied/free*chance-regular)/(1-regular)))
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
const normal975 = 1.959964

// wilson returns Wilson's interval of a share that n samples found.
func wilson(p, n, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	d := 1 + z*z/n
	center, half := (p+z*z/(2*n))/d, z/d*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, center-half), min(1, center+half)
}
