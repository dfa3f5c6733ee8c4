package gap

import (
	"math/rand/v2"
	"testing"
)

// TestRing compares a ring with one of full size from the start, and wants the memory of
// few launches to be small: there may be thousands of ranks.
func TestRing(t *testing.T) {
	for _, spread := range []int64{100, 3000, 5 * ringSize} {
		rng := rand.New(rand.NewPCG(uint64(spread), 1))
		var r ring
		full := ring{make([]launch, ringSize)}
		for i := range 3 * spread {
			added := rng.Int64N(spread)
			r.add(added, i, int32(i), 0)
			full.add(added, i, int32(i), 0)
			correlation := rng.Int64N(spread)
			want := full.slots[(correlation+1)&(ringSize-1)]
			if l := r.find(correlation, want.start); l == nil && want.id == correlation+1 || l != nil && *l != want {
				t.Fatalf("correlation %d of %d: %v, want %v", correlation, spread, l, want)
			}
		}
		if int64(len(r.slots)) > min(ringSize, max(ringStart, 2*spread)) {
			t.Errorf("%d slots for %d launches", len(r.slots), spread)
		}
	}
}
