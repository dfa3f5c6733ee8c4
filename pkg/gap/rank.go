package gap

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/thread"
)

const (
	never = thread.Never
	none  = -1 << 63
)

// place is where in the course of steps a rank is.
type place int

const (
	outside place = iota // before the first step
	inStep
	behind // after the latest end of the segment so far
)

// rank is what is known of one rank after the rows so far.
type rank struct {
	c       *computer
	id      int32
	report  int   // number of its report, -1: unknown
	lastRow int64 // number of its last row among all rows of the stream
	sealed  bool

	last   int64 // start of the last row
	next   int64 // the next cut that is known ahead
	origin int64 // start of the first cell that a window may hold
	place  place
	segEnd int64 // latest end of the open segment's steps

	cells []cell // the last one is open
	now   counts // of the open cell
	idle  dense  // of the open cell
	// Idle time of cells that are closed; that of gaps that go on behind a segment.
	pieces []piece
	late   []latePiece
	host   []piece // time of the threads that launch
	parts  []part  // the gap that was last attributed

	steps    []stepInfo
	own      []kernelTime // by step, where ranks are compared
	segments []segment
	holes    segment // what counts only where the window holds all segments
	aside    aside
	window   window

	traceStart, traceEnd int64 // of the trace, where that is the window
	trace                segment

	lanes   []*lane
	lane    *lane // of the last GPU row
	threads []*hostThread
	byID    map[int64]*hostThread
	thread  *hostThread // of the last host row
	folded  []foldedPiece
	folds   int64 // time up to which runs were folded
	// Idle time whose causes were known by their sums only.
	estimated int64

	ring ring
	// Launches that are not in the ring, of which a replay and a kernel was seen.
	replays, runs seen
	slack         slackSample
	sample        sample
}

// hostThread is a thread of the rank's process.
type hostThread struct {
	thread.Thread
	id       int64
	number   int32
	launches bool
	chain    int64 // view operations since the last launch
	chainAt  int64 // start of the first of them
}

// stepInfo is what is known of one step.
type stepInfo struct {
	start, end int64
	segment    int32
	phase      int32
	ctx, gen   int64 // -1: not known
	slack      slackOfStep
}

// segment is a number of steps without a long idle stretch between them. Of the
// window of the trace, which is treated as one, start and end are not used.
type segment struct {
	start, end int64
	steps      int64
	gaps       gapTally
	groups     [4]*group // by phase, the last for rows of no step
	steady     keeper
	slack      slackOfStep
	context    keeper
}

// aside is what was seen behind the latest end of the open segment so far: it is
// the segment's if another step of it follows.
type aside struct {
	cell         int // its first cell
	gaps, across gapTally
	group        group
}

// window is what the window row says.
type window struct {
	there      bool
	start, end int64
	segment    int32 // -1: none
}

func newRank(c *computer, id int32) *rank {
	r := &rank{
		c: c, id: id, report: -1, last: none, next: never, origin: never, segEnd: never,
		traceStart: never, traceEnd: never, byID: map[int64]*hostThread{}, ring: newRing(), folds: none,
	}
	for k := range c.header.Reports {
		if &c.header.Reports[k] == c.header.Report(id) {
			r.report = k
		}
	}
	r.cells = []cell{{start: none, step: -1, segment: -1}}
	if c.wholeTrace && r.report >= 0 {
		s := c.header.Span(id)
		start, end := s.GPUStart, s.GPUEnd
		if c.opt.BusyAll && s.BusyStart != nil && s.BusyEnd != nil {
			start, end = s.BusyStart, s.BusyEnd
		}
		if start != nil && end != nil && *start < *end {
			r.traceStart, r.traceEnd = *start, *end
			r.origin, r.next = *start, *start
		}
	}
	return r
}

// take takes rows i to j.
func (r *rank) take(b *event.Batch, i, j int) error {
	kinds := b.Kind.Values[:j]
	starts, ends := b.Start.Values[:j], b.End.Values[:j]
	for ; i < j; i++ {
		t := starts[i]
		kind := kinds[i]
		if kind == event.Window {
			r.takeWindow(b, i)
			continue
		}
		if t < r.last || r.sealed {
			return r.disorder()
		}
		if t >= r.next {
			r.advance(t)
		}
		switch kind {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			r.takeGPU(b, i, t, ends[i], kind)
		case event.API:
			r.takeCall(b, i, t, ends[i])
		case event.NVTX:
			r.takeRange(b, i, t, ends[i])
		case event.Step:
			if err := r.takeStep(b, i); err != nil {
				return err
			}
		}
		r.last = t
	}
	r.fold()
	return nil
}

func (r *rank) disorder() error {
	return &event.Error{
		Msg:    fmt.Sprintf("rows of rank %d are not in the order of their start", r.id),
		Advice: "sort the stream by rank and start",
	}
}

// takeStep takes a step row.
func (r *rank) takeStep(b *event.Batch, i int) error {
	start, end := b.Start.Values[i], b.End.Values[i]
	number := b.Segment.Values[i]
	if n := int64(len(r.segments)); number < n-1 || number > n {
		return &event.Error{
			Msg:    fmt.Sprintf("the segments of rank %d are not in order", r.id),
			Advice: "take what isolate writes, unchanged",
		}
	}
	s := stepInfo{start: start, end: end, segment: int32(number), phase: event.Unknown, ctx: -1, gen: -1}
	if r.c.phased {
		if phase, ok := b.Phase.Get(i); ok {
			s.phase = phase
		}
		if ctx, ok := b.Ctx.Get(i); ok {
			s.ctx = ctx
		}
		if gen, ok := b.Gen.Get(i); ok {
			s.gen = gen
		}
	}
	r.endStep(int(number))
	if number == int64(len(r.segments)) {
		r.segments = append(r.segments, segment{start: start, end: none})
		r.segEnd = none
	}
	seg := &r.segments[number]
	seg.steps++
	seg.end = max(seg.end, end)
	r.segEnd = max(r.segEnd, end)
	r.steps = append(r.steps, s)
	r.place = inStep
	r.origin = min(r.origin, start)
	r.cut(start)
	c := r.openCell()
	c.step, c.segment, c.hole = int32(len(r.steps)-1), int32(number), false
	r.beginSample(seg, &s)
	r.schedule()
	return nil
}

