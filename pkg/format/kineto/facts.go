package kineto

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// describe determines what the header says about a document that was read.
func (d *document) describe() error {
	d.findOrigin()
	d.recogniseRun()
	d.chooseMarkers()
	if len(d.rows.calls) > 0 { // by correlation; of several with one, the first
		var err error
		if d.calls, err = spill.NewIndex(d.rows.store, d.rows.calls, fanIn); err != nil {
			return err
		}
	}
	d.count()
	if d.active {
		if err := d.countLaunched(); err != nil {
			return err
		}
	}
	d.warn()
	return nil
}

// epoch is the least time, in ns, that is taken as since 1970 and not as since a base
// within a few months. It is in 1973, when the profiler did not exist.
const epoch = 100_000_000_000_000_000

// findOrigin sets time 0 of the report to the whole microsecond in which the first row
// starts. Other programs round times to microseconds; so both round the same.
func (d *document) findOrigin() {
	if d.counts.starts != event.NoSpan {
		d.origin = d.counts.starts.Start
	}
	d.origin -= (d.origin%1000 + 1000) % 1000
	if utc := d.origin + d.head.base; utc > epoch {
		d.info.Origin = utc
	}
}

// chooseMarkers decides which ranges mark forward steps: annotations with numbers of
// requests (in traces of 2020 and 2021, which have no annotations, operators), else the
// steps of the profiler's schedule. Of nested markers the inner one counts. The first
// marker after the profiler started is dropped, as it includes profiler start-up.
func (d *document) chooseMarkers() {
	category, want := annotationCategory, scheduled
	if d.counts.rows[category] == 0 {
		category = operatorCategory
	}
	for i := range d.counts.markers {
		if m := &d.counts.markers[i]; m.category == category {
			want = max(want, m.marker)
		}
	}
	for key, n := range d.names.numbers {
		switch class := &d.names.classes[n.number]; {
		case key.category == category && n.marker == want:
			*class = event.StepMarker
		case *class == event.StepMarker:
			*class = event.Range
		}
	}
	d.leaveOut(slices.DeleteFunc(d.counts.markers, func(r row) bool { return r.category != category || r.marker != want }))
	d.counts.markers = nil
}

// recogniseRun finds the workload, the GPUs and the platform.
func (d *document) recogniseRun() {
	counts := slices.ContainsFunc(d.counts.markers, func(r row) bool { return r.marker == counted })
	d.info.Workload = event.WorkloadOf(d.names.trains, d.names.diffuses, counts)
	d.info.GPUs = d.head.gpus
	if d.names.amd || d.head.amd {
		d.info.Platform = event.AMD
	}
	if !d.python {
		d.info.PythonFunctions = d.counts.rows[pythonCategory]
	}
}

// leaveOut finds the markers to drop: those around another marker of their thread, and
// the first of the others.
func (d *document) leaveOut(markers []row) {
	slices.SortFunc(markers, order)
	d.noSteps = map[uint32]bool{}
	open := map[int32]*row{} // the last marker of each thread
	for i := range markers {
		m := &markers[i]
		if outer := open[m.owner]; outer != nil && m.end <= outer.end {
			d.noSteps[outer.place] = true
		}
		open[m.owner] = m
	}
	d.markers = int64(len(markers) - len(d.noSteps))
	for i := range markers {
		if m := &markers[i]; !d.noSteps[m.place] {
			d.noSteps[m.place] = true
			return
		}
	}
}

// classOf returns the class of a row by its name and place, -1 if it has none.
func (d *document) classOf(name int32, place int64) event.Class {
	class := d.names.classes[name]
	if class == event.StepMarker && d.noSteps[uint32(place)] {
		return event.Range
	}
	return class
}

// fanIn is how many runs of calls are open at a time, of 60 KB each.
const fanIn = 256

// call is a call that launched GPU rows.
type call struct {
	start, end int64 // ns as in the document
	thread     int32 // in threads
	graph      bool  // it launches a graph
}

// finder finds calls by their correlation.
type finder struct {
	d    *document
	hint spill.Hint
	id   int64 // of the last look-up
	call call
	ok   bool
}

// newFinder returns a finder for one goroutine. It caches its last look-up.
func newFinder(d *document) *finder { return &finder{d: d, id: none} }

// find returns the call with a correlation, false if there is none.
func (f *finder) find(id int64) (*call, bool, error) {
	if f.d.calls == nil || id == none {
		return nil, false, nil
	}
	if id == f.id { // Fast path: the rows of a graph replay share it.
		return &f.call, f.ok, nil
	}
	rows, i, ok, err := f.d.calls.Find(id, &f.hint)
	if err != nil {
		return nil, false, err
	}
	if f.id, f.ok = id, ok; ok {
		f.call = call{-rows[spill.Then][i], rows[callEnd][i], int32(rows[callThread][i]), rows[callGraph][i] == 1}
	}
	return &f.call, ok, nil
}

