package replay

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// unit is a row of GPU work. It is kept as long as something refers to it.
type unit struct {
	refs       int
	call       int64 // when it was launched, its start where that is not known
	start, end int64
	newStart   []int64
	newEnd     []int64 // not known while meeting is not nil
	factor     []float64
	stream     *stream
	process    int32
	kind       event.Kind
	stretch    int32
	ordinal    int64
	toHost     bool // a copy to the host
	token      bool // that followed kernels that sample
	meeting    *meeting
}

// stream is the state of a stream: its latest units.
type stream struct {
	process, device int32
	latest          *unit // with the latest end
	ring            [recent]*unit
	count           int
}

// launch is a call that launches.
type launch struct {
	start      int64
	name       int32
	streamWait bool // its thread made a stream wait since it launched before
	replay     *replay
}

// replay is what was replayed of a graph so far.
type replay struct {
	stream *stream // of its first unit
	ring   [16]*unit
	count  int
}

// launches are the latest calls of a thread that may launch, in order.
type launches struct {
	ring  []launch // a power of two
	times []int64  // new times of their starts, a slice for each
	first int      // number of the oldest
	next  int
}

// newUnit returns a unit without references.
func (e *engine) newUnit() *unit {
	if n := len(e.freeUnits); n > 0 {
		u := e.freeUnits[n-1]
		e.freeUnits = e.freeUnits[:n-1]
		return u
	}
	times := make([]int64, 2*e.n)
	return &unit{newStart: times[:e.n:e.n], newEnd: times[e.n:]}
}

// hold refers to a unit in place of another, or of none.
func (e *engine) hold(at **unit, u *unit) {
	if u != nil {
		u.refs++
	}
	e.drop(*at)
	*at = u
}

// drop refers to a unit no more.
func (e *engine) drop(u *unit) {
	if u == nil {
		return
	}
	if u.refs--; u.refs == 0 {
		e.freeUnits = append(e.freeUnits, u)
	}
}

// add adds a call; times are the new ones of its start. What refers to units in the call
// that is forgotten for it is returned.
func (l *launches) add(one launch, times []int64) (old *replay) {
	n := len(times)
	if l.next-l.first == len(l.ring) {
		if len(l.ring) < maxLaunches {
			l.grow(n)
		} else {
			k := l.first & (len(l.ring) - 1)
			old = l.ring[k].replay
			l.first++
		}
	}
	k := l.next & (len(l.ring) - 1)
	l.ring[k] = one
	copy(l.times[k*n:(k+1)*n], times)
	l.next++
	return old
}

// grow doubles the room.
func (l *launches) grow(n int) {
	size := max(2*len(l.ring), 64)
	ring, times := make([]launch, size), make([]int64, size*n)
	for i := l.first; i < l.next; i++ {
		from, to := i&(len(l.ring)-1), i&(size-1)
		ring[to] = l.ring[from]
		copy(times[to*n:(to+1)*n], l.times[from*n:(from+1)*n])
	}
	l.ring, l.times = ring, times
}

