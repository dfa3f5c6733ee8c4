package straggler

import (
	"cmp"
	"math"
	"slices"
)

const none = math.MinInt64

// maxShift is by how many steps a rank is moved at most.
const maxShift = 8

// matched is the collectives that all ranks have.
type matched struct {
	ranks  []Rank
	n      int
	index  [][]int32 // by rank: of the i-th matched collective
	shifts []int
	// What is taken off the clock of each rank: at time mid, and more by drift for
	// each ns after it.
	offset []int64
	drift  []float64
	mid    int64
}

func (m *matched) at(r, i int) *Collective { return &m.ranks[r].Collectives[m.index[r][i]] }
func (m *matched) step(i int) int32        { return m.at(0, i).Step }
func (m *matched) name(i int) int32        { return m.at(0, i).Name }
func (m *matched) start(r, i int) int64    { return m.correct(r, m.at(r, i).Start) }
func (m *matched) end(r, i int) int64      { return m.correct(r, m.at(r, i).End) }

// correct brings a time of a rank to the clock of the first one.
func (m *matched) correct(r int, t int64) int64 {
	if m.drift[r] != 0 {
		t -= int64(m.drift[r] * float64(t-m.mid))
	}
	return t - m.offset[r]
}

// match finds the collectives that all ranks have: those of the same name in the
// same step, the first with the first, the second with the second and so on.
func match(ranks []Rank) *matched {
	m := &matched{
		ranks: ranks, index: make([][]int32, len(ranks)), shifts: make([]int, len(ranks)),
		offset: make([]int64, len(ranks)), drift: make([]float64, len(ranks)),
	}
	for r := range ranks {
		if r > 0 {
			m.shifts[r] = shiftOf(&ranks[0], &ranks[r])
		}
		m.index[r] = make([]int32, 0, len(ranks[0].Collectives))
	}
	s := newStepMatcher(m)
	for s.next() {
		if !s.alike() {
			s.byName()
		}
	}
	m.n = len(m.index[0])
	return m
}

// stepMatcher matches the collectives of one step after the other.
type stepMatcher struct {
	*matched
	from, to []int // by rank, the collectives of the step

	place  map[nth]int // of the first rank's
	counts map[int32]int32
	have   []int     // how many ranks have it, by the first rank's
	found  [][]int32 // where, by rank
}

// nth names a collective of a step: the n-th of its name.
type nth struct{ name, n int32 }

func newStepMatcher(m *matched) *stepMatcher {
	return &stepMatcher{
		matched: m, from: make([]int, len(m.ranks)), to: make([]int, len(m.ranks)),
		place: map[nth]int{}, counts: map[int32]int32{}, found: make([][]int32, len(m.ranks)),
	}
}

// next goes to the next step that the first rank has collectives in.
func (s *stepMatcher) next() bool {
	first := s.ranks[0].Collectives
	if s.to[0] == len(first) {
		return false
	}
	step := int(first[s.to[0]].Step)
	for r := range s.ranks {
		all := s.ranks[r].Collectives
		i := s.to[r]
		for i < len(all) && int(all[i].Step)+s.shifts[r] < step {
			i++
		}
		s.from[r] = i
		for i < len(all) && int(all[i].Step)+s.shifts[r] == step {
			i++
		}
		s.to[r] = i
	}
	return true
}

// alike matches the collectives of a step in which all ranks have the same ones
// in the same order, and tells whether this is one.
func (s *stepMatcher) alike() bool {
	first := s.ranks[0].Collectives[s.from[0]:s.to[0]]
	for r := 1; r < len(s.ranks); r++ {
		all := s.ranks[r].Collectives[s.from[r]:s.to[r]]
		if len(all) != len(first) {
			return false
		}
		for i := range all {
			if all[i].Name != first[i].Name {
				return false
			}
		}
	}
	for r := range s.ranks {
		for i := s.from[r]; i < s.to[r]; i++ {
			s.index[r] = append(s.index[r], int32(i))
		}
	}
	return true
}

// byName matches the collectives of any step.
func (s *stepMatcher) byName() {
	clear(s.place)
	n := s.to[0] - s.from[0]
	s.have = append(s.have[:0], make([]int, n)...)
	for r := range s.ranks {
		clear(s.counts)
		s.found[r] = append(s.found[r][:0], make([]int32, n)...)
		for j := s.from[r]; j < s.to[r]; j++ {
			name := s.ranks[r].Collectives[j].Name
			k := nth{name, s.counts[name]}
			s.counts[name]++
			if r == 0 {
				s.place[k] = j - s.from[0]
			}
			if i, ok := s.place[k]; ok && s.have[i] == r {
				s.have[i]++
				s.found[r][i] = int32(j)
			}
		}
	}
	for i, have := range s.have {
		if have < len(s.ranks) {
			continue
		}
		for r := range s.ranks {
			s.index[r] = append(s.index[r], s.found[r][i])
		}
	}
}

