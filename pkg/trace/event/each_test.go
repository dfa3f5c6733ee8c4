package event

import (
	"math/rand/v2"
	"testing"
)

// TestRankEnd compares RankEnd with going row by row, for stretches of any length, with and
// without nulls, in batches with and without a bitmap.
func TestRankEnd(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var b Batch
		b.Reset(BaseCols)
		length := 1 + rng.IntN(40)
		for rank := int32(0); b.Len < 100; rank = int32(rng.IntN(2)) {
			null := seed%3 == 0 && rng.IntN(3) == 0
			for range 1 + rng.IntN(length) {
				i := b.AppendNulls()
				if b.Rank.Set(i, rank); null {
					b.Rank.SetNull(i)
				}
			}
		}
		if seed%3 == 1 {
			b.Rank.Valid = nil
		}
		for i := range b.Len {
			rank, known := b.Rank.Get(i)
			want := i
			for ; want < b.Len; want++ {
				if r, k := b.Rank.Get(want); k != known || known && r != rank {
					break
				}
			}
			if got := b.RankEnd(i); got != want {
				t.Fatalf("seed %d: the stretch from row %d on ends at %d, not at %d", seed, i, got, want)
			}
		}
	}
}
