package isolate

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// pause is a stretch of more than SegmentGap in which no GPU of the rank is busy, while it
// is not known yet whether the host works in it: a stall, or the end of a segment.
type pause struct {
	from int64 // ns, never: no such stretch is under way
	rows int   // that came in it and are held
}

// doubt is a pause that is a stall only if ranges that were open at its end belong to the
// step after it.
type doubt struct {
	pause stat.Span
	work  []work
}

// work is time in a pause in which the host works, if what comes after goes on to end or longer.
type work struct {
	in  stat.Span
	end int64
}

// doubts are those since the step before them began, of which before and end, the latest
// end of its segment, are known once another step has begun.
type doubts struct {
	all    []doubt
	step   int // number of the step before
	before openStep
	end    int64
}

// host is what is remembered of the host rows of a rank, for pauses.
type host struct {
	launching []int64 // threads that have launched work
	last      int64   // of them the one that did so last
	long      []hostRow
}

// hostRow is a row of the host that began before those which are held.
type hostRow struct {
	what       activity
	start, end int64
	thread     int64
}

// activity is what a row says of its thread, as far as that tells a stall from the end of a
// segment.
type activity uint8

const (
	nothing  activity = iota
	inCall            // inside a CUDA call, or one of the system in which it does not wait
	inRange           // inside a range
	fetching          // inside a range that fetches or waits for requests
	onCPU             // on a CPU
	waiting           // inside a call of the system that waits
)

// launchClasses are the classes of API calls that launch work.
const launchClasses = event.ClassSet(1<<event.Launch | 1<<event.GraphLaunch)

// activityOf returns what row i says of its thread.
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

// launches notes that a thread launches work.
func (h *host) launches(thread int64) {
	h.last = thread
	if !slices.Contains(h.launching, thread) {
		h.launching = append(h.launching, thread)
	}
}

// keep remembers row i, which may be long enough to make a stall after the rows around it
// have been handed out. A pause has no part of what ends before frontier.
func (h *host) keep(b *event.Batch, i int, frontier int64) {
	if b.Kind.Values[i].IsGPU() {
		return
	}
	if what := activityOf(b, i); what != nothing {
		h.long = slices.DeleteFunc(h.long, func(r hostRow) bool { return r.end <= frontier })
		h.long = append(h.long, hostRow{what, b.Start.Values[i], b.End.Values[i], b.Thread.Values[i]})
	}
}

// pausing says whether no GPU of the rank has been busy for more than SegmentGap.
func (r *rank) pausing() bool { return r.pause.from != never }

// stalling is a rank in which a pause is a stall, or the end of a segment.
type stalling struct{ *rank }

// beginPause begins one, with the rows of the open segment in the output.
func (r stalling) beginPause() {
	r.pause, r.limit = pause{from: r.limit - r.plan.segmentGap}, never
}

// endPause ends the pause at t, with the rows before t in the output. It closes the segment
// unless the host worked in it, or may turn out to have (see doubts).
func (r stalling) endPause(t int64) {
	d := r.hostWork(t)
	if !d.worked(never) {
		r.closeSegment(t)
		return
	}
	if !d.worked(t) {
		if len(r.sizes) > r.doubts.step {
			r.doubted(t)
		}
		r.doubts.step = len(r.sizes)
		r.doubts.all = append(r.doubts.all, d)
	}
	r.pause.from, r.limit = never, t+r.plan.segmentGap
}

// endPauseBefore is endPause where row k ends it, if one is under way; the rows from from on are
// not in the output. It returns the first that still is not.
func (r stalling) endPauseBefore(b *event.Batch, from, k int) int {
	if !r.pausing() {
		return from
	}
	from = r.addBefore(b, from, k)
	r.endPause(b.Start.Values[k])
	return from
}

