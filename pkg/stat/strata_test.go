package stat

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Strata drawn at rates of 1 to 40, with kinds that come in spells: intervals hold the
// true share about as often as they say, and the plain share of the samples does not.
func TestSharesCover(t *testing.T) {
	const runs = 1000
	for _, test := range []struct {
		name     string
		clusters int
		per      float64 // samples of a cluster in the stratum of rate 1
		spell    float64 // how much of a cluster is of one kind
	}{{"independent", 60, 8, 0}, {"spells", 60, 8, 0.3}, {"few clusters", 12, 30, 0.1}} {
		var covered, drawn, biased [3]float64
		for seed := range uint64(runs) {
			rng := rand.New(rand.NewPCG(seed, 5))
			sizes := []float64{100, 300, 50}
			rates := []float64{1, 0.1, 4}
			shares := [][]float64{{0.1, 0.5, 0.4}, {0.6, 0.1, 0.3}, {0.02, 0.9, 0.08}}
			samples, counts := draw(rng, test.clusters, test.per, test.spell, rates, shares)
			for i := range samples {
				samples[i].Weight = sizes[samples[i].Stratum] / counts[samples[i].Stratum]
			}
			total := sizes[0] + sizes[1] + sizes[2]
			for k, s := range Shares(samples, 3) {
				truth := (sizes[0]*shares[0][k] + sizes[1]*shares[1][k] + sizes[2]*shares[2][k]) / total
				plain := 0.0
				for _, d := range samples {
					if int(d.Kind) == k {
						plain += 1 / float64(len(samples))
					}
				}
				drawn[k]++
				if s.Low <= truth && truth <= s.High {
					covered[k]++
				}
				if s.Low <= plain && plain <= s.High {
					biased[k]++
				}
			}
		}
		for k := range covered {
			if c := covered[k] / drawn[k]; c < 0.93 || c > 0.97 {
				t.Errorf("%s, kind %d: %.3f of the intervals hold the true share", test.name, k, c)
			}
		}
		if biased[1] > runs/2 {
			t.Errorf("%s: the rates do not matter", test.name)
		}
	}
}

// draw draws samples of each stratum in clusters, whose kinds are those of the stratum but
// for a part that is of one kind.
func draw(rng *rand.Rand, clusters int, per, spell float64, rates []float64, shares [][]float64) (all []Drawn, counts []float64) {
	counts = make([]float64, len(rates))
	kind := func(of []float64) int32 {
		u := rng.Float64()
		for k, p := range of {
			if u -= p; u < 0 {
				return int32(k)
			}
		}
		return int32(len(of) - 1)
	}
	for c := range clusters {
		for s, rate := range rates {
			common := kind(shares[s])
			for n := per * rate; n > 0; n-- {
				if rng.Float64() > n {
					continue
				}
				k := common
				if rng.Float64() >= spell {
					k = kind(shares[s])
				}
				all = append(all, Drawn{Stratum: int32(s), Cluster: int32(c), Kind: k})
				counts[s]++
			}
		}
	}
	return all, counts
}

// The same samples have the same shares, to the last bit.
func TestSharesAreTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	var drawn []Drawn
	for range 3000 {
		drawn = append(drawn, Drawn{Weight: rng.Float64(), Stratum: rng.Int32N(9), Cluster: rng.Int32N(60), Kind: rng.Int32N(5)})
	}
	want := Shares(drawn, 5)
	for range 20 {
		if got := Shares(drawn, 5); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
