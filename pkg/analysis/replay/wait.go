package replay

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// waits finds what threads wait for, and which waits a scenario is without.
type waits struct {
	*pass
	tokens     map[waitKey]bool // see known
	unhindered []int64          // duration of calls that wait for nothing, by code of the name, 0 if unknown
	age        []int            // by thread: which record its event waits are for, 1 for the latest
	units      []*unit          // scratch of lastOfEach
}

// isQuery reports whether a row asks if the GPU is done.
func (w *waits) isQuery(o *openRow) bool {
	return o.kind == event.API && w.t.names.all[o.name].flags&isQuery != 0
}

// startRun begins a run of queries with the first.
func (w *waits) startRun(first *openRow) {
	th := first.thread
	w.hosts.reach(th, first.start)
	o := w.hosts.newRow(&row{start: first.start, end: first.row.end, kind: event.API, class: first.class, name: first.name, correlation: none}, th)
	o.run, o.queries = true, 1
	copy(o.newStart, th.now)
	w.hosts.opened(o)
	th.held = o
}

// goesOn reports whether a run of queries continues with a row. A thread that launches
// nothing and queries only now and then waits for nothing.
func (w *waits) goesOn(run, o *openRow) bool {
	if w.isQuery(o) {
		if !o.thread.launches && o.start-run.row.end > idleThread {
			return false
		}
		run.queries++
		run.row.end = max(run.row.end, o.row.end)
		return true
	}
	return o.kind == event.OS || o.start < run.row.end
}

// release ends a held row and what is inside it. If the row waited for something, that
// decides when it ends, and everything inside moves in proportion. Otherwise it is host
// time.
func (h *hosts) release(o *openRow) {
	th := o.thread
	th.held = nil
	if h.learn != nil && o.kind == event.API && th.launches {
		if l := h.waits.waitsFor(o); l != nil {
			h.learn.tokens.add(l, th.rank, o.start, th.queue.list[len(th.queue.list)-1].start)
		}
	}
	a, ok := h.waits.awaited(o)
	if ok && a.old > o.start {
		h.wait(o, a)
		return
	}
	if h.learn != nil && o.kind == event.OS && !ok && th.launches {
		h.learn.alone[o.class] += o.row.end - o.start
	}
	ended := false
	for _, p := range o.points {
		if p.t > o.row.end && !ended { // after a run of queries
			h.reach(th, o.row.end)
			h.close(o)
			ended = true
		}
		h.handle(p)
	}
	if !ended {
		h.reach(th, o.row.end)
		if ok {
			h.waits.notBefore(o, a)
		}
		if o.class == event.Memop && o.copied == nil && h.t.copies {
			h.waits.queue(o)
		}
		h.waits.afterTokens(o)
		h.close(o)
	}
	h.free = append(h.free, o)
}

// queue shortens a copy call without a GPU row to the time of queueing it, in scenarios
// without its wait.
func (w *waits) queue(o *openRow) {
	for s := range o.thread.now {
		if more := o.row.end - o.start - queuedCopy; more > 0 && len(o.left) > 0 && w.leftOut(o, s) {
			o.thread.now[s] -= more
		}
	}
}

// notBefore ends a call, which found nothing left to wait for, no earlier than a: in the
// recording, something else had waited before.
func (w *waits) notBefore(o *openRow, a *anchor) {
	th := o.thread
	for s := range th.now {
		if th.now[s] < a.new[s] && !w.leftOut(o, s) {
			th.now[s] = a.new[s]
		}
	}
}

// leftOut reports whether scenario s is without the wait of a call.
func (w *waits) leftOut(o *openRow, s int) bool {
	for _, k := range o.left {
		if c := &w.plan.changes[k]; c.scenario == s && (c.tokens == anyWait || (c.tokens == forTokens) == w.bringsTokens(o)) {
			return true
		}
	}
	return false
}

// wait ends a row that waited for a.
func (h *hosts) wait(o *openRow, a *anchor) {
	th := o.thread
	length, after := o.row.end-o.start, o.row.end-a.old
	least := max(after, 0) // the call's own time
	if o.full {
		least = max(after, h.waits.freeLength(o.name))
	}
	if h.learn != nil {
		h.learn.waited(th, o, min(length, a.old-o.start))
	}
	for s := range th.now {
		f := th.factor[s]
		own := scaled(min(length, least), f)
		switch {
		case o.kind != event.API && (h.plan.keep[s] || f != 1):
			th.now[s] = o.newStart[s] + scaled(length, f)
		case after < 0:
			th.now[s] = max(o.newStart[s], a.new[s]+after)
		default:
			th.now[s] = max(o.newStart[s]+own, a.new[s]+scaled(after, f))
		}
	}
	h.waits.leaveOut(o, after)
	h.waits.afterTokens(o)
	if h.plan.ahead && h.waits.bringsTokens(o) {
		th.tokens.set(a.old, a.new)
	}
	if th.why != nil {
		h.waits.shorten(o, a)
	}
	points := o.points
	for len(points) > 0 && points[0].t <= o.row.end {
		h.between(o, points[0])
		points = points[1:]
	}
	th.last, th.idle = o.row.end, max(th.idle, o.row.end)
	h.close(o)
	for _, p := range points { // after a run of queries
		h.handle(p)
	}
	h.free = append(h.free, o)
}

