package replay

import "github.com/hostbound/hostbound/pkg/trace/event"

// thread is the state of a host thread: a point in old time, and in each scenario.
type thread struct {
	identity
	begun  bool
	last   int64     // the point in old time
	now    []int64   // the point in new time, by scenario
	factor []float64 // of the host time that follows, by scenario
	depth  []int16   // by change: open rows that it applies to
	credit []int64   // host time that fixed amounts still take away, by scenario; nil for none
	activity
	held  *openRow // the outermost row whose end decides when what is inside it was; nil for none
	queue launches
	joining
	ended  anchor // its last end of a range or call
	tokens anchor // the last end of a wait that brought tokens back, until a message comes; if a scenario asks
	ranges []openRange
	calls  []int32   // names of open calls, the innermost last
	passes []forward // forward passes that a graph would replay
	why    *whyTime  // nil if no change asks
}

// identity identifies a thread.
type identity struct {
	process  *process
	number   int32
	rank     int32
	launches bool  // some unit was launched by it
	device   int32 // GPU of the unit that it launched last
	watched  bool  // its OS calls were recorded
}

// activity is the state of a thread's rows.
type activity struct {
	waiting int   // open OS calls that wait
	open    int   // open ranges and calls
	idle    int64 // when open was last 0
	since   int64 // when it became active after being idle for idleThread
}

// joining says whether a thread made a stream wait for an event since its last launch.
type joining struct {
	wait     bool
	recorded int64 // when the latest event before that wait was recorded
}

// openRow is a row of a thread that has begun.
type openRow struct {
	row
	number   int32 // among hosts.rows
	thread   *thread
	instant  bool // it moves with the thread but is no point of it
	counted  bool // it counts as open on its thread
	newStart []int64
	points   []point // of other rows, while it is held
	run      bool    // not a row: consecutive queries as one wait
	queries  int     // of a run
	stream   int32   // the stream that it waits for, -1 if unknown
	copied   *unit   // the copy that it launched and that ended inside it, nil for none
	full     bool    // the launch queue was full
	changes  []int32 // indexes of changes that apply to it
	left     []int32 // indexes of changes that remove its wait
}

// point is the start or end of a row inside a held row.
type point struct {
	t     int64
	row   *openRow // whose start or end it is
	start bool
}

// hosts moves the threads, from point to point through host time. Waits are in wait.go.
type hosts struct {
	*pass
	threads  []thread
	launched *thread // the thread that launched last, of all processes
	rows     []*openRow
	free     []*openRow
}

// newRow returns an open row of a thread, from the free list if possible.
func (h *hosts) newRow(r *row, th *thread) *openRow {
	var o *openRow
	if n := len(h.free); n > 0 {
		o, h.free = h.free[n-1], h.free[:n-1]
	} else {
		o = &openRow{number: int32(len(h.rows)), newStart: make([]int64, h.n)}
		h.rows = append(h.rows, o)
	}
	*o = openRow{row: *r, number: o.number, thread: th, newStart: o.newStart, points: o.points[:0], changes: o.changes[:0], left: o.left[:0], stream: -1}
	return o
}

// add begins a range, a GPU API call or an OS call.
func (h *hosts) add(r *row) {
	o := h.newRow(r, &h.threads[r.place])
	h.agenda.push(r.end, hostEnds, o.number)
	h.start(o)
}

// start begins a row of a thread, or leaves that to the held row.
func (h *hosts) start(o *openRow) {
	th := o.thread
	if held := th.held; held != nil && held.run && !h.waits.goesOn(held, o) {
		h.release(held)
	}
	if th.held == nil && h.waits.isQuery(o) {
		h.waits.startRun(o)
	}
	if held := th.held; held != nil {
		held.points = append(held.points, point{t: o.start, row: o, start: true})
		return
	}
	h.open(o)
}

// open begins a row at the thread's time.
func (h *hosts) open(o *openRow) {
	th := o.thread
	h.reach(th, o.start)
	copy(o.newStart, th.now)
	if h.sink != nil {
		h.sink.start(o.stretch, o.ordinal, th.now[0])
	}
	h.opened(o)
	switch {
	case o.kind == event.API:
		h.call(o)
	case o.kind == event.NVTX:
		if o.class == event.StepMarker {
			h.steps.startsRange(th.process, o.start, o.newStart)
		}
	case waitsInOS(o.class) && o.class != event.OSSleep && o.class != event.OSFile && o.row.end-o.start > threadWait:
		th.held = o
	}
	if th.held == nil && o.kind == event.NVTX && h.t.names.all[o.name].flags&waitsForGIL != 0 {
		th.held = o
	}
}

