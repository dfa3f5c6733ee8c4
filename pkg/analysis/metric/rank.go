package metric

import (
	"bytes"
	"iter"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// rank holds the measurements of one rank after the rows so far. It is a step.Accumulator.
type rank struct {
	id    int32
	rules *rules
	walk  *step.Walker

	acc tally // since the current slice began

	gpus     []gpu // in order of first activity
	gpu      int   // index of the GPU of the last GPU row
	threads  []thread
	launches int64          // launches of all threads so far
	thread   int            // index of the thread that was looked up last
	did      [numWays]union // over all threads
	requests requests
	hosts    hostIdle
	expected int // number of GPUs according to the header, 0 if unknown

	unrecorded [][2]int64 // spans, ns
	credited
	markers markers
	name    int // index in rules.prep of the text that counts, len(rules.prep) if none has occurred
	seen    event.Replays
	names   event.Memo[int32] // cache of numbers of collectives' names

	totals
}

// credited is the state for crediting to a rank what is known only at the end.
type credited struct {
	// waitsUnknown is set if the rank has collectives and none was matched or estimated.
	waitsUnknown bool
	// causesUnknown is set if the rank has collectives and none was matched.
	causesUnknown bool
	near          step.Cursor // at the step in which the last credited wait began, or a later one
}

// totals are the sums over earlier slices: in the trace window, in the period of each step, in
// pending time (whose owner is not known yet), and in the gaps between segments.
type totals struct {
	trace   tally
	steps   tallies
	pending tally
	gaps    tally
	apart   tally // of the window, if the steps could not be identified
}

// tallies are the tallies of a rank's steps, in the order of RankSteps.Steps.
type tallies struct {
	spill.Packed[tally, *tally]          // without credits
	credits                     []credit // by step, nil if none has any
	named                       int      // input preparation of steps before this one is not of the name that counts
}

// newRank returns a rank without measurements, with its first slice open.
func newRank(h *event.Header, id int32, rules *rules, busyAll bool) *rank {
	r := &rank{id: id, rules: rules, name: len(rules.prep)}
	r.requests = requests{recorded: h.Records(event.OS, id), beside: len(h.Reports) == 1 && h.NumRanks() > 1}
	for way := range r.did {
		r.did[way].Growing = stat.Empty
	}
	r.hosts.origin, r.hosts.segment, r.expected = stat.Never, stat.None, h.GPUs(id)
	r.unrecorded = h.Span(id).Unrecorded
	r.walk = step.NewWalker(h, id, step.WalkOptions{Trace: true, BusyAll: busyAll, Unclear: true}, r)
	return r
}

// Begin begins a slice.
func (r *rank) Begin(s step.Slice) {
	if h := &r.hosts; h.origin == stat.Never && (s.Place != step.Outside || s.Trace) {
		h.origin = s.Start
	}
}

// End ends slice s at t: it credits open unions up to t, and adds the measurements of the slice
// to the totals that they belong to.
func (r *rank) End(s step.Slice, t int64) {
	acc := &r.acc
	for k := range r.gpus {
		r.gpus[k].cut(t, &r.did, acc)
	}
	for k := range r.threads {
		r.threads[k].cut(t, acc)
	}
	for way := range r.did {
		o := &acc.during[way]
		o.ns += r.did[way].Cut(t)
		o.seen = o.ns * int64(len(r.gpus))
	}
	r.forget(s, t)
	acc.wall = t - s.Start
	if s.Trace {
		r.trace.add(acc)
	}
	switch s.Place {
	case step.InStep:
		r.steps.Last().add(acc)
	case step.Pending:
		r.pending.add(acc)
	}
	r.acc = tally{}
}

// Step begins a step.
func (r *rank) Step(*event.Batch, int, int) {
	r.steps.Append(tally{})
	if s := r.walk.Steps.Last(); r.walk.Segments[s.Segment].Steps == 1 {
		r.hosts.segment = s.Start
		for k := range r.gpus {
			r.gpus[k].log.Segment(s.Start)
		}
	}
}

// EndStep ends a step.
func (r *rank) EndStep(_ int, owner step.Owner) {
	switch owner {
	case step.StepOwner:
		r.steps.Last().add(&r.pending)
	case step.GapOwner:
		r.gaps.add(&r.pending)
	}
	r.pending = tally{}
}

// Rows measures rows i to j-1. Other kinds of rows are ignored, also those of later versions of
// the stream. Classes are read together with their validity, because a null has some value, too.
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
				if h := r.launching(b.Thread.Values[i]); h != nil && r.requests.fetches.Of(&b.Name, i, fetchesRequests) {
					h.requester.Fetches(ends[i])
					if r.requests.beside && r.isMain(h) {
						r.wait(step.Following, starts[i], ends[i])
					}
				}
			}
		case event.OS:
			r.observeCall(b, i, starts[i], ends[i])
		}
	}
}

