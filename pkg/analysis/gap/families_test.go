package gap

import (
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// In a pause that was sampled throughout its share is known, whatever the rest of the run is like;
// where nothing was sampled for a third of it nobody knows what ran then.
func TestCut(t *testing.T) {
	const length = 500_000_000
	for _, hole := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 2))
		var samples []sample
		for at := int64(0); ; {
			if at += int64(25_000 * rng.ExpFloat64()); at >= length {
				break
			}
			if hole && at > length/3 && at < 2*length/3 {
				continue
			}
			family := event.GC
			if rng.IntN(5) == 0 {
				family = event.Other
			}
			samples = append(samples, sample{family: family, at: at, to: length, gpus: 1})
		}
		p, counts := &pool{}, stat.Counts{}
		p.cut(samples, &counts)
		p.counts = append(p.counts, counts)
		list, unknown := p.families()
		switch {
		case hole != (unknown != ""):
			t.Errorf("hole %v: %+v, %q", hole, list, unknown)
		case !hole && (len(list) == 0 || list[0].Family != event.Classes[event.GC] || list[0].Low > 0.8 || list[0].High < 0.8):
			t.Errorf("%+v", list)
		}
	}
}
