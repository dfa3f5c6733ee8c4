package isolate

import (
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// shown formats ns for a sentence.
func shown(ns int64) string { return report.Micros(float64(ns) / 1e3) }

// warn adds a warning about the rank.
func (r *rank) warn(format string, args ...any) { r.plan.warn(fmt.Sprintf(format, args...)) }

// check warns of irregularities in the steps. It returns an error if the steps of a rank
// without markers cannot be identified, else nil.
func (e *ended) check() (none *step.NotFound) {
	e.checkWindow()
	switch {
	case e.plan.method == step.NVTX:
		e.checkAhead()
	case e.plan.method == step.Graph || e.markers.ids == 0:
		none = e.checkUnmarked()
	}
	if none == nil {
		e.checkCounts()
	}
	return none
}

// checkWindow warns if the window has only a few of the steps.
func (e *ended) checkWindow() {
	n, all := len(e.inWindow()), len(e.sizes)
	switch {
	case e.segment < 0:
		e.warn("rank %d has too few steps (%d; %d of one size needed): all are used, warm-up included", e.id, all, step.MinSteps)
	case !stat.MostOf(n, all):
		e.warn("only %d of %d steps of rank %d are analysed: pauses or unrecorded time split them into %d segments; "+
			"--segment-gap sets the length of pauses that do", n, all, e.id, len(e.segments))
	}
}

// checkAhead warns if the GPU still works on the window's steps long after its last
// marker. Long is more than a tenth of the window, and more than the few steps that an
// engine schedules ahead. Markers are then as far apart as the host makes them, which is
// less than the GPU needs. It does not apply to segments with fewer steps than a
// benchmark has, nor if the last step has context requests. These may take the GPU as
// long as many other steps.
func (e *ended) checkAhead() {
	for i, seg := range e.segments {
		n, late, length := int64(len(seg.sizes)), seg.drained-seg.end, seg.end-seg.start
		if e.segment >= 0 && i != e.segment || n < step.MinSteps || float64(late) <= (1-step.Enough)*float64(length) || late*n <= maxScheduled*length {
			continue
		}
		e.warn("the host of rank %d runs ahead of its GPU, which finishes %s after the last marker of a window of %s: "+
			"step lengths show the pace of the host, not the throughput; compare with --by graph or --by allreduce",
			e.id, shown(late), shown(length))
		return
	}
}

// checkUnmarked warns of irregularities in steps found by structure or by graph. It
// returns an error if the structure is ambiguous and there are no markers.
func (e *ended) checkUnmarked() *step.NotFound {
	why, n := "", 0 // the segments that differ from the window
	if e.rule != nil {
		why = e.rule.why
	}
	for i, seg := range e.segments {
		n += b2n(e.segment >= 0 && i != e.segment && stat.MostOf(e.odd(seg.sizes), len(seg.sizes)))
	}
	switch {
	case why != "" && e.markers.ids > 0: // checkCounts compares their number with that of the steps
	case why != "" && e.plan.method == step.Graph:
		e.warn("rank %d: %s", e.id, why)
	case why != "":
		return &step.NotFound{
			Msg:    fmt.Sprintf("the steps of rank %d cannot be identified without forward-step markers: %s", e.id, why),
			Advice: "profile with the engine's own ranges on, name yours with --marker, or split at gaps with --gap 1ms",
			Ranks:  []int32{e.id},
		}
	case n > 0:
		e.warn("the steps in %s of rank %d outside its benchmark window are uncertain", report.Counted(n, "segment"), e.id)
	}
	if odd, of := e.odd(e.inWindow()), len(e.inWindow()); float64(odd) >= (1-step.Enough)*float64(of) {
		e.warn("%d of %d steps of rank %d, which has no forward-step markers, do not have the usual %d all-reduce kernels: "+
			"steps may be split or merged", odd, of, e.id, e.size)
	}
	return nil
}

// checkCounts warns if something else that occurs once per step indicates another number
// of steps. It names the count that differs most.
func (e *ended) checkCounts() {
	n, nvtx, marked := len(e.sizes), e.plan.method == step.NVTX, int(e.markers.ids)
	markers, ofMarkers, inside := n, "forward-step markers", -int(e.strays)
	switch {
	case nvtx:
		markers, ofMarkers = e.outside.numbers, "forward-step markers by their numbers"
	case marked > 0:
		markers = marked
	}
	for _, size := range e.sizes {
		inside += int(size)
	}
	e.unlikeMarkers = float64(distance(n, markers+max(0, e.more))) > (1-step.Enough)*float64(n)
	most, other := 0, ""
	for _, one := range []struct {
		count int
		of    string
	}{
		{markers, ofMarkers},
		{n + e.more, "forward passes by their launches"},
		{n + more(e.sizes, e.size), "forward passes by their all-reduce kernels"},
		{n + n*int(float64(e.strays)/(step.Enough*float64(max(1, inside)))), "forward passes by their all-reduce kernels"},
		{n + more(e.kernels, median(e.kernels)), "forward passes by all of their kernels"},
	} {
		if by := distance(n, one.count); by > most && float64(by) > maxStray*float64(n) {
			most, other = by, fmt.Sprintf("%d %s", one.count, one.of)
		}
	}
	remedy := "record the engine's forward-step ranges, or name yours with --marker"
	switch {
	case other == "":
		return
	case nvtx:
		remedy = "if several threads have markers, choose those of one with --marker"
	case marked > 0:
		remedy = "compare with --by nvtx"
	}
	e.warn("rank %d has %d steps by %s, but %s: steps may be split or merged; %s", e.id, n, e.plan.method, other, remedy)
}

// distance returns the absolute difference of two numbers.
func distance(a, b int) int { return max(a, b) - min(a, b) }

// more returns how many more steps there would be if steps with several times the usual
// work were several.
func more(work []int32, usual int32) (n int) {
	for _, w := range work {
		n += max(0, parts(w, usual)-1)
	}
	return n
}

// median returns the upper median of numbers, 0 if there are none.
func median(numbers []int32) int32 {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Clone(numbers)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// outside counts, for nvtx, what a rank launches during and between markers. API calls
// come in the order of their start, as markers do, so it is known at once whether a call
// is made during one.
type outside struct {
	end     int64      // latest end of the markers so far, never if there is none in this segment
	number  int64      // of the last marker
	numbers int        // number of steps by marker numbers, from the first marker of each segment to its last
	grow    bool       // numbers increase: a number that all markers share counts nothing
	now     launches   // since the last marker began
	markers []launches // by marker that has ended
}

// launches counts calls that launch kernels or graphs, during a marker and after it
// until the next one.
type launches [4]int32

const (
	kernelsDuring = iota
	graphsDuring
	kernelsAfter
	graphsAfter
)

// again reports whether as much is launched after a marker as during it: a forward pass
// without a marker.
func (l *launches) again() bool {
	if l[graphsDuring] > 0 {
		return l[graphsAfter] >= l[graphsDuring]
	}
	return l[kernelsDuring] > 0 && l[kernelsAfter] >= l[kernelsDuring]
}

// call counts a call at t that launches kernels or a graph.
func (o *outside) call(class event.Class, t int64) {
	o.now[b2n(class == event.GraphLaunch)*graphsDuring+b2n(t >= o.end)*kernelsAfter]++
}

// marker begins a marker that ends at end. If not fresh, it is part of an earlier one.
// What was launched before the first marker of a segment is not counted.
func (o *outside) marker(end, number int64, fresh bool) {
	first, last := o.end == never, o.number
	switch o.number = number; {
	case first || last == noNumber || number < last || number == last && !o.grow:
		o.numbers += b2n(fresh)
	case o.now.again():
		o.numbers += int(number - last)
		o.grow = true
	default: // engines also count iterations in which they run nothing
		o.numbers += int(min(number-last, 1))
		o.grow = true
	}
	if first {
		o.now, o.end = launches{}, end
		return
	}
	if fresh {
		o.markers = append(o.markers, o.now)
		o.now = launches{}
	}
	o.end = max(o.end, end)
}

// close ends the last marker of a segment.
func (o *outside) close() {
	if o.end != never {
		o.markers = append(o.markers, o.now)
	}
	o.end = never
}

// drains reports whether less than another step is launched after the last marker.
func (o *outside) drains() bool {
	return o.now[graphsAfter] <= o.now[graphsDuring] && o.now[kernelsAfter] < max(o.now[kernelsDuring], step.MinForward)
}

// more returns how many more forward passes are launched than there are markers; it may
// be negative. Markers without launches count -1. Those after whose end as much is
// launched as during most markers count more: as many graphs, or kernels if most markers
// have no graphs.
func (o *outside) more() (n int) {
	var usual launches
	for k := range usual {
		all := make([]int32, len(o.markers))
		for i := range all {
			all[i] = o.markers[i][k]
		}
		usual[k] = median(all)
	}
	if usual == (launches{}) {
		return 0
	}
	during, after := max(1, usual[kernelsDuring]), usual[kernelsAfter]
	for _, l := range o.markers {
		switch graphs := usual[graphsDuring]; {
		case l == launches{}:
			n--
		case graphs > 0:
			n += int(max(0, l[graphsAfter]-usual[graphsAfter]) / graphs)
			n += b2n(parts(l[kernelsAfter], after+during+step.MinForward) > 1) // an eager pass
		case after < during:
			n += int(max(0, l[kernelsAfter]-after) / during)
		default:
			n += int(l[kernelsAfter] / during)
		}
	}
	return n
}

// parts returns work/whole, rounded to the nearest integer.
func parts(work, whole int32) int {
	return int(math.Round(float64(max(0, work)) / float64(max(1, whole))))
}
