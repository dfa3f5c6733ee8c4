package step

import (
	"iter"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Steps are the steps of a rank, in order, kept to the end of the run. All but the
// latest are packed to a third of their size. The zero value is empty. Not safe for
// concurrent use, not even for reading.
type Steps struct {
	list   spill.Packed[packedStep, *packedStep]
	reader spill.PackedReader[packedStep, *packedStep]
}

// Len returns the number of steps.
func (s *Steps) Len() int { return s.list.Len() }

// At returns step k.
func (s *Steps) At(k int) Step {
	s.reader.List = &s.list
	return Step(*s.reader.At(k))
}

// Last returns the last step, valid until the next is appended.
func (s *Steps) Last() *Step { return (*Step)(s.list.Last()) }

// Between iterates over the steps from from up to but not including to, by index.
func (s *Steps) Between(from, to int) iter.Seq2[int, Step] {
	return func(yield func(int, Step) bool) {
		for k := from; k < to && yield(k, s.At(k)); k++ {
		}
	}
}

// append adds a step. The steps before it must have ended.
func (s *Steps) append(one Step) { s.list.Append(packedStep(one)) }

// packedStep is a Step in the form that package spill packs.
type packedStep Step

// Put appends the fields to v; times within the step are relative, so that they are
// small.
func (s *packedStep) Put(v []int64) []int64 {
	whole := int64(0)
	if s.Whole {
		whole = 1
	}
	return s.Work.Put(append(v, s.Start, s.Until-s.Start, s.End-s.Until, s.Unrecorded, s.Ctx, s.Gen, int64(s.Phase)<<1|whole, int64(s.Segment)))
}

// Take sets the fields from the values that Put appended.
func (s *packedStep) Take(v []int64) {
	*s = packedStep{
		Start: v[0], Until: v[0] + v[1], End: v[0] + v[1] + v[2], Unrecorded: v[3], Ctx: v[4], Gen: v[5],
		Phase: event.Phase(v[6] >> 1), Whole: v[6]&1 != 0, Segment: int32(v[7]),
	}
	s.Work.Take(v[8:])
}
