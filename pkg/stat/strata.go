package stat

import "math"

// Drawn is a sample drawn of a stratum whose size is known: it stands for Weight of it,
// the size by the number of samples in the stratum.
type Drawn struct {
	Weight  float64 // more than 0, in the unit of the sizes
	Stratum int32   // number, from 0 on without gaps
	// Part is the uninterrupted stretch of a stratum that it was drawn in: samples of one
	// stand together, in the order of time.
	Part int32
	Kind int32 // what was drawn, from 0 on
}

// Share is the share of a kind.
type Share struct {
	Share     float64 // 0 to 1
	Low, High float64 // its 95 % interval
	N         float64 // how many independent samples it is worth
}

// priorSamples is how many samples of the share in all are added to those of a stratum.
const priorSamples = 2

// minStratum is how many samples a stratum has at least where it is compared with its own
// mean, and not with that of all.
const minStratum = 10

// Sampler says at which moments samples were drawn.
type Sampler struct {
	// Random is 1 for moments that are independent of each other (Poisson), 0 for equal
	// distances, above 1 for bursts.
	Random float64
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
// times the squared size, m being the stratum's share of the kind with two prior samples of the
// share in all, so that strata in which few were drawn are not taken to know it. Samples at equal distances miss less: of a stretch between two others
// only where it begins and ends is uncertain, by a distance each, which is a variance of 1/12;
// likewise of a part. But of what is shorter than a distance, whether it was met is chance.
// Between the two the variance is in proportion. In bursts samples of one part come together,
// and their mean is uncertain as many times more.
//
// # Rejected
//
// To take samples of one step for a cluster: that shares differ from step to step is then
// taken for an error, and all of the intervals hold. To take the less of that and of the
// variance above: where shares hardly differ that is still what samples at random have.
//
// As many prior samples in each stratum as Wilson's interval adds in all (3.84): in strata of
// one kind, which most are, they stand for an error that nobody makes, and the interval counts
// it a second time.
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
	low, high := wilson(p, n, z)
	return Share{p, low, high, n}
}

// times returns how many times the variance of samples at random the actual one is.
func (s *strata) times(k int, p float64, by Sampler) float64 {
	alone, together, regular, same := 0.0, 0.0, 0.0, s.same(k, p)
	for i := 0; i < len(s.drawn); {
		end, own, sum := i, 0.0, 0.0
		for part := s.drawn[i].Part; end < len(s.drawn) && s.drawn[end].Part == part; end++ {
			u := s.residual(end, k, p)
			own, sum = own+u*u, sum+u
		}
		alone, together = alone+own, together+sum*sum/float64(end-i)
		first, last := s.residual(i, k, p), s.residual(end-1, k, p)
		left := leftOver(by.Lengths[s.drawn[i].Part])
		if end == i+1 {
			left = 1 - same*(1-left)
		}
		regular += (first*first + last*last) / 2 * left
		regular += s.borders(s.drawn[i:end], k)
		i = end
	}
	switch {
	case alone == 0:
		return max(1, by.Random)
	case by.Random > 1:
		return 1 + (by.Random-1)*together/alone
	}
	return by.Random + (1-by.Random)*min(1, regular/alone)
}

// same tells how often, beyond chance, what is next to kind k in its part is of it, too: 0 to
// 1. Where parts are of one kind, one sample of a part says all of it.
func (s *strata) same(k int, p float64) float64 {
	pairs, differ := 0.0, 0.0
	for i := 1; i < len(s.drawn); i++ {
		a, b := &s.drawn[i-1], &s.drawn[i]
		if a.Part != b.Part {
			continue
		}
		if pairs++; (int(a.Kind) == k) != (int(b.Kind) == k) {
			differ++
		}
	}
	if pairs < minStratum || p <= 0 || p >= 1 {
		return 0
	}
	return max(0, 1-differ/(2*p*(1-p)*pairs))
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

// borders is the variance of where stretches of kind k begin and end within a part: 1/12 of a
// sample, 1/2 beside a stretch that one sample found.
func (s *strata) borders(part []Drawn, k int) (sum float64) {
	is := func(j int) bool { return int(part[j].Kind) == k }
	for j := 1; j < len(part); j++ {
		if is(j) == is(j-1) {
			continue
		}
		of := 1.0 / 12
		if j == 1 || is(j-2) != is(j-1) || j+1 == len(part) || is(j+1) != is(j) {
			of = 0.5
		}
		sum += of * part[j].Weight * part[j].Weight
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
func NewSampler(strata []Counts, lengths []float64, n int) Sampler {
	varied, free := 0.0, 0.0
	for _, c := range strata {
		if c.n == 0 {
			continue
		}
		rate := c.Rate()
		varied += c.nn - 2*rate*c.nl + rate*rate*c.ll
		free += c.n * (1 - c.ll/(c.l*c.l))
	}
	by := Sampler{1, lengths}
	regular := 0.0
	for _, x := range lengths {
		regular += leftOver(x) / float64(n)
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
