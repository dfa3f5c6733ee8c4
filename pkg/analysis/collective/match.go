package collective

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
)

// Match is how the collectives of some lanes belong together.
type Match struct {
	Lanes  []Lane  // those that were given
	Groups []Group // lanes that meet
	// Estimated tells that waits of some group are estimates, because not all of it was recorded.
	Estimated bool

	clocks  []Clock         // by lane
	slack   []int64         // likewise: what clocks may be off by, ns
	run     []int           // likewise: number of the run
	groupOf []map[int32]int // by lane and name
	reduce  map[int32]bool  // names of all-reduces
	place   []map[place]int64
}

// place is a place of a step: the n-th collective of a name among steps of one kind and size.
type place struct {
	name, n    int32
	kind, size int64
}

// compare orders places, those of larger steps before the same ones of smaller steps.
func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.name, q.name), cmp.Compare(p.n, q.n), cmp.Compare(p.kind, q.kind), cmp.Compare(q.size, p.size))
}

// New finds out which of the lanes run collectives together, on one clock. Their logs are sealed.
func New(lanes []Lane) *Match {
	n := len(lanes)
	m := &Match{
		Lanes: lanes, clocks: make([]Clock, n), slack: make([]int64, n), run: make([]int, n),
		groupOf: make([]map[int32]int, n), reduce: map[int32]bool{}, place: make([]map[place]int64, n),
	}
	of, counts := make([]samples, n), make([]map[int32]int64, n)
	for k := range lanes {
		m.groupOf[k] = map[int32]int{}
		of[k], counts[k] = m.sample(k, maxSample)
	}
	m.align(of)
	m.group(of)
	m.size()
	for k := range lanes {
		m.learn(k, counts[k])
	}
	return m
}

// Visit matches the collectives of lanes, and calls visit for each.
func Visit(lanes []Lane, visit func(*Meeting)) *Match {
	m := New(lanes)
	m.Each(visit)
	return m
}

// Clock returns the clock of a lane, and the number of its run: lanes of different runs share
// no clock.
func (m *Match) Clock(k int) (c Clock, run int) { return m.clocks[k], m.run[k] }

// learn finds out how long collectives take at the least, of a lane that was recorded without
// all of its group: others are known to be missing, or it shares no collectives with any lane.
func (m *Match) learn(k int, counts map[int32]int64) {
	some, partial, alone := false, false, true
	for name, g := range m.groupOf[k] {
		group := &m.Groups[g]
		some = some || counts[name] >= minTogether && group.Size != 1
		partial, alone = partial || group.Partial(), alone && len(group.Lanes) == 1
	}
	if !some || !partial && !alone {
		return
	}
	m.place[k] = map[place]int64{}
	seen := map[place]int{}
	c, p := newCursor(k, &m.Lanes[k], Clock{}), newPlaces(&m.Lanes[k])
	for c.next() {
		e := &c.entry
		at := p.of(e)
		seen[at]++
		if least, ok := m.place[k][at]; !ok || e.End-e.Start < least {
			m.place[k][at] = e.End - e.Start
		}
	}
	last := place{n: -1}
	for _, at := range slices.SortedFunc(maps.Keys(seen), place.compare) {
		same := at
		if same.size = last.size; same == last { // no less time than a smaller step's
			m.place[k][at], seen[at] = min(m.place[k][at], m.place[k][last]), seen[at]+seen[last]
		}
		last = at
	}
	for at, n := range seen {
		if n < minTogether {
			delete(m.place[k], at)
		}
	}
	m.Estimated = m.Estimated || len(m.place[k]) > 0
}

// places counts the collectives of a step by name.
type places struct {
	lane   *Lane
	step   int32
	counts map[int32]int32
}

func newPlaces(l *Lane) *places { return &places{lane: l, step: -1, counts: map[int32]int32{}} }

// of returns the place of the next collective of a lane.
func (p *places) of(e *entry) place {
	if e.Step != p.step {
		p.step = e.Step
		clear(p.counts)
	}
	at := place{name: e.Name, n: p.counts[e.Name]}
	p.counts[e.Name]++
	if p.lane.Kind != nil && e.Step >= 0 {
		at.kind, at.size = p.lane.Kind(e.Step)
	}
	return at
}

// Member is the part of a lane in a collective, from Start to End. Its times are on the clock of the first report,
// At is its start on the lane's own.
type Member struct {
	Lane       int   // number of the lane
	Step       int32 // as Collective.Step
	Start, End int64
	At         int64
	// Wait is how long it waits from Start on, in ns, and Parts what for; they add up to it. The
	// rest of its duration is transfer.
	Wait  int64
	Parts []Part

	index      int64
	own, owned int64
}

// Meeting is a collective of a group: matched, or of a lane alone with an estimate of its
// wait.
type Meeting struct {
	Group     int   // number of the group
	Name      int32 // as Collective.Name
	Allreduce bool  // as Collective.Allreduce
	// Members are in the order of their lanes, all of the group's; Late is the place of the one
	// that arrives last.
	Members []Member
	Late    int
	// Estimated tells that the wait is an estimate, of a group of which not all was recorded.
	Estimated bool

	end int64 // the last one
}

