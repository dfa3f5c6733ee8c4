package collective

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// Lane is a GPU of a rank.
type Lane struct {
	Rank, Device int32 // numbers as in the rows
	Report       int   // number of its report: lanes of a report share a clock
	// Clocked is set if the report's clock is the same as that of the first one, except for an
	// error. Recordings that do not overlap on it are not of one run.
	Clocked bool
	Log     *Log // its collectives, in order
	// Size returns how many GPUs run collectives of a name, 0 if unknown; it is nil if that is
	// unknown for all. World is the number of ranks of the run, 0 if unknown.
	Size  func(name int32) int
	World int
	// Kind returns the phase of a step, as a number, and its size. Collectives take different
	// times in steps that differ in these. An unknown size is the same number for all steps.
	// Kind is nil if steps are unknown.
	Kind func(step int32) (kind, size int64)
	// Stepless says that the steps in the log turned out not to be steps.
	Stepless bool
}

// Group is a set of lanes that run collectives together.
type Group struct {
	Lanes []int // numbers of the lanes, in order
	// Size is the number of GPUs in the group, recorded or not; 0 if unknown.
	Size int
	// Matched counts the collectives that were matched, Unmatched the kernels without a match.
	Matched, Unmatched int64

	turns bool // its lanes run collectives of the same name with other lanes by turns
}

// Partial reports whether GPUs of the group are known to be missing from the recording. The late
// rank may then be one of them.
func (g *Group) Partial() bool { return g.Size > len(g.Lanes) }

// size sets the sizes of groups. If collectives do not tell, the number of ranks of the run
// decides: a group is complete if all of these were recorded, else it may have all ranks.
func (m *Match) size() {
	ranks := map[int32]bool{}
	for k, of := range m.groupOf {
		ranks[m.Lanes[k].Rank] = true
		for name, g := range of {
			if m.Lanes[k].Size != nil && !m.Groups[g].turns {
				m.Groups[g].Size = max(m.Groups[g].Size, m.Lanes[k].Size(name))
			}
		}
	}
	for g := range m.Groups {
		group := &m.Groups[g]
		switch world := m.Lanes[group.Lanes[0]].World; {
		case group.Size > 0 || world == 0:
		case world > 1 && world <= len(ranks) && len(group.Lanes) == 1: // its others were not found
		case world <= len(ranks):
			group.Size = len(group.Lanes)
		default:
			group.Size = max(world, len(group.Lanes))
		}
	}
}

// point is a collective in a sample, on the clock of its report.
type point struct {
	step       int32
	start, end int64
}

// samples holds the first collectives of a lane, by name.
type samples map[int32][]point

// sample returns the first collectives of each name of a lane, at most most of them, and how many
// there are.
func (m *Match) sample(k int, most int64) (samples, map[int32]int64) {
	type sampled struct {
		points  []point
		n       int64
		reduces bool
	}
	var of []sampled // by name
	for c := newCursor(k, &m.Lanes[k], Clock{}); c.next(); {
		e := &c.entry
		if int(e.Name) >= len(of) {
			of = append(of, make([]sampled, int(e.Name)+1-len(of))...)
		}
		one := &of[e.Name]
		one.reduces = one.reduces || e.Allreduce
		if one.n++; one.n <= most {
			one.points = append(one.points, point{e.Step, e.Start, e.End})
		}
	}
	s, counts := samples{}, map[int32]int64{}
	for name, one := range of {
		if one.n > 0 {
			s[int32(name)], counts[int32(name)] = one.points, one.n
		}
		if one.reduces {
			m.reduce[int32(name)] = true
		}
	}
	return s, counts
}

