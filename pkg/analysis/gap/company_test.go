package gap

import (
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/stat"
)

// TestUnion has each ns of a span counted once that any of some spans covers, which may overlap.
func TestUnion(t *testing.T) {
	const since1970 = 1_750_000_000_000_000_000
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		span := func() stat.Span {
			from := since1970 + rng.Int64N(60)
			return stat.Span{From: from, To: from + rng.Int64N(30)}
		}
		var spans []stat.Span
		for range rng.IntN(20) {
			spans = append(spans, span())
		}
		of, covered := span(), map[int64]bool{}
		for _, s := range spans {
			for at := s.Clip(of).From; at < s.Clip(of).To; at++ {
				covered[at] = true
			}
		}
		if got := union(spans).within(of); got != int64(len(covered)) {
			t.Fatalf("seed %d: %d, want %d", seed, got, len(covered))
		}
	}
}