// endStep ends the open step, if there is one, before a step of the segment with
// the given number.
func (r *rank) endStep(number int) {
	if r.place == outside {
		r.slack.values = r.slack.values[:0]
		return
	}
	if r.place == behind {
		r.settle(number)
	}
	r.place = inStep
	r.endSlack()
	r.endSample()
}

// settle tells what was behind the segment where it belongs: to the segment, to a
// hole between two (number is that of the next one), or to nothing (-1).
func (r *rank) settle(number int) {
	last := len(r.segments) - 1
	seg, step := &r.segments[last], len(r.steps)-1
	cells := r.cells[r.aside.cell:] // one, or more where the trace's window has a limit in it
	for k := range cells {
		cells[k].aside = false
	}
	switch number {
	case last:
		for k := range cells {
			cells[k].step, cells[k].segment = int32(step), int32(last)
		}
		seg.gaps.merge(&r.aside.gaps, r.c.opt.Top)
		r.holes.gaps.merge(&r.aside.across, r.c.opt.Top)
		seg.group(r.steps[step].phase).merge(&r.aside.group)
	case -1:
		r.dropAside()
	default:
		for k := range cells {
			cells[k].hole = true
		}
		r.holes.group(noPhase).merge(&r.aside.group)
		r.holes.gaps.merge(&r.aside.gaps, r.c.opt.Top)
		r.holes.gaps.merge(&r.aside.across, r.c.opt.Top)
		r.dropAside()
	}
	r.aside = aside{}
}

// dropAside forgets what was collected for the open step behind its segment.
func (r *rank) dropAside() {
	r.slack.values = r.slack.values[:min(r.slack.aside, len(r.slack.values))]
	r.sample.kernels = r.sample.kernels[:min(r.sample.aside, len(r.sample.kernels))]
}

func (r *rank) takeWindow(b *event.Batch, i int) {
	r.window = window{there: true, start: b.Start.Values[i], end: b.End.Values[i], segment: -1}
	if n, ok := b.Segment.Get(i); ok {
		r.window.segment = int32(n)
	}
}

// seal takes the end of the rank's rows, of which only a window row may follow,
// and lets go of what only they needed.
func (r *rank) seal() {
	if r.sealed {
		return
	}
	r.sealed = true
	r.advance(never)
	if r.place == behind {
		r.settle(-1)
	}
	r.endSlack()
	r.endSample()
	r.cut(never)
	for _, l := range r.lanes {
		r.endLane(l)
	}
	r.threads, r.byID, r.thread, r.folded = nil, nil, nil, nil
	r.ring, r.idle, r.aside = ring{}, dense{}, aside{}
}

// schedule finds the next cut that is known ahead.
func (r *rank) schedule() {
	r.next = never
	if r.place == inStep {
		r.next = r.segEnd
	}
	since := r.openCell().start
	if r.traceStart > since {
		r.next = min(r.next, r.traceStart)
	} else if r.traceEnd > since {
		r.next = min(r.next, r.traceEnd)
	}
}

// advance makes the cuts that are due at t.
func (r *rank) advance(t int64) {
	for r.next <= t && r.next != never {
		at := r.next
		r.cut(at)
		c := r.openCell()
		c.trace = r.traceStart <= at && at < r.traceEnd
		if r.place == inStep && at >= r.segEnd {
			r.place = behind
			r.slack.aside, r.sample.aside = len(r.slack.values), len(r.sample.kernels)
			c.step, c.segment, c.aside = -1, -1, true
			r.aside.cell = len(r.cells) - 1
		}
		r.schedule()
	}
}

func (r *rank) openCell() *cell { return &r.cells[len(r.cells)-1] }

// cut closes the open cell at t and opens another one like it.
func (r *rank) cut(t int64) {
	k := len(r.cells) - 1
	c := &r.cells[k]
	wanted := c.wanted()
	for _, h := range r.threads {
		if h.launches {
			if t < never {
				h.Advance(t)
			}
			h.Spent(func(state thread.State, ns int64) {
				if wanted {
					r.host = append(r.host, piece{int32(k), state, ns})
				}
			})
		}
	}
	r.pieces = r.idle.drain(r.pieces, int32(k), wanted)
	c.counts.add(&r.now)
	r.now = counts{}
	if c.start == t { // nothing was in it
		return
	}
	r.cells = append(r.cells, cell{start: t, step: c.step, segment: c.segment, trace: c.trace, aside: c.aside})
}

// counting tells whether what starts now may be in a window.
func (r *rank) counting() bool { return r.place != outside || r.openCell().trace }

// hostThread returns the thread with the given number, of which a row starts at t.
func (r *rank) hostThread(id, t int64) *hostThread {
	if r.thread != nil && r.thread.id == id {
		return r.thread
	}
	h := r.byID[id]
	if h == nil {
		h = &hostThread{Thread: *thread.New(t), id: id, number: int32(len(r.threads))}
		r.byID[id] = h
		r.threads = append(r.threads, h)
	}
	r.thread = h
	return h
}
