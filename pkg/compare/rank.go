package compare

import (
	"fmt"
	"math"

	"github.com/hostbound/hostbound/pkg/event"
)

// step is what was measured of one step, in ns. busy and gpu are sums over lanes.
type step struct {
	start, end int64
	period     int64
	busy       int64
	gpu        int64
	// Kernels launched by hand, kernels that graph replays ran, and replays
	// recorded as a whole.
	eager, graph, replays int32
	segment               int32
	ctx, gen              int32 // unknown: not known
	// cut tells that the period ends with the segment and not with a next step:
	// what follows a step on the host is not in it.
	cut bool
}

const unknown = -1

// rank is what is known of one rank after the rows so far.
type rank struct {
	id   int32
	busy uint32
	last int64 // start of the last row

	lanes []lane
	lane  int   // of the last GPU row
	due   int64 // when the next range closes, or the open segment seems to end

	steps   []step
	cur     int32 // index of the open step, noStep: there is none
	began   int64 // busy time before the open step
	segEnd  int64 // latest end of the open segment's steps
	segBusy int64 // busy time before that, none: it is not over
	window  window

	opens    opens
	names    *[numSections]*names
	sections [numSections]section
	nvtx     bool
}

// window is what the window row says.
type window struct {
	there   bool
	segment int32 // -1: none
}

func newRank(id int32, busy uint32, names *[numSections]*names) *rank {
	return &rank{id: id, busy: busy, last: none, due: never, cur: noStep, segEnd: never, segBusy: none,
		window: window{segment: -1}, names: names}
}

// take takes rows i to j.
func (r *rank) take(b *event.Batch, i, j int) error {
	kinds := b.Kind.Values[:j]
	starts, ends := b.Start.Values[:j], b.End.Values[:j]
	for ; i < j; i++ {
		t, e := starts[i], ends[i]
		kind := kinds[i]
		if t < r.last && kind != event.Window {
			return &event.Error{
				Msg:    fmt.Sprintf("rows of rank %d are not in the order of their start", r.id),
				Advice: "sort the stream by rank and start",
			}
		}
		if t >= r.due && kind != event.Window {
			r.advance(t)
		}
		switch kind {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			r.takeGPU(b, i, t, e, kind)
		case event.API:
			if r.cur != noStep && b.Step.Valid.Get(i) {
				r.sections[calls].at(r.names[calls].raw(b.Name.Get(i))).add(r.cur, e-t)
			}
		case event.NVTX:
			r.takeRange(b, i, t, e)
		case event.Step:
			r.takeStep(b, i, t, e)
		case event.Window:
			r.window = window{there: true, segment: -1}
			if segment, ok := b.Segment.Get(i); ok {
				r.window.segment = int32(segment)
			}
			continue
		}
		r.last = t
	}
	return nil
}

// takeGPU takes a kernel, a whole-graph row, a copy or a memset.
func (r *rank) takeGPU(b *event.Batch, i int, t, e int64, kind int32) {
	if e > t && r.busy>>uint32(kind)&1 != 0 {
		device := b.Device.Values[i]
		if r.lane >= len(r.lanes) || r.lanes[r.lane].device != device {
			r.lane = r.findLane(device)
		}
		r.lanes[r.lane].add(t, e)
	}
	if kind > event.Graph || r.cur == noStep || !b.Step.Valid.Get(i) {
		return
	}
	s := &r.steps[r.cur]
	s.gpu += e - t
	class := event.Other
	switch {
	case kind == event.Graph:
		s.replays++
		class = event.Other + 1 // as classNames has it
	case b.GraphNode.Valid.Get(i):
		s.graph++
	default:
		s.eager++
	}
	if kind == event.Kernel {
		if c, ok := b.Class.Get(i); ok && c < event.Other {
			class = c
		}
	}
	r.sections[kernels].at(r.names[kernels].raw(b.Name.Get(i))).add(r.cur, e-t)
	r.sections[classes].at(class).add(r.cur, e-t)
}

