package metric

import (
	"encoding/binary"
	"iter"
	"slices"
)

// manyRanks is how many ranks keep their last steps open: packing those of a run that has no
// more ranks would be time spent for nothing.
const manyRanks = 8

// openSteps is how many of its last steps a rank keeps open at least, a multiple of chunkSteps.
const openSteps = 8192

// chunkSteps is how many steps are kept in one piece. A slice of all would be copied, and take
// fresh memory, each time that it grows.
const chunkSteps = 256

// tallies are those of the steps of a rank. All but the last ones are packed, to a quarter of
// their size: they are kept to the end of the run.
type tallies struct {
	packed [][]byte  // of the first steps, all fields as varints
	n      int       // how many these are
	open   [][]tally // of the steps after, chunkSteps in all chunks but the last
	opened int       // how many these are
	waits  []wait    // of all steps, nil before they are known and where there are none
}

// append adds a step of which nothing was measured.
func (s *tallies) append() {
	if s.opened >= 2*openSteps {
		s.packFirst(s.opened - openSteps)
	}
	s.add(tally{})
}

// add adds a step, and packs none.
func (s *tallies) add(t tally) {
	last := s.opened / chunkSteps
	if last == len(s.open) {
		s.open = append(s.open, make([]tally, 0, chunkSteps))
	}
	s.open[last] = append(s.open[last], t)
	s.opened++
}

// at returns the tally of a step, which is valid until the next call of append or pack.
func (s *tallies) at(k int) *tally {
	if k < s.n {
		s.unpack()
	}
	k -= s.n
	return &s.open[k/chunkSteps][k%chunkSteps]
}

// len returns the number of steps.
func (s *tallies) len() int { return s.n + s.opened }

// all goes through all steps: the index of each, and its tally, which is not to be changed
// and valid until the next one.
func (s *tallies) all(yield func(int, *tally) bool) {
	var t tally
	k := 0
	for _, b := range s.packed {
		for ; len(b) > 0; k++ {
			if b = t.decode(b); len(s.waits) > 0 {
				t.wait = s.waits[k]
			}
			if !yield(k, &t) {
				return
			}
		}
	}
	for _, chunk := range s.open {
		for i := range chunk {
			if len(s.waits) > 0 {
				chunk[i].wait = s.waits[k]
			}
			if !yield(k, &chunk[i]) {
				return
			}
			k++
		}
	}
}

// between is all for the steps at from and after it, up to to and without it.
func (s *tallies) between(from, to int) iter.Seq2[int, *tally] {
	return func(yield func(int, *tally) bool) {
		for k, t := range s.all {
			if k >= to || k >= from && !yield(k, t) {
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
func (s *tallies) pack() { s.packFirst(s.opened) }

// packFirst packs the first n of the open steps: all of them, or whole chunks.
func (s *tallies) packFirst(n int) {
	var b []byte
	chunks := (n + chunkSteps - 1) / chunkSteps
	for _, chunk := range s.open[:chunks] {
		for k := range chunk {
			for _, v := range chunk[k].fields() {
				b = binary.AppendVarint(b, *v)
			}
		}
	}
	s.packed, s.n, s.opened = append(s.packed, slices.Clone(b)), s.n+n, s.opened-n
	s.open = slices.Delete(s.open, 0, chunks)
}

// unpack has all steps open.
func (s *tallies) unpack() {
	open := tallies{waits: s.waits}
	for _, t := range s.all {
		open.add(*t)
	}
	*s = open
}

// decode reads a tally, and returns what follows it.
func (t *tally) decode(b []byte) []byte {
	for _, v := range t.fields() {
		x, n := binary.Varint(b)
		*v, b = x, b[n:]
	}
	return b
}
