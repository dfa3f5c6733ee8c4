package collective

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Clock is how the clock of a report differs from that of the first report.
type Clock struct {
	Offset int64   // ns by which it is ahead at time Mid
	Drift  float64 // by how much more for each ns after Mid
	Mid    int64
}

// Correct converts a time to the clock of the first report.
func (c Clock) Correct(t int64) int64 {
	if c.Drift != 0 {
		t -= int64(c.Drift * float64(t-c.Mid))
	}
	return t - c.Offset
}

// pair is a collective that two lanes ran: when it ended on the second one (t, on its clock), and
// by how much later that is than its corrected end on the first.
type pair struct {
	step  int32
	t, by int64
}

// align aligns the clocks of all reports to that of the first report of their run.
func (m *Match) align(of []samples) {
	runs := 0
	aligned := map[int]int{} // report → lane
	for k, l := range m.Lanes {
		if first, ok := aligned[l.Report]; ok {
			m.clocks[k], m.slack[k], m.run[k] = m.clocks[first], m.slack[first], m.run[first]
			continue
		}
		aligned[l.Report] = k
		if k == 0 || !m.alignReport(k, of) {
			m.run[k] = runs
			runs++
		}
	}
}

// evidence says which collectives of two lanes are compared by their ends: those of some names,
// with the steps of lane b moved by shift. spread is the deviation of the distances between ends.
type evidence struct {
	a, b   int
	names  []int32
	shift  int
	spread int64
}

// witnesses returns the sets of names whose ends are compared. The first set is the all-reduces,
// which end together on all ranks, or all names if there are too few. Then each other name with
// enough collectives is a set: between the stages of a pipeline, sends end together and all-reduces
// do not.
func (m *Match) witnesses(s samples) (sets [][]int32) {
	n, reduces := 0, []int32(nil)
	for name, points := range s {
		if m.reduce[name] {
			n, reduces = n+len(points), append(reduces, name)
		}
	}
	if n < minReduces {
		return [][]int32{slices.Collect(maps.Keys(s))}
	}
	sets = [][]int32{reduces}
	for name, points := range s {
		if !m.reduce[name] && len(points) >= minReduces {
			sets = append(sets, []int32{name})
		}
	}
	return sets
}

// alignReport aligns the report of lane k, the report's first lane, to earlier reports. It uses the
// earlier lane and the lane of this report whose ends have the least spread. All-reduces are used
// unless another name has less than half of their spread. It returns false if the report is of
// another run than all earlier ones.
func (m *Match) alignReport(k int, of []samples) bool {
	best := [2]evidence{{spread: math.MaxInt64}, {spread: math.MaxInt64}} // by the first set of names, by another one
	for i := range k {
		for j := k; j < len(m.Lanes); j++ {
			if m.Lanes[j].Report != m.Lanes[k].Report {
				continue
			}
			for n, names := range m.witnesses(of[i]) {
				if e := m.compare(i, j, names, of); e.spread < best[min(n, 1)].spread {
					best[min(n, 1)] = e
				}
			}
		}
	}
	e := best[0]
	if best[1].spread < e.spread/2 {
		e = best[1]
	}
	if e.spread == math.MaxInt64 {
		return false
	}
	clock, slack, ok := fitClock(m.pairs(&e))
	if !ok || m.Lanes[e.a].Clocked && m.Lanes[e.b].Clocked && !m.overlap(e.a, e.b) {
		if clock, slack, ok = m.nearClock(k, of); !ok {
			return false
		}
	}
	m.clocks[k], m.slack[k], m.run[k] = clock, slack, m.run[e.a]
	return true
}

// overlap reports whether the collectives of two lanes overlap in time, by their recorded clocks.
func (m *Match) overlap(a, b int) bool {
	x, y := m.Lanes[a].Log, m.Lanes[b].Log
	return x.start < y.end && y.start < x.end
}

// compare compares the ends of two lanes' collectives. In most runs steps have the same numbers, so
// a shift must agree clearly better: with less than half the spread.
func (m *Match) compare(a, b int, names []int32, of []samples) evidence {
	at := func(shift int) int64 {
		var d []int64
		for _, name := range names {
			eachInStep(head(of[a][name]), head(of[b][name]), int32(shift), func(p, q *point) { d = append(d, q.end-m.clocks[a].Correct(p.end)) })
		}
		if len(d) < minTogether {
			return math.MaxInt64
		}
		return deviation(d)
	}
	e := evidence{a, b, names, 0, at(0)}
	for d := 1; d <= maxShift; d++ {
		for _, s := range [2]int{d, -d} {
			if one := at(s); one < e.spread/2 {
				e.shift, e.spread = s, one
			}
		}
	}
	return e
}

// head returns the first points of a sample, enough to recognise a shift.
func head(points []point) []point { return points[:min(len(points), maxSample/4)] }

// eachInStep calls f with pairs of collectives of one name that are the n-th of the same step,
// with the steps of b shifted. Steps in which a and b have different numbers of them are skipped.
func eachInStep(a, b []point, shift int32, f func(p, q *point)) {
	for len(a) > 0 && len(b) > 0 {
		switch x, y := a[0].step, b[0].step+shift; {
		case x < y:
			a = a[ofStep(a):]
		case x > y:
			b = b[ofStep(b):]
		default:
			n := ofStep(a)
			if k := ofStep(b); k == n {
				for i := range n {
					f(&a[i], &b[i])
				}
			}
			a, b = a[n:], b[ofStep(b):]
		}
	}
}

