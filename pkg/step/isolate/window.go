package isolate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// window is the benchmark window of a rank.
type window struct {
	start, end int64
	size       int64 // the common size
	segment    int   // the benchmark segment, -1: none
	steps      int   // of the benchmark segment
}

// ended is a rank whose rows have ended: it has a window, and what is odd is said of it.
type ended struct{ *rank }

// window returns the rank's benchmark window; it has steps.
func (r ended) window() window {
	w := window{size: int64(commonSize(r.sizes)), segment: -1}
	for i := range r.segments {
		if odd, steps := r.odd(&w, i); steps >= step.MinSteps && mostOf(steps-odd, steps) {
			w.segment, w.steps = i, steps
		}
	}
	w.start, w.end = r.segments[0].start, r.segments[0].end
	for _, seg := range r.segments {
		w.end = max(w.end, seg.end)
	}
	if w.segment >= 0 {
		w.start, w.end = r.segments[w.segment].start, r.segments[w.segment].end
	}
	return w
}

// longestPause returns the longest time from the end of a segment to the start of the next
// of those that were recorded; 0 where none was.
func (r ended) longestPause() time.Duration {
	longest := int64(0)
	for i := 1; i < len(r.segments); i++ {
		from, to := r.segments[i-1].end, r.segments[i].start
		if !slices.ContainsFunc(r.lost, func(u [2]int64) bool { return from < u[1] && u[0] < to }) {
			longest = max(longest, to-from)
		}
	}
	return time.Duration(longest)
}

// sizesOf returns the sizes of the steps of segment i, of all where it is -1.
func (r ended) sizesOf(i int) []int32 {
	switch {
	case i < 0:
		return r.sizes
	case i+1 < len(r.segments):
		return r.sizes[r.segments[i].first:r.segments[i+1].first]
	}
	return r.sizes[r.segments[i].first:]
}

// commonSize returns the most frequent size, the larger of equally frequent ones.
func commonSize(sizes []int32) int32 {
	counts := map[int32]int{}
	best := int32(0)
	for _, size := range sizes {
		counts[size]++
	}
	for size, n := range counts {
		if n > counts[best] || n == counts[best] && size > best {
			best = size
		}
	}
	return best
}

// addWindows makes the last batch, the window rows, and says what is odd. It
// fails where the steps of a rank could not be identified.
func (it *Isolator) addWindows() error {
	ranks := slices.DeleteFunc(slices.Clone(it.ranks), func(r *rank) bool { return r.id == noRank })
	if !slices.ContainsFunc(ranks, func(r *rank) bool { return len(r.sizes) > 0 }) {
		it.opt.Warn("no steps at all: " + inVain[it.plan.method])
		return nil
	}
	slices.SortFunc(ranks, func(a, b *rank) int { return cmp.Compare(a.id, b.id) })
	b := it.pool.get()
	it.ready = append(it.ready, b)
	var unclear []*NotFound
	marked := false
	for _, r := range ranks {
		if len(r.sizes) == 0 {
			if !r.left {
				it.opt.Warn(fmt.Sprintf("rank %d has no steps", r.id))
			}
		} else if none := (ended{r}).addWindow(b); none != nil {
			none.Ranks = []int32{r.id}
			unclear = append(unclear, none)
		} else {
			marked = marked || r.markers.ids > 0
		}
	}
	none := it.leaveOut(unclear, marked)
	switch {
	case none == nil:
		it.checkUnlike(ranks)
		return nil
	case it.opt.Unclear == nil:
		return none
	}
	it.opt.Unclear(none)
	for i := range b.Len {
		b.Step.SetNull(i)
		b.Size.SetNull(i)
		b.Segment.SetNull(i)
		if b.Columns.Has(event.ColClass) {
			b.Class.SetNull(i)
		}
	}
	return nil
}

// leaveOut warns of ranks whose steps cannot be identified. It fails where they may not be
// left out, or no other rank has steps by its markers.
func (it *Isolator) leaveOut(unclear []*NotFound, marked bool) *NotFound {
	switch {
	case len(unclear) == 0:
		return nil
	case !marked:
		unclear[0].Ranks = nil
		return unclear[0]
	case it.opt.Apart:
		for _, none := range unclear {
			it.opt.Warn(none.Msg + LeftOut)
		}
		return nil
	}
	for _, none := range unclear[1:] {
		unclear[0].Ranks = append(unclear[0].Ranks, none.Ranks...)
		unclear[0].Msg += "; " + none.Msg
	}
	return unclear[0]
}

// LeftOut goes on after why a rank's steps cannot be identified where those of others can.
const LeftOut = ": figures of steps are those of the other ranks"

// inVain says what was looked for in vain.
var inVain = map[string]string{
	step.Allreduce: "no rank has an all-reduce kernel",
	step.NVTX:      "no rank has a forward-step marker",
	step.Graph:     "no rank has a recorded replay of a CUDA graph",
}

