package replay

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// thread is the state of a host thread: a point of old time, and when it is in each scenario.
type thread struct {
	process  *process
	launches bool // some unit is its work
	begun    bool
	last     int64 // the point
	now      []int64
	factor   []float64 // of the host time that follows, by scenario
	depth    []int16   // open rows that each change is about
	credit   []int64   // of host time that fixed amounts take away yet, nil for none
	waiting  int       // open waits in the operating system
	open     int       // open ranges and calls
	idle     int64     // when there were none last
	held     *openRow  // the outermost row whose end says when what is inside of it was
	queue    launches
	wait     bool   // it made a stream wait for an event since it launched
	ended    anchor // its last end of a range or call
	ranges   []openRange
	calls    []int32 // names of open calls
	rank     int32
	ran      int64  // until when it was on a CPU, 0 for never
	passes   []pass // that a graph would replay
}

// openRow is a row of a thread that has begun.
type openRow struct {
	row
	thread   *thread
	instant  bool // it says what the thread did, and is no point of it
	counted  bool // it is among what is open on its thread
	newStart []int64
	points   []point // of other rows, while it is held
	run      bool    // no row: queries that follow one another, as one wait
	queries  int     // of a run
	stream   int32   // that it waits for, -1 where that is not known
	copied   *unit   // a copy of its own that ended inside
	full     bool    // the queue was full
	token    bool    // it waited for tokens to come back
	toHost   bool    // it waited for a copy to the host
	changes  []int32
	left     []int32 // changes that leave its wait out
	lost     int64   // inside, without a CPU
}

// point is an instant of a row inside a held one.
type point struct {
	t     int64
	row   *openRow // whose start or end it is
	start bool
}

// addHost begins a range, a call or a call of the operating system.
func (e *engine) addHost(r *row) {
	th := &e.threads[r.place]
	o := e.newRow()
	*o = openRow{row: *r, thread: th, newStart: o.newStart, points: o.points[:0], changes: o.changes[:0], left: o.left[:0], stream: -1}
	e.push(end{t: r.end, order: hostEnds, row: o})
	e.startHost(o)
}

// startHost begins a row of a thread, or has the held one do it.
func (e *engine) startHost(o *openRow) {
	th := o.thread
	if h := th.held; h != nil && h.run && !e.goesOn(h, o) {
		e.release(h)
	}
	if th.held == nil && e.isQuery(o) {
		e.startRun(o)
	}
	if h := th.held; h != nil {
		h.points = append(h.points, point{t: o.start, row: o, start: true})
		return
	}
	e.open(o)
}

// newRow returns a row that nothing refers to.
func (e *engine) newRow() *openRow {
	if n := len(e.freeRows); n > 0 {
		o := e.freeRows[n-1]
		e.freeRows = e.freeRows[:n-1]
		return o
	}
	return &openRow{newStart: make([]int64, e.n)}
}

// open begins a row at the thread's time.
func (e *engine) open(o *openRow) {
	th := o.thread
	e.reach(th, o.start)
	copy(o.newStart, th.now)
	if e.sink != nil {
		e.sink.start(o.stretch, o.ordinal, th.now[0])
	}
	o.counted = true
	if o.kind != event.OS {
		th.open++
	}
	if o.kind == event.NVTX {
		e.enterRange(th, o)
	}
	if !e.plainHost {
		e.enter(o)
	}
	switch {
	case o.kind == event.API:
		th.calls = append(th.calls, o.name)
		e.call(o)
	case o.kind == event.NVTX:
		e.marks(o)
	case waitsInOS(o.class) && th.launches && o.class != event.OSSleep && o.class != event.OSFile && o.end-o.start > threadWait:
		th.held = o
	}
	if th.held == nil && o.kind == event.NVTX && e.flags(o)&waitsForGIL != 0 {
		th.held = o
	}
}

// flags are those of a row's name.
func (e *engine) flags(o *openRow) uint16 { return e.t.names.all[o.name].flags }

// waitsInOS tells whether calls of a class of the operating system wait, or read and write.
func waitsInOS(c event.Class) bool {
	switch c {
	case event.OSLock, event.OSWait, event.OSIO, event.OSJoin, event.OSSleep, event.OSFile:
		return true
	}
	return false
}

// call begins a call of the GPU's library.
func (e *engine) call(o *openRow) {
	th, p := o.thread, o.thread.process
	flags := e.flags(o)
	switch {
	case flags&isStreamWait != 0:
		th.wait = true
	case flags&isRecord != 0:
		r := &p.records[p.recorded%maxAge]
		p.recorded++
		r.t = o.start
		e.hold(&r.unit, p.last)
	}
	if th.held == nil {
		th.held = o
	}
	if th.launches && flags&(isStreamWait|isRecord|isQuery) == 0 && o.class != event.APISync {
		e.forget(th.queue.add(launch{start: o.start, name: o.name, streamWait: th.wait}, th.now))
		if o.class == event.Launch || o.class == event.GraphLaunch {
			th.wait = false
			p.launched, e.launched = th, th
		}
	}
}

