package kineto

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/marker"
)

// describe finds out what the header says of a document that was read.
func (d *document) describe() {
	d.findOrigin()
	d.chooseMarkers()
	d.joinLaunches()
	d.count()
	d.warn()
}

// each calls f with all rows, in no order.
func (d *document) each(f func(*row)) {
	for _, c := range d.chunks {
		for i := range c {
			f(&c[i])
		}
	}
}

// epoch is the least time that is one since 1970, in ns, and not one since a base
// of some months: a profiler that wrote times since 1970 in 1973 there was none.
const epoch = 100_000_000_000_000_000

// findOrigin finds time 0 of the report: the whole microsecond in which the first row
// starts, so that whoever rounds times to microseconds, as others do, rounds the same.
func (d *document) findOrigin() {
	first := true
	for _, c := range d.chunks {
		if t := c[0].start; first || t < d.origin {
			d.origin, first = t, false
		}
	}
	d.origin -= (d.origin%1000 + 1000) % 1000
	if utc := d.origin + d.head.base; utc > epoch {
		d.info.Origin = utc
	}
}

// chooseMarkers decides which ranges are markers of forward steps: annotations, or
// in traces of 2020 and 2021, which have none, operators, that say the counts of
// requests; where none does, the steps of the profiler's schedule. Where one is around
// another, the inner one counts; and the first one after the profiler started is
// none: it holds what starting took.
func (d *document) chooseMarkers() {
	category := annotationCategory
	if d.counts.rows[category] == 0 {
		category = operatorCategory
	}
	counted, scheduled, some := d.namesOfMarkers(category)
	if !some {
		counted = scheduled
	}
	var markers []*row
	d.each(func(r *row) {
		if r.category == category && counted[r.name] {
			markers = append(markers, r)
		}
	})
	for n, c := range d.names.classes {
		switch {
		case counted[n]:
			d.names.classes[n] = event.StepMarker
		case c == event.StepMarker:
			d.names.classes[n] = event.Range
		}
	}
	d.leaveOut(markers)
}

// leaveOut finds the markers that are none: those around another one of their thread,
// and the first of the others.
func (d *document) leaveOut(markers []*row) {
	slices.SortFunc(markers, order)
	d.noSteps = map[uint32]bool{}
	open := map[int32]*row{} // the last marker of each thread
	for _, m := range markers {
		if outer := open[m.owner]; outer != nil && m.end <= outer.end {
			d.noSteps[outer.place] = true
		}
		open[m.owner] = m
	}
	d.markers = int64(len(markers) - len(d.noSteps))
	for _, m := range markers {
		if !d.noSteps[m.place] {
			d.noSteps[m.place] = true
			return
		}
	}
}

// namesOfMarkers tells which names of a category are markers with counts, whether
// there are some, and which are steps of the profiler's schedule.
func (d *document) namesOfMarkers(c category) (counted, scheduled []bool, some bool) {
	counted, scheduled = make([]bool, len(d.names.classes)), make([]bool, len(d.names.classes))
	for key, n := range d.names.numbers {
		if key.category != c {
			continue
		}
		m, ok := marker.Parse(d.names.text(n))
		counted[n], scheduled[n] = ok && m.HasCounts, ok && !m.HasCounts
		some = some || counted[n]
	}
	return counted, scheduled, some
}

// classOf returns the class of a row, -1 for none.
func (d *document) classOf(r *row) event.Class {
	class := d.names.classes[r.name]
	if class == event.StepMarker && d.noSteps[r.place] {
		return event.Range
	}
	return class
}

// joinLaunches finds the calls by their correlation. Where several have one, the
// first counts.
func (d *document) joinLaunches() {
	d.calls = make(map[int64]*row, d.counts.rows[apiCategory])
	d.each(func(r *row) {
		if r.category != apiCategory || r.correlation == none {
			return
		}
		if have := d.calls[r.correlation]; have == nil || order(r, have) < 0 {
			d.calls[r.correlation] = r
		}
	})
}

// launch returns the call that launched a row, nil where it is not recorded.
func (d *document) launch(r *row) *row {
	if r.correlation == none {
		return nil
	}
	return d.calls[r.correlation]
}

// widen makes a span that of what it was and of a row.
func widen(start, end **int64, from, to int64) {
	if *start == nil {
		*start, *end = &from, &to
		return
	}
	**start, **end = min(**start, from), max(**end, to)
}

