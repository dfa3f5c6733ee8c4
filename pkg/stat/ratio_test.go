package stat

import (
	"math/rand/v2"
	"testing"
)

// TestRatioHolds: the interval of a ratio holds the truth about as often as it says
// where steps are independent, and where the host has two states of twenty steps each,
// of which a run of 120 has six.
func TestRatioHolds(t *testing.T) {
	const runs, n = 500, 120
	var est Estimator
	holds := func(step float64) (held int) {
		for k := range runs {
			rng := rand.New(rand.NewPCG(uint64(k), 5))
			num, den := make([]float64, n), make([]float64, n)
			state := step * float64(2*rng.IntN(2)-1)
			for i := range num {
				if rng.Float64() < 1.0/20 {
					state = -state
				}
				num[i] = 1 + 0.1*rng.NormFloat64() + state
				den[i] = num[i] + 3
			}
			if lo, hi, ok := est.Ratio(num, den, n); ok && lo <= 0.25 && 0.25 <= hi {
				held++
			}
		}
		return held
	}
	for _, step := range []float64{0, 0.05} {
		if held := holds(step); held < 455 || held > 492 {
			t.Errorf("states %g from the mean: %d of %d intervals hold the truth", step, held, runs)
		}
	}
}