// marks notes the start of a forward-step range.
func (e *engine) marks(o *openRow) {
	if p := o.thread.process; o.class == event.StepMarker && e.byRange && len(p.starts) > 0 {
		e.bind(p, o.start, o.newStart)
	}
}

// reach brings a thread to a point of old time. A thread that launches nothing and did
// nothing for a while was woken: it is where the thread is that launched last.
func (e *engine) reach(th *thread, t int64) {
	switch {
	case !th.begun:
		th.begun, th.last, th.idle = true, t, t
		th.now, th.factor = make([]int64, e.n), make([]float64, e.n)
		for s := range th.now {
			th.now[s] = t + e.shift(th.process, s)
		}
		e.refactor(th)
		return
	case !th.launches && th.open == 0 && t-th.idle > idleThread:
		for s := range th.now {
			th.now[s] = t + e.shift(th.process, s)
		}
		th.last = t
		return
	}
	if e.learn != nil {
		e.learn.host(th, t-th.last)
	}
	if d := t - th.last; d < 0 { // rows that overlap without one being inside the other
		for s := range th.now {
			th.now[s] += d
		}
	}
	e.spend(th, th.now, t-th.last)
	if len(th.passes) > 0 {
		e.captured(th, th.last, t)
	}
	th.last = t
}

// spend adds host time to times.
func (e *engine) spend(th *thread, now []int64, d int64) {
	if d <= 0 {
		return
	}
	if e.plainHost {
		for s := range now {
			now[s] += d
		}
		return
	}
	for s := range now {
		now[s] += scaled(d, th.factor[s])
	}
	if th.credit == nil {
		return
	}
	for s, c := range th.credit {
		if c > 0 {
			use := min(c, scaled(d, th.factor[s]))
			now[s] -= use
			th.credit[s] -= use
		}
	}
}

// endHost ends a row of a thread.
func (e *engine) endHost(o *openRow) {
	th := o.thread
	if o.instant {
		e.endInstant(o)
		return
	}
	if th.held == o {
		e.release(o)
		return
	}
	if h := th.held; h != nil && h.run && o.counted && o.row.end > h.row.end {
		e.release(h)
	}
	if h := th.held; h != nil {
		h.points = append(h.points, point{t: o.row.end, row: o})
		return
	}
	e.reach(th, o.row.end)
	e.close(o)
	e.freeRows = append(e.freeRows, o)
}

// close ends a row at the thread's time.
func (e *engine) close(o *openRow) {
	th := o.thread
	if e.sink != nil && !o.run {
		e.sink.end(o.stretch, o.ordinal, th.now[0])
	}
	if o.counted {
		if o.kind != event.OS {
			th.open--
			th.idle = o.row.end
		}
		switch o.kind {
		case event.NVTX:
			e.leaveRange(th, o.name)
		case event.API:
			th.calls = without(th.calls, o.name)
		}
		if !e.plainHost {
			e.leave(o)
		}
	}
	if o.kind != event.OS {
		th.ended.set(o.row.end, th.now)
	}
	if o.kind == event.NVTX {
		e.mark(o)
	}
	if e.learn != nil && !o.run {
		e.learn.row(e, o)
	}
	if o.copied != nil {
		e.drop(o.copied)
		o.copied = nil
	}
}

// without is a stack without the topmost of some names.
func without(stack []int32, name int32) []int32 {
	for k := len(stack) - 1; k >= 0; k-- {
		if stack[k] == name {
			return append(stack[:k], stack[k+1:]...)
		}
	}
	return stack
}

// mark notes the end of a range that others may need.
func (e *engine) mark(o *openRow) {
	p := o.thread.process
	if o.class == event.StepMarker && e.byRange {
		p.markers[p.marked%len(p.markers)].set(o.row.end, o.thread.now)
		p.marked++
	}
	if e.flags(o)&holdsGIL != 0 {
		p.gil.set(o.row.end, o.thread.now)
		p.gilOf = o.thread
	}
}

