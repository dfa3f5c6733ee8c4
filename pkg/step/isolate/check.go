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
	if e.plan.method == step.NVTX {
		e.checkAhead()
	} else if e.plan.method == step.Graph || e.markers.ids == 0 {
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

// checkAhead warns if the GPU still works long after the window's last marker: more than
// a tenth of the window, and more than the few steps that an engine schedules ahead.
// Markers are then as far apart as the host makes them, which is less than the GPU
// needs. It does not apply if the last step has context requests: these may take the GPU
// as long as many other steps.
func (e *ended) checkAhead() {
	if e.segment < 0 {
		return
	}
	n, length := int64(len(e.inWindow())), e.end-e.start
	late := e.segments[e.segment].drained - e.end
	if float64(late) > (1-step.Enough)*float64(length) && late*n > maxScheduled*length {
		e.warn("the host of rank %d runs ahead of its GPU, which finishes %s after the last marker of a window of %s: "+
			"step lengths show the pace of the host, not the throughput; compare with --by graph or --by allreduce",
			e.id, shown(late), shown(length))
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
	markers, ofMarkers := n, "forward-step markers"
	switch {
	case nvtx:
		markers, ofMarkers = e.passes.numbers, "forward-step markers by their numbers"
	case marked > 0:
		markers = marked
	}
	e.unlikeMarkers = float64(distance(n, markers)) > (1-step.Enough)*float64(n)
	most, other := 0, ""
	for _, one := range []struct {
		count int
		of    string
	}{
		{markers, ofMarkers},
		{e.passes.launched(n), "forward passes by their launches"},
		{n + more(e.kernels), "forward passes by their kernels"},
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
func more(work []int32) (n int) {
	usual := float64(max(1, median(work)))
	for _, w := range work {
		n += max(0, int(math.Round(float64(w)/usual))-1)
	}
	return n
}

// median returns the upper median of numbers, 0 if there are none.
func median(numbers []int32) int32 {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[len(sorted)/2]
}

// passes compares, for nvtx, the markers with their numbers and with what is launched.
// API calls come in the order of their start, as markers do, so it is known at once
// whether a call is made during a marker.
type passes struct {
	end           int64    // latest end of the markers of the segment so far, none if there is none
	number        int64    // of the last marker, noNumber if it is the first of its segment
	numbers       int      // how many steps there are by the markers' numbers
	during, after launches // those of the last marker, and since
	markers       int      // markers that have ended
	idle          int      // those without a launch up to the next one
	again         int      // those after which a forward pass was launched without a marker
}

// launches counts calls that launch kernels, and those that launch graphs.
type launches struct{ kernels, graphs int }

// call counts a call at t that launches work.
func (p *passes) call(class event.Class, t int64) {
	l := &p.after
	if t < p.end {
		l = &p.during
	}
	if class == event.GraphLaunch {
		l.graphs++
	} else {
		l.kernels++
	}
}

// repeated reports whether as much was launched after the last marker as during it: a
// forward pass without a marker.
func (p *passes) repeated() bool {
	if p.during.graphs > 0 {
		return p.after.graphs >= p.during.graphs
	}
	return p.during.kernels > 0 && p.after.kernels >= p.during.kernels
}

// marker begins a marker that ends at end. If not fresh, it is part of an earlier one.
// Numbers that are left out are markers that were lost if a forward pass was launched
// after the last marker. Otherwise the engine counted iterations in which it ran
// nothing.
func (p *passes) marker(end, number int64, fresh bool) {
	switch {
	case p.number == noNumber || number < p.number:
		p.numbers += b2n(fresh)
	case p.repeated():
		p.numbers += int(number - p.number)
	default:
		p.numbers += b2n(number > p.number)
	}
	p.number = number
	if fresh {
		p.settle()
	}
	p.end = max(p.end, end)
}

// settle ends the last marker, if there is one.
func (p *passes) settle() {
	if p.end != none {
		p.markers++
		p.idle += b2n(p.during == launches{} && p.after == launches{})
		p.again += b2n(p.repeated())
	}
	p.during, p.after = launches{}, launches{}
}

// close ends the last marker of a segment.
func (p *passes) close() {
	p.settle()
	p.end, p.number = none, noNumber
}

// launched returns how many forward passes were launched, by n markers: those without a
// launch are none, if launches were recorded at all.
func (p *passes) launched(n int) int {
	if p.idle == p.markers {
		return n
	}
	return n + p.again - p.idle
}