// observeGPU observes a kernel, a whole-graph row, a copy or a memset from t to e. Rows without a
// length are counted but are not activity.
func (r *rank) observeGPU(b *event.Batch, i int, t, e int64, kind event.Kind) {
	if kind == event.Kernel {
		r.acc.kernels++
	}
	if kind == event.Graph {
		r.acc.replayed++
		r.acc.replays++
		r.acc.whole++
	} else if b.GraphNode.Valid.Get(i) {
		r.acc.replayed++
		if correlation, ok := b.Correlation.Get(i); ok && r.seen.First(correlation) {
			r.acc.replays++
		}
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
	d.add(t, e, &r.did, &r.acc)
	if kind != event.Kernel {
		d.log.Work(t, e)
		return
	}
	if class := b.Class.Values[i]; class.IsCollective() && b.Class.Valid.Get(i) {
		r.acc.comm += d.comm.Add(t, e)
		d.log.Collective(collective.Collective{
			Step: int32(r.walk.Steps.Len() - 1), Name: r.names.Of(&b.Name, i, r.rules.names.Of), Allreduce: class == event.Allreduce, Start: t, End: e,
		})
	} else {
		d.log.Work(t, e)
	}
	if r.rules.nccl.Of(&b.Name, i, isNCCL) {
		r.acc.nccl += d.nccl.Add(t, e)
	}
}

// observeGap observes the idle gap that an activity from t to e ends, if there is one.
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

// findGPU returns the index of a device, which may be new.
func (r *rank) findGPU(device int32) int {
	for k := range r.gpus {
		if r.gpus[k].device == device {
			return k
		}
	}
	d := gpu{device: device, busy: stat.Empty, nccl: stat.Empty, comm: stat.Empty, end: stat.None, replay: stat.None, log: collective.NewLog(r.rules.store)}
	for way := range r.did { // Until now the GPU was idle: all ∪ busy was all.
		d.either[way] = r.did[way].Growing
		r.acc.during[way].idle += r.acc.during[way].ns
	}
	r.gpus = append(r.gpus, d)
	return len(r.gpus) - 1
}

// do observes a span from t to e in which the host does something in one of the ways.
func (r *rank) do(way int, t, e int64) {
	o, u := &r.acc.during[way], &r.did[way]
	if !u.any { // Until now it did nothing: all ∪ busy was busy.
		u.any = true
		for k := range r.gpus {
			r.gpus[k].either[way] = r.gpus[k].busy
		}
	}
	o.ns += u.Add(t, e)
	for k := range r.gpus {
		o.idle += r.gpus[k].either[way].Add(t, e)
	}
}

// observeLaunch observes a call of thread id that launches a kernel or a graph.
func (r *rank) observeLaunch(id, t, e int64, class event.Class) {
	h := r.threadOf(id)
	h.launches++
	r.launches++
	if class == event.Launch {
		ns := h.launch.Add(t, e)
		r.acc.launch += ns
		if h.waits {
			r.acc.waited += ns - h.either.Add(t, e)
		}
		return
	}
	r.acc.calls++
	r.acc.graphLaunch += h.graphLaunch.Add(t, e)
}

// threadOf returns the thread with an id, which may be new. Launches usually come from one
// thread, so the last one is tried first. The pointer is valid until the next call.
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
	if name < r.name { // the first range of this name: it replaces what was measured of the others
		r.name, r.steps.named = name, r.steps.Len()-1
		r.did[preparing] = union{Growing: stat.Empty}
		for _, t := range []*tally{&r.acc, &r.trace, &r.pending, &r.gaps} {
			t.during[preparing] = overlap{}
		}
		if r.steps.named >= 0 {
			r.steps.Last().during[preparing] = overlap{}
		}
	}
	r.do(preparing, t, e)
}

// between iterates over the steps from from to to-1: the index of each, and its tally, which is
// valid until the next step.
func (l *tallies) between(from, to int) iter.Seq2[int, *tally] {
	return func(yield func(int, *tally) bool) {
		reader := l.Reader()
		for k := from; k < to; k++ {
			t := *reader.At(k)
			if k < l.named {
				t.during[preparing] = overlap{}
			}
			if l.credits != nil {
				t.add(&tally{credit: l.credits[k]})
			}
			if !yield(k, &t) {
				return
			}
		}
	}
}

// among is between for the steps at the given indices, which must ascend.
func (l *tallies) among(steps []int) iter.Seq2[int, *tally] {
	return func(yield func(int, *tally) bool) {
		if len(steps) == 0 {
			return
		}
		next := 0
		for k, t := range l.between(steps[0], steps[len(steps)-1]+1) {
			if k != steps[next] {
				continue
			}
			if next++; !yield(k, t) {
				return
			}
		}
	}
}

// creditOf returns the credit of a step. All steps must be known.
func (l *tallies) creditOf(step int) *credit {
	if l.credits == nil {
		l.credits = make([]credit, l.Len())
	}
	return &l.credits[step]
}

// isNCCL reports whether name contains "nccl", in any case.
func isNCCL(name []byte) bool { return bytes.Contains(bytes.ToLower(name), []byte("nccl")) }
