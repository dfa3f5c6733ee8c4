package metric

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/event"
)

// takeStep takes a step row.
func (r *rank) takeStep(b *event.Batch, i int) error {
	start, end := b.Start.Values[i], b.End.Values[i]
	number, last := b.Segment.Values[i], len(r.segments)-1
	fresh := last < 0 || number > r.segments[last].number
	if !fresh && number < r.segments[last].number {
		return fmt.Errorf("rank %d: a step of segment %d follows one of segment %d", r.id, number, r.segments[last].number)
	}
	r.cut(start)
	r.endStep(start, !fresh)
	if fresh {
		r.segments = append(r.segments, segment{number: number})
		r.segEnd = end
		last++
	}
	r.segEnd = max(r.segEnd, end)
	r.place, r.phase = inStep, event.Unknown
	r.open = sample{start: start, end: end, ctx: -1, gen: -1, segment: int32(last)}
	if r.rules.phased {
		if phase, ok := b.Phase.Get(i); ok && phase >= 0 && phase < event.Unknown {
			r.phase = phase
		}
		if ctx, ok := b.Ctx.Get(i); ok {
			r.open.ctx = ctx
		}
		if gen, ok := b.Gen.Get(i); ok {
			r.open.gen = gen
		}
	}
	r.segments[last].steps[r.phase]++
	r.schedule()
	return nil
}

// endStep ends the open step, if there is one, at t, where time was cut: a step
// of the same segment starts there or not.
func (r *rank) endStep(t int64, same bool) {
	if r.place == outside {
		return
	}
	if same {
		r.segments[r.open.segment].phases[r.phase].add(&r.aside)
		r.open.kernels += r.aside.kernels
		r.open.whole += r.aside.whole
		r.open.period = t - r.open.start
	} else {
		r.holes.add(&r.aside)
		r.open.period = r.segEnd - r.open.start
	}
	r.aside = tally{}
	r.samples = append(r.samples, r.open)
}

// takeWindow takes a window row.
func (r *rank) takeWindow(b *event.Batch, i int) {
	r.window = window{there: true, size: b.Size.Values[i], segment: -1}
	if segment, ok := b.Segment.Get(i); ok {
		r.window.segment = segment
	}
}

// finish takes the end of the rank's rows.
func (r *rank) finish() {
	r.advance(never)
	r.cut(never)
	r.aside = tally{} // what is behind the last segment is no hole between two
	r.endStep(never, false)
	r.place = outside
}

// schedule finds the next cut that is known ahead.
func (r *rank) schedule() {
	r.next = never
	if r.place == inStep {
		r.next = r.segEnd
	}
	for _, t := range [...]int64{r.traceStart, r.traceEnd} {
		if t > r.since {
			r.next = min(r.next, t)
		}
	}
}

// advance makes the cuts that are due at t.
func (r *rank) advance(t int64) {
	for r.next <= t && r.next != never {
		at := r.next
		r.cut(at)
		if r.place == inStep && at >= r.segEnd {
			r.place = behind
		}
		r.schedule()
	}
}

// cut credits all open pieces up to t, and what was measured since the last cut
// to where it belongs.
func (r *rank) cut(t int64) {
	acc := &r.acc
	for k := range r.lanes {
		r.lanes[k].cut(t, acc)
	}
	for k := range r.threads {
		r.threads[k].cut(t, acc)
	}
	acc.prep += r.prep.cut(t)
	acc.wall = t - r.since
	if r.traceStart <= r.since && r.since < r.traceEnd {
		r.trace.add(acc)
	}
	switch r.place {
	case inStep:
		r.segments[r.open.segment].phases[r.phase].add(acc)
		r.open.kernels += acc.kernels
		r.open.whole += acc.whole
	case behind:
		r.aside.add(acc)
	}
	r.acc = tally{}
	r.since = t
}