// ofStep returns how many of the first points are of the same step. points must not be empty.
func ofStep(points []point) int {
	n := 1
	for n < len(points) && points[n].step == points[0].step {
		n++
	}
	return n
}

// pairs returns the collectives that two lanes have in common over the whole run, thinned out to
// about maxPairs, in order of time.
func (m *Match) pairs(e *evidence) (all []pair) {
	x, _ := m.sample(e.a, math.MaxInt64)
	y, _ := m.sample(e.b, math.MaxInt64)
	n := 0
	for _, name := range e.names {
		n += min(len(x[name]), len(y[name]))
	}
	stride, i := n/maxPairs+1, 0
	for _, name := range e.names {
		eachInStep(x[name], y[name], int32(e.shift), func(p, q *point) {
			if i++; i%stride == 0 {
				all = append(all, pair{p.step, q.end, q.end - m.clocks[e.a].Correct(p.end)})
			}
		})
	}
	slices.SortFunc(all, func(p, q pair) int { return cmp.Compare(p.t, q.t) })
	return all
}

// fitClock fits a clock to the collectives that two lanes have in common. slack is the error that
// it leaves: slackShare times the median error. A drift counts if it leaves less than half of the
// error of a constant offset. ok is false if the ends agree on no clock.
func fitClock(all []pair) (c Clock, slack int64, ok bool) {
	if len(all) < minTogether {
		return c, 0, false
	}
	residual := func(c Clock) (by []int64) {
		for _, p := range all {
			by = append(by, p.by-(p.t-c.Correct(p.t)))
		}
		return by
	}
	sizes := func(by []int64) int64 {
		for i, v := range by {
			by[i] = max(v, -v)
		}
		return slackShare * median(by)
	}
	c.Mid = all[len(all)/2].t
	c.Offset = median(residual(c))
	slack = sizes(residual(c))
	if len(all) >= 8*stretches {
		if slope := slopeOf(all, c); math.Abs(slope) <= maxDrift {
			d := Clock{Drift: slope, Mid: c.Mid, Offset: c.Offset}
			d.Offset += median(residual(d))
			if s := sizes(residual(d)); s < slack/2 {
				c, slack = d, s
			}
		}
	}
	return c, slack, agree(all, c, slack)
}

// slopeOf returns the median of the slopes between the medians of the parts of a run.
func slopeOf(all []pair, c Clock) float64 {
	var x, y [stretches]float64
	for s := range stretches {
		part := all[s*len(all)/stretches : (s+1)*len(all)/stretches]
		var d []int64
		for _, p := range part {
			d = append(d, p.by-c.Offset)
		}
		x[s], y[s] = float64(part[len(part)/2].t), float64(median(d))
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
	slices.Sort(slopes)
	return slopes[len(slopes)/2]
}

// agree reports whether two lanes end their collectives together once their clocks are aligned:
// to within a small part of a step, or at least their periods vary together.
func agree(all []pair, c Clock, slack int64) bool {
	var first, own []int64 // ends of steps
	step := int32(-1)
	for i, p := range all {
		if i == 0 || p.step != step {
			step, first, own = p.step, append(first, 0), append(own, 0)
		}
		own[len(own)-1] = c.Correct(p.t)
		first[len(first)-1] = p.t - p.by
	}
	var periods, others, differences []int64
	for k := 1; k < len(first); k++ {
		periods, others = append(periods, first[k]-first[k-1]), append(others, own[k]-own[k-1])
		differences = append(differences, others[k-1]-periods[k-1])
	}
	if slack <= apartMost {
		return true
	}
	if len(periods) == 0 {
		return false
	}
	if slack <= int64(agreement*float64(median(slices.Clone(periods)))) {
		return true
	}
	return float64(deviation(differences)) < related*float64(min(deviation(periods), deviation(others)))
}

// nearClock aligns lane k by ends that are near one another on the recorded clocks. It is for steps
// that are numbered differently, so that their numbers say nothing.
func (m *Match) nearClock(k int, of []samples) (c Clock, slack int64, ok bool) {
	for a := range k {
		if m.Lanes[a].Clocked != m.Lanes[k].Clocked || !m.overlap(a, k) {
			continue
		}
		for _, name := range slices.Concat(m.witnesses(of[a])...) {
			var ends [2][]int64
			for i, points := range [2][]point{of[a][name], of[k][name]} {
				for _, p := range points {
					ends[i] = append(ends[i], p.end)
				}
				slices.Sort(ends[i])
			}
			var d []int64
			eachNear(ends[0], ends[1], spacing(ends[0])/4, func(i, j int) { d = append(d, ends[1][j]-ends[0][i]) })
			if len(d) >= minTogether && 100*len(d) >= togetherShare*min(len(ends[0]), len(ends[1])) {
				c.Offset = median(d)
				if slack = slackShare * deviation(d); slack <= apartMost {
					c.Offset += m.clocks[a].Offset
					return c, slack, true
				}
			}
		}
	}
	return c, 0, false
}
