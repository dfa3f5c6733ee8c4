package metric

import (
	"encoding/binary"
	"iter"
)

// manyRanks is how many ranks keep their steps open: packing those of a run that has no more
// ranks would be time spent for nothing.
const manyRanks = 8

// tallies are those of the steps of a rank. They can be packed to a quarter of their
// size, so that the ranks of a large run are kept to its end. Only pack packs, and only what
// it packed is decoded.
type tallies struct {
	open   []tally // nil where they are packed
	packed []byte  // of n steps, all fields as varints; nil where they are open
	n      int     // 0 where they are open
}

// append adds a step of which nothing was measured.
func (s *tallies) append() {
	s.unpack()
	s.open = append(s.open, tally{})
}

// at returns the tally of a step, which is valid until the next call of append or pack.
func (s *tallies) at(k int) *tally {
	s.unpack()
	return &s.open[k]
}

// len returns the number of steps.
func (s *tallies) len() int { return max(s.n, len(s.open)) }

// between goes through the steps at from and after it, up to to and without it: the index of
// each, and its tally, which is not to be changed and valid until the next one.
func (s *tallies) between(from, to int) iter.Seq2[int, *tally] {
	return func(yield func(int, *tally) bool) {
		var t tally
		b := s.packed
		for k := range to {
			one := &t
			if s.packed == nil {
				one = &s.open[k]
			} else {
				b = t.decode(b)
			}
			if k >= from && !yield(k, one) {
				return
			}
		}
	}
}

// among is between for the steps at some indices, which ascend.
func (s *tallies) among(steps []int) iter.Seq2[int, *tally] {
	return func(yield func(int, *tally) bool) {
		if len(steps) == 0 {
			return
		}
		next := 0
		for k, t := range s.between(steps[0], steps[len(steps)-1]+1) {
			if k != steps[next] {
				continue
			}
			if next++; !yield(k, t) {
				return
			}
		}
	}
}

// pack packs all steps.
func (s *tallies) pack() {
	if s.packed != nil {
		return
	}
	var b []byte
	for k := range s.open {
		for _, v := range s.open[k].fields() {
			b = binary.AppendVarint(b, *v)
		}
	}
	*s = tallies{packed: append(make([]byte, 0, len(b)), b...), n: len(s.open)}
}

// unpack has all steps open.
func (s *tallies) unpack() {
	if s.packed == nil {
		return
	}
	open := make([]tally, s.n)
	b := s.packed
	for k := range open {
		b = open[k].decode(b)
	}
	*s = tallies{open: open}
}

// decode reads a tally, and returns what follows it.
func (t *tally) decode(b []byte) []byte {
	for _, v := range t.fields() {
		x, n := binary.Varint(b)
		*v, b = x, b[n:]
	}
	return b
}