// opened counts a row as open on its thread.
func (h *hosts) opened(o *openRow) {
	th := o.thread
	o.counted = true
	switch o.kind {
	case event.NVTX:
		if !o.marksOthers() {
			th.open++
		}
		h.plan.enterRange(o)
	case event.API:
		th.open++
		th.calls = append(th.calls, o.name)
	}
	if !h.plan.plain {
		h.plan.enter(o)
	}
}

// marksOthers reports whether a row marks a step that other threads execute: its thread
// launches nothing, and what it does meanwhile is unknown.
func (o *openRow) marksOthers() bool {
	return o.class == event.StepMarker && o.kind == event.NVTX && !o.thread.launches
}

// waitsInOS reports whether OS calls of a class wait, sleep, read or write.
func waitsInOS(c event.Class) bool {
	switch c {
	case event.OSLock, event.OSWait, event.OSIO, event.OSJoin, event.OSSleep, event.OSFile:
		return true
	}
	return false
}

// call begins a GPU API call.
func (h *hosts) call(o *openRow) {
	th, q := o.thread, o.thread.process
	flags := h.t.names.all[o.name].flags
	switch {
	case flags&isStreamWait != 0:
		th.wait, th.recorded = true, o.start
		if q.recorded > 0 {
			th.recorded = q.records[(q.recorded-1)%maxAge].t
		}
	case flags&isRecord != 0:
		r := &q.records[q.recorded%maxAge]
		if q.recorded++; h.learn != nil {
			h.learn.records[h.t.threads[th.number].process]++
		}
		r.begin(&h.gpu, q, o.start)
	}
	if th.held == nil {
		th.held = o
	}
	if !th.launches || flags&(isStreamWait|isRecord|isQuery) != 0 || o.class == event.APISync {
		return
	}
	if len(th.queue.list) == 0 {
		q.launchers = append(q.launchers, th)
	}
	o.full = o.full || q.fills()
	h.gpu.addLaunch(th, launch{start: o.start, end: o.row.end, name: o.name, streamWait: th.wait, recorded: th.recorded, captured: th.capturing(o.start)})
	if o.class == event.Launch || o.class == event.GraphLaunch {
		th.wait = false
		q.launched, h.launched = th, th
	}
}

// woken reports whether a thread that becomes active at t was waiting for the thread
// that launched last. A thread that launches nothing was if it had been idle for a
// while. One that launches was if its OS calls were not recorded, and the other thread
// meanwhile began to launch for the same GPU. That happens in a backward pass.
func (th *thread) woken(t int64) bool {
	if !th.launches {
		return th.open == 0 && t-th.idle > idleThread
	}
	by := th.process.launched
	return t-th.last > idleThread && !th.watched && len(th.calls) == 0 && by != nil && by != th && by.device == th.device &&
		by.since > th.last && by.queue.list[len(by.queue.list)-1].start > th.last
}

// reach advances a thread to t in old time. A woken thread takes over the shift of the
// one that woke it.
func (h *hosts) reach(th *thread, t int64) {
	woken := th.begun && th.woken(t)
	if !th.begun || t-th.last > idleThread {
		th.since = t
	}
	switch {
	case !th.begun:
		th.begun, th.last, th.idle = true, t, t
		th.now, th.factor = make([]int64, h.n), make([]float64, h.n)
		for s := range th.now {
			th.now[s] = t + h.shift(th.process, s)
		}
		h.plan.refactor(th)
		return
	case woken:
		for s := range th.now {
			th.now[s] = t + h.shift(th.process, s)
		}
		th.last = t
		return
	}
	d := t - th.last
	if h.learn != nil {
		h.learn.host(th, d)
	}
	th.last = t
	switch {
	case d < 0 || h.plan.plain: // d < 0: rows that overlap without nesting
		for s := range th.now {
			th.now[s] += d
		}
	case d > 0:
		h.plan.spend(th, d)
		if th.why != nil {
			h.plan.whys.spent(th, t-d, t)
		}
	}
	if len(th.passes) > 0 {
		h.plan.captured(th, t-d, t)
	}
}