// enter makes changes count that are about a row.
func (e *engine) enter(o *openRow) {
	th := o.thread
	if o.kind == event.OS && waitsInOS(o.class) {
		th.waiting++
	}
	for _, k := range e.byName[o.name] {
		if e.about(k, o) {
			e.count(o, k)
		}
	}
	if e.classed {
		e.enterClass(o)
	}
	if o.kind == event.NVTX && e.paths.of != nil {
		for k := range e.changes {
			if c := &e.changes[k]; c.what == rangeTime && c.placed && c.glob == "" && e.paths.of[k] == th.path() && th.path() >= 0 && c.on(th.rank) {
				e.count(o, int32(k))
			}
		}
	}
	for k := range e.changes {
		c := &e.changes[k]
		if c.what == launchTime && o.kind == event.API && (o.class == event.Launch || o.class == event.GraphLaunch) {
			e.count(o, int32(k))
		}
	}
	e.refactor(th)
}

// about tells whether a change of rows of this name is about this row.
func (e *engine) about(k int32, o *openRow) bool {
	c := &e.changes[k]
	if c.placed && e.paths.of[k] != o.thread.path() || !c.on(o.thread.rank) {
		return false
	}
	switch c.what {
	case rangeTime:
		return o.kind == event.NVTX
	case callTime:
		return o.kind != event.NVTX
	case noWait:
		return o.kind == event.API && (c.within == "" || e.inside(o.thread, c))
	}
	return false
}

// inside tells whether a range is open that a change is about.
func (e *engine) inside(th *thread, c *applied) bool {
	for _, r := range th.ranges {
		if e.fits(&c.Change, c.within, int(r.name)) {
			return true
		}
	}
	return false
}

// count makes a change count from a row on.
func (e *engine) count(o *openRow, k int32) {
	th, c := o.thread, &e.changes[k]
	if c.what == noWait {
		o.left = append(o.left, k)
		if o.class != event.APISync || c.spare {
			return // what else the call does remains
		}
	}
	o.changes = append(o.changes, k)
	th.depth[k]++
	if c.Amount == 0 || th.depth[k] > 1 {
		return
	}
	if c.Amount > 0 {
		th.now[c.scenario] += c.Amount
		return
	}
	if th.credit == nil {
		th.credit = make([]int64, e.n)
	}
	th.credit[c.scenario] -= c.Amount
}

// leave makes changes count no more that are about a row.
func (e *engine) leave(o *openRow) {
	th := o.thread
	if o.kind == event.OS && waitsInOS(o.class) {
		th.waiting--
	}
	for _, k := range o.changes {
		if th.depth[k]--; th.depth[k] == 0 && th.credit != nil && e.changes[k].Amount < 0 {
			th.credit[e.changes[k].scenario] = 0
		}
	}
	e.refactor(th)
}

// refactor finds the factors of the host time that follows.
func (e *engine) refactor(th *thread) {
	for s := range th.factor {
		if th.factor[s] = e.host[s]; th.waiting > 0 {
			th.factor[s] = 1
		}
	}
	for k := range e.changes {
		c := &e.changes[k]
		if c.what == allHost {
			th.factor[c.scenario] = 0
		}
		if th.depth[k] > 0 {
			switch {
			case c.what == noWait:
				th.factor[c.scenario] = 0
			case c.Amount == 0:
				th.factor[c.scenario] *= c.Factor
			}
		}
	}
}

// addInstants moves a row that says what a thread did, but is no point of it.
func (e *engine) addInstants(r *row) {
	th := &e.threads[r.place]
	if r.kind == event.Overhead && r.class == event.QueueFull && th.held != nil {
		th.held.full = true
	}
	if e.sink == nil {
		return
	}
	o := e.newRow()
	*o = openRow{row: *r, thread: th, instant: true, newStart: o.newStart, points: o.points[:0], changes: o.changes[:0], left: o.left[:0]}
	e.push(end{t: r.end, order: hostEnds, row: o})
	e.startInstant(o)
}

// startInstant and endInstant move such a row, or have the held one do it.
func (e *engine) startInstant(o *openRow) {
	if h := o.thread.held; h != nil {
		h.points = append(h.points, point{t: o.start, row: o, start: true})
		return
	}
	e.sink.start(o.stretch, o.ordinal, e.at(o.thread, o.start))
}

func (e *engine) endInstant(o *openRow) {
	if h := o.thread.held; h != nil {
		h.points = append(h.points, point{t: o.row.end, row: o})
		return
	}
	e.sink.end(o.stretch, o.ordinal, e.at(o.thread, o.row.end))
	e.freeRows = append(e.freeRows, o)
}

// at is when an instant of a thread is in the first scenario.
func (e *engine) at(th *thread, t int64) int64 {
	if !th.begun || !th.launches && th.open == 0 && t-th.idle > idleThread {
		return t + e.shift(th.process, 0)
	}
	return th.now[0] + scaled(t-th.last, th.factor[0])
}
