package step

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Steps are what was appended, packed or not, in whatever order they are asked for.
func TestStepsPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s Steps
	var want []Step
	at := int64(math.MinInt64)
	for k := range 5*spill.BlockLen + 3 {
		one := Step{Start: at, Phase: event.Phase(rng.IntN(3)), Ctx: rng.Int64N(9) - 1, Gen: rng.Int64N(9) - 1, Segment: int32(k / 3000), Whole: rng.IntN(2) == 0}
		at += rng.Int64N(1 << 40)
		one.Until, one.End, one.Unrecorded = at, at+rng.Int64N(2001)-1000, rng.Int64N(3)*rng.Int64N(1<<50)
		switch rng.IntN(100) {
		case 0:
			one.Ctx, one.Gen = math.MaxInt64, math.MinInt64
		case 1:
			one.End = math.MaxInt64
			at = rng.Int64()
		}
		s.append(Step{Segment: one.Segment})
		*s.Last(), want = one, append(want, one)
	}
	if s.Len() != len(want) || s.At(0) != want[0] {
		t.Fatalf("%d steps, want %d", s.Len(), len(want))
	}
	for k, got := range s.Between(0, s.Len()) {
		if got != want[k] {
			t.Fatalf("step %d is %+v, want %+v", k, got, want[k])
		}
	}
	for range 1000 {
		if k := rng.IntN(len(want)); s.At(k) != want[k] {
			t.Fatalf("step %d is %+v, want %+v", k, s.At(k), want[k])
		}
	}
}

// StepsOf returns some steps.
func StepsOf(all []Step) (s Steps) {
	for _, one := range all {
		s.append(one)
	}
	return s
}
