package step

import (
	"fmt"
	"math"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The latest and the earliest time.
const (
	never = math.MaxInt64
	none  = math.MinInt64
)

// Walker walks through the rows of one rank, in the order of the stream, and tells an
// Accumulator which time slice they start in. No other code knows where steps begin and
// end; see Accumulator for the contract.
//
// Time is cut wherever its attribution may change. That is at the start of a step, at
// the latest end of the open segment's steps so far, at the limits of the trace window,
// and at the borders of unrecorded time. Time after the segment's latest end so far is
// Pending. The next step row decides whether it belonged to the segment (then the step
// extends to that row) or was a gap between segments.
type Walker struct {
	// RankSteps is what is known from the rows so far; complete after Finish.
	RankSteps

	acc     Accumulator
	phased  bool
	unclear bool // WalkOptions.Unclear

	last int64 // start of the last row
	next int64 // the next cut that is already known
	now  Slice
	done bool

	traceStart, traceEnd int64
	unrecorded           [][2]int64 // sorted, not overlapping
	span                 int        // index of the first one that ends after now.Start
	stepSpan             int        // the same for the start of the open step
	segEnd               int64      // latest end of the open segment's steps

	worker *worker // nil unless WalkOptions.Work
}

// WalkOptions are a Walker's options.
type WalkOptions struct {
	// Trace also cuts time at the limits of the rank's trace window: from the start of
	// the first activity to the end of the last, over all its GPUs.
	Trace bool
	// BusyAll counts copies and memsets as GPU activity.
	BusyAll bool
	// Unclear accepts streams whose steps turned out not to be identifiable
	// (RankSteps.Unclear); without it, Add fails.
	Unclear bool
	// Work counts what steps run (Step.Work).
	Work bool
}

// NewWalker returns a walker through the rows of a rank of the stream with header h, and
// begins the first slice, which has no step. It uses the columns event.StepCols of step
// rows, and event.PhaseCols if the stream has them.
func NewWalker(h *event.Header, rank int32, opt WalkOptions, acc Accumulator) *Walker {
	w := &Walker{
		RankSteps: RankSteps{Rank: rank}, acc: acc, unclear: opt.Unclear, phased: h.Columns&event.PhaseCols == event.PhaseCols,
		last: none, traceStart: never, traceEnd: never, segEnd: none, now: Slice{Start: none},
	}
	span := h.Span(rank)
	w.unrecorded = span.Unrecorded
	if opt.Trace {
		w.traceStart, w.traceEnd = traceWindow(&span, opt.BusyAll)
	}
	if opt.Work {
		w.worker = &worker{}
	}
	w.begin(w.at(none))
	return w
}

// traceWindow returns the trace window of a rank, [never, never) if it has no GPU
// activity.
func traceWindow(s *event.RankSpan, busyAll bool) (start, end int64) {
	from, to := s.GPUStart, s.GPUEnd
	if busyAll && s.BusyStart != nil && s.BusyEnd != nil {
		from, to = s.BusyStart, s.BusyEnd
	}
	if from == nil || to == nil || *from >= *to {
		return never, never
	}
	return *from, *to
}

// TraceWindow returns the trace window of the rank, ns; ok is false if there is none or
// WalkOptions.Trace is not set.
func (w *Walker) TraceWindow() (start, end int64, ok bool) {
	return w.traceStart, w.traceEnd, w.traceStart < w.traceEnd
}

// Slice returns the current slice, valid until it ends.
func (w *Walker) Slice() *Slice { return &w.now }

// SegmentEnd returns the latest end of the open segment's steps so far, ns, or the
// smallest int64 if no step has begun.
func (w *Walker) SegmentEnd() int64 { return w.segEnd }

// Recorded reports whether all of the time between from and to was recorded.
func (w *Walker) Recorded(from, to int64) bool { return w.lost(0, from, to) == 0 }

// lost returns how much of the time between from and to was not recorded, ns. Unrecorded
// spans before index span must end before from.
func (w *Walker) lost(span int, from, to int64) (ns int64) {
	for ; span < len(w.unrecorded) && w.unrecorded[span][0] < to; span++ {
		u := w.unrecorded[span]
		ns += max(0, min(to, u[1])-max(from, u[0]))
	}
	return ns
}

// Add walks through rows i to j of b, all of the rank. It returns an *event.Error if
// rows are not in the order that package event requires, and a *NotFound if steps are
// unclear and that is not accepted.
func (w *Walker) Add(b *event.Batch, i, j int) error {
	kinds, starts := b.Kind.Values[:j], b.Start.Values[:j]
	for i < j {
		k := w.scan(kinds, starts, i, j)
		if i < k {
			w.work(b, i, k)
			w.acc.Rows(b, i, k)
		}
		if i = k; i == j {
			break
		}
		switch t := starts[i]; {
		case kinds[i] == event.Window:
			w.setWindow(b, i)
			if w.Unclear && !w.unclear {
				return &NotFound{
					Isolated: true,
					Msg:      fmt.Sprintf("the steps of rank %d cannot be identified without forward-step markers", w.Rank),
					Advice:   "isolate says why; verdict FILE and gaps FILE, without isolate and phase before them, answer for the whole trace",
				}
			}
			i++
		case t < w.last || w.done:
			return &event.Error{
				Msg:    fmt.Sprintf("rows of rank %d are not in the order of their start", w.Rank),
				Advice: "sort the stream by rank and start",
			}
		case kinds[i] == event.Step:
			if err := w.addStep(b, i); err != nil {
				return err
			}
			i++
		default:
			w.advance(t)
		}
	}
	return nil
}

// work counts rows i to j as work of the open step.
func (w *Walker) work(b *event.Batch, i, j int) {
	switch {
	case w.worker == nil:
	case w.now.Place == InStep:
		w.worker.count(b, i, j, &w.Steps.Last().Work)
	case w.now.Place == Pending:
		w.worker.count(b, i, j, &w.worker.pending)
	}
}

// scan returns the first of rows i to j that starts before its predecessor, lies outside
// the current slice, or is a step or window row. It returns j if there is none.
func (w *Walker) scan(kinds []event.Kind, starts []int64, i, j int) int {
	last, next := w.last, w.next
	if w.done {
		next = none
	}
	kinds, starts = kinds[:j], starts[:j]
	for ; i < j; i++ {
		t := starts[i]
		if t < last || t >= next || kinds[i] == event.Step || kinds[i] == event.Window {
			break
		}
		last = t
	}
	w.last = last
	return i
}

// Finish ends the rank's rows. Only its window row may follow.
func (w *Walker) Finish() {
	if w.done {
		return
	}
	w.advance(never - 1)
	w.done = true
	w.acc.End(w.now, never)
	w.endStep(w.segEnd, NoOwner)
}

// setWindow stores the window row.
func (w *Walker) setWindow(b *event.Batch, i int) {
	w.Window = &Window{
		Start: b.Start.Values[i], End: b.End.Values[i], CommonSize: b.Size.Values[i], Steps: b.Step.Values[i], segment: -1,
	}
	if n, ok := b.Segment.Get(i); ok {
		w.Window.segment = n
	}
	w.Unclear = !b.Step.Valid.Get(i)
	class, ok := b.Class.Get(i)
	w.Window.UnlikeMarkers = ok && class == event.StepMarker
}

// addStep ends the open step, if any, and begins the step of row i.
func (w *Walker) addStep(b *event.Batch, i int) error {
	t, end, number := b.Start.Values[i], b.End.Values[i], b.Segment.Values[i]
	last := len(w.Segments) - 1
	if last >= 0 && number < w.Segments[last].Number {
		return &event.Error{
			Msg:    fmt.Sprintf("the segments of rank %d are not in order", w.Rank),
			Advice: "take what isolate writes, unchanged",
		}
	}
	w.last = t
	w.advance(t - 1)
	w.acc.End(w.now, t)
	if last >= 0 && number == w.Segments[last].Number {
		w.endStep(t, StepOwner)
	} else {
		w.endStep(w.segEnd, GapOwner)
		w.Segments = append(w.Segments, Segment{Number: number, First: w.Steps.Len(), Start: t, End: end})
		if last >= 0 {
			w.Segments[last+1].apart = w.lost(0, w.Segments[last].End, t)
		}
		w.segEnd = end
		last++
	}
	seg := &w.Segments[last]
	seg.Steps++
	w.segEnd = max(w.segEnd, end)
	seg.End = w.segEnd
	w.Steps.append(w.stepOf(b, i))
	w.acc.Step(b, i, w.Steps.Len()-1)
	w.passed(t)
	w.stepSpan = w.span
	w.begin(w.at(t))
	return nil
}

// stepOf returns the step of a row; it belongs to the last segment.
func (w *Walker) stepOf(b *event.Batch, i int) Step {
	s := Step{
		Start: b.Start.Values[i], End: b.End.Values[i], Until: never,
		Segment: int32(len(w.Segments) - 1), Phase: event.Unknown, Ctx: Unknown, Gen: Unknown,
	}
	if !w.phased {
		return s
	}
	if phase, ok := b.Phase.Get(i); ok && phase >= 0 && phase < event.Unknown {
		s.Phase = phase
	}
	if ctx, ok := b.Ctx.Get(i); ok {
		s.Ctx = ctx
	}
	if gen, ok := b.Gen.Get(i); ok {
		s.Gen = gen
	}
	return s
}

// endStep ends the open step, if any, with its period, at t. pending says who owns
// pending time.
func (w *Walker) endStep(t int64, pending Owner) {
	k := w.Steps.Len() - 1
	if k < 0 {
		return
	}
	s := w.Steps.Last()
	s.Until, s.Unrecorded = t, w.lost(w.stepSpan, s.Start, t)
	s.Whole = pending == StepOwner && s.Unrecorded == 0
	if w.worker != nil {
		if pending == StepOwner {
			s.Work.Add(&w.worker.pending)
		}
		w.worker.pending = Work{}
	}
	w.acc.EndStep(k, pending)
}

// advance makes the cuts due up to t.
func (w *Walker) advance(t int64) {
	for w.next <= t {
		at := w.next
		w.acc.End(w.now, at)
		w.passed(at)
		s := w.at(at)
		if s.Place == InStep && at >= w.segEnd {
			s.Place = Pending
		}
		w.begin(s)
	}
}

// passed skips the unrecorded spans that end at or before t.
func (w *Walker) passed(t int64) {
	for w.span < len(w.unrecorded) && w.unrecorded[w.span][1] <= t {
		w.span++
	}
}

// at returns the slice that begins at t. If a step has begun, it assumes that t is
// before the end of its segment.
func (w *Walker) at(t int64) Slice {
	s := Slice{Start: t, Step: -1}
	if w.span < len(w.unrecorded) && w.unrecorded[w.span][0] <= t {
		s.Unrecorded = true
		return s
	}
	s.Trace = w.traceStart <= t && t < w.traceEnd
	if k := w.Steps.Len() - 1; k >= 0 {
		s.Place, s.Step = InStep, int32(k)
	}
	return s
}

// begin begins a slice and computes the next cut that is already known.
func (w *Walker) begin(s Slice) {
	w.now, w.next = s, never
	if s.Place == InStep {
		w.next = w.segEnd
	}
	for _, t := range [...]int64{w.traceStart, w.traceEnd} {
		if t > s.Start {
			w.next = min(w.next, t)
		}
	}
	if w.span < len(w.unrecorded) {
		u := w.unrecorded[w.span]
		if s.Unrecorded {
			w.next = min(w.next, u[1])
		} else {
			w.next = min(w.next, u[0])
		}
	}
	w.acc.Begin(s)
}
