package replay

import "github.com/hostbound/hostbound/pkg/trace/event"

// isQuery tells whether a row asks whether the GPU is done.
func (e *engine) isQuery(o *openRow) bool { return o.kind == event.API && e.flags(o)&isQuery != 0 }

// startRun begins a run of queries with the first.
func (e *engine) startRun(first *openRow) {
	th := first.thread
	e.reach(th, first.start)
	o := e.newRow()
	*o = openRow{
		row:    row{start: first.start, end: first.row.end, kind: event.API, class: first.class, name: first.name, correlation: none},
		thread: th, run: true, counted: true, queries: 1, stream: -1,
		newStart: o.newStart, points: o.points[:0], changes: o.changes[:0], left: o.left[:0],
	}
	copy(o.newStart, th.now)
	th.open++
	th.calls = append(th.calls, o.name)
	if !e.plainHost {
		e.enter(o)
	}
	th.held = o
}

// goesOn tells whether a run of queries goes on with a row.
func (e *engine) goesOn(h, o *openRow) bool {
	if e.isQuery(o) {
		h.queries++
		h.row.end = max(h.row.end, o.row.end)
		return true
	}
	return o.kind == event.OS || o.start < h.row.end
}

// release ends a held row, and with it what is inside: where it waited for something, that
// says when it ends, and all inside is moved in proportion; else it is host time.
func (e *engine) release(o *openRow) {
	th := o.thread
	th.held = nil
	a, ok := e.awaited(o)
	if ok && a.old > o.start {
		e.wait(o, a)
		return
	}
	ended := false
	for _, p := range o.points {
		if p.t > o.row.end && !ended { // after a run of queries
			e.reach(th, o.row.end)
			e.close(o)
			ended = true
		}
		e.handle(p)
	}
	if !ended {
		e.reach(th, o.row.end)
		if o.lost > 0 {
			e.regain(th, o.lost)
		}
		if ok {
			e.notBefore(o, a)
		}
		e.close(o)
	}
	e.freeRows = append(e.freeRows, o)
}

// notBefore ends a call that found nothing to wait for, but would have waited for a: it did
// not because something else had waited before.
func (e *engine) notBefore(o *openRow, a *anchor) {
	th := o.thread
	for s := range th.now {
		if th.now[s] < a.new[s] && !e.leftOut(o, s) {
			th.now[s] = a.new[s]
		}
	}
}

// leftOut tells whether a scenario is without the wait of a call.
func (e *engine) leftOut(o *openRow, s int) bool {
	for _, k := range o.left {
		if c := &e.changes[k]; c.scenario == s && !(c.spare && e.bringsTokens(o)) {
			return true
		}
	}
	for k := range e.changes {
		if c := &e.changes[k]; c.scenario == s && c.what == otherWaits && !e.bringsTokens(o) {
			return true
		}
	}
	return false
}

// bringsTokens tells whether a wait is one that tokens come back by.
func (e *engine) bringsTokens(o *openRow) bool { return o.token || !e.tokens && o.toHost }

// asksSampled tells whether a wait is the first that began after kernels that sample had been
// launched: where nothing is copied back, tokens come by that.
func (p *process) asksSampled(o *openRow) bool {
	if p.sampling == 0 || p.sampling >= o.start {
		return false
	}
	p.sampling = 0
	return true
}

// wait ends a row that waited for something, at a.
func (e *engine) wait(o *openRow, a *anchor) {
	th := o.thread
	length, after := o.row.end-o.start, o.row.end-a.old
	if e.learn != nil {
		e.learn.waited(th, o, min(length, a.old-o.start))
	}
	for s := range th.now {
		f := th.factor[s]
		own := scaled(min(length, max(after, 0)), f)
		switch {
		case o.kind == event.OS && e.keep[s], o.kind != event.API && f != 1:
			th.now[s] = o.newStart[s] + scaled(length, f)
		case after < 0:
			th.now[s] = max(o.newStart[s], a.new[s]+after)
		default:
			th.now[s] = max(o.newStart[s]+own, a.new[s]+scaled(after, f))
		}
	}
	e.leaveOut(o, after)
	th.last = o.row.end
	points := o.points
	for len(points) > 0 && points[0].t <= o.row.end {
		e.between(o, points[0])
		points = points[1:]
	}
	e.close(o)
	for _, p := range points { // after a run of queries
		e.handle(p)
	}
	e.freeRows = append(e.freeRows, o)
}

// leaveOut leaves the wait out in the scenarios without it.
func (e *engine) leaveOut(o *openRow, after int64) {
	th := o.thread
	if o.kind != event.API {
		return
	}
	for s := range th.now {
		if !e.leftOut(o, s) {
			continue
		}
		own := int64(0)
		if o.class != event.APISync {
			own = scaled(min(o.row.end-o.start, max(after, 0)), th.factor[s])
		}
		th.now[s] = o.newStart[s] + own
	}
}

// between moves a point of another row in proportion between a wait's start and its end.
func (e *engine) between(o *openRow, p point) {
	if e.sink != nil {
		d, length := p.t-o.start, o.row.end-o.start
		if moved := o.thread.now[0] - o.newStart[0]; moved != length {
			d = int64(float64(d) * float64(moved) / float64(length))
		}
		if p.start {
			e.sink.start(p.row.stretch, p.row.ordinal, o.newStart[0]+d)
		} else {
			e.sink.end(p.row.stretch, p.row.ordinal, o.newStart[0]+d)
		}
	}
	if !p.start {
		e.freeRows = append(e.freeRows, p.row)
	}
}

