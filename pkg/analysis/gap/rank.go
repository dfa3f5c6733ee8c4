package gap

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

const (
	never = idle.Never
	none  = idle.NoTime
)

// rank is the state of one rank after the rows so far. It is a step.Accumulator.
type rank struct {
	c       *Watch
	id      int32
	lastRow int64 // number of its last row among all rows of the stream
	sealed  bool

	walk *step.Walker
	idle *idle.Rank
	at   step.Slice // the current slice

	binned
	began int64 // start of the current segment, ns

	activity activity // the current GPU row

	gpus    []*gpu
	gpu     *gpu // of the last GPU row
	calling calling
	waits   [step.RequestWays]step.Spells // of launching threads for requests, if Watch.canFollow

	layers []layers // by segment, as walk.Segments
	whole  layers   // of a trace without steps
	marked bool     // sample has a mark where pending kernels begin
	sample layer.Recorder
}

// calling is the state of the calling threads and their launches.
type calling struct {
	threads []caller
	ring    ring
	replays event.Replays
}

// caller is a thread that makes calls.
type caller struct {
	step.Requester
	launches bool  // it has launched a kernel or graph
	called   int64 // end of its API calls so far, ns
	outer    int32 // name of its last outermost range plus 1, 0 for none
}

// thread returns a thread by its number in package idle. The pointer is valid until the next
// call.
func (r *rank) thread(n int) *caller {
	for n >= len(r.calling.threads) {
		r.calling.threads = append(r.calling.threads, caller{})
	}
	return &r.calling.threads[n]
}

// layers holds the steps of a segment that are kept to look for the layer: without context
// requests (steady) and with.
type layers struct{ steady, context layer.Keeper }

// newRank returns the state of a rank before its first row.
func newRank(c *Watch, id int32) *rank {
	r := &rank{c: c, id: id}
	for k := range 4 { // the bins outside of steps, see binOf
		r.bins = append(r.bins, &bin{scope: scope{int32(outside - k>>1), noPhase, k&1 == 1}})
	}
	r.idle = idle.NewRank(c.sites, idle.Options{
		Rank: id, BusyAll: c.opt.BusyAll, Method: c.method, Markers: c.markers, MaxStates: maxStates, GPUs: c.header.GPUs(id),
		Why: true, Stacks: true, Waits: c.header.Rows(event.Run) > 0, OSCalls: c.header.Records(event.OS, id), Store: c.store,
	})
	r.walk = step.NewWalker(c.header, id, step.WalkOptions{Trace: true, BusyAll: c.opt.BusyAll, Work: true}, r)
	return r
}

// maxStates is how many states of a rank's threads are kept, 0 for the default of package idle.
var maxStates = 0 // changed by tests only

// Begin begins slice s.
func (r *rank) Begin(s step.Slice) {
	r.at = s
	of := scope{outside, noPhase, s.Trace}
	if s.Place == step.InStep {
		one := r.walk.Steps.Last()
		of.segment, of.phase = one.Segment, one.Phase
	}
	slice := slice{s.Step, r.binOf(of)}
	if r.now = r.bins[slice.bin]; s.Place == step.Pending {
		if slice.step, r.now = pending, &r.held[b2n(s.Trace)]; !r.marked {
			r.marked = true
			r.sample.Mark()
		}
	}
	k := r.idle.Cut(s.Start, r.counting())
	r.slices = append(r.slices[:k], slice)
}

// End ends slice s at t.
func (r *rank) End(s step.Slice, t int64) {
	if s.Start > none && t < never {
		r.now.ns += t - s.Start
	}
	if s.Unrecorded {
		r.idle.Pause(s.Start, t)
		for _, d := range r.gpus {
			for _, s := range d.streams { // no gap spans time that was not recorded
				s.end = none
			}
		}
	}
}

// Step begins step k.
func (r *rank) Step(_ *event.Batch, _, k int) {
	s := r.walk.Steps.Last()
	if int(s.Segment) == len(r.layers) {
		r.layers = append(r.layers, layers{})
		r.began = s.Start // earlier idle time explains no wait in it
		for _, d := range r.gpus {
			if d.collectives != nil {
				d.collectives.Segment(s.Start)
			}
		}
	}
	if k == 0 { // nothing before the first step is pending
		r.marked = false
	}
	r.idle.Step(s.Start, s.End)
	seg := &r.layers[s.Segment]
	if s.Ctx > 0 {
		r.sample.Begin(&seg.context, 0)
	} else {
		r.sample.Begin(&seg.steady, s.Gen)
	}
}

// EndStep ends step k. owner says whether what was pending since it began belongs to the
// step, to the time between segments, or to neither.
func (r *rank) EndStep(k int, owner step.Owner) {
	s := r.walk.Steps.Last()
	of := scope{segment: outside, phase: noPhase}
	switch owner {
	case step.StepOwner:
		of.segment, of.phase = s.Segment, s.Phase
	case step.GapOwner:
		of.segment = between
		r.dropPending()
	default:
		r.dropPending()
	}
	r.settle(k, of)
	r.marked = false
	r.sample.End()
}

// dropPending drops pending kernels from the sample of the open step.
func (r *rank) dropPending() {
	if r.marked {
		r.sample.Drop()
	}
}

// Rows observes rows i to j-1, which are in order of start. Other kinds of rows are ignored,
// so that later versions of the stream may add some. The state of host threads is bounded once
// per call, not per row: a walker passes at most a batch.
func (r *rank) Rows(b *event.Batch, i, j int) {
	kinds := b.Kind.Values[:j]
	for ; i < j; i++ {
		switch kind := kinds[i]; kind {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			r.addGPU(b, i, kind)
		case event.API:
			r.addCall(b, i)
		case event.NVTX:
			r.addRange(b, i)
		case event.Overhead:
			r.idle.Host(b, i)
		case event.OS:
			thread := r.idle.Host(b, i)
			if class, ok := b.Class.Get(i); ok && thread >= 0 {
				r.wait(r.thread(thread), class, b.Start.Values[i], b.End.Values[i])
			}
		case event.Run:
			r.idle.Host(b, i)
		case event.Sample, event.Backtrace:
			r.idle.Stack(b, i)
		}
	}
	r.idle.Bound()
}

// seal ends the rank's rows, of which only a window row may follow, and releases what only
// rows need.
func (r *rank) seal() {
	if r.sealed {
		return
	}
	r.sealed = true
	r.walk.Finish()
	if r.walk.Steps.Len() == 0 {
		r.sample.EndTrace(&r.whole.steady)
	}
	r.idle.Close()
	for _, d := range r.gpus {
		if d.collectives != nil {
			d.collectives.Seal()
		}
	}
	r.calling = calling{}
	r.activity = activity{}           // it points into the ring
	r.slices = slices.Clone(r.slices) // release spare capacity
}

// counting reports whether rows that start in the current slice may be in a window.
func (r *rank) counting() bool { return r.at.Place != step.Outside || r.at.Trace }