// shorten subtracts what changes of host time by why remove. In an OS call all of its
// time counts, in a wait for the GPU only the time that it took to return.
func (w *waits) shorten(o *openRow, a *anchor) {
	th, from := o.thread, o.start
	w.plan.whys.advance(th.why, o.row.end)
	for s := range th.now {
		if o.kind == event.API {
			from = max(o.start, a.old)
		}
		if ns := th.less(s, from, o.row.end); ns > 0 && o.kind == event.API {
			th.now[s] -= scaled(ns, th.factor[s])
		} else if ns > 0 {
			th.now[s] = o.newStart[s] + scaled(o.row.end-o.start-ns, th.factor[s])
		}
	}
	th.why.forget(o.start)
}

// afterTokens keeps the distance between tokens and the next message from another
// process, in scenarios without the wait for the tokens. A scheduler or a draft model
// may make the message from them. Where waits keep their length, the message keeps its
// length after the tokens.
func (w *waits) afterTokens(o *openRow) {
	th := o.thread
	if o.kind != event.OS || o.class != event.OSIO || len(th.tokens.new) == 0 {
		return
	}
	for s, t := range th.tokens.new {
		after := o.row.end - th.tokens.old
		if w.plan.keep[s] {
			after = o.row.end - o.start
		}
		if w.plan.isAhead[s] {
			th.now[s] = max(th.now[s], t+after)
		}
	}
	th.tokens.new = th.tokens.new[:0]
}

// leaveOut removes the wait in the scenarios without it.
func (w *waits) leaveOut(o *openRow, after int64) {
	th := o.thread
	if o.kind != event.API {
		return
	}
	for s := range th.now {
		if !w.leftOut(o, s) {
			continue
		}
		own := int64(0)
		if o.class != event.APISync {
			own = scaled(min(o.row.end-o.start, max(after, w.freeLength(o.name))), th.factor[s])
		}
		if o.copied != nil && !o.copied.toHost { // the copy would only be queued
			own = min(o.row.end-o.start, queuedCopy)
		}
		th.now[s] = o.newStart[s] + own
	}
}

// freeLength returns the duration of calls of a name that wait for nothing, ns, 0 if
// unknown.
func (w *waits) freeLength(name int32) int64 {
	if int(name) < len(w.unhindered) {
		return w.unhindered[name]
	}
	return 0
}

// between moves a point inside a wait in proportion to the wait's new length.
func (h *hosts) between(o *openRow, p point) {
	if h.sink != nil {
		d, length := p.t-o.start, o.row.end-o.start
		if moved := o.thread.now[0] - o.newStart[0]; moved != length {
			d = int64(float64(d) * float64(moved) / float64(length))
		}
		if p.start {
			h.sink.start(p.row.stretch, p.row.ordinal, o.newStart[0]+d)
		} else {
			h.sink.end(p.row.stretch, p.row.ordinal, o.newStart[0]+d)
		}
	}
	switch inside := p.row.row.end <= o.row.end; {
	case p.start && p.row.kind == event.NVTX && !inside: // it stays open after the wait
		h.opened(p.row)
	case !p.start && p.row.counted:
		h.closed(p.row)
		fallthrough
	case !p.start:
		h.free = append(h.free, p.row)
	}
}

// handle handles a point that is no longer held.
func (h *hosts) handle(p point) {
	switch {
	case p.row.instant:
		h.instant(p)
	case p.start && p.row.thread.held == nil:
		h.open(p.row)
	case p.start:
		h.start(p.row)
	default:
		h.end(p.row)
	}
}