// queue holds the collectives of a name of a group that have no match yet, by member.
type queue struct {
	group   int
	slack   int64
	waiting [][]entry
}

// slot is the place of a lane in a queue, which is nil where its collectives are estimated.
type slot struct {
	known  bool
	group  int
	queue  *queue
	member int
}

// matcher is the state of Each.
type matcher struct {
	*Match
	heads  ordered[*cursor]
	queues []*queue
	slots  [][]slot // by lane and name
	// expiry is when the first one that waits has no match any more, at the earliest.
	expiry  int64
	slack   int64 // the largest one
	events  ordered[*Meeting]
	free    []*Meeting
	places  []*places // by lane
	viewers []viewer
}

// Viewer is whoever wants to know of meetings.
type Viewer struct {
	Visit func(*Meeting) // which may not keep the meeting
	// NoParts leaves Member.Parts empty: it does not matter what waits are due to.
	NoParts bool
}

// viewer is a Viewer with what it knows so far.
type viewer struct {
	*resolver // nil: it wants no parts
	visit     func(*Meeting)
}

// Each calls visit with all matched collectives, and with those of each lane of a group of which
// not all was recorded, in the order of their ends. A meeting is valid until visit returns.
// Groups say afterwards how many were matched.
func (m *Match) Each(visit func(*Meeting)) { m.Show(Viewer{Visit: visit}) }

// Show is Each for several at once, whose meetings differ in the parts of waits.
func (m *Match) Show(to ...Viewer) {
	x := &matcher{Match: m, expiry: never, slots: make([][]slot, len(m.Lanes))}
	x.heads.before, x.events.before = startsBefore, endsBefore
	for _, v := range to {
		one := viewer{visit: v.Visit}
		if !v.NoParts {
			one.resolver = newResolver(m)
		}
		x.viewers = append(x.viewers, one)
	}
	for g := range m.Groups {
		m.Groups[g].Matched, m.Groups[g].Unmatched = 0, 0
	}
	for k := range m.Lanes {
		x.slack = max(x.slack, m.slack[k])
		x.places = append(x.places, newPlaces(&m.Lanes[k]))
		if c := newCursor(k, &m.Lanes[k], m.clocks[k]); c.next() {
			x.heads.all = append(x.heads.all, c)
		}
	}
	heap.Init(&x.heads)
	for x.heads.Len() > 0 {
		h := x.heads.all[0]
		x.advance(h.entry.Start)
		x.add(&h.entry)
		if h.next() {
			heap.Fix(&x.heads, 0)
		} else {
			heap.Pop(&x.heads)
		}
	}
	x.advance(never)
}

const never = math.MaxInt64

// advance drops what has no match when all collectives to come start at t or later, and
// resolves what has ended by then.
func (x *matcher) advance(t int64) {
	if t >= x.expiry {
		x.expiry = never
		for _, q := range x.queues {
			x.expire(q, t)
		}
	}
	for x.events.Len() > 0 && (t == never || x.events.all[0].end+x.slack <= t) {
		ev := heap.Pop(&x.events).(*Meeting)
		for _, v := range x.viewers {
			if v.resolver != nil {
				v.meeting(ev)
			}
			v.visit(ev)
		}
		x.free = append(x.free, ev)
	}
}

// expire drops those of a queue that end too early for what starts at t.
func (x *matcher) expire(q *queue, t int64) {
	for i, list := range q.waiting {
		for len(list) > 0 && (t == never || list[0].End+q.slack <= t) {
			x.Groups[q.group].Unmatched++
			list = list[1:]
		}
		q.waiting[i] = append(q.waiting[i][:0], list...)
		if len(list) > 0 {
			x.expiry = min(x.expiry, list[0].End+q.slack)
		}
	}
}

// add observes a collective, which starts no earlier than those before.
func (x *matcher) add(e *entry) {
	at := x.slotOf(e)
	if at.queue == nil {
		x.estimate(at.group, e)
		return
	}
	q := at.queue
	q.waiting[at.member] = append(q.waiting[at.member], *e)
	x.expiry = min(x.expiry, e.End+q.slack)
	for !slices.ContainsFunc(q.waiting, func(list []entry) bool { return len(list) == 0 }) {
		x.meet(q)
	}
}

// slotOf returns the place of a collective's lane, which may be a new one.
func (x *matcher) slotOf(e *entry) *slot {
	if int(e.Name) >= len(x.slots[e.lane]) || !x.slots[e.lane][e.Name].known {
		x.open(x.groupOf[e.lane][e.Name], e.Name)
	}
	return &x.slots[e.lane][e.Name]
}

