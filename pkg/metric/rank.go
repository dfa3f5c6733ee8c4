package metric

import (
	"bytes"
	"fmt"

	"github.com/hostbound/hostbound/pkg/event"
)

// place is where in the course of steps a rank is.
type place int

const (
	outside place = iota // before the first step
	inStep
	behind // after the latest end of the segment so far
)

// rank is what is known of one rank after the rows so far.
type rank struct {
	id    int32
	rules *rules

	last  int64 // start of the last row
	since int64 // the last cut
	next  int64 // the next cut that is known ahead
	acc   tally // since the last cut

	lanes   []lane
	lane    int // of the last GPU row
	threads []thread
	thread  int // of the last launch
	prep    union
	name    int // index in rules.prep of the text of prep, past the end: none yet
	seen    seen

	// The window of the trace.
	traceStart, traceEnd int64
	trace                tally

	// The windows of steps.
	place    place
	phase    int32 // of the open step
	segEnd   int64 // latest end of the open segment's steps
	aside    tally // behind it
	segments []segment
	holes    tally // between segments
	open     sample
	samples  []sample
	window   window
}

// segment is what was measured in the periods of a segment's steps.
type segment struct {
	// number is that of the stream, in which some may be missing where rows were
	// chosen.
	number int64
	phases [3]tally
	steps  [3]int64
}

// sample is what was measured of one step.
type sample struct {
	start, end int64
	period     int64 // length
	kernels    int64
	whole      int64 // replays that hide kernels
	ctx, gen   int64 // -1: not known
	segment    int32 // its place in rank.segments
}

// window is what the window row says.
type window struct {
	there   bool
	size    int64
	segment int64 // -1: none
}

func newRank(id int32, rules *rules, report *event.Report, busyAll bool) *rank {
	r := &rank{
		id: id, rules: rules, last: none, since: none, prep: noSpan, name: len(rules.prep),
		traceStart: never, traceEnd: never,
	}
	if report != nil {
		start, end := report.GPUStart, report.GPUEnd
		if busyAll && report.BusyStart != nil && report.BusyEnd != nil {
			start, end = report.BusyStart, report.BusyEnd
		}
		if start != nil && end != nil {
			r.traceStart, r.traceEnd = *start, *end
		}
	}
	r.schedule()
	return r
}

// take takes rows i to j.
func (r *rank) take(b *event.Batch, i, j int) error {
	kinds, classes := b.Kind.Values[:j], b.Class.Values[:j]
	starts, ends := b.Start.Values[:j], b.End.Values[:j]
	for ; i < j; i++ {
		t, kind := starts[i], kinds[i]
		if kind == event.Window {
			r.takeWindow(b, i)
			continue
		}
		if t < r.last {
			return &event.Error{
				Msg:    fmt.Sprintf("rows of rank %d are not in the order of their start", r.id),
				Advice: "sort the stream by rank and start",
			}
		}
		r.last = t
		if t >= r.next {
			r.advance(t)
		}
		switch kind {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			r.takeGPU(b, i, t, ends[i], kind)
		case event.API:
			if class := classes[i]; (class == event.Launch || class == event.GraphLaunch) && b.Class.Valid.Get(i) {
				r.takeLaunch(b.Thread.Values[i], t, ends[i], class)
			}
		case event.NVTX:
			if r.rules.anyRange || classes[i] == event.Prep && b.Class.Valid.Get(i) {
				r.takePrep(b.Name.Get(i), t, ends[i])
			}
		case event.Step:
			if err := r.takeStep(b, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeGPU takes a kernel, a whole-graph row, a copy or a memset.
func (r *rank) takeGPU(b *event.Batch, i int, t, e int64, kind int32) {
	if kind == event.Kernel {
		r.acc.kernels++
	}
	if kind == event.Graph {
		r.acc.replayed++
		r.acc.replays++
		r.acc.whole++
	} else if b.GraphNode.Valid.Get(i) {
		r.takeReplayed(b, i)
	}
	if e <= t || r.rules.busy>>uint32(kind)&1 == 0 {
		return
	}
	device := b.Device.Values[i]
	if r.lane >= len(r.lanes) || r.lanes[r.lane].device != device {
		r.lane = r.findLane(device)
	}
	l := &r.lanes[r.lane]
	r.acc.busy += l.busy.add(t, e)
	if r.name < len(r.rules.prep) {
		r.acc.either += l.either.add(t, e)
	}
	if kind != event.Kernel {
		return
	}
	if class := b.Class.Values[i]; class <= event.Comm && b.Class.Valid.Get(i) {
		r.acc.comm += l.comm.add(t, e)
	}
	if r.rules.nccl.is(&b.Name, i) {
		r.acc.nccl += l.nccl.add(t, e)
	}
}

// takeReplayed takes what is particular to a row that a graph replay ran.
func (r *rank) takeReplayed(b *event.Batch, i int) {
	r.acc.replayed++
	if correlation, ok := b.Correlation.Get(i); ok && r.seen.first(correlation) {
		r.acc.replays++
	}
}

// findLane returns the index of the lane of a device, which may be a new one.
func (r *rank) findLane(device int32) int {
	for k := range r.lanes {
		if r.lanes[k].device == device {
			return k
		}
	}
	// Until now the lane was idle: prep ∪ busy was prep.
	r.lanes = append(r.lanes, lane{device, noSpan, noSpan, noSpan, r.prep})
	r.eachTally(func(t *tally) { t.either += t.prep })
	return len(r.lanes) - 1
}

// eachTally calls f with all that was measured so far.
func (r *rank) eachTally(f func(*tally)) {
	f(&r.acc)
	f(&r.trace)
	f(&r.aside)
	f(&r.holes)
	for i := range r.segments {
		for p := range r.segments[i].phases {
			f(&r.segments[i].phases[p])
		}
	}
}

// takeLaunch takes a call that launches a kernel or a graph.
func (r *rank) takeLaunch(id, t, e int64, class int32) {
	if r.thread >= len(r.threads) || r.threads[r.thread].id != id {
		r.thread = r.findThread(id)
	}
	h := &r.threads[r.thread]
	if class == event.Launch {
		r.acc.launch += h.launch.add(t, e)
		return
	}
	r.acc.calls++
	r.acc.graphLaunch += h.graphLaunch.add(t, e)
}

func (r *rank) findThread(id int64) int {
	for k := range r.threads {
		if r.threads[k].id == id {
			return k
		}
	}
	r.threads = append(r.threads, thread{id, noSpan, noSpan})
	return len(r.threads) - 1
}

// takePrep takes a range that may be input preparation.
func (r *rank) takePrep(text []byte, t, e int64) {
	name := 0
	for name < len(r.rules.prep) && !bytes.Contains(text, []byte(r.rules.prep[name])) {
		name++
	}
	if name > r.name || name == len(r.rules.prep) {
		return
	}
	if name < r.name {
		r.prefer(name)
	}
	r.acc.prep += r.prep.add(t, e)
	for k := range r.lanes {
		r.acc.either += r.lanes[k].either.add(t, e)
	}
}

// prefer makes another text that of input preparation. There was none of it until
// now: prep was empty, and prep ∪ busy was busy.
func (r *rank) prefer(name int) {
	r.name, r.prep = name, noSpan
	r.eachTally(func(t *tally) { t.prep, t.either = 0, t.busy })
	for k := range r.lanes {
		r.lanes[k].either = r.lanes[k].busy
	}
}
