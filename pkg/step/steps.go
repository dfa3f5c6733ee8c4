package step

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
)

// blockSteps is how many steps are packed at a time, and how many of the last ones stay as they
// are at least.
const blockSteps = 1024

// Steps are the steps of a rank, in order, which are kept to the end of the run: all but the
// last ones are packed, to a quarter of their size. The zero Steps are none.
type Steps struct {
	packed [][]byte // blocks of the first steps
	open   []Step   // those after

	block int    // of packed, which is unpacked, plus 1
	room  []Step // what is in it
}

// StepsOf returns some steps, of which no other owner may use the slice.
func StepsOf(all []Step) Steps { return Steps{open: all} }

// Len returns the number of steps.
func (s *Steps) Len() int { return blockSteps*len(s.packed) + len(s.open) }

// At returns step k.
func (s *Steps) At(k int) Step {
	if n := blockSteps * len(s.packed); k >= n {
		return s.open[k-n]
	}
	return s.unpacked(k)
}

// Last returns the last step, which is there until the next one comes.
func (s *Steps) Last() *Step { return &s.open[len(s.open)-1] }

// Between goes through the steps at from and after it, up to to and without it: the index of
// each, and the step.
func (s *Steps) Between(from, to int) iter.Seq2[int, Step] {
	return func(yield func(int, Step) bool) {
		for k := from; k < to && yield(k, s.At(k)); k++ {
		}
	}
}

// append adds a step. All before it have ended.
func (s *Steps) append(one Step) {
	if len(s.open) >= 2*blockSteps {
		s.packed = append(s.packed, pack(s.open[:blockSteps]))
		s.open = s.open[:copy(s.open, s.open[blockSteps:])]
	}
	s.open = append(s.open, one)
}

// pack returns the fields of steps as varints, their times as differences.
func pack(all []Step) []byte {
	b := make([]byte, 0, 24*len(all))
	at := int64(0)
	for k := range all {
		s := &all[k]
		whole := int64(0)
		if s.Whole {
			whole = 1
		}
		for _, v := range [...]int64{
			s.Start - at, s.Until - s.Start, s.End - s.Until, s.Unrecorded, s.Ctx, s.Gen, int64(s.Phase)<<1 | whole, int64(s.Segment),
		} {
			b = binary.AppendVarint(b, v)
		}
		at = s.Until
	}
	return slices.Clip(slices.Clone(b))
}

// unpacked returns step k, which is packed.
func (s *Steps) unpacked(k int) Step {
	if block := k / blockSteps; s.block != block+1 {
		s.room, s.block = s.room[:0], block+1
		at := int64(0)
		for b := s.packed[block]; len(b) > 0; {
			var v [8]int64
			for i := range v {
				x, n := binary.Varint(b)
				v[i], b = x, b[n:]
			}
			start := at + v[0]
			at = start + v[1]
			s.room = append(s.room, Step{
				Start: start, End: at + v[2], Until: at, Unrecorded: v[3], Ctx: v[4], Gen: v[5],
				Phase: event.Phase(v[6] >> 1), Segment: int32(v[7]), Whole: v[6]&1 != 0,
			})
		}
	}
	return s.room[k%blockSteps]
}