// addWindow appends the rank's window row, which has no number of steps where they cannot be
// identified.
func (r ended) addWindow(b *event.Batch) *NotFound {
	w := r.window()
	switch {
	case w.segment < 0:
		r.warn("rank %d has too few steps (%d; %d of one size needed): all are used, warm-up included",
			r.id, len(r.sizes), step.MinSteps)
	case !mostOf(w.steps, len(r.sizes)):
		say := fmt.Sprintf("only %[2]d of %[3]d steps of rank %[1]d are analysed:", r.id, w.steps, len(r.sizes))
		if pause := r.longestPause(); pause > 0 {
			r.warn("%s pauses of up to %s split them into %d segments; to treat pauses as stalls: --segment-gap %v",
				say, shown(int64(pause)), len(r.segments), (2 * pause).Truncate(time.Millisecond))
		} else {
			r.warn("%s unrecorded time splits them into %d segments", say, len(r.segments))
		}
	}
	i := b.AppendNulls()
	b.Kind.Set(i, event.Window)
	b.Start.Set(i, w.start)
	b.End.Set(i, w.end)
	b.Rank.Set(i, r.id)
	b.Name.SetLast("window")
	if none := r.check(&w); none != nil {
		return none
	}
	b.Step.Set(i, int64(len(r.sizes)))
	b.Size.Set(i, w.size)
	if w.segment >= 0 {
		b.Segment.Set(i, int64(w.segment))
	}
	if r.unlikeMarkers && b.Columns.Has(event.ColClass) {
		b.Class.Set(i, event.StepMarker)
	}
	return nil
}

// check warns of steps that may be split or merged. An error says that the steps of a rank
// without markers cannot be identified.
func (r ended) check(w *window) *NotFound {
	var none *NotFound
	switch {
	case r.plan.method == step.NVTX:
		r.checkAhead(w)
	case r.plan.method == step.Graph || r.markers.ids == 0:
		none = r.checkUnmarked(w)
	}
	if none == nil {
		r.checkCounts()
	}
	return none
}

// shown is ns in a sentence.
func shown(ns int64) string { return report.Micros(float64(ns) / 1e3) }

// warn adds a warning about the rank.
func (r ended) warn(format string, args ...any) { r.plan.warn(fmt.Sprintf(format, args...)) }

// checkAhead warns where the GPU is still at work on the window's steps long after its
// last marker, by a tenth of the window and more than the few steps that an engine
// schedules ahead: markers are then as far apart as the host makes them, which is less
// than the GPU takes. Of fewer steps than a benchmark has nobody can tell, nor where the last
// one has context requests: it may take the GPU as long as many others.
func (r ended) checkAhead(w *window) {
	for i, seg := range r.segments {
		n := int64(len(r.sizesOf(i)))
		late, length := seg.drained-seg.end, seg.end-seg.start
		if w.segment >= 0 && i != w.segment || n < step.MinSteps || float64(late) <= (1-minCover)*float64(length) || late*n <= maxScheduled*length {
			continue
		}
		r.warn("the host of rank %d runs ahead of its GPU, which finishes %s after the last marker of a window of %s: "+
			"step lengths show the pace of the host, not the throughput; compare with --by graph or --by allreduce",
			r.id, shown(late), shown(length))
		return
	}
}

// checkUnmarked warns of what is odd about steps that were found by structure or by
// graph, and fails where the structure is not clear and nothing else tells.
func (r ended) checkUnmarked(w *window) *NotFound {
	why, n := "", 0 // of the window; the segments that are not clear, or unlike the window's
	for i := range r.segments {
		unclear := ""
		if rule := r.segments[i].rule; rule != nil {
			unclear = rule.why
		}
		if why == "" && (i == w.segment || w.segment < 0) {
			why = unclear
		}
		other, steps := r.odd(w, i)
		n += b2n(unclear != "" || w.segment >= 0 && i != w.segment && mostOf(other, steps))
	}
	switch {
	case why != "" && r.markers.ids > 0: // whose number is compared with that of the steps
	case why != "" && r.plan.method == step.Graph:
		r.warn("rank %d: %s", r.id, why)
	case why != "":
		return &NotFound{
			Msg:    fmt.Sprintf("the steps of rank %d cannot be identified without forward-step markers: %s", r.id, why),
			Advice: "profile with the engine's own ranges on, name yours with --marker, or split at gaps with --gap 1ms",
		}
	case n > 0:
		r.warn("the steps in %s of rank %d outside its benchmark window are uncertain", report.Counted(n, "segment"), r.id)
	}
	if n, of := r.odd(w, w.segment); float64(n) >= (1-minCover)*float64(of) {
		r.warn("%d of %d steps of rank %d, which has no forward-step markers, do not have the usual %d all-reduce kernels: "+
			"steps may be split or merged", n, of, r.id, w.size)
	}
	return nil
}

// odd returns how many steps of a segment, of all where it is -1, have another size than the
// common one, and how many steps it has.
func (r ended) odd(w *window, segment int) (odd, steps int) {
	sizes := r.sizesOf(segment)
	for _, size := range sizes {
		odd += b2n(int64(size) != w.size)
	}
	return odd, len(sizes)
}