// handle handles a point that nothing holds any more.
func (e *engine) handle(p point) {
	switch {
	case p.row.instant && p.start:
		e.startInstant(p.row)
	case p.start && p.row.thread.held == nil:
		e.open(p.row)
	case p.start:
		e.startHost(p.row)
	default:
		e.endHost(p.row)
	}
}

// awaited returns when what a row waited for ended, false where it waited for nothing.
func (e *engine) awaited(o *openRow) (*anchor, bool) {
	p, limit := o.thread.process, o.row.end+jitter
	switch o.kind {
	case event.NVTX:
		return &p.gil, p.gil.new != nil && p.gilOf != o.thread && p.gil.old > o.start && p.gil.old <= limit
	case event.OS:
		return e.waker(o)
	}
	u := e.awaitedUnit(o, p, limit)
	if u == nil || u.end <= o.start && o.class != event.APISync {
		return nil, false
	}
	o.token, o.toHost = u.token || !e.copies && p.asksSampled(o), u.toHost
	return &anchor{u.end, e.endOf(u)}, true
}

// awaitedUnit returns the unit that a call waited for, nil for none.
func (e *engine) awaitedUnit(o *openRow, p *process, limit int64) *unit {
	flags := e.flags(o)
	switch {
	case o.copied != nil:
		return o.copied
	case o.full, o.queries > 1:
		return e.lastEnded(p.streams, never, limit, o.start)
	case o.class != event.APISync || o.queries > 0:
		return nil
	case flags&isEventSync != 0:
		return e.recorded(o, p, limit)
	case o.stream >= 0 && flags&isStreamSync != 0:
		st := [1]*stream{&e.streams[o.stream]}
		return e.lastEnded(st[:], o.start, limit, o.start)
	}
	return e.lastEnded(p.streams, o.start, limit, o.start)
}

// record returns the record of an event that is so many back from t, 1 for the latest; nil
// where none is known.
func (p *process) record(t int64, age int) *record {
	for k := p.recorded - 1; k >= max(0, p.recorded-maxAge); k-- {
		r := &p.records[k%maxAge]
		if r.t >= t {
			continue
		}
		if age--; age == 0 {
			return r
		}
	}
	return nil
}

// recorded returns the unit that a wait for an event is for.
func (e *engine) recorded(o *openRow, p *process, limit int64) *unit {
	r := p.record(o.start, e.age)
	switch {
	case r == nil:
		return e.lastEnded(p.streams, never, limit, o.start)
	case r.unit == nil || r.unit.end <= limit:
		return r.unit
	}
	return e.lastEnded(p.streams, r.t, limit, o.start)
}

// lastEnded returns the unit of some streams that ended last by limit and after from, of those
// launched before a time; nil for none.
func (e *engine) lastEnded(streams []*stream, before, limit, from int64) (best *unit) {
	for _, st := range streams {
		for k := st.count - 1; k >= max(0, st.count-recent); k-- {
			u := st.ring[k%recent]
			if u.call < before && u.end <= limit && (best == nil || u.end > best.end) {
				best = u
			}
			if u.call < before && u.end <= from {
				break
			}
		}
	}
	return best
}

// waker returns when the thread of the process tree whose range or call ended last before the
// end of a wait did so.
func (e *engine) waker(o *openRow) (best *anchor, ok bool) {
	if o.row.end-o.start <= threadWait {
		return nil, false
	}
	for k := range e.threads {
		th := &e.threads[k]
		if th == o.thread || th.ended.new == nil || th.process != o.thread.process && e.t.processes[e.t.threads[k].process] >= 0 {
			continue
		}
		if a := &th.ended; a.old <= o.row.end && a.old >= o.row.end-wakes && a.old > o.start && (best == nil || a.old > best.old) {
			best = a
		}
	}
	return best, best != nil
}

// blocks notes that a copy ended inside the call that launched it.
func (e *engine) blocks(th *thread, u *unit, called int64) {
	if h := th.held; h != nil && h.kind == event.API && h.start == called && h.queries == 0 && u.end <= h.row.end {
		e.hold(&h.copied, u)
	}
}

// addSync moves what the GPU side knows of a synchronisation with its call, of which it tells
// the stream.
func (e *engine) addSync(p *process, r *row) {
	for k := range e.threads {
		th := &e.threads[k]
		if h := th.held; th.process == p && h != nil && h.kind == event.API && h.correlation == r.correlation && r.correlation != none {
			if h.stream = r.place; e.sink != nil {
				e.addInside(h, r)
			}
			return
		}
	}
	e.drift(p, r)
}

// addInside has a held row move a row of no thread.
func (e *engine) addInside(h *openRow, r *row) {
	o := e.newRow()
	*o = openRow{row: *r, thread: h.thread, instant: true, newStart: o.newStart, points: o.points[:0], changes: o.changes[:0], left: o.left[:0]}
	e.push(end{t: r.end, order: hostEnds, row: o})
	e.startInstant(o)
}