// boundPause closes the segment where a pause has so many rows that they are not to be held
// any longer, and the host does not work in it.
func (r stalling) boundPause(t int64) {
	if r.pause.rows < maxHeld {
		return
	}
	if r.pause.rows = 0; !r.hostWork(t).worked(never) {
		r.closeSegment(t)
	}
}

// worked says whether the host works for half of the pause or more, with those of the ranges
// in it which end by the given time, that of its end or later.
func (d doubt) worked(by int64) bool {
	var spans []stat.Span
	for _, w := range d.work {
		if w.end <= by {
			spans = append(spans, w.in)
		}
	}
	return mostOf(stat.Length(stat.Union(spans)), d.pause.Len())
}

// hostWork returns what the threads that launch do in the pause, which ends at t. Ranges
// that began before the step before it say nothing of it.
func (r stalling) hostWork(t int64) doubt {
	d := doubt{pause: stat.Span{From: r.pause.from, To: t}}
	all := slices.DeleteFunc(slices.Clone(r.host.long), func(h hostRow) bool { return !r.inPause(&h, t) })
	r.out.each(r.step.at, func(b *event.Batch, i int) {
		if b.End.Values[i] <= r.pause.from || b.Kind.Values[i].IsGPU() {
			return
		}
		h := hostRow{start: b.Start.Values[i], end: b.End.Values[i], thread: b.Thread.Values[i]}
		if r.inPause(&h, t) {
			if h.what = activityOf(b, i); h.what != nothing {
				all = append(all, h)
			}
		}
	})
	waits := slices.ContainsFunc(all, func(h hostRow) bool { return h.what == waiting })
	for _, thread := range r.host.launching {
		var fetches []stat.Span
		for _, h := range all {
			if h.thread == thread && h.what == fetching {
				fetches = append(fetches, h.span())
			}
		}
		fetches = stat.Union(fetches)
		for _, h := range all {
			in := h.span().Clip(d.pause)
			switch {
			case h.thread != thread:
			case h.what == inCall, h.what == onCPU && !waits:
				d.work = append(d.work, work{in, none})
			case h.what == inRange && h.start >= r.step.since:
				for _, part := range stat.Subtract([]stat.Span{in}, fetches) {
					d.work = append(d.work, work{part, h.end})
				}
			}
		}
	}
	return d
}

// inPause says whether a row lies in the pause, which ends at t, and is of a thread that
// launches.
func (r stalling) inPause(h *hostRow, t int64) bool {
	return h.start < t && h.end > r.pause.from && slices.Contains(r.host.launching, h.thread)
}

// span is the time of the row.
func (h *hostRow) span() stat.Span { return stat.Span{From: h.start, To: h.end} }

// doubted uses the end of the open step for what is in doubt: of the step before it remembers
// what a split takes, and with the step after, which nothing of what is to be its work may
// outlast, it is decided.
func (r stalling) doubted(until int64) {
	d, seg := &r.doubts, &r.segments[len(r.segments)-1]
	switch {
	case len(d.all) == 0:
	case len(r.sizes) > d.step:
		if slices.ContainsFunc(d.all, func(one doubt) bool { return !one.worked(until) }) {
			r.split()
		}
		d.all = nil
	case r.step.end > d.all[0].pause.From: // it goes on after the pause
		d.all = nil
	default:
		d.before, d.end = r.step, seg.end
	}
}

// split makes the open step the first of another segment.
func (r stalling) split() {
	d, last := &r.doubts, len(r.segments)-1
	r.out.each(d.before.at, func(b *event.Batch, i int) { // of the open step none has its number yet
		if b.Start.Values[i] >= d.end {
			b.Step.SetNull(i)
		}
	})
	r.segments[last].end, r.segments[last].unclear = d.end, r.whyUnclear()
	r.segments = append(r.segments, segment{first: len(r.sizes), start: r.step.start, end: r.step.end})
	r.recent = r.recent[:0]
	r.out.at(r.step.at).Segment.Set(r.step.at.row, int64(last+1))
}