// find returns the call that started at t, nil for none, and the new times of its start.
func (l *launches) find(t int64, n int) (*launch, []int64) {
	low, high := l.first, l.next
	for low < high {
		mid := (low + high) / 2
		if l.ring[mid&(len(l.ring)-1)].start < t {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == l.next {
		return nil, nil
	}
	k := low & (len(l.ring) - 1)
	if l.ring[k].start != t {
		return nil, nil
	}
	return &l.ring[k], l.times[k*n : (k+1)*n]
}

// addUnit places a unit.
func (e *engine) addUnit(p *process, r *row) {
	st := &e.streams[r.place]
	u := e.newUnit()
	*u = unit{
		call: r.start, start: r.start, end: r.end, newStart: u.newStart, newEnd: u.newEnd, factor: e.units[r.name], stream: st,
		process: int32(e.t.stretches[r.stretch]), kind: r.kind, stretch: r.stretch, ordinal: r.ordinal,
		toHost: e.t.names.all[r.name].flags&isToHost != 0,
	}
	u.refs = 1
	if len(e.ofRank) > 0 {
		e.rankFactors(u)
	}
	if e.learn != nil {
		e.learn.passes.unit(u.process, r)
	}
	if p.sampled = p.sampled || r.class == event.Sampling; u.toHost && p.sampled {
		u.token, p.sampled = true, false
	}
	var l *launch
	var called []int64
	if r.launcher >= 0 {
		if l, called = e.threads[r.launcher].queue.find(r.launch, e.n); l != nil {
			u.call = l.start
		}
	}
	if !(r.node && l != nil && l.replay != nil && e.follow(u, l.replay)) {
		e.afterCall(p, st, u, l, called)
	}
	for s, f := range u.factor {
		u.newEnd[s] = u.newStart[s] + scaled(u.end-u.start, f)
	}
	if r.class.IsCollective() && r.kind == event.Kernel {
		e.meet(u, r.name)
	}
	if r.class == event.Sampling {
		p.sampling = u.call
	}
	e.remember(p, st, u, r, l)
	e.placed(p, u, r)
	e.drop(u)
}

// scaled is a length times a factor.
func scaled(d int64, f float64) int64 {
	if f == 1 {
		return d
	}
	return int64(math.Round(float64(d) * f))
}

// placed passes on what is known of a unit.
func (e *engine) placed(p *process, u *unit, r *row) {
	if len(p.starts) > 0 && !e.byRange && (e.stepClass < 0 || e.stepClass == r.class) {
		e.bind(p, u.start, u.newStart)
	}
	if e.sink != nil {
		e.sink.start(u.stretch, u.ordinal, u.newStart[0])
	}
	if u.meeting == nil {
		e.ended(u)
	}
	if r.kind.IsCopy() && r.launcher >= 0 {
		e.blocks(&e.threads[r.launcher], u, r.launch)
	}
}

// ended passes on the end of a unit.
func (e *engine) ended(u *unit) {
	if len(e.t.steps) == 0 && !u.kind.IsCopy() {
		e.processes[u.process].span(u)
	}
	if e.sink == nil {
		return
	}
	e.sink.end(u.stretch, u.ordinal, u.newEnd[0])
	e.sink.unit(u.process, u.kind, u.start, u.end, u.newStart[0], u.newEnd[0])
}

// remember makes a unit one that others may follow or wait for.
func (e *engine) remember(p *process, st *stream, u *unit, r *row, l *launch) {
	e.onStream(st, u)
	e.hold(&p.latest, u)
	if p.last == nil || u.end >= p.last.end {
		e.hold(&p.last, u)
	}
	for k := p.recorded - 1; k >= max(0, p.recorded-maxAge); k-- {
		rec := &p.records[k%maxAge]
		if rec.t <= u.call {
			break
		}
		if rec.unit == nil || u.end >= rec.unit.end {
			e.hold(&rec.unit, u)
		}
	}
	if !r.node || l == nil {
		return
	}
	if l.replay == nil {
		l.replay = &replay{stream: st}
	}
	if l.replay.stream != st {
		e.onStream(l.replay.stream, u)
	}
	at := &l.replay.ring[l.replay.count%len(l.replay.ring)]
	l.replay.count++
	e.hold(at, u)
}

// onStream makes it the latest unit of a stream.
func (e *engine) onStream(st *stream, u *unit) {
	if st.latest == nil || u.end >= st.latest.end {
		e.hold(&st.latest, u)
	}
	e.hold(&st.ring[st.count%recent], u)
	st.count++
}

// forget forgets a replay.
func (e *engine) forget(r *replay) {
	if r == nil {
		return
	}
	for _, u := range r.ring {
		e.drop(u)
	}
}

// follow places a unit of a replay that is not its first, and tells whether it follows any.
func (e *engine) follow(u *unit, r *replay) bool {
	var own, best *unit
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
	switch {
	case own != nil && own.end > u.start+jitter:
		e.overlaps(u, own)
	case best != nil:
		ends := e.endOf(best)
		for s := range u.newStart {
			u.newStart[s] = ends[s] + u.start - best.end
		}
	default:
		return false
	}
	return true
}

// overlaps places a unit at its distance from the start of one that it overlaps.
func (e *engine) overlaps(u, o *unit) {
	for s := range u.newStart {
		u.newStart[s] = o.newStart[s] + scaled(u.start-o.start, o.factor[s])
	}
}

// afterCall places a unit by its launch and by what it follows on its stream.
func (e *engine) afterCall(p *process, st *stream, u *unit, l *launch, called []int64) {
	prev := st.latest
	if l == nil {
		e.unlaunched(p, u, prev)
		return
	}
	late := u.start - l.start
	latency := late
	if v := e.latency[l.name]; v >= 0 {
		latency = v
	}
	if e.learn != nil {
		e.learn.launch(l, u, prev)
	}
	if o := e.crossed(p, u, l, prev, latency); o != nil {
		e.cross(u, o, called, prev, min(late, latency))
		return
	}
	e.constrain(u, l, called, prev, latency)
}

// crossed returns the unit of another stream of the process that a unit waited for, nil for
// none: it started late after both its call and its predecessor, and soon after that one.
func (e *engine) crossed(p *process, u *unit, l *launch, prev *unit, latency int64) (best *unit) {
	switch {
	case u.start-l.start <= latency+near || prev != nil && u.start-prev.end <= near:
		return nil
	case !l.streamWait && p.calls:
		return nil
	}
	for _, st := range p.streams {
		for k := st.count - 1; st != u.stream && k >= max(0, st.count-recent); k-- {
			o := st.ring[k%recent]
			if d := u.start - o.end; d >= -near && d <= near && (best == nil || o.end > best.end) {
				best = o
			}
		}
	}
	return best
}

// cross places a unit that follows one of another stream.
func (e *engine) cross(u, o *unit, called []int64, prev *unit, soon int64) {
	ends := e.endOf(o)
	for s, c := range called {
		u.newStart[s] = max(c+soon, ends[s]+u.start-o.end)
	}
	if prev == nil {
		return
	}
	ends = e.endOf(prev)
	for s := range called {
		u.newStart[s] = max(u.newStart[s], ends[s]+min(jitter, u.start-prev.end))
	}
}

// constrain places a unit after its call and its predecessor.
func (e *engine) constrain(u *unit, l *launch, called []int64, prev *unit, latency int64) {
	late := u.start - l.start
	soon := min(late, latency)
	switch {
	case prev == nil:
		for s, c := range called {
			u.newStart[s] = c + late
		}
	case prev.end > u.start+jitter:
		e.overlaps(u, prev)
		for s, c := range called {
			u.newStart[s] = max(u.newStart[s], c+soon)
		}
	case prev.end <= l.start+latency:
		ends, after := e.endOf(prev), min(jitter, u.start-prev.end)
		e.unexplained += max(0, late-latency)
		for s, c := range called {
			u.newStart[s] = max(c+late, ends[s]+after)
		}
	default:
		ends, after := e.endOf(prev), u.start-prev.end
		e.unexplained += max(0, after-jitter)
		for s, c := range called {
			u.newStart[s] = max(ends[s]+after, c+soon)
		}
	}
}

// unlaunched places a unit whose call is not known: it keeps its distance to what it
// follows on its stream, else to the unit of its process that started last.
func (e *engine) unlaunched(p *process, u, prev *unit) {
	switch {
	case prev != nil && prev.end > u.start+jitter:
		e.overlaps(u, prev)
	case prev != nil:
		ends := e.endOf(prev)
		for s := range u.newStart {
			u.newStart[s] = ends[s] + u.start - prev.end
		}
	default:
		for s := range u.newStart {
			u.newStart[s] = u.start + e.shift(p, s)
			if p.latest != nil {
				u.newStart[s] = p.latest.newStart[s] + u.start - p.latest.start
			}
		}
	}
}

// endOf returns when a unit ends.
func (e *engine) endOf(u *unit) []int64 {
	if u.meeting != nil {
		e.resolve(u.meeting)
	}
	return u.newEnd
}

// span makes a unit part of what is between the first and the last one of a process.
func (p *process) span(u *unit) {
	if p.begins == nil {
		p.begins, p.ends = slices.Clone(u.newStart), slices.Clone(u.newEnd)
	}
	for s := range p.begins {
		p.begins[s], p.ends[s] = min(p.begins[s], u.newStart[s]), max(p.ends[s], u.newEnd[s])
	}
}
