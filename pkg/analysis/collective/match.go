package collective

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
)

// Match says which collectives of some lanes belong together.
type Match struct {
	Lanes  []Lane  // those that were given
	Groups []Group // lanes that run collectives together
	// Estimated is set if the waits of some group are estimates, because not all of it was
	// recorded.
	Estimated bool

	clocks  []Clock         // by lane
	slack   []int64         // by lane: error of its clock, ns
	run     []int           // by lane: number of its run
	groupOf []map[int32]int // by lane and name
	reduce  map[int32]bool  // names of all-reduces
	place   []map[place]int64

	names int32               // the next number of a name, or of a group as if it were one
	turns []map[int32][]int32 // by lane and name: the number of the group of each, where they differ
}

// place is a place of a step: the n-th collective of a name among steps of one kind and size.
type place struct {
	name, n    int32
	kind, size int64
}

// compare orders places, the same place of larger steps first.
func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.name, q.name), cmp.Compare(p.n, q.n), cmp.Compare(p.kind, q.kind), cmp.Compare(q.size, p.size))
}

// New aligns the clocks of lanes, and finds out which of them run collectives together. Their logs
// must be sealed.
func New(lanes []Lane) *Match {
	n := len(lanes)
	m := &Match{
		Lanes: lanes, clocks: make([]Clock, n), slack: make([]int64, n), run: make([]int, n),
		groupOf: make([]map[int32]int, n), reduce: map[int32]bool{}, place: make([]map[place]int64, n), turns: make([]map[int32][]int32, n),
	}
	of, counts := make([]samples, n), make([]map[int32]int64, n)
	for k := range lanes {
		m.groupOf[k], m.turns[k] = map[int32]int{}, map[int32][]int32{}
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

// Visit is New followed by Each.
func Visit(lanes []Lane, visit func(*Meeting)) *Match {
	m := New(lanes)
	m.Each(visit)
	return m
}

// Clock returns the clock of a lane, and the number of its run. Lanes of different runs share no
// clock.
func (m *Match) Clock(k int) (c Clock, run int) { return m.clocks[k], m.run[k] }

// learn finds the least duration of collectives by place, for a lane whose group was not recorded
// completely: other GPUs are known to be missing, or it shares no collectives with any lane.
func (m *Match) learn(k int, counts map[int32]int64) {
	some, partial, alone := false, false, true
	for name, g := range m.groupOf[k] {
		group := &m.Groups[g]
		shown := counts[name] >= minTogether
		some, partial = some || shown && group.Size != 1, partial || shown && group.Partial()
		alone = alone && len(group.Lanes) == 1
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
		if same.size = last.size; same == last { // a larger step takes no less time
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

// places counts the collectives of the current step of a lane, by name.
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

// Member is the part of a lane in a collective, from Start to End, in ns on the clock of the first
// report. At is its start on the lane's own clock.
type Member struct {
	Lane       int   // number of the lane
	Step       int32 // as Collective.Step
	Start, End int64
	At         int64
	// Wait is how long it waits from Start on, in ns. Parts divide Wait by cause, in the order of
	// their keys, and add up to it. The rest of its duration is transfer.
	Wait  int64
	Parts []Part

	index      int64
	own, owned int64
}

// Meeting is a collective of a group: a match, or that of a single lane with an estimate of its
// wait.
type Meeting struct {
	Group     int   // number of the group
	Name      int32 // as Collective.Name
	Allreduce bool  // as Collective.Allreduce
	// Members are those of the group's lanes, in their order; Late is the index of the one that
	// arrives last.
	Members []Member
	Late    int
	// Estimated is set if the wait is an estimate, because not all of the group was recorded.
	Estimated bool

	end int64 // latest end
}

// queue holds the collectives of a name in a group that have no match yet, by member.
type queue struct {
	group   int
	slack   int64
	waiting [][]entry
}

// slot is the place of a lane in a queue. The queue is nil if collectives are estimated.
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
	// expiry is a lower bound of the time at which a queued collective can no longer be matched.
	expiry  int64
	slack   int64 // the largest one
	events  ordered[*Meeting]
	free    []*Meeting
	places  []*places           // by lane
	turns   []map[int32][]int32 // those of Match that are left
	viewers []viewer
}

// Viewer receives meetings.
type Viewer struct {
	Visit func(*Meeting) // must not keep the meeting
	// NoParts leaves Member.Parts empty, for viewers that do not need causes.
	NoParts bool
}

// viewer is a Viewer with its resolver.
type viewer struct {
	*resolver // nil with NoParts
	visit     func(*Meeting)
}

// Each calls visit with all matched collectives, in the order of their ends, and with those of each
// lane of a group that was not recorded completely. A meeting is valid until visit returns.
// Afterwards the counts in Groups are set.
func (m *Match) Each(visit func(*Meeting)) { m.Show(Viewer{Visit: visit}) }

// Show is Each for several viewers at once. Their meetings differ only in the parts of waits.
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
		x.places, x.turns = append(x.places, newPlaces(&m.Lanes[k])), append(x.turns, maps.Clone(m.turns[k]))
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

// advance observes that all further collectives start at t or later. It drops those that can no
// longer be matched, and shows the meetings that have ended.
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

// expire drops the collectives of a queue that end too early for one that starts at t.
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
	name := e.Name
	if turns := x.turns[e.lane]; len(turns) > 0 && len(turns[name]) > 0 {
		name, turns[name] = turns[name][0], turns[name][1:]
	}
	at := x.slotOf(e.lane, name)
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

// slotOf returns the place of a lane for its collectives of a name. It opens one if there is none.
func (x *matcher) slotOf(lane int, name int32) *slot {
	if int(name) >= len(x.slots[lane]) || !x.slots[lane][name].known {
		x.open(x.groupOf[lane][name], name)
	}
	return &x.slots[lane][name]
}

// open gives the lanes of a group a place for their collectives of a name.
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

// slackOf returns by how much the clocks of two lanes may differ, in ns.
func (x *matcher) slackOf(a, b int) int64 {
	if x.Lanes[a].Report == x.Lanes[b].Report {
		return 0
	}
	return x.Match.slack[a] + x.Match.slack[b]
}

// meet matches the first collectives of all members of a queue, or drops the one that ends first.
// If clocks may be off by more than the collectives overlap, the ends must agree to within that.
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

// shift removes the first element of a list, in place.
func shift(list []entry) []entry { return append(list[:0], list[1:]...) }

// estimate divides a collective of a group that was not recorded completely, by the least duration
// at its place. In a group of one there is nobody to wait for.
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

// event returns a meeting without members; it may reuse the memory of an earlier one.
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
	if n := len(ev.Members); n < cap(ev.Members) { // reuse the memory of an earlier meeting
		parts = ev.Members[:n+1][n].Parts[:0]
	}
	ev.Members = append(ev.Members, Member{
		Lane: e.lane, Step: e.Step, Start: e.Start, End: e.End, At: e.at, Parts: parts,
		index: e.index, own: e.own, owned: e.owned,
	})
	ev.end = max(ev.end, e.End)
}

// divide sets who is late, and how long the others wait.
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

// endsBefore is the order in which meetings are resolved.
func endsBefore(x, y *Meeting) bool {
	a, b := &x.Members[0], &y.Members[0]
	return x.end < y.end || x.end == y.end && (a.Lane < b.Lane || a.Lane == b.Lane && a.index < b.index)
}

// ordered is a heap.Interface whose first element comes before all others.
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