// count fills in the report and the facts of its rank. The counts of steps are those of
// markers without the first, which is dropped.
func (d *document) count() {
	info, c := &d.info, &d.counts
	info.Source, info.Ranks = "torch", []int32{}
	c.Classes[event.StepMarker] = max(d.markers-1, 0)
	info.Extent = c.Extent(d.origin)
	if d.active = c.Kinds[event.Kernel] > 0; !d.active {
		return
	}
	info.World = int32(d.head.world)
	for name, size := range d.names.sizes { // sizes that collectives state themselves take precedence
		c.groups[name] = cmp.Or(c.groups[name], size)
	}
	for name, size := range c.groups {
		info.AddGroup(d.names.text(name), size)
	}
	reduces := int32(-1)
	if c.reduces != none {
		reduces = int32(c.reduces)
	}
	info.Ranks, info.RankFacts, info.AllreduceDevices = []int32{0}, []event.RankFacts{c.Facts(0, d.origin)}, []int32{reduces}
}

// countLaunched counts the GPU rows without a call and the graph launches with recorded
// rows. It reads only the columns that it needs, run by run. A replay may span several
// runs, so their ids are counted over all runs at the end.
func (d *document) countLaunched() error {
	f, w := newFinder(d), spill.NewWriter(d.rows.store)
	var replays []*spill.Run // by correlation, one row each
	var ids []int64          // of replays in one run of rows
	launched := func(rows spill.Rows) error {
		for i, owner := range rows[colOwner] {
			if category(owner&(1<<categoryBits-1)) == syncCategory {
				continue
			}
			call, ok, err := f.find(rows[colCorrelation][i])
			switch {
			case err != nil:
				return err
			case !ok:
				d.untraced++
				continue
			case rows[colStart][i] < call.start:
				d.early++
			}
			if call.graph && (len(ids) == 0 || ids[len(ids)-1] != f.id) {
				ids = append(ids, f.id)
			}
		}
		return nil
	}
	for _, run := range d.rows.gpu {
		if err := d.rows.store.Scan([]*spill.Run{run}, spill.Columns(colStart, colCorrelation, colOwner), run.First, run.Last, launched); err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		of, err := writeSet(w, ids)
		if err != nil {
			return err
		}
		d.info.Capture = "node"
		replays, ids = append(replays, of), ids[:0]
	}
	n, err := spill.CountKeys(d.rows.store, replays, fanIn)
	d.info.RankFacts[0].Replays = n
	return err
}

// writeSet sorts ids and writes a run with one row per different id.
func writeSet(w *spill.Writer, ids []int64) (*spill.Run, error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if err := w.Write(spill.Rows{ids, ids, ids}); err != nil {
		return nil, err
	}
	return w.End(0, 0)
}

// warn adds warnings that a user should know before trusting figures of the trace. They
// are our sentences with numbers in them, never text from the trace.
func (d *document) warn() {
	kept := int64(0)
	for c, n := range d.counts.rows {
		if category(c) != pythonCategory {
			kept += n
		}
	}
	if n := d.skipped + d.counts.broken; n > 0 {
		d.say("%d events are not JSON and were skipped: they are missing from the figures", n)
	}
	if d.counts.untimed > 0 {
		d.say("%d events without usable times left out", d.counts.untimed)
	}
	if d.cut {
		d.say("the trace was cut short: its end is missing")
	}
	if n := d.counts.rows[pythonCategory]; n > 0 {
		d.say("recorded with Python stacks (%d functions, %d other events): they slow the host down and lengthen idle time", n, kept)
	}
	d.warnGPU()
	if d.names.almost {
		d.say(marker.AlmostText)
	}
	switch {
	case d.markers == 1:
		d.info.StartOnly = true
		d.say("the only forward step is the first after the profiler started, which is left out: it includes profiler start-up; record more than one")
	case d.markers > 1:
		d.say("the first forward step after the profiler started is left out: it includes profiler start-up")
	}
	if d.head.base == 0 && d.origin > epoch && d.counts.fine > 0 {
		d.say("written by a development version of the profiler that may drop zeros in fractions of a microsecond: times are accurate to 1 us")
	}
}

// say adds a warning.
func (d *document) say(format string, args ...any) {
	d.info.Warnings = append(d.info.Warnings, fmt.Sprintf(format, args...))
}

// warnGPU is warn for GPU rows.
func (d *document) warnGPU() {
	gpu := d.counts.rows[kernelCategory] + d.counts.rows[memcpyCategory] + d.counts.rows[memsetCategory]
	switch {
	case d.counts.rows[kernelCategory] == 0 && d.counts.foreign > 0:
		d.say("no GPU work was recorded: %d events are of an accelerator that is not read (MTIA, HPU)", d.counts.foreign)
	case d.counts.rows[kernelCategory] == 0:
		d.say("no GPU work was recorded: profile with ProfilerActivity.CUDA while the GPU is in use")
	case d.untraced == gpu:
		d.say("no GPU row has a launching call: causes of idle time are unknown; record with ProfilerActivity.CPU, too")
	case d.untraced > 0:
		d.say("%d of %d GPU rows have no launching call: most of them were launched before the recording began", d.untraced, gpu)
	}
	if d.early > 0 {
		d.say(event.EarlyText)
	}
	if n := d.counts.sample.again(); n > 0 {
		about := ""
		if d.counts.sample.shift > 0 {
			about = "about "
		}
		d.say("%s%d of %d GPU rows are repeated in the trace: kernels and calls are counted twice; give the trace as the profiler wrote it", about, min(n, gpu), gpu)
	}
}

// unrecorded is what no trace of this kind records. It is reported once.
const unrecorded = "PyTorch's profiler records no GIL waits, garbage collection, system calls or scheduling: host stalls are explained by ranges and calls alone"
