package metric

import (
	"bytes"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// rank is what was measured of one rank by the rows so far. It is a
// step.Accumulator.
type rank struct {
	id    int32
	rules *rules
	walk  *step.Walker

	acc tally // since the slice under way began

	gpus     []gpu // in the order of their first activity
	gpu      int   // index of that of the last GPU row
	threads  []thread
	launches int64        // of all threads so far
	thread   int          // index of that of the last launch
	prep     stat.Growing // ranges that prepare input, of all threads
	requests requests
	hosts    hostIdle
	expected int // GPUs, as the header knows

	unrecorded [][2]int64 // spans of time
	credit
	markers markers
	name    int // index in rules.prep of the text of prep, past the end: none yet
	seen    seen
	names   names // of collectives

	totals
}

// credit is how waits in collectives are credited to a rank.
type credit struct {
	// waitsUnknown tells that it has collectives, of which none was matched or estimated.
	waitsUnknown bool
	// causesUnknown tells that it has collectives, of which none was matched.
	causesUnknown bool
	near          step.Cursor // in which the last wait began that was credited, or after
}

// totals are what the slices before come to: those of the trace's window, of the period
// of each step, of the time whose owner is not known yet, and of the gaps
// between segments.
type totals struct {
	trace   tally
	steps   tallies // as RankSteps.Steps
	pending tally
	gaps    tally
	apart   tally // of the window, where its steps could not be identified
}

// newRank returns a rank of which nothing was measured, with its first slice open.
func newRank(h *event.Header, id int32, rules *rules, busyAll bool) *rank {
	r := &rank{id: id, rules: rules, prep: stat.Empty, name: len(rules.prep), names: names{all: rules.names}}
	r.requests = requests{recorded: h.Records(event.OS, id), beside: len(h.Reports) == 1 && h.NumRanks() > 1}
	for way := range r.requests.waits {
		r.requests.waits[way] = stat.Empty
	}
	r.hosts.origin, r.hosts.segment, r.expected = stat.Never, stat.None, h.GPUs(id)
	r.unrecorded = h.Span(id).Unrecorded
	r.walk = step.NewWalker(h, id, step.WalkOptions{Trace: true, BusyAll: busyAll, Unclear: true}, r)
	return r
}

// Begin begins a slice, of which nothing was measured yet.
func (r *rank) Begin(step.Slice) {}

// End credits all open unions up to t, and what was measured since the slice
// began to where it belongs.
func (r *rank) End(s step.Slice, t int64) {
	acc := &r.acc
	for k := range r.gpus {
		r.gpus[k].cut(t, acc)
	}
	for k := range r.threads {
		r.threads[k].cut(t, acc)
	}
	acc.prep += r.prep.Cut(t)
	for way := range r.requests.waits {
		acc.waiting[way] += r.requests.waits[way].Cut(t)
	}
	r.endPlace(s, t)
	acc.wall = t - s.Start
	if s.Trace {
		r.trace.add(acc)
	}
	switch s.Place {
	case step.InStep:
		r.steps.at(int(s.Step)).add(acc)
	case step.Pending:
		r.pending.add(acc)
	}
	r.acc = tally{}
}

// Step begins a step.
func (r *rank) Step(*event.Batch, int, int) {
	r.steps.append()
	if s := r.walk.Steps.Last(); r.walk.Segments[s.Segment].Steps == 1 {
		r.hosts.segment = s.Start
		for k := range r.gpus {
			r.gpus[k].log.Segment(s.Start)
		}
	}
}

// EndStep ends a step.
func (r *rank) EndStep(k int, owner step.Owner) {
	switch owner {
	case step.StepOwner:
		r.steps.at(k).add(&r.pending)
	case step.GapOwner:
		r.gaps.add(&r.pending)
	}
	r.pending = tally{}
	r.hosts.settle(r, k, owner)
}

// Rows measures rows i to j. Other kinds than these pass by, those of later versions of the
// stream, too. A class that is null reads as some class: its validity counts.
func (r *rank) Rows(b *event.Batch, i, j int) {
	kinds, classes := b.Kind.Values[:j], b.Class.Values[:j]
	starts, ends := b.Start.Values[:j], b.End.Values[:j]
	for ; i < j; i++ {
		switch kind := kinds[i]; kind {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			r.observeGPU(b, i, starts[i], ends[i], kind)
		case event.API:
			if class := classes[i]; (class == event.Launch || class == event.GraphLaunch) && b.Class.Valid.Get(i) {
				r.observeLaunch(b.Thread.Values[i], starts[i], ends[i], class)
				if b.Correlation.Valid.Get(i) {
					r.hosts.calls.add(b.Correlation.Values[i], ends[i])
				}
			}
		case event.Overhead:
			if string(b.Name.Get(i)) == cudaname.QueueFull && ends[i] > starts[i] {
				r.threadOf(b.Thread.Values[i]).addFull(starts[i], ends[i], &r.acc)
			}
		case event.NVTX:
			if r.rules.anyRange || classes[i] == event.Prep && b.Class.Valid.Get(i) {
				r.observePrep(b.Name.Get(i), starts[i], ends[i])
			}
			if classes[i] == event.StepMarker && b.Class.Valid.Get(i) {
				r.markers.add(string(b.Name.Get(i)), starts[i])
			}
			if r.requests.recorded {
				r.observeFetch(b, i, ends[i])
			}
		case event.OS:
			r.observeCall(b, i, starts[i], ends[i])
		}
	}
}

// observeGPU observes a kernel, a whole-graph row, a copy or a memset.
// t and e are its start and end; what takes no time is counted, and is no activity.
func (r *rank) observeGPU(b *event.Batch, i int, t, e int64, kind event.Kind) {
	if kind == event.Kernel {
		r.acc.kernels++
	}
	if kind == event.Graph {
		r.acc.replayed++
		r.acc.replays++
		r.acc.whole++
	} else if b.GraphNode.Valid.Get(i) {
		r.observeReplayed(b, i)
	}
	if e <= t || r.rules.busy>>uint32(kind)&1 == 0 {
		return
	}
	device := b.Device.Values[i]
	if r.gpu >= len(r.gpus) || r.gpus[r.gpu].device != device {
		r.gpu = r.findGPU(device)
	}
	d := &r.gpus[r.gpu]
	r.observeGap(d, b, i, t, e, kind)
	r.acc.busy += d.busy.Add(t, e)
	if r.name < len(r.rules.prep) {
		r.acc.either += d.either.Add(t, e)
	}
	for way, any := range r.requests.any {
		if any {
			r.acc.loaded[way] += d.loaded[way].Add(t, e)
		}
	}
	if kind != event.Kernel {
		d.log.Work(t, e)
		return
	}
	if class := b.Class.Values[i]; class.IsCollective() && b.Class.Valid.Get(i) {
		r.acc.comm += d.comm.Add(t, e)
		d.log.Collective(collective.Collective{
			Step: int32(r.walk.Steps.Len() - 1), Name: r.names.number(&b.Name, i), Allreduce: class == event.Allreduce, Start: t, End: e,
		})
	} else {
		d.log.Work(t, e)
	}
	if r.rules.nccl.is(&b.Name, i, isNCCL) {
		r.acc.nccl += d.nccl.Add(t, e)
	}
}

// observeGap observes the idle gap that an activity ends, if there is one.
func (r *rank) observeGap(d *gpu, b *event.Batch, i int, t, e int64, kind event.Kind) {
	replay := int64(stat.None)
	if kind == event.Graph || b.GraphNode.Valid.Get(i) {
		if correlation, ok := b.Correlation.Get(i); ok {
			replay = correlation
		}
	}
	if t > d.end {
		r.endGap(d, d.end, t, replay != stat.None && replay == d.replay, b, i)
	}
	if e >= d.end {
		d.end, d.replay = e, replay
	}
}

// observeReplayed observes what is particular to a row that a graph replay ran.
func (r *rank) observeReplayed(b *event.Batch, i int) {
	r.acc.replayed++
	if correlation, ok := b.Correlation.Get(i); ok && r.seen.first(correlation) {
		r.acc.replays++
	}
}

// findGPU returns the index of a device, which may be a new one.
func (r *rank) findGPU(device int32) int {
	for k := range r.gpus {
		if r.gpus[k].device == device {
			return k
		}
	}
	// Until now the GPU was idle: prep ∪ busy was prep.
	r.gpus = append(r.gpus, gpu{
		device: device, busy: stat.Empty, nccl: stat.Empty, comm: stat.Empty, either: r.prep, loaded: r.requests.waits,
		end: stat.None, replay: stat.None, log: collective.NewLog(r.rules.store),
	})
	r.eachTally(func(t *tally) {
		t.either += t.prep
		for way := range t.loaded {
			t.loaded[way] += t.waiting[way]
		}
	})
	return len(r.gpus) - 1
}

// eachTally calls f with all that was measured so far.
func (r *rank) eachTally(f func(*tally)) {
	f(&r.acc)
	f(&r.trace)
	f(&r.pending)
	f(&r.gaps)
	for k := range r.steps.len() {
		f(r.steps.at(k))
	}
}

// observeLaunch observes a call that launches a kernel or a graph.
func (r *rank) observeLaunch(id, t, e int64, class event.Class) {
	h := r.threadOf(id)
	h.launches++
	r.launches++
	if class == event.Launch {
		h.addLaunch(t, e, &r.acc)
		return
	}
	r.acc.calls++
	r.acc.graphLaunch += h.graphLaunch.Add(t, e)
}

// threadOf returns the thread with a number, which may be a new one.
// Launches come from one thread as a rule, so the last one is asked first.
func (r *rank) threadOf(id int64) *thread {
	if r.thread < len(r.threads) && r.threads[r.thread].id == id {
		return &r.threads[r.thread]
	}
	for r.thread = range r.threads {
		if r.threads[r.thread].id == id {
			return &r.threads[r.thread]
		}
	}
	r.thread = len(r.threads)
	r.threads = append(r.threads, thread{id: id, launch: stat.Empty, graphLaunch: stat.Empty})
	return &r.threads[r.thread]
}

// observePrep observes a range that may be input preparation.
func (r *rank) observePrep(text []byte, t, e int64) {
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
	r.acc.prep += r.prep.Add(t, e)
	for k := range r.gpus {
		r.acc.either += r.gpus[k].either.Add(t, e)
	}
}

// prefer makes another text that of input preparation. There was none of it until
// now: prep was empty, and prep ∪ busy was busy.
func (r *rank) prefer(name int) {
	r.name, r.prep = name, stat.Empty
	r.eachTally(func(t *tally) { t.prep, t.either = 0, t.busy })
	for k := range r.gpus {
		r.gpus[k].either = r.gpus[k].busy
	}
}
