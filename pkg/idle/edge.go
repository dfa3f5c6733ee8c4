package idle

import (
	"sort"

	"github.com/hostbound/hostbound/pkg/marker"
)

// mergeWithin is how long, in ns, after the first range of a marker another one with
// the same number starts at most that is the same marker.
const mergeWithin = 100_000

// edges tells which gaps are between steps.
type edges struct {
	set     *marker.Set
	custom  bool          // set is the user's: any range may be one
	ranges  []markerRange // in the order of their start
	longest bool          // without markers: the longest gap between two steps, else the last
	rows    bool          // without markers: the rows of steps decide
	stepEnd int64         // of the last step row
}

// markerRange is a forward-step marker range.
type markerRange struct {
	start, end int64
	maxEnd     int64 // the latest end of this range and all before it
	number     int64
	id         int32 // index of the first range that is one with it
}

const noNumber = -1

// laneEdge is what is known of the steps of one lane.
type laneEdge struct {
	seen    []bool // by id of a marker: an activity launched during it was seen
	around  int    // index of the latest range that starts before the last launch
	awaited bool   // no activity was seen since the start of the open step
	start   int64  // that start
	length  int64  // of the candidate
	gap     []latePiece
}

func newEdges(opt Options) edges {
	set := opt.Markers
	if set == nil {
		set = marker.Presets
	}
	return edges{set: set, custom: opt.Markers != nil, longest: opt.Method == "allreduce", rows: opt.Method == "allreduce" || opt.Method == "graph", stepEnd: never}
}

// marked tells whether markers decide.
func (e *edges) marked() bool { return len(e.ranges) > 0 }

// marker observes a marker range, or a range that may be one of the user's.
func (e *edges) marker(start, end int64, text []byte) {
	counts, ok := e.set.Parse(string(text))
	if e.custom && !ok {
		return
	}
	m := markerRange{start: start, end: end, maxEnd: end, number: noNumber, id: int32(len(e.ranges))}
	if ok && counts.HasStep {
		m.number = counts.Step
	}
	for k := len(e.ranges) - 1; k >= 0 && m.number != noNumber && start-e.ranges[k].start <= mergeWithin; k-- {
		if o := &e.ranges[k]; o.number == m.number && start-e.ranges[o.id].start <= mergeWithin {
			m.id = o.id
			break
		}
	}
	if n := len(e.ranges); n > 0 {
		m.maxEnd = max(end, e.ranges[n-1].maxEnd)
	}
	e.ranges = append(e.ranges, m)
}

// first tells whether an activity is the lane's first that was launched during its
// marker range.
func (e *edges) first(l *laneEdge, a *Activity) bool {
	if len(e.ranges) == 0 || a.LaunchStart < e.ranges[0].start {
		return false
	}
	t := a.LaunchStart
	k := l.around
	if e.ranges[k].start > t || k+1 < len(e.ranges) && e.ranges[k+1].start <= t {
		k = sort.Search(len(e.ranges), func(i int) bool { return e.ranges[i].start > t }) - 1
		l.around = k
	}
	for ; k >= 0 && e.ranges[k].maxEnd > t; k-- {
		if e.ranges[k].end > t {
			return l.see(int(e.ranges[k].id))
		}
	}
	return false
}

// see tells whether a marker is seen for the first time.
func (l *laneEdge) see(id int) bool {
	for id >= len(l.seen) {
		l.seen = append(l.seen, make([]bool, max(64, len(l.seen)))...)
	}
	fresh := !l.seen[id]
	l.seen[id] = true
	return fresh
}

// Step observes the row of a step, which stands before the rows that start in it.
func (r *Rank) Step(start, end int64) {
	e := &r.edges
	if e.marked() || !e.rows {
		return
	}
	if e.stepEnd != never { // not the first one
		for _, l := range r.lanes {
			l.edge.awaited, l.edge.start = true, start
		}
	}
	e.stepEnd = end
}

// matchEdge observes a gap of a lane that has just been attributed as in-step.
func (r *Rank) matchEdge(l *Lane, from, to int64) {
	e := &l.edge
	between := r.edges.longest && to > r.edges.stepEnd
	if e.awaited {
		between = from < e.start
	}
	if between && to-from > e.length {
		e.length = to - from
		e.gap = append(e.gap[:0], r.gap...)
	}
	if e.awaited {
		r.passEdge(l)
	}
}

// passEdge observes the first activity of a step on a lane: the candidate is
// inter-step.
func (r *Rank) passEdge(l *Lane) {
	e := &l.edge
	for _, p := range e.gap {
		inter := latePiece{piece{p.at, p.code | interBit, p.ns}, p.until}
		p.ns = -p.ns
		r.move(p)
		r.move(inter)
	}
	e.awaited, e.length, e.gap = false, 0, e.gap[:0]
}

// move adds a piece, which may be of a closed slice.
func (r *Rank) move(p latePiece) {
	switch {
	case int(p.at) == len(r.slices)-1:
		r.now.add(p.code, p.ns)
	case r.slices[p.at].group != NoGroup:
		r.late = append(r.late, p)
	}
}
