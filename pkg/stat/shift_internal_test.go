package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A quantile of two lists together is that of one that holds both.
func TestQuantileOfTwo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := make([]float64, rng.IntN(6)), make([]float64, rng.IntN(6))
		for _, list := range [][]float64{a, b} {
			for i := range list {
				list[i] = float64(rng.IntN(9))
			}
			slices.Sort(list)
		}
		both := slices.Concat(a, b)
		slices.Sort(both)
		for _, p := range []float64{0, 0.1, 0.5, 0.9, rng.Float64(), 1} {
			if got, want := quantileOf(a, b, p), Quantile(both, p); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%v of %v and %v is %v, want %v", p, a, b, got, want)
			}
		}
	}
}