// count fills in the report and what is known of its rank.
func (d *document) count() {
	info := &d.info
	info.Source, info.Ranks = "torch", []int32{}
	info.Rows, info.Classes = map[string]int64{}, map[string]int64{}
	for _, c := range []event.Class{event.Allreduce, event.Launch, event.GraphLaunch, event.StepMarker} {
		info.Classes[c.String()] = 0
	}
	facts, replays := event.RankFacts{}, map[int64]struct{}{}
	d.device, d.reduces, d.collectives = -1, -1, map[string][]int64{}
	d.each(func(r *row) {
		kind, class := kinds[r.category], d.classOf(r)
		info.Rows[kind.String()]++
		if _, ok := info.Classes[class.String()]; ok {
			info.Classes[class.String()]++
		}
		if !kind.IsGPU() {
			return
		}
		widen(&info.BusyStart, &info.BusyEnd, r.start-d.origin, r.end-d.origin)
		if call := d.launch(r); call == nil {
			d.untraced++
		} else if d.names.classes[call.name] == event.GraphLaunch {
			replays[r.correlation] = struct{}{}
			info.Capture = "node"
		}
		d.countKernel(r, class, &facts)
	})
	for _, ends := range d.collectives {
		slices.Sort(ends)
	}
	if facts.Kernels == 0 {
		return
	}
	d.active = true
	facts.Markers, facts.Allreduces = info.Classes["step"], info.Classes["allreduce"]
	facts.Launches, facts.GraphLaunches = info.Classes["launch"], info.Classes["graph_launch"]
	facts.Replays = int64(len(replays))
	facts.GPUStart, facts.GPUEnd = copyOf(info.GPUStart), copyOf(info.GPUEnd)
	facts.BusyStart, facts.BusyEnd = copyOf(info.BusyStart), copyOf(info.BusyEnd)
	info.Ranks, info.RankFacts, info.AllreduceDevices = []int32{0}, []event.RankFacts{facts}, []int32{d.reduces}
}

// countKernel observes a GPU row, and what is particular to a kernel.
func (d *document) countKernel(r *row, class event.Class, facts *event.RankFacts) {
	device := d.tracks[r.owner].device
	if device != none && (d.device < 0 || int32(device) < d.device) {
		d.device = int32(device)
	}
	if r.category != kernelCategory {
		return
	}
	facts.Kernels++
	widen(&d.info.GPUStart, &d.info.GPUEnd, r.start-d.origin, r.end-d.origin)
	if device = max(device, 0); class == event.Allreduce && (d.reduces < 0 || int32(device) < d.reduces) {
		d.reduces = int32(device)
	}
	if class.IsCollective() {
		name := d.names.text(r.name)
		d.collectives[name] = append(d.collectives[name], r.end-d.origin)
	}
}

func copyOf(p *int64) *int64 {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// warn says what somebody should know before believing figures made of the trace.
// The sentences are ours, with numbers in them, and never a text of the trace.
func (d *document) warn() {
	say := func(format string, args ...any) {
		d.info.Warnings = append(d.info.Warnings, fmt.Sprintf(format, args...))
	}
	kept := int64(0)
	for c, n := range d.counts.rows {
		if category(c) != pythonCategory {
			kept += n
		}
	}
	if n := d.skipped + d.counts.broken; n > 0 {
		say("%d events are not JSON and were skipped: what they were is missing", n)
	}
	if d.counts.untimed > 0 {
		say("%d events without usable times left out", d.counts.untimed)
	}
	if d.cut {
		say("the trace was cut short: what came last is missing")
	}
	if n := d.counts.rows[pythonCategory]; n > 0 {
		say("recorded with Python stacks, %d functions beside %d other events: that slows the host down, and idle time is larger than without", n, kept)
	}
	gpu := d.counts.rows[kernelCategory] + d.counts.rows[memcpyCategory] + d.counts.rows[memsetCategory]
	switch {
	case d.counts.rows[kernelCategory] == 0:
		say("no GPU work was recorded: profile with ProfilerActivity.CUDA while the GPU is in use")
	case d.untraced > 0:
		say("%d of %d GPU rows have no launching call: most of them were launched before the recording began", d.untraced, gpu)
	}
	switch {
	case d.markers == 1:
		say("the only forward step is the first after the profiler started, which is no evidence: it is not taken for a step; record more than one")
	case d.markers > 1:
		say("the first forward step after the profiler started is no evidence and is not taken for a step")
	}
	if d.head.base == 0 && d.counts.fine > 0 {
		say("written by a development version of the profiler that may leave zeros out of fractions of a microsecond: times are good to 1 us")
	}
}

// unrecorded is what no trace of this kind says; it is said once.
const unrecorded = "PyTorch's profiler records no waits for the interpreter lock, no garbage collection, no system calls and no scheduling: why the host was late is unknown where its ranges and calls do not say"