// findLane returns the index of the lane of a device, which may be a new one.
func (r *rank) findLane(device int32) int {
	for k := range r.lanes {
		if r.lanes[k].device == device {
			return k
		}
	}
	r.lanes = append(r.lanes, lane{device: device, start: none, front: none})
	return len(r.lanes) - 1
}

// busyUntil is the busy time before t over all lanes. No GPU row that was taken
// starts after t, and all that start before were.
func (r *rank) busyUntil(t int64) int64 {
	sum := int64(0)
	for k := range r.lanes {
		sum += r.lanes[k].until(t)
	}
	return sum
}

// takeRange takes an NVTX range. Forward-step markers and ranges of the
// interpreter lock are left out: what is nested in them counts as nested in what
// is around them.
func (r *rank) takeRange(b *event.Batch, i int, t, e int64) {
	if class, ok := b.Class.Get(i); ok && (class == event.StepMarker || class == event.GIL) {
		return
	}
	o := open{start: t, end: e, thread: b.Thread.Values[i], step: noStep, name: r.names[operations].folded(b.Name.Get(i))}
	if b.Step.Valid.Get(i) {
		o.step = r.cur
	}
	o.hidden = r.busyUntil(t)
	name, step := o.name, o.step
	parent := r.opens.push(o)
	r.due = min(r.due, e)
	if step == noStep {
		return
	}
	r.nvtx = true
	around := int32(-1)
	if parent >= 0 {
		around = r.opens.all[parent].name
	}
	r.sections[operations].at(name).place.vote(around, t-r.steps[step].start)
}

// takeStep takes a step row.
func (r *rank) takeStep(b *event.Batch, i int, t, e int64) {
	segment := int32(b.Segment.Values[i])
	busy := r.busyUntil(t)
	fresh := len(r.steps) == 0 || r.steps[len(r.steps)-1].segment != segment
	r.endStep(t, busy, fresh)
	if fresh {
		r.segEnd = none
	}
	r.began = busy
	if e > r.segEnd {
		r.segEnd, r.segBusy = e, none
	}
	r.due = min(r.segEnd, r.opens.next())
	s := step{start: t, end: e, segment: segment, ctx: unknown, gen: unknown}
	if ctx, ok := b.Ctx.Get(i); ok {
		s.ctx = int32(min(ctx, math.MaxInt32))
	}
	if gen, ok := b.Gen.Get(i); ok {
		s.gen = int32(min(gen, math.MaxInt32))
	}
	r.cur = int32(len(r.steps))
	r.steps = append(r.steps, s)
}

// endStep ends the open step, if there is one, before one that starts at t, when
// lanes had been busy so long. A fresh one is of another segment.
func (r *rank) endStep(t, busy int64, fresh bool) {
	if r.cur == noStep {
		return
	}
	s := &r.steps[r.cur]
	if fresh {
		t, busy, s.cut = r.segEnd, r.segBusy, true
	}
	s.period, s.busy = t-s.start, busy-r.began
	r.cur = noStep
}

// advance does what is due before t.
func (r *rank) advance(t int64) {
	for {
		next := r.opens.next()
		if r.segBusy == none && r.segEnd <= min(next, t) {
			r.segBusy = r.busyUntil(r.segEnd)
		}
		if next > t {
			break
		}
		r.closeRange()
	}
	r.due = r.opens.next()
	if r.segBusy == none && r.cur != noStep {
		r.due = min(r.due, r.segEnd)
	}
}

// closeRange closes the range that ends first.
func (r *rank) closeRange() {
	o := r.opens.pop()
	if o.step == noStep {
		return
	}
	span := o.end - o.start
	r.sections[operations].at(o.name).addRange(o.step, span, span-o.covered, r.busyUntil(o.end)-o.hidden)
}

// finish takes the end of the rank's rows.
func (r *rank) finish() {
	r.advance(never - 1)
	r.endStep(never, 0, true)
	for s := range r.sections {
		for k := range r.sections[s] {
			r.sections[s][k].flush()
		}
	}
}
