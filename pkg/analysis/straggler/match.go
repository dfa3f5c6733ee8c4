package straggler

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

const none = math.MinInt64

// maxShift is by how many steps a rank is moved at most.
const maxShift = 8

// matched is the collectives that all ranks have.
type matched struct {
	ranks []Rank
	// of are those of each rank, in the order of the first one's and with its steps.
	of []*Collectives
	n  int
	// reduces is how many of them are all-reduces.
	reduces int
	// unmatched is how many of the first rank's others do not have.
	unmatched   int
	first, last []Collective // of each rank
	shifts      []int
	// What is taken off the clock of each rank: at time mid, and more by drift for
	// each ns after it.
	offset []int64
	drift  []float64
	mid    int64
}

// match finds the collectives that all ranks have: those of the same name in the
// same step, the first with the first, the second with the second and so on.
func match(ranks []Rank, store *spill.Store) *matched {
	n := len(ranks)
	m := &matched{
		ranks: ranks, shifts: make([]int, n),
		offset: make([]int64, n), drift: make([]float64, n), first: make([]Collective, n), last: make([]Collective, n),
	}
	of := ends(&ranks[0])
	for r := range ranks {
		if m.of = append(m.of, NewCollectives(store)); r > 0 {
			m.shifts[r] = shiftOf(of, ends(&ranks[r]))
		}
	}
	s := newStepMatcher(m)
	for s.next() {
		if !s.similar() {
			s.byName()
		}
	}
	for _, all := range m.of {
		all.Seal()
	}
	return m
}

// add adds a matched collective of all ranks.
func (m *matched) add(of func(r int) *Collective) {
	for r := range m.ranks {
		c := *of(r)
		c.Step = of(0).Step
		m.of[r].Add(c)
		if m.last[r] = c; m.n == 0 {
			m.first[r] = c
		}
	}
	if m.n++; of(0).Allreduce {
		m.reduces++
	}
}

// stepMatcher matches the collectives of one step after the other.
type stepMatcher struct {
	*matched
	of []*cursor // by rank

	place  map[nth]int // of the first rank's
	counts map[int32]int32
	have   []int   // how many ranks have it, by the first rank's
	found  [][]int // where, by rank
}

// nth names a collective of a step: the n-th of its name.
type nth struct{ name, n int32 }

func newStepMatcher(m *matched) *stepMatcher {
	s := &stepMatcher{matched: m, place: map[nth]int{}, counts: map[int32]int32{}, found: make([][]int, len(m.ranks))}
	for r := range m.ranks {
		s.of = append(s.of, newCursor(&m.ranks[r]))
	}
	return s
}

// next goes to the next step that the first rank has collectives in.
func (s *stepMatcher) next() bool {
	step, ok := s.of[0].ahead()
	if !ok {
		return false
	}
	for r, c := range s.of {
		theirs, ok := c.ahead()
		for ok && theirs+s.shifts[r] < step {
			c.read()
			theirs, ok = c.ahead()
		}
		c.step = c.step[:0]
		if ok && theirs+s.shifts[r] == step {
			c.read()
		}
	}
	return true
}

// similar matches the collectives of a step in which all ranks have the same ones
// in the same order, and tells whether this is one.
func (s *stepMatcher) similar() bool {
	first := s.of[0].step
	for _, c := range s.of[1:] {
		if !slices.EqualFunc(c.step, first, func(a, b Collective) bool { return a.Name == b.Name }) {
			return false
		}
	}
	for i := range first {
		s.add(func(r int) *Collective { return &s.of[r].step[i] })
	}
	return true
}

// byName matches the collectives of any step.
func (s *stepMatcher) byName() {
	clear(s.place)
	n := len(s.of[0].step)
	s.have = append(s.have[:0], make([]int, n)...)
	for r, c := range s.of {
		clear(s.counts)
		s.found[r] = append(s.found[r][:0], make([]int, n)...)
		for j := range c.step {
			name := c.step[j].Name
			k := nth{name, s.counts[name]}
			s.counts[name]++
			if r == 0 {
				s.place[k] = j
			}
			if i, ok := s.place[k]; ok && s.have[i] == r {
				s.have[i]++
				s.found[r][i] = j
			}
		}
	}
	for i, have := range s.have {
		if have < len(s.ranks) {
			s.unmatched++
			continue
		}
		s.add(func(r int) *Collective { return &s.of[r].step[s.found[r][i]] })
	}
}

// shiftOf returns by how many steps a rank has to be moved to match another one, by the
// ends of their steps' last collectives. Steps have the same numbers in most runs, so another
// shift has to agree clearly better: they have less than half the spread.
func shiftOf(x, y []int64) int {
	best, spread := 0, spreadOf(x, y, 0)
	for d := 1; d <= maxShift; d++ {
		for _, shift := range [2]int{d, -d} {
			if s := spreadOf(x, y, shift); s < spread/2 {
				best, spread = shift, s
			}
		}
	}
	return best
}

// ends returns the end of the last collective of each step, none where there is
// none.
func ends(r *Rank) []int64 {
	var all []int64
	for _, e := range r.Collectives.endsWithin(r.From, r.To) {
		for int(e.step)-r.From > len(all) {
			all = append(all, none)
		}
		all = append(all, e.end)
	}
	return all
}

// spreadOf returns how much the distances between the ends of steps i of x and
// i-shift of y differ: their median distance from their median. Few steps in
// common have a spread without end.
func spreadOf(x, y []int64, shift int) int64 {
	var d []int64
	for i := range x {
		if k := i - shift; k >= 0 && k < len(y) && x[i] != none && y[k] != none {
			d = append(d, y[k]-x[i])
		}
	}
	if len(d) < max(3, len(x)/2) {
		return math.MaxInt64
	}
	return deviation(d)
}
