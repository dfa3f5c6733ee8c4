package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// bounds finds when steps and windows begin and end: with the rows that bound them.
type bounds struct {
	*pass
	byRange bool        // steps begin and end with forward-step ranges
	class   event.Class // else: with units of this class, -1 for any
	order   []int32     // steps by start
	next    int         // index in order of the first step that has not started
	times   []stepTimes
}

// stepTimes is when a step begins and ends, by scenario; nil until known.
type stepTimes struct {
	start, end []int64
	bound      bool
}

// newBounds returns the bounds of a pass before its first row.
func newBounds(p *pass) bounds {
	b := bounds{pass: p, class: -1, times: make([]stepTimes, len(p.t.steps)), order: byStart(p.t.steps)}
	if i := p.t.header.Isolation; i != nil {
		b.byRange = i.Method == step.NVTX
		if i.Method == step.Allreduce {
			b.class = event.Allreduce
		}
	}
	return b
}

// byStart returns the indexes of steps in the order of their starts.
func byStart(steps []stepRow) []int32 {
	order := make([]int32, len(steps))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(steps[a].start, steps[b].start) })
	return order
}

// nextStart returns the start of the next step, never if there is none.
func (b *bounds) nextStart() int64 {
	if b.next == len(b.order) {
		return never
	}
	return b.t.steps[b.order[b.next]].start
}

// begin makes the steps that start at a time wait for the row that bounds them.
func (b *bounds) begin(at int64) {
	for b.nextStart() == at {
		k := b.order[b.next]
		b.next++
		s := &b.t.steps[k]
		q := &b.procs[s.process]
		q.starts = append(q.starts, k)
		b.hosts.enterStep(q, k, at)
		b.agenda.push(s.end, stepEnds, k)
	}
}

// startsRange starts the steps that begin with a forward-step range at t.
func (b *bounds) startsRange(q *process, t int64, now []int64) {
	if b.byRange && len(q.starts) > 0 {
		b.bind(q, t, now)
	}
}

// startsUnit starts the steps that begin with a unit.
func (b *bounds) startsUnit(q *process, u *unit, class event.Class) {
	if !b.byRange && (b.class < 0 || b.class == class) {
		b.bind(q, u.start, u.newStart)
	}
}

// bind starts the steps due at t, at the new times of a row.
func (b *bounds) bind(p *process, t int64, now []int64) {
	for len(p.starts) > 0 && b.t.steps[p.starts[0]].start == t {
		b.begins(p.starts[0], now)
		p.starts = p.starts[1:]
	}
}

// begins sets when a step begins.
func (b *bounds) begins(k int32, now []int64) {
	b.times[k] = stepTimes{start: append([]int64(nil), now...), bound: true}
	s := &b.t.steps[k]
	if b.sink != nil {
		b.sink.start(s.stretch, s.ordinal, now[0])
	}
	if p := &b.procs[s.process]; p.first == k && p.latest != nil {
		p.lead = append(p.lead[:0], b.gpu.endOf(p.latest)...)
		for i := range p.lead {
			p.lead[i] -= p.latest.end
		}
	}
}

// missed starts the steps before t that no row started, with the thread that launched
// last.
func (b *bounds) missed(p *process, t int64) {
	for len(p.starts) > 0 && b.t.steps[p.starts[0]].start < t {
		k := p.starts[0]
		b.begins(k, b.drifted(p, b.t.steps[k].start))
		p.starts = p.starts[1:]
	}
}

// drifted returns t moved with the thread that launched last.
func (b *bounds) drifted(p *process, t int64) []int64 {
	now := make([]int64, b.n)
	for s := range now {
		now[s] = t + b.shift(p, s)
	}
	return now
}

// end ends a step with the row that ends at the same time.
func (b *bounds) end(k int32) {
	s := &b.t.steps[k]
	p := &b.procs[s.process]
	if !b.times[k].bound {
		b.missed(p, s.start+1)
	}
	b.times[k].end = append([]int64(nil), b.endsAt(p, s.end)...)
	if b.sink != nil {
		b.sink.end(s.stretch, s.ordinal, b.times[k].end[0])
	}
}

// endsAt returns the new times of what ended at t: a forward-step range, or the last
// unit.
func (b *bounds) endsAt(p *process, t int64) []int64 {
	if b.byRange {
		for i := range p.markers {
			if a := &p.markers[i]; a.new != nil && a.old == t {
				return a.new
			}
		}
	}
	best := lastEnded(p.streams, never, t, math.MinInt64)
	if best == nil {
		return b.drifted(p, t)
	}
	ends := append([]int64(nil), b.gpu.endOf(best)...)
	for s := range ends {
		ends[s] += t - best.end
	}
	return ends
}

// windows moves the window rows with the steps that bound them.
func (b *bounds) windows() {
	for i := range b.t.windows {
		w := &b.t.windows[i]
		start, end := b.window(w)
		b.sink.start(w.stretch, w.ordinal, start)
		b.sink.end(w.stretch, w.ordinal, end)
	}
}

// window returns when a window begins and ends in the first scenario.
func (b *bounds) window(w *stepRow) (start, end int64) {
	p := &b.procs[w.process]
	start, end = w.start+b.shift(p, 0), w.end+b.shift(p, 0)
	if p.latest != nil {
		end = w.end + b.gpu.endOf(p.latest)[0] - p.latest.end
	}
	found := false
	for k := range b.t.steps {
		s := &b.t.steps[k]
		if s.process != w.process || b.times[k].start == nil || b.times[k].end == nil {
			continue
		}
		if s.start == w.start {
			start = b.times[k].start[0]
		}
		if s.end == w.end {
			if v := b.times[k].end[0]; !found || v > end {
				end, found = v, true
			}
		}
	}
	return start, max(start, end)
}
