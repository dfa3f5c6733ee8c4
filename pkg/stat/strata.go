package stat

import (
	"maps"
	"math"
	"slices"
)

// Drawn is a sample drawn of a stratum whose size is known: it stands for Weight of it,
// the size by the number of samples in the stratum.
type Drawn struct {
	Weight  float64 // more than 0, in the unit of the sizes
	Stratum int32   // number, from 0 on without gaps
	Cluster int32   // samples of one cluster may be correlated
	Kind    int32   // what was drawn, from 0 on
}

// Share is the share of a kind.
type Share struct {
	Share     float64 // 0 to 1
	Low, High float64 // its 95 % interval
	N         float64 // how many independent samples it is worth
}

// minStratum is how many samples a stratum has at least where it is compared with its own
// mean, and not with that of all.
const minStratum = 10

// Shares returns the shares of kinds 0 to kinds-1 in all strata together. Samples may be
// drawn at different rates of different strata: only within one are all drawn at the same rate.
//
// The interval is Wilson's, with as many samples as would have the variance of the
// weighted mean. That variance is the sum over strata of m(1-m)/n times the squared size,
// m being the stratum's share of the kind with prior samples of the share in all, as many
// as Wilson's interval adds, so that strata in which few were drawn are not taken to know
// it. It is as many times larger as what samples differ from their strata's means by,
// added up by clusters, varies more than one by one; then, with few clusters, the quantile
// is that of Student's distribution.
func Shares(drawn []Drawn, kinds int) []Share {
	s := newStrata(drawn, kinds)
	shares := make([]Share, kinds)
	for k := range shares {
		shares[k] = s.share(k)
	}
	return shares
}

// strata is samples, added up.
type strata struct {
	drawn    []Drawn
	total    float64     // weight
	kinds    []float64   // weight of each
	sizes    []float64   // weight of each stratum
	counts   []float64   // samples of each stratum
	hits     [][]float64 // of each stratum, samples of each kind
	clusters map[int32]float64
	order    []int32 // of the clusters: sums of floats depend on theirs
}

func newStrata(drawn []Drawn, kinds int) *strata {
	s := &strata{drawn: drawn, kinds: make([]float64, kinds), clusters: map[int32]float64{}}
	for _, d := range drawn {
		for int(d.Stratum) >= len(s.sizes) {
			s.sizes, s.counts, s.hits = append(s.sizes, 0), append(s.counts, 0), append(s.hits, make([]float64, kinds))
		}
		s.counts[d.Stratum]++
		s.hits[d.Stratum][d.Kind]++
		s.sizes[d.Stratum] += d.Weight
		s.kinds[d.Kind] += d.Weight
		s.total += d.Weight
		s.clusters[d.Cluster] = 0
	}
	s.order = slices.Sorted(maps.Keys(s.clusters))
	return s
}

// share returns the share of kind k.
func (s *strata) share(k int) Share {
	if s.total == 0 {
		return Share{Share: math.NaN(), Low: 0, High: 1}
	}
	p, g := s.kinds[k]/s.total, float64(len(s.clusters))
	times, z := s.clustered(k, p), normal975
	if times > 1 && g < 200 {
		z = tQuantile(g-1, 0.975)
	}
	n := float64(len(s.drawn))
	prior := (p*n + z*z/2) / (n + z*z)
	variance := 0.0
	for i, count := range s.counts {
		m, w := (s.hits[i][k]+prior*z*z)/(count+z*z), s.sizes[i]/s.total
		variance += w * w * m * (1 - m) / count
	}
	n = min(n, prior*(1-prior)/(variance*times))
	low, high := wilson(p, n, z)
	return Share{p, low, high, n}
}

// clustered returns how many times more the sums of clusters vary than samples would by
// themselves, at least 1.
func (s *strata) clustered(k int, p float64) float64 {
	clear(s.clusters)
	alone := 0.0
	for _, d := range s.drawn {
		u := -p
		if s.counts[d.Stratum] >= minStratum {
			u = -s.hits[d.Stratum][k] / s.counts[d.Stratum]
		}
		if int(d.Kind) == k {
			u++
		}
		u *= d.Weight
		alone += u * u
		s.clusters[d.Cluster] += u
	}
	together, g := 0.0, float64(len(s.clusters))
	for _, c := range s.order {
		u := s.clusters[c]
		together += u * u
	}
	if alone == 0 || g < 2 {
		return 1
	}
	return max(1, together*g/(g-1)/alone)
}

// normal975 is the normal distribution's quantile of an interval of 95 %.
const normal975 = 1.959964

// wilson returns Wilson's interval of a share that n samples found.
func wilson(p, n, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	d := 1 + z*z/n
	middle, half := (p+z*z/(2*n))/d, z/d*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, middle-half), min(1, middle+half)
}