// observe passes a row to the whys of its thread.
func (h *hosts) observe(r *row) {
	th := &h.threads[r.place]
	if th.why == nil {
		th.why = h.plan.whys.begin(th, r.start, h.t.header.Records(event.OS, th.rank))
	}
	h.plan.whys.observe(th.why, r)
}

// end ends a row of a thread.
func (h *hosts) end(o *openRow) {
	th := o.thread
	if o.instant {
		h.instant(point{t: o.row.end, row: o})
		return
	}
	if th.held == o {
		h.release(o)
		return
	}
	if held := th.held; held != nil && held.run && o.counted && o.row.end > held.row.end {
		h.release(held)
	}
	if held := th.held; held != nil {
		held.points = append(held.points, point{t: o.row.end, row: o})
		return
	}
	h.reach(th, o.row.end)
	h.close(o)
	h.free = append(h.free, o)
}

// close ends a row at the thread's time.
func (h *hosts) close(o *openRow) {
	th := o.thread
	if h.sink != nil && !o.run {
		h.sink.end(o.stretch, o.ordinal, th.now[0])
		if o.kind == event.API {
			h.sink.call(h.t.threads[th.number].process, o.start, o.row.end, o.newStart[0], th.now[0])
		}
	}
	if o.counted {
		h.closed(o)
	}
	if o.kind != event.OS && h.t.names.all[o.name].flags&(waitsForGIL|holdsGIL) == 0 {
		th.ended.set(o.row.end, th.now)
	}
	if o.kind == event.NVTX {
		h.mark(o)
	}
	if h.learn != nil && !o.run {
		h.learn.row(h.t, o)
	}
	if o.copied != nil {
		h.gpu.drop(o.copied)
		o.copied = nil
	}
}

// closed no longer counts a row as open on its thread.
func (h *hosts) closed(o *openRow) {
	th := o.thread
	switch o.kind {
	case event.NVTX:
		h.plan.leaveRange(th, o.name)
	case event.API:
		th.calls = without(th.calls, o.name)
	}
	if o.kind != event.OS && !o.marksOthers() {
		th.open--
		th.idle = o.row.end
	}
	if !h.plan.plain {
		h.plan.leave(o)
	}
}

// without removes the topmost name from a stack.
func without(stack []int32, name int32) []int32 {
	for k := len(stack) - 1; k >= 0; k-- {
		if stack[k] == name {
			return append(stack[:k], stack[k+1:]...)
		}
	}
	return stack
}

// mark records the end of a range that steps or other threads may need.
func (h *hosts) mark(o *openRow) {
	q := o.thread.process
	if o.class == event.StepMarker && h.steps.byRange {
		q.markers[q.marked%len(q.markers)].set(o.row.end, o.thread.now)
		q.marked++
	}
	if h.t.names.all[o.name].flags&holdsGIL != 0 {
		q.gil.set(o.row.end, o.thread.now)
		q.gilOf = o.thread
	}
}

// addInstants adds a row that moves with its thread but is no point of it.
func (h *hosts) addInstants(r *row) {
	th := &h.threads[r.place]
	if r.kind == event.Overhead && r.class == event.QueueFull && th.held != nil {
		th.held.full = true
	}
	if h.sink != nil {
		h.addInside(th, r)
	}
}

// addInside moves a row with a thread, or leaves that to the thread's held row.
func (h *hosts) addInside(th *thread, r *row) {
	o := h.newRow(r, th)
	o.instant = true
	h.agenda.push(r.end, hostEnds, o.number)
	h.instant(point{o.start, o, true})
}

// instant moves the start or the end of such a row, or leaves that to the held row.
func (h *hosts) instant(p point) {
	o := p.row
	if held := o.thread.held; held != nil {
		held.points = append(held.points, p)
		return
	}
	if p.start {
		h.sink.start(o.stretch, o.ordinal, h.at(o.thread, p.t))
		return
	}
	h.sink.end(o.stretch, o.ordinal, h.at(o.thread, p.t))
	h.free = append(h.free, o)
}

// at returns the new time of t on a thread, in the first scenario.
func (h *hosts) at(th *thread, t int64) int64 {
	if !th.begun || th.woken(t) {
		return t + h.shift(th.process, 0)
	}
	d := t - th.last
	if th.why != nil {
		h.plan.whys.advance(th.why, t)
		d -= th.less(0, th.last, t)
	}
	return th.now[0] + scaled(d, th.factor[0])
}
