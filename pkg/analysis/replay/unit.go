package replay

import (
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// unit is a row of GPU work. It is reused when nothing refers to it.
type unit struct {
	refs       int
	call       int64 // when it was launched, or its start if that is unknown
	start, end int64
	newStart   []int64
	newEnd     []int64   // not known until meeting is resolved
	factor     []float64 // of its length, by scenario
	stream     *stream
	process    int32
	launcher   int32 // thread, -1 if unknown
	kind       event.Kind
	stretch    int32
	ordinal    int64
	toHost     bool     // a copy to the host
	token      bool     // a copy to the host after kernels that sample
	samples    bool     // a kernel that samples
	meeting    *meeting // the collective that it is part of, until resolved
}

// stream is the state of a stream: its latest units.
type stream struct {
	process, device int32
	latest          *unit // the one with the latest end
	ring            [recent]*unit
	count           int
}

// latestFirst iterates over the units that are kept, the latest first.
func (st *stream) latestFirst(yield func(*unit) bool) {
	for k := st.count - 1; k >= max(0, st.count-recent); k-- {
		if !yield(st.ring[k%recent]) {
			return
		}
	}
}

// launch is a call that launches work.
type launch struct {
	start, end int64
	name       int32
	streamWait bool  // its thread made a stream wait since its last launch
	recorded   int64 // when the latest event before that wait was recorded
	captured   bool  // it belongs to a pass that a graph would replay
	// About the units launched that have begun: their stream, the latest end, and a bit
	// for each way in which they may bring tokens back.
	unit    *stream
	unitEnd int64
	ways    uint8
	replay  *replay
}

// replay is what has run of a graph replay.
type replay struct {
	stream *stream // of the first unit
	latest *unit   // the unit of ring with the latest end; recomputed when it is overwritten
	ring   [16]*unit
	count  int
}

// launches are the latest calls of a thread that may launch, in order.
type launches struct {
	list   []launch
	times  []int64   // new times of their starts, one per scenario and call
	inside []float64 // factors of the host time inside them, likewise
	found  int       // index of the call found last
	newest int       // index of the latest call whose unit has started
}

// gpu places units on their streams.
type gpu struct {
	*pass
	streams  []stream
	latency  []int64 // ns, by code of the call's name, -1 if unknown
	meetings meetings
	free     []*unit
	called   []int64 // scratch of sooner

	unexplained int64 // ns by which units start later than their dependencies explain, as recorded
}

// newUnit returns a unit without references; its fields may be stale.
func (g *gpu) newUnit() *unit {
	if n := len(g.free); n > 0 {
		u := g.free[n-1]
		g.free = g.free[:n-1]
		return u
	}
	times := make([]int64, 2*g.n)
	return &unit{newStart: times[:g.n:g.n], newEnd: times[g.n:]}
}

// hold makes *at refer to u, which may be nil, instead of what it referred to.
func (g *gpu) hold(at **unit, u *unit) {
	if u != nil {
		u.refs++
	}
	g.drop(*at)
	*at = u
}

// drop gives up a reference to a unit, which may be nil.
func (g *gpu) drop(u *unit) {
	if u == nil {
		return
	}
	if u.refs--; u.refs == 0 {
		g.free = append(g.free, u)
	}
}

// addLaunch adds a call of a thread, which is at the call's start, and may drop the
// oldest calls.
func (g *gpu) addLaunch(th *thread, one launch) {
	q := &th.queue
	if len(q.list) == 2*maxLaunches {
		for i := range q.list[:maxLaunches] {
			if r := q.list[i].replay; r != nil {
				for _, u := range r.ring {
					g.drop(u)
				}
			}
		}
		q.list, q.found, q.newest = slices.Delete(q.list, 0, maxLaunches), 0, max(0, q.newest-maxLaunches)
		q.times, q.inside = slices.Delete(q.times, 0, maxLaunches*g.n), slices.Delete(q.inside, 0, maxLaunches*g.n)
	}
	if n := len(q.list); n == cap(q.list) { // append would grow long lists by a quarter only, again and again
		q.list = slices.Grow(q.list, n+1)
		q.times, q.inside = slices.Grow(q.times, (n+1)*g.n), slices.Grow(q.inside, (n+1)*g.n)
	}
	q.list, q.times, q.inside = append(q.list, one), append(q.times, th.now...), append(q.inside, th.factor...)
}

// fills reports whether the launch queue of a process is full, so that the next launch
// has to wait until one of them starts. Threads none of whose launches was seen to start
// do not count.
func (q *process) fills() bool {
	waiting := 0
	for _, th := range q.launchers {
		if l := &th.queue; l.newest > 0 {
			waiting += len(l.list) - 1 - l.newest
		}
	}
	return waiting >= queueRoom
}

// find returns the call that started at t, nil for none, with the new times of its start
// and the factors of the host time inside it, by scenario. The slices are valid until
// the next addLaunch.
func (l *launches) find(t int64, n int) (*launch, []int64, []float64) {
	k := l.found
	for k < min(len(l.list), l.found+2) && l.list[k].start != t { // Fast path: the last one found, or the next.
		k++
	}
	if k >= len(l.list) || l.list[k].start != t {
		k = sort.Search(len(l.list), func(i int) bool { return l.list[i].start >= t })
	}
	if k == len(l.list) || l.list[k].start != t {
		return nil, nil, nil
	}
	l.found, l.newest = k, max(l.newest, k)
	return &l.list[k], l.times[k*n : (k+1)*n], l.inside[k*n : (k+1)*n]
}

// add places a unit after what it waits for.
func (g *gpu) add(p *process, r *row) {
	st := &g.streams[r.place]
	u := g.newUnit()
	u.call, u.start, u.end, u.factor, u.stream = r.start, r.start, r.end, g.plan.unit(st.process, g.t.processes[st.process], r.name), st
	u.process, u.launcher, u.kind, u.stretch, u.ordinal = st.process, r.launcher, r.kind, r.stretch, r.ordinal
	u.samples = r.class == event.Sampling
	u.toHost, u.token = r.kind.IsCopy() && g.t.names.all[r.name].flags&isToHost != 0, false
	u.refs = 1
	if g.learn != nil {
		g.learn.passes.unit(&g.learn.passes.open[u.process], r, u.samples || u.toHost)
	}
	if p.sampled = p.sampled || r.class == event.Sampling; u.toHost && p.sampled {
		u.token, p.sampled = true, false
	}
	var l *launch
	var called []int64
	var inside []float64
	if r.launcher >= 0 {
		l, called, inside = g.hosts.threads[r.launcher].queue.find(r.launch, g.n)
	}
	if l == nil {
		g.unlaunched(p, u)
	} else {
		u.call = l.start
		l.runs(u)
		if !r.node || l.replay == nil || !g.follow(u, l.replay) {
			g.afterCall(p, u, l, called, inside)
		}
	}
	length, ends := u.end-u.start, u.newEnd[:len(u.factor)]
	for s, start := range u.newStart[:len(u.factor)] {
		ends[s] = start + scaled(length, u.factor[s])
	}
	if r.class.IsCollective() && r.kind == event.Kernel {
		g.meetings.add(u, r.name)
	}
	g.remember(p, st, u, r, l)
	g.placed(p, u, r)
	g.drop(u)
}

// scaled returns d*f, rounded to the nearest ns.
func scaled(d int64, f float64) int64 {
	switch v := float64(d) * f; {
	case f == 1: // Fast path, and exact for every d.
		return d
	case v < 0:
		return int64(v - 0.5)
	default:
		return int64(v + 0.5)
	}
}

// placed passes the start of a unit on to steps, sink and waits.
func (g *gpu) placed(p *process, u *unit, r *row) {
	if len(p.starts) > 0 {
		g.steps.startsUnit(p, u, r.class)
	}
	if g.sink != nil {
		g.sink.start(u.stretch, u.ordinal, u.newStart[0])
	}
	if u.meeting == nil {
		g.ended(u)
	}
	if r.kind.IsCopy() && r.launcher >= 0 {
		g.hosts.blocks(&g.hosts.threads[r.launcher], u, r)
	}
}

// ended passes on the end of a unit.
func (g *gpu) ended(u *unit) {
	if !u.kind.IsCopy() {
		g.procs[u.process].span(u)
	}
	if g.sink == nil {
		return
	}
	g.sink.end(u.stretch, u.ordinal, u.newEnd[0])
	g.sink.unit(u.process, u.kind, u.start, u.end, u.newStart[0], u.newEnd[0])
}

// remember keeps a unit for others to follow or wait for.
func (g *gpu) remember(p *process, st *stream, u *unit, r *row, l *launch) {
	g.onStream(st, u)
	g.hold(&p.latest, u)
	for k := p.recorded - 1; k >= max(0, p.recorded-maxAge); k-- {
		rec := &p.records[k%maxAge]
		if rec.t <= u.call {
			break
		}
		rec.add(g, u)
	}
	if !r.node || l == nil {
		return
	}
	if l.replay == nil {
		l.replay = &replay{stream: st}
	}
	if l.replay.stream != st {
		g.onStream(l.replay.stream, u)
	}
	l.replay.add(g, u)
}

// add adds a unit to the ring.
func (r *replay) add(g *gpu, u *unit) {
	at := &r.ring[r.count%len(r.ring)]
	r.count++
	lost := *at == r.latest
	g.hold(at, u)
	if !lost && u.end > r.latest.end {
		r.latest = u
	}
	if !lost {
		return
	}
	r.latest = nil
	for _, o := range r.ring {
		if o != nil && (r.latest == nil || o.end > r.latest.end) {
			r.latest = o
		}
	}
}

// onStream adds a unit to the latest of a stream.
func (g *gpu) onStream(st *stream, u *unit) {
	if st.latest == nil || u.end >= st.latest.end {
		g.hold(&st.latest, u)
	}
	g.hold(&st.ring[st.count%recent], u)
	st.count++
}

// follow places a unit of a replay, not its first, after others of the replay. It
// reports whether it found one to follow.
func (g *gpu) follow(u *unit, r *replay) bool {
	best := r.latest
	if best == nil || best.end > u.start+jitter { // Else the fast path: all of the replay has ended.
		var own *unit
		best = nil
		for _, o := range r.ring {
			if o == nil {
				continue
			}
			if o.stream == u.stream && (own == nil || o.start >= own.start) {
				own = o
			}
			if o.end <= u.start+jitter && (best == nil || o.end > best.end) {
				best = o
			}
		}
		if own != nil && own.end > u.start+jitter {
			u.overlaps(own)
			return true
		}
	}
	if best == nil {
		return false
	}
	if g.learn != nil {
		g.learn.gaps.add(max(0, u.start-best.end))
	}
	u.follows(g.endOf(best), u.start-best.end)
	return true
}

// follows makes a unit start at the given times plus after; notBefore makes it start no
// earlier.
func (u *unit) follows(times []int64, after int64) {
	starts := u.newStart[:len(times)]
	for s, t := range times {
		starts[s] = t + after
	}
}

func (u *unit) notBefore(times []int64, after int64) {
	starts := u.newStart[:len(times)]
	for s, t := range times {
		starts[s] = max(starts[s], t+after)
	}
}

// overlaps keeps the distance of a unit's start from that of a unit that it overlaps.
func (u *unit) overlaps(o *unit) {
	for s, t := range o.newStart {
		u.newStart[s] = t + scaled(u.start-o.start, o.factor[s])
	}
}

// afterCall places a unit after its call and what it follows on its stream.
func (g *gpu) afterCall(p *process, u *unit, l *launch, called []int64, inside []float64) {
	prev := u.stream.latest
	late := u.start - l.start
	latency := late
	if v := g.latency[l.name]; v >= 0 {
		latency = v
	}
	soon := min(late, latency)
	if g.learn != nil {
		g.learn.launch(l, u, prev)
	}
	called = g.sooner(called, inside, max(0, min(soon, l.end-l.start)))
	if o := g.crossed(p, u, l, prev, latency); o != nil {
		u.follows(called, soon)
		u.notBefore(g.endOf(o), u.start-o.end)
		if prev != nil {
			u.notBefore(g.endOf(prev), min(jitter, u.start-prev.end))
		}
	} else {
		g.inOrder(u, l, called, prev, latency)
	}
	if l.streamWait {
		g.joined(p, u, l.recorded)
	}
}

// inOrder places a unit after its call and its predecessor, whichever was last.
func (g *gpu) inOrder(u *unit, l *launch, called []int64, prev *unit, latency int64) {
	late := u.start - l.start
	soon := min(late, latency)
	switch {
	case prev == nil:
		u.follows(called, late)
		return
	case prev.end > u.start+jitter:
		u.overlaps(prev)
		u.notBefore(called, soon)
		return
	case prev.end <= l.start+latency:
		g.unexplained += max(0, late-latency)
		u.follows(called, late)
		u.notBefore(g.endOf(prev), min(jitter, u.start-prev.end))
	default:
		g.unexplained += max(0, u.start-prev.end-jitter)
		u.follows(g.endOf(prev), u.start-prev.end)
		u.notBefore(called, soon)
	}
	if l.captured {
		g.inGraph(u, prev, called, soon)
	}
}

// joined places a unit whose stream was made to wait for an event. It starts after what
// its thread had launched on other streams when the latest event was recorded, if it did
// so in the recording.
func (g *gpu) joined(p *process, u *unit, recorded int64) {
	for _, st := range p.streams {
		if st == u.stream {
			continue
		}
		for o := range st.latestFirst {
			if o.call >= recorded || o.launcher != u.launcher {
				continue
			}
			if after := u.start - o.end; after >= -jitter {
				u.notBefore(g.endOf(o), min(jitter, after))
			}
			break
		}
	}
}

// sooner returns the new times of a call's start, less the time saved before the call
// hands over the work. That part of the call is host time, and what follows keeps its
// distance. The slice is valid until the next call.
func (g *gpu) sooner(called []int64, inside []float64, part int64) []int64 {
	g.called = append(g.called[:0], called...)
	for s, f := range inside {
		g.called[s] -= part - scaled(part, f)
	}
	return g.called
}

// crossed returns the unit of another stream that a unit waited for, nil for none. The
// unit must have started late after its call and its predecessor, but right after that
// one.
func (g *gpu) crossed(p *process, u *unit, l *launch, prev *unit, latency int64) (best *unit) {
	switch {
	case u.start-l.start <= latency+near || prev != nil && u.start-prev.end <= near:
		return nil
	case !l.streamWait && p.calls:
		return nil
	}
	for _, st := range p.streams {
		if st == u.stream {
			continue
		}
		for o := range st.latestFirst {
			if d := u.start - o.end; d >= -near && d <= near && (best == nil || o.end > best.end) {
				best = o
			}
		}
	}
	return best
}

// unlaunched places a unit whose call is unknown: it keeps its distance from what it
// follows on its stream, else from the unit of its process that started last.
func (g *gpu) unlaunched(p *process, u *unit) {
	switch prev := u.stream.latest; {
	case prev != nil && prev.end > u.start+jitter:
		u.overlaps(prev)
	case prev != nil:
		u.follows(g.endOf(prev), u.start-prev.end)
	case p.latest != nil:
		u.follows(p.latest.newStart, u.start-p.latest.start)
	default:
		for s := range u.newStart {
			u.newStart[s] = u.start + g.shift(p, s)
		}
	}
}

// endOf returns the new ends of a unit. It resolves the unit's collective if necessary.
func (g *gpu) endOf(u *unit) []int64 {
	if u.meeting != nil {
		g.meetings.resolve(u.meeting)
	}
	return u.newEnd
}

// span extends the time of a process's units by a unit.
func (p *process) span(u *unit) {
	if u.start >= p.until {
		return
	}
	if p.begins == nil {
		p.begins, p.ends = slices.Clone(u.newStart), slices.Clone(u.newEnd)
	}
	for s := range p.begins {
		p.begins[s], p.ends[s] = min(p.begins[s], u.newStart[s]), max(p.ends[s], u.newEnd[s])
	}
}

// record is an event record call.
type record struct {
	t     int64
	units []*unit // launched before it: on each stream the one with the latest end so far
}

// add adds a unit that was launched before the record.
func (r *record) add(g *gpu, u *unit) {
	k := slices.IndexFunc(r.units, func(o *unit) bool { return o.stream == u.stream })
	if k < 0 {
		k, r.units = len(r.units), append(r.units, nil)
	}
	if o := r.units[k]; o == nil || u.end >= o.end {
		g.hold(&r.units[k], u)
	}
}

// begin reuses r for the record of an event at t.
func (r *record) begin(g *gpu, p *process, t int64) {
	for _, u := range r.units {
		g.drop(u)
	}
	r.t, r.units = t, r.units[:0]
	for _, st := range p.streams {
		if st.latest != nil {
			r.add(g, st.latest)
		}
	}
}

// latestOf returns the unit that ends last, nil if there are none.
func latestOf(units []*unit) (last *unit) {
	for _, u := range units {
		if last == nil || u.end >= last.end {
			last = u
		}
	}
	return last
}
