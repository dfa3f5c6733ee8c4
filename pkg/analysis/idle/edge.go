package idle

import (
	"sort"

	"github.com/hostbound/hostbound/pkg/names/marker"
)

// mergeWithin is how long, in ns, after the first range of a marker another one with
// the same number starts at most that is the same marker.
const mergeWithin = 100_000

// edges tells which gaps are between steps.
type edges struct {
	set     *marker.Set
	custom  bool          // set is the user's: any range may be one
	ranges  []markerRange // the last ones, in the order of their start
	dropped int           // how many there were before
	near    int           // place of the last one that a launch was made after
	longest bool          // without markers: the longest gap between two steps, else the last long one
	rows    bool          // without markers: the rows of steps decide
	text    []byte        // of the last range
	stepEnd int64         // of the last step row
}

// markerRange is a forward-step marker range.
type markerRange struct {
	start, end int64
	maxEnd     int64 // the latest end of this range and all before it
	number     int64
	id         int32 // number of the first range that is one with it
}

const noNumber = -1

// maxRanges is how many ranges are remembered at least, an eighth more at most: far more
// launches than can be waiting.
const maxRanges = 16384

// gpuEdge is what is known of the steps of one GPU.
type gpuEdge struct {
	seen    []bool // by id of a marker: an activity launched during it was seen
	awaited bool   // no activity was seen since the start of the open step
	start   int64  // that start
	length  int64  // of the candidate
	gap     []attribution
}

// marked reports whether markers decide.
func (e *edges) marked() bool { return len(e.ranges) > 0 }

// marker observes a marker range, or a range that may be one of the user's.
func (e *edges) marker(start, end int64, text []byte) {
	if e.custom {
		if _, ok := e.set.Parse(string(text)); !ok {
			return
		}
	}
	if n := len(e.ranges); n >= maxRanges+maxRanges/8 {
		e.ranges = append(e.ranges[:0], e.ranges[n-maxRanges:]...)
		e.dropped += n - maxRanges
	}
	m := markerRange{start: start, end: end, maxEnd: end, number: noNumber, id: int32(e.dropped + len(e.ranges))}
	if n := len(e.ranges); n > 0 {
		last := &e.ranges[n-1]
		m.maxEnd = max(end, last.maxEnd)
		if start-last.start <= mergeWithin { // Fast path: else its number does not matter.
			last.number, m.number = e.number(e.text), e.number(text)
			e.merge(&m)
		}
	}
	e.text = append(e.text[:0], text...)
	e.ranges = append(e.ranges, m)
}

// merge gives a range the id of an earlier one that is one with it.
func (e *edges) merge(m *markerRange) {
	for k := len(e.ranges) - 1; k >= 0 && m.number != noNumber && m.start-e.ranges[k].start <= mergeWithin; k-- {
		o := &e.ranges[k]
		if first := int(o.id) - e.dropped; o.number == m.number && first >= 0 && m.start-e.ranges[first].start <= mergeWithin {
			m.id = o.id
			return
		}
	}
}

// number returns the number of the step that a marker is of.
func (e *edges) number(text []byte) int64 {
	if counts, ok := e.set.Parse(string(text)); ok && counts.HasStep {
		return counts.Step
	}
	return noNumber
}

// first reports whether an activity is the GPU's first that was launched during its
// marker range.
func (e *edges) first(l *gpuEdge, a *Activity) bool {
	t := a.LaunchStart
	if len(e.ranges) == 0 || t < e.ranges[0].start {
		return false
	}
	k, n := e.near, len(e.ranges)
	if k >= n || e.ranges[k].start > t || k+1 < n && e.ranges[k+1].start <= t { // else the fast path: launches come in order
		k = sort.Search(n, func(i int) bool { return e.ranges[i].start > t }) - 1
		e.near = k
	}
	for ; k >= 0 && e.ranges[k].maxEnd > t; k-- {
		if m := &e.ranges[k]; m.end > t {
			for int(m.id) >= len(l.seen) {
				l.seen = append(l.seen, make([]bool, max(64, len(l.seen)))...)
			}
			seen := l.seen[m.id]
			l.seen[m.id] = true
			return !seen
		}
	}
	return false
}

// Step observes the row of a step, which stands before the rows that start in it.
func (r *Rank) Step(start, end int64) {
	e := &r.edges
	if e.marked() || !e.rows {
		return
	}
	if e.stepEnd != never { // not the first one
		for _, d := range r.gpus {
			d.edge.awaited, d.edge.start = true, start
		}
	}
	e.stepEnd = end
}

// longShare is by how much the gap before the step's first kernel is shorter than the longest
// one since the last step, at most. Before a graph kernels prepare its input: the gap between
// them and it is that of a call, a fifth of a short wait for the host.
const longShare = 4

// match observes a gap of a GPU that has just been attributed as in-step.
func (e *edges) match(d *GPU, from, to int64, gap []attribution, l *ledger) {
	g := &d.edge
	between, longer := to > e.stepEnd, to-from > g.length
	if g.awaited {
		between = from < g.start
	}
	if between && (longer || !e.longest && longShare*(to-from) >= g.length) {
		g.length = max(g.length, to-from)
		g.gap = append(g.gap[:0], gap...)
	}
	if g.awaited {
		g.pass(l)
	}
}

// pass observes the first activity of a step on a GPU: the candidate is inter-step.
func (e *gpuEdge) pass(l *ledger) {
	for _, p := range e.gap {
		l.move(attribution{p.at, p.code | interBit, p.ns, p.until})
		p.ns = -p.ns
		l.move(p)
	}
	e.awaited, e.length, e.gap = false, 0, e.gap[:0]
}

// move adds an attribution, which may be of a closed slice.
func (l *ledger) move(p attribution) {
	if int(p.at) == len(l.slices)-1 {
		l.now.add(p.code, p.ns)
	} else {
		l.keep(p)
	}
}