// open has the lanes of a group have a place for their collectives of a name.
func (x *matcher) open(g int, name int32) {
	group := &x.Groups[g]
	var q *queue
	if len(group.Lanes) > 1 && !group.Partial() {
		q = &queue{group: g, waiting: make([][]entry, len(group.Lanes))}
		x.queues = append(x.queues, q)
	}
	for i, k := range group.Lanes {
		if n := int(name); n >= len(x.slots[k]) {
			x.slots[k] = slices.Grow(x.slots[k], n+1)[:n+1]
		}
		x.slots[k][name] = slot{true, g, q, i}
		if q != nil {
			q.slack = max(q.slack, x.slackOf(k, group.Lanes[0]))
		}
	}
}

// slackOf is what the clocks of two lanes may be apart by.
func (x *matcher) slackOf(a, b int) int64 {
	if x.Lanes[a].Report == x.Lanes[b].Report {
		return 0
	}
	return x.Match.slack[a] + x.Match.slack[b]
}

// meet matches the first ones of all members of a queue, or drops the one that ends first. Where
// clocks may be off by more than they overlap by, the ends have to agree within that.
func (x *matcher) meet(q *queue) {
	first, lastStart, lastEnd, shortest := 0, int64(none), int64(none), int64(never)
	for i, list := range q.waiting {
		e := &list[0]
		lastStart, lastEnd, shortest = max(lastStart, e.Start), max(lastEnd, e.End), min(shortest, e.End-e.Start)
		if e.End < q.waiting[first][0].End {
			first = i
		}
	}
	firstEnd := q.waiting[first][0].End
	together := firstEnd - lastStart
	if 2*together < shortest && (2*(together+q.slack) < shortest || lastEnd > firstEnd+q.slack) {
		x.Groups[q.group].Unmatched++
		q.waiting[first] = shift(q.waiting[first])
		return
	}
	ev := x.event(q.group, &q.waiting[0][0])
	for i := range q.waiting {
		ev.add(&q.waiting[i][0])
		q.waiting[i] = shift(q.waiting[i])
	}
	x.Groups[q.group].Matched++
	ev.divide()
	heap.Push(&x.events, ev)
}

// shift removes the first of a list.
func shift(list []entry) []entry { return append(list[:0], list[1:]...) }

// estimate has a collective of a group of which not all was recorded be divided by the least
// duration at its place. In a group of one there is nobody to wait for.
func (x *matcher) estimate(g int, e *entry) {
	at := x.places[e.lane].of(e)
	least, ok := x.place[e.lane][at]
	alone := x.Groups[g].Size == 1
	if !alone && !ok {
		x.Groups[g].Unmatched++
		return
	}
	ev := x.event(g, e)
	if ev.add(e); !alone {
		ev.Estimated = true
		ev.Members[0].Wait = e.End - e.Start - least
	}
	heap.Push(&x.events, ev)
}

// event returns a meeting without members.
func (x *matcher) event(g int, e *entry) *Meeting {
	var ev *Meeting
	if n := len(x.free) - 1; n >= 0 {
		ev, x.free = x.free[n], x.free[:n]
	} else {
		ev = new(Meeting)
	}
	*ev = Meeting{Group: g, Name: e.Name, Allreduce: e.Allreduce, Members: ev.Members[:0], end: none}
	return ev
}

func (ev *Meeting) add(e *entry) {
	var parts []Part
	if n := len(ev.Members); n < cap(ev.Members) { // memory of a meeting before
		parts = ev.Members[:n+1][n].Parts[:0]
	}
	ev.Members = append(ev.Members, Member{
		Lane: e.lane, Step: e.Step, Start: e.Start, End: e.End, At: e.at, Parts: parts,
		index: e.index, own: e.own, owned: e.owned,
	})
	ev.end = max(ev.end, e.End)
}

// divide finds out who is late and how long the others wait.
func (ev *Meeting) divide() {
	least := int64(never)
	for i := range ev.Members {
		if ev.Members[i].Start > ev.Members[ev.Late].Start {
			ev.Late = i
		}
		least = min(least, ev.Members[i].End-ev.Members[i].Start)
	}
	last := ev.Members[ev.Late].Start
	for i := range ev.Members {
		w := &ev.Members[i]
		w.Wait = max(0, min(last-w.Start, w.End-w.Start-least))
	}
}

// endsBefore tells the order in which meetings are resolved.
func endsBefore(x, y *Meeting) bool {
	a, b := &x.Members[0], &y.Members[0]
	return x.end < y.end || x.end == y.end && (a.Lane < b.Lane || a.Lane == b.Lane && a.index < b.index)
}

// ordered is a heap, the first of which comes before all others.
type ordered[T any] struct {
	all    []T
	before func(a, b T) bool
}

func (h *ordered[T]) Len() int           { return len(h.all) }
func (h *ordered[T]) Less(i, j int) bool { return h.before(h.all[i], h.all[j]) }
func (h *ordered[T]) Swap(i, j int)      { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *ordered[T]) Push(v any)         { h.all = append(h.all, v.(T)) }
func (h *ordered[T]) Pop() any {
	last := len(h.all) - 1
	v := h.all[last]
	h.all = h.all[:last]
	return v
}