// group divides the lanes of each name into groups, by the ends of their collectives. Lanes whose
// ends differ, as those of a broadcast's root do, are grouped if they share a group by another name
// and their collectives overlap.
func (m *Match) group(of []samples) {
	var names []int32
	for _, s := range of {
		names = slices.AppendSeq(names, maps.Keys(s))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	m.names = slices.Max(append(names, 0)) + 1
	byLanes := map[string]int{}
	add := func(name int32, lanes []int, turns bool) {
		key := fmt.Sprint(turns, lanes)
		g, known := byLanes[key]
		if !known {
			g = len(m.Groups)
			byLanes[key] = g
			m.Groups = append(m.Groups, Group{Lanes: lanes, turns: turns})
		}
		for _, k := range lanes {
			m.groupOf[k][name] = g
		}
	}
	left := make([][]int, len(names)) // by name: lanes alone
	for i, name := range names {
		all, turns := m.lanesWith(name, of), false
		groups := partition(all, func(a, b int) bool {
			x, y := m.ends(a, of[a][name]), m.ends(b, of[b][name])
			same, others := m.together(a, x, b, y, apart(x, max(m.slack[a], m.slack[b])))
			turns = turns || same && others
			return same
		})
		if turns && m.byTurns(name, all, add) {
			continue
		}
		for _, lanes := range groups {
			if len(lanes) == 1 {
				left[i] = append(left[i], lanes[0])
			} else {
				add(name, lanes, false)
			}
		}
	}
	shared := len(m.Groups)
	for i, name := range names {
		for _, lanes := range partition(left[i], func(a, b int) bool {
			return slices.ContainsFunc(m.Groups[:shared], func(g Group) bool { return slices.Contains(g.Lanes, a) && slices.Contains(g.Lanes, b) }) &&
				m.overlapping(a, of[a][name], b, of[b][name])
		}) {
			add(name, lanes, false)
		}
	}
}

// byTurns finds the groups of a name whose kernels a lane runs with different lanes by turns, as a
// pipeline stage receives from the stage before it and sends to the next. A kernel belongs to the
// group whose kernels end with it on all lanes. byTurns returns false, and adds no group, if most
// kernels belong to none.
func (m *Match) byTurns(name int32, lanes []int, add func(name int32, lanes []int, turns bool)) bool {
	left, total, tolerance := map[int][]point{}, 0, int64(apartMost) // kernels without a group, numbered in point.step
	for _, k := range lanes {
		for c := newCursor(k, &m.Lanes[k], Clock{}); c.next(); {
			if e := &c.entry; e.Name == name {
				left[k] = append(left[k], point{int32(len(left[k])), e.Start, e.End})
			}
		}
		slices.SortStableFunc(left[k], func(p, q point) int { return cmp.Compare(p.end, q.end) })
		m.turns[k][name] = make([]int32, len(left[k]))
		total, tolerance = total+len(left[k]), min(tolerance, apart(m.ends(k, left[k]), m.slack[k]))
	}
	var groups [][]int
	taken := 0
	for again, open := true, slices.Clone(lanes); again && len(groups) < 2*len(lanes); { // no stage has more neighbours
		open = slices.DeleteFunc(open, func(k int) bool { return len(left[k]) < minTogether })
		slices.SortStableFunc(open, func(a, b int) int { return len(left[a]) - len(left[b]) }) // the ends of a chain first
		all := partition(open, func(a, b int) bool {
			same, _ := m.together(a, m.ends(a, left[a]), b, m.ends(b, left[b]), tolerance)
			return same
		})
		again = slices.ContainsFunc(all, func(g []int) bool {
			n := m.claim(name, g, left, tolerance, m.names+int32(len(groups)))
			if taken += n; n > 0 {
				groups = append(groups, slices.Sorted(slices.Values(g)))
			}
			return n > 0
		})
	}
	if 100*taken < togetherShare*total {
		for _, k := range lanes {
			delete(m.turns[k], name)
		}
		return false
	}
	for _, k := range lanes {
		for _, p := range left[k] {
			m.turns[k][name][p.step] = m.names + int32(len(groups))
		}
		if len(left[k]) > 0 {
			groups = append(groups, []int{k})
		}
	}
	for _, g := range groups {
		add(m.names, g, true)
		m.names++
	}
	return true
}

// claim removes from left the kernels that end together on all lanes of a group, and returns how
// many there are. It returns 0, and removes none, if there are fewer than minTogether on a lane.
func (m *Match) claim(name int32, lanes []int, left map[int][]point, tolerance int64, number int32) int {
	x := m.ends(lanes[0], left[lanes[0]])
	met, n := make([][]int, len(x)), 0
	for _, k := range lanes[1:] {
		eachNear(x, m.ends(k, left[k]), tolerance, func(i, j int) { met[i] = append(met[i], j) })
	}
	for i := range met {
		if len(met[i]) == len(lanes)-1 {
			n, met[i] = n+1, append([]int{i}, met[i]...)
		}
	}
	if n < minTogether || len(lanes) < 2 {
		return 0
	}
	for _, of := range met {
		for l := 0; len(of) == len(lanes) && l < len(of); l++ {
			p := &left[lanes[l]][of[l]]
			m.turns[lanes[l]][name][p.step], p.step = number, -1
		}
	}
	for _, k := range lanes {
		left[k] = slices.DeleteFunc(left[k], func(p point) bool { return p.step < 0 })
	}
	return n * len(lanes)
}

// lanesWith returns the lanes with collectives of a name.
func (m *Match) lanesWith(name int32, of []samples) (lanes []int) {
	for k, s := range of {
		if len(s[name]) > 0 {
			lanes = append(lanes, k)
		}
	}
	return lanes
}

// partition divides lanes into groups. A lane joins the first group with whose first lane it is
// the same.
func partition(lanes []int, same func(a, b int) bool) (groups [][]int) {
	for _, k := range lanes {
		i := slices.IndexFunc(groups, func(g []int) bool { return same(g[0], k) })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], k)
	}
	return groups
}

