package gap

import (
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/stat"
)

// TestCover counts how often spans that overlap cover each ns of another span.
func TestCover(t *testing.T) {
	const since1970 = 1_750_000_000_000_000_000 // sums of some of these overflow
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
		of, want := span(), int64(0)
		for _, s := range spans {
			want += s.Clip(of).Len()
		}
		if got := newCover(spans).within(of); got != want {
			t.Fatalf("seed %d: %d, want %d", seed, got, want)
		}
	}
}