// shiftOf returns by how many steps rank b has to be moved to match a. Steps are
// numbered alike in most runs, so another shift has to agree clearly better: the
// ends of its steps' last collectives have less than half the spread.
func shiftOf(a, b *Rank) int {
	x, y := ends(a), ends(b)
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
	for i := range r.Collectives {
		c := &r.Collectives[i]
		for int(c.Step) >= len(all) {
			all = append(all, none)
		}
		all[c.Step] = max(all[c.Step], c.End)
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
	mid := median(d)
	for i := range d {
		d[i] = max(d[i]-mid, mid-d[i])
	}
	return median(d)
}

// median returns the middle of values, which it sorts.
func median(values []int64) int64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return values[n/2-1] + (values[n/2]-values[n/2-1])/2
}

// minAllreduces is how many matched all-reduces are enough to leave the other
// collectives out of the comparison of clocks.
const minAllreduces = 16

// witnesses returns the matched collectives whose ends are compared.
func (m *matched) witnesses() []int {
	var reduces, all []int
	for i := range m.n {
		if all = append(all, i); m.at(0, i).Allreduce {
			reduces = append(reduces, i)
		}
	}
	if len(reduces) >= minAllreduces {
		return reduces
	}
	return all
}

// align brings the clocks of all reports to that of the first and fills in what
// was done.
func (m *matched) align(res *Result) {
	w := m.witnesses()
	m.mid = m.at(0, w[len(w)/2]).End
	done := map[int]int{m.ranks[0].Report: 0} // report → rank that was aligned
	for r := 1; r < len(m.ranks); r++ {
		if k, ok := done[m.ranks[r].Report]; ok {
			m.offset[r], m.drift[r] = m.offset[k], m.drift[k]
			continue
		}
		done[m.ranks[r].Report] = r
		m.alignRank(r, w)
	}
	spread := make([]int64, len(w))
	for k, i := range w {
		spread[k] = m.spread(i)
	}
	res.ClockError = percentile90(spread)
	res.Offsets = m.offset
	for _, d := range m.drift {
		res.Drift = append(res.Drift, d*1e9)
	}
}

// spread returns the distance between the first and the last end of the i-th
// matched collective.
func (m *matched) spread(i int) int64 {
	low, high := int64(math.MaxInt64), int64(none)
	for r := range m.ranks {
		end := m.end(r, i)
		low, high = min(low, end), max(high, end)
	}
	return high - low
}

// percentile90 returns what nine in ten values are below, with 95 % confidence: of less
// than 45 values that is the largest.
func percentile90(values []int64) int64 {
	slices.Sort(values)
	n := float64(len(values))
	return values[min(len(values)-1, int(math.Ceil(0.9*n+1.645*math.Sqrt(0.09*n))))]
}

// stretches is into how many the run is cut to see a drift, and maxDrift the drift that
// clocks have at most: what looks like more is another run.
const (
	stretches = 16
	maxDrift  = 500e-6
)

// alignRank finds the offset, and the drift if there is one, of a rank's clock.
func (m *matched) alignRank(r int, w []int) {
	d := make([]int64, len(w))
	distances := func() []int64 {
		for k, i := range w {
			d[k] = m.end(r, i) - m.at(0, i).End
		}
		return d
	}
	m.offset[r] = median(slices.Clone(distances()))
	if len(w) < 8*stretches {
		return
	}
	constant := percentile90(absolute(distances()))
	slope := m.slope(r, w, distances())
	if max(slope, -slope) > maxDrift {
		return
	}
	m.drift[r] = slope
	offset := m.offset[r]
	m.offset[r] += median(slices.Clone(distances()))
	if percentile90(absolute(distances())) >= constant/2 {
		m.offset[r], m.drift[r] = offset, 0
	}
}

// slope returns the median slope between the medians of the stretches of d.
func (m *matched) slope(r int, w []int, d []int64) float64 {
	var x, y [stretches]float64
	for s := range stretches {
		from, to := s*len(w)/stretches, (s+1)*len(w)/stretches
		x[s] = float64(m.at(r, w[(from+to)/2]).End)
		y[s] = float64(median(slices.Clone(d[from:to])))
	}
	var slopes []float64
	for i := range stretches {
		for k := i + 1; k < stretches; k++ {
			if x[k] > x[i] {
				slopes = append(slopes, (y[k]-y[i])/(x[k]-x[i]))
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.SortFunc(slopes, cmp.Compare[float64])
	return slopes[len(slopes)/2]
}

func absolute(d []int64) []int64 {
	all := make([]int64, len(d))
	for i, v := range d {
		all[i] = max(v, -v)
	}
	return all
}
