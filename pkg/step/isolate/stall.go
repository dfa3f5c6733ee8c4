package isolate

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pauses distinguishes stalls from the end of a segment.
type pauses struct {
	// from is when an idle stretch of more than SegmentGap began, in which no GPU of the
	// rank is busy. It is set while it is open whether the stretch is a stall (the host
	// works in it) or the end of a segment; otherwise it is never.
	from  int64
	rows  int // rows held since
	doubt *doubt
	host  host
}

// doubt is a pause with what the host does in it. It is a stall only if ranges that are
// open at its end belong to the step after it. The step before it, and the latest end of
// its segment, are known when that step has ended.
type doubt struct {
	pause  stat.Span
	since  int64     // when the host began the step before
	rows   []hostRow // of launching threads
	before *openStep
	end    int64
}

// host is what is remembered of the host rows of a rank, to judge pauses.
type host struct {
	launching []int64   // threads that have launched work
	launcher  int64     // the one that launched last
	long      []hostRow // long rows
}

// hostRow is a host row that reaches into a pause.
type hostRow struct {
	stat.Span
	what   activity
	thread int64
}

// activity is what a row tells about its thread, as far as that distinguishes a stall
// from the end of a segment.
type activity uint8

const (
	nothing  activity = iota
	inCall            // inside a CUDA call, or an OS call that does not wait
	inRange           // inside a range
	fetching          // inside a range that fetches or waits for requests
	onCPU             // on a CPU
	waiting           // inside an OS call that waits
)

// launchClasses are the classes of API calls that launch work.
const launchClasses = event.ClassSet(1<<event.Launch | 1<<event.GraphLaunch)

// activityOf returns what row i tells about its thread.
func activityOf(b *event.Batch, i int) activity {
	class, classed := b.Class.Get(i)
	switch b.Kind.Values[i] {
	case event.API:
		if class != event.Other || cudaname.EffectOf(string(b.Name.Get(i)))&cudaname.Polls == 0 {
			return inCall
		}
	case event.OS:
		if classed && class != event.OSJoin && step.WaitsForOthers.Has(class) {
			return waiting
		}
		return inCall
	case event.NVTX:
		switch {
		case classed && class == event.GIL:
		case marker.FetchesRequests(string(b.Name.Get(i))):
			return fetching
		default:
			return inRange
		}
	case event.Run:
		if b.Columns.Has(event.ColCPU) && b.CPU.Valid.Get(i) {
			return onCPU
		}
	}
	return nothing
}

// keep remembers row i, which may be long enough to make a stall after the rows around
// it have been released. Rows that end before frontier cannot be part of a pause, and
// are dropped.
func (h *host) keep(b *event.Batch, i int, frontier int64) {
	if row := hostRowOf(b, i); row.what != nothing {
		h.long = slices.DeleteFunc(h.long, func(r hostRow) bool { return r.To <= frontier })
		h.long = append(h.long, row)
	}
}

// hostRowOf returns row i; a GPU row tells nothing.
func hostRowOf(b *event.Batch, i int) hostRow {
	return hostRow{stat.Span{From: b.Start.Values[i], To: b.End.Values[i]}, activityOf(b, i), b.Thread.Values[i]}
}

// pausing reports whether no GPU of the rank has been busy for more than SegmentGap.
func (r *rank) pausing() bool { return r.pauses.from != never }

// endPause ends the pause at t; the rows before t are in the output. It closes the
// segment unless the host worked in the pause, or may turn out to have. Of two such
// pauses after one step the second closes it.
func (r *rank) endPause(t int64) {
	if d := r.hostIn(t); !d.works(t) {
		r.decide(t)
		if r.doubt != nil || !d.works(never) {
			r.closeSegment(t)
			return
		}
		r.doubt = d
	}
	r.pauses.from, r.limit = never, t+r.plan.segmentGap
}

// endPauseAt ends the pause, if there is one, at row k.
func (r *rank) endPauseAt(k int) {
	if r.pausing() {
		r.put(k)
		r.endPause(r.in.Start.Values[k])
	}
}

// hostIn returns the pause, ending at t, with what the launching threads do in it. Of
// rows that began before the step before it, only the long ones are known.
func (r *rank) hostIn(t int64) *doubt {
	d := &doubt{pause: stat.Span{From: r.pauses.from, To: t}, since: r.step.since}
	add := func(h hostRow) {
		if h.From < t && h.To > r.pauses.from && slices.Contains(r.host.launching, h.thread) {
			d.rows = append(d.rows, h)
		}
	}
	for _, h := range r.host.long {
		add(h)
	}
	r.out.each(r.step.at, func(b *event.Batch, i int) {
		if b.End.Values[i] > r.pauses.from {
			add(hostRowOf(b, i))
		}
	})
	return d
}

// works reports whether the host works for at least half of the pause. Of the ranges in
// it, only those count that end by the given time.
func (d *doubt) works(by int64) bool {
	waits := slices.ContainsFunc(d.rows, func(h hostRow) bool { return h.what == waiting })
	fetches := map[int64][]stat.Span{} // by thread
	for _, h := range d.rows {
		if h.what == fetching {
			fetches[h.thread] = append(fetches[h.thread], h.Span)
		}
	}
	var spans []stat.Span
	for _, h := range d.rows {
		in := []stat.Span{h.Clip(d.pause)}
		switch {
		case h.what == inCall, h.what == onCPU && !waits:
			spans = append(spans, in...)
		case h.what == inRange && h.From >= d.since && h.To <= by:
			spans = append(spans, stat.Subtract(in, stat.Union(fetches[h.thread]))...)
		}
	}
	return stat.MostOf(stat.Length(stat.Union(spans)), d.pause.Len())
}

// doubted updates the open pause when the open step ends; what follows begins at next.
func (r *rank) doubted(next int64) {
	r.decide(next)
	switch d := r.doubt; {
	case d == nil:
	case r.step.end > d.pause.From: // the step goes on after the pause
		r.doubt = nil
	default:
		before := r.step
		d.before, d.end = &before, r.segments[len(r.segments)-1].end
	}
}

// decide decides about an open pause before the open step: no work of that step may end
// after until. If the pause is no stall, the open step is the first of another segment.
func (r *rank) decide(until int64) {
	d, last := r.doubt, len(r.segments)-1
	if d == nil || d.before == nil {
		return
	}
	r.doubt = nil
	if d.works(until) {
		return
	}
	r.out.each(d.before.at, func(b *event.Batch, i int) { // rows of the open step have no number yet
		if b.Start.Values[i] >= d.end {
			b.Step.SetNull(i)
		}
	})
	r.segments[last].end = d.end
	r.segments = append(r.segments, segment{start: r.step.start, end: r.step.end})
	r.recent = r.recent[:0]
	r.out.at(r.step.at).Segment.Set(r.step.at.row, int64(last+1))
}