// awaited returns when what a row waited for ended, false if it waited for nothing.
func (w *waits) awaited(o *openRow) (*anchor, bool) {
	p, limit := o.thread.process, o.row.end+jitter
	switch o.kind {
	case event.NVTX:
		return &p.gil, p.gil.new != nil && p.gilOf != o.thread && p.gil.old > o.start && p.gil.old <= limit
	case event.OS:
		return w.waker(o)
	}
	last, units := w.awaitedUnits(o, p, limit)
	if last == nil || last.end <= o.start && o.class != event.APISync {
		return nil, false
	}
	a, copied := &anchor{last.end, w.gpu.endOf(last)}, false
	for _, u := range units {
		if u.stream.device != last.stream.device {
			continue
		}
		for s, end := range w.gpu.endOf(u) {
			if end <= a.new[s] {
				continue
			}
			if !copied {
				a.new, copied = slices.Clone(a.new), true
			}
			a.new[s] = end
		}
	}
	return a, true
}

// awaitedUnits returns the unit that a call waited for, the last to end, nil for none.
// all are the units of other streams that it also waited for: one of them may end last
// in a scenario.
func (w *waits) awaitedUnits(o *openRow, p *process, limit int64) (last *unit, all []*unit) {
	flags := w.hosts.t.names.all[o.name].flags
	switch {
	case o.copied != nil:
		return o.copied, nil
	case o.full, o.queries > 1:
		return lastEnded(p.streams, never, limit, o.start), nil
	case o.class != event.APISync || o.queries > 0:
		return nil, nil
	case flags&isEventSync != 0:
		return w.recorded(o, p, limit)
	case o.stream >= 0 && flags&isStreamSync != 0:
		st := [1]*stream{&w.gpu.streams[o.stream]}
		return lastEnded(st[:], o.start, limit, o.start), nil
	}
	return w.lastOfEach(p.streams, o.start, limit, o.start)
}

// record returns the age-th latest event record before t, 1 for the latest; nil if
// unknown.
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

// recorded returns the units that an event wait is for, and the last of them to end.
func (w *waits) recorded(o *openRow, p *process, limit int64) (last *unit, all []*unit) {
	r := p.record(o.start, w.age[o.thread.number])
	if r == nil {
		return lastEnded(p.streams, never, limit, o.start), nil
	}
	if last = latestOf(r.units); last == nil || last.end <= limit {
		return last, r.units
	}
	return w.lastOfEach(p.streams, r.t, limit, o.start)
}

// lastOfEach is lastEnded, and also returns the last unit of each stream. It excludes
// streams on which work went on, because the call did not wait for these.
func (w *waits) lastOfEach(streams []*stream, before, limit, from int64) (last *unit, all []*unit) {
	last, w.units = lastEnded(streams, before, limit, from), w.units[:0]
	for k, st := range streams {
		u := lastEnded(streams[k:k+1], before, limit, from)
		if u != nil && (st.latest.end <= limit || st.latest.call >= before) {
			w.units = append(w.units, u)
		}
	}
	return last, w.units
}

// lastEnded returns the unit of the streams with the latest end, up to limit, among
// those launched before a time; nil for none. It need not look at units that ended by
// from.
func lastEnded(streams []*stream, before, limit, from int64) (best *unit) {
	for _, st := range streams {
		for u := range st.latestFirst {
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

// waker returns the last end, before a wait ended, of a range or call of another thread
// of the process tree. It must be recent enough to have woken the thread. Other ranks
// count only for calls of class io, in which messages arrive.
func (w *waits) waker(o *openRow) (best *anchor, ok bool) {
	if o.row.end-o.start <= threadWait {
		return nil, false
	}
	for k := range w.hosts.threads {
		th := &w.hosts.threads[k]
		if th == o.thread || th.ended.new == nil {
			continue
		}
		if th.process != o.thread.process && th.rank >= 0 && o.class != event.OSIO {
			continue // other ranks wake by messages only
		}
		if a := &th.ended; a.old <= o.row.end && a.old >= o.row.end-wakes && a.old > o.start && (best == nil || a.old > best.old) {
			best = a
		}
	}
	return best, best != nil
}

// blocks records that a copy ended inside the call that launched it. An asynchronous
// copy from or to pinned memory does not block, and does not count.
func (h *hosts) blocks(th *thread, u *unit, r *row) {
	if o := th.held; o != nil && o.kind == event.API && o.row.start == r.launch && o.queries == 0 && u.end <= o.row.end &&
		(r.class != event.Pinned || h.t.names.all[o.name].flags&isBlocking != 0) {
		h.gpu.hold(&o.copied, u)
	}
}

// addSync moves the GPU's row of a synchronisation with its call, and tells the call its
// stream.
func (h *hosts) addSync(p *process, r *row) {
	for _, th := range p.threads {
		if o := th.held; r.correlation != none && o != nil && o.kind == event.API && o.correlation == r.correlation {
			if o.stream = r.place; h.sink != nil {
				h.addInside(th, r)
			}
			return
		}
	}
	h.drift(p, r)
}
