package idle

import (
	"sort"

	"github.com/hostbound/hostbound/pkg/names/marker"
)

// mergeWithin, in ns: a range with the number of an earlier one is the same marker if it
// starts at most this much later.
const mergeWithin = 100_000

// edges decides which gaps are between steps.
type edges struct {
	set     *marker.Set
	custom  bool          // set is the user's: any range may match
	ranges  []markerRange // the last ones, in order of start
	markers int32         // how many there were so far
	near    int           // index of the range found by the last search
	longest bool          // without markers: take the longest gap between two steps, else the last long one
	rows    bool          // without markers: step rows decide
	stepEnd int64         // end of the last step row, never before the first
}

// markerRange is a forward-step marker range.
type markerRange struct {
	start, end int64
	maxEnd     int64 // the latest end of this range and all before it
	counts     marker.Counts
	first      int64 // start of the first range of the same marker
	id         int32 // number of that range
}

// maxRanges is how many ranges are kept at least; at most it is an eighth more. That is far
// more than the launches that can be pending.
const maxRanges = 16384

// gpuEdge is the state of one GPU with respect to steps. The candidate is the gap that will
// be inter-step if none replaces it.
type gpuEdge struct {
	seen    []bool // by id of a marker: whether an activity launched during it was seen
	awaited bool   // no activity has started since the open step began
	start   int64  // start of the open step
	length  int64  // of the longest gap since the last step, ns
	gap     []Sample
}

// marked reports whether markers decide: one has been seen.
func (e *edges) marked() bool { return len(e.ranges) > 0 }

// marker observes a marker range, or a range that may be one of the user's. It has the id of an
// earlier range of the same marker, if there is one.
func (e *edges) marker(start, end int64, text []byte) {
	counts, ok := e.set.Parse(string(text))
	if e.custom && !ok {
		return
	}
	if n := len(e.ranges); n >= maxRanges+maxRanges/8 {
		e.ranges = append(e.ranges[:0], e.ranges[n-maxRanges:]...)
	}
	m := markerRange{start, end, end, counts, start, e.markers}
	if n := len(e.ranges); n > 0 {
		m.maxEnd = max(end, e.ranges[n-1].maxEnd)
	}
	for k := len(e.ranges) - 1; k >= 0 && counts.HasStep && start-e.ranges[k].start <= mergeWithin; k-- {
		if o := &e.ranges[k]; o.counts.HasStep && o.counts.Step == counts.Step && start-o.first <= mergeWithin {
			m.id, m.first = o.id, o.first
			break
		}
	}
	e.ranges = append(e.ranges, m)
	e.markers++
}

// first reports whether an activity is the first of its GPU that was launched during a marker
// range: the innermost around its launch.
func (e *edges) first(l *gpuEdge, a *Activity) bool {
	t := a.LaunchStart
	if len(e.ranges) == 0 || t < e.ranges[0].start {
		return false
	}
	k, n := e.near, len(e.ranges)
	if k >= n || e.ranges[k].start > t || k+1 < n && e.ranges[k+1].start <= t { // not the fast path: launches mostly come in order
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

// Step observes the row of a step, which precedes the rows that start in the step.
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

// longShare: a gap counts as long if it is at least 1/longShare of the longest since the last
// step. Kernels that prepare a graph's input run right before the graph. The gap between them
// and it is that of one call: a fifth of a short wait for the host.
const longShare = 4

// match observes a gap that has just been attributed as in-step, and makes it the candidate if
// it lies between steps and is longer, or long enough.
func (e *edges) match(d *GPU, from, to int64, gap []Sample, l *ledger) {
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

// pass observes the first activity of a step on a GPU: the candidate becomes inter-step.
func (e *gpuEdge) pass(l *ledger) {
	for _, s := range e.gap {
		s.Inter = true
		l.add(s)
		s.Inter, s.Ns = false, -s.Ns
		l.add(s)
	}
	e.awaited, e.length, e.gap = false, 0, e.gap[:0]
}