// overlapping reports whether two lanes that share a group run most of their collectives of another
// name at the same time, or all of them if there are only a few.
func (m *Match) overlapping(a int, x []point, b int, y []point) bool {
	n, matched := min(len(x), len(y)), 0
	for len(x) > 0 && len(y) > 0 {
		from, to := m.clocks[a].Correct(x[0].start), m.clocks[b].Correct(y[0].start)
		start, end := max(from, to), min(from+x[0].end-x[0].start, to+y[0].end-y[0].start)
		switch {
		case stat.MostOf(end-start, min(x[0].end-x[0].start, y[0].end-y[0].start)):
			matched++
			x, y = x[1:], y[1:]
		case from+x[0].end-x[0].start < to+y[0].end-y[0].start:
			x = x[1:]
		default:
			y = y[1:]
		}
	}
	return matched >= min(minTogether, n) && 100*matched >= togetherShare*n
}

// together reports whether two lanes of one run end their collectives of a name together. others
// reports whether one of them runs so many more that it must meet other lanes, too.
func (m *Match) together(a int, x []int64, b int, y []int64, tolerance int64) (same, others bool) {
	if m.run[a] != m.run[b] {
		return false, false
	}
	from, to := max(x[0], y[0])-tolerance, min(x[len(x)-1], y[len(y)-1])+tolerance
	x, y = within(x, from, to), within(y, from, to)
	matched := 0
	eachNear(x, y, tolerance, func(int, int) { matched++ })
	return matched >= minTogether && 100*matched >= togetherShare*min(len(x), len(y)), 100*matched < togetherShare*max(len(x), len(y))
}

// ends returns the ends of a lane's collectives on the common clock, sorted, in ns.
func (m *Match) ends(k int, points []point) []int64 {
	all := make([]int64, len(points))
	for i, p := range points {
		all[i] = m.clocks[k].Correct(p.start) + p.end - p.start
	}
	slices.Sort(all)
	return all
}

// apart returns by how much ends that count as together may differ, in ns. slack is what clocks
// may be off by.
func apart(ends []int64, slack int64) int64 {
	tolerance := min(apartMost, spacing(ends)/apartShare)
	if slack > 0 {
		tolerance = max(tolerance, min(tolerance+slack, spacing(ends)/4))
	}
	return tolerance
}

// eachNear calls f with the indices of pairs of ends that are nearest to one another, and within
// the tolerance.
func eachNear(x, y []int64, tolerance int64, f func(i, j int)) {
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch d := y[j] - x[i]; {
		case d > tolerance:
			i++
		case d < -tolerance, j+1 < len(y) && max(y[j+1]-x[i], x[i]-y[j+1]) < max(d, -d):
			j++
		case i+1 < len(x) && max(y[j]-x[i+1], x[i+1]-y[j]) < max(d, -d):
			i++
		default:
			f(i, j)
			i++
			j++
		}
	}
}

// within returns the part of sorted times between from and to, both inclusive.
func within(times []int64, from, to int64) []int64 {
	i, _ := slices.BinarySearch(times, from)
	j, _ := slices.BinarySearch(times, to+1)
	return times[i:max(i, j)]
}

// spacing returns the median distance between sorted times. With fewer than two times it is so
// large that apartMost decides.
func spacing(times []int64) int64 {
	if len(times) < 2 {
		return apartMost * apartShare
	}
	d := make([]int64, len(times)-1)
	for i := range d {
		d[i] = times[i+1] - times[i]
	}
	return median(d)
}

// median returns the median of values, which it sorts.
func median(values []int64) int64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return values[n/2-1] + (values[n/2]-values[n/2-1])/2
}

// deviation returns the median distance of values from their median. It changes them.
func deviation(values []int64) int64 {
	mid := median(values)
	for i, v := range values {
		values[i] = max(v-mid, mid-v)
	}
	return median(values)
}
