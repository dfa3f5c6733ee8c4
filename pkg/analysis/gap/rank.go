package gap

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

const (
	never = 1<<63 - 1
	none  = idle.NoTime
)

// rank is what is known of one rank after the rows so far. It is a
// step.Accumulator.
type rank struct {
	c       *computer
	id      int32
	lastRow int64 // number of its last row among all rows of the stream
	sealed  bool

	walk *step.Walker
	idle *idle.Rank
	at   step.Slice // the slice under way

	scoped
	own   kernelTime // of the last step, where ranks are compared
	began int64      // of the segment under way: when
	kept  *spill.Log // these of each step, as walk.Steps
	sections

	activity activity // of the row under way

	gpus    []*gpu
	gpu     *gpu // of the last GPU row
	calling calling
	follows []follow // by thread, where ranks may follow one

	marked bool // sample has a mark, of what is pending
	sample layer.Recorder
}

// scoped is time by what windows may hold of it.
type scoped struct {
	slices []slice // as idle counts them
	scopes []scope
	sums   []scopeSum // as scopes
	// What was pending since the open step began, outside and inside of the trace.
	held [2]scopeSum
	now  Counts // of the open slice
}

// sections are what was measured, by the part of the rank's time.
type sections struct {
	segments []segment // as walk.Segments
	between  segment   // what counts only where the window holds all segments
	trace    segment   // the window of the trace, where that is the window
	pending  pending
}

// calling is what threads launched, and where they are.
type calling struct {
	launchers []bool  // by thread: it has launched something
	outer     []int32 // by thread: its last range that no other is around, plus 1
	ring      ring
	replays   seen // launches that are not in the ring, of which a replay was seen
}

// segment is what was measured in a number of steps without a long idle stretch
// between them.
type segment struct {
	gaps    gapTally
	groups  [4]*group // by phase, the last for rows of no step
	steady  layer.Keeper
	context layer.Keeper
}

// pending is what was seen after the latest end of the open segment so far: it is
// the segment's if another step of it follows.
type pending struct {
	gaps, across gapTally
	group        group
}

// newRank begins a rank, when its first row comes.
// What only a comparison of ranks asks for, or an answer per step, is not kept without.
func newRank(c *computer, id int32) *rank {
	r := &rank{c: c, id: id, kept: c.store.NewLog(numStepColumns, 0)}
	r.idle = idle.NewRank(c.sites, idle.Options{
		Rank: id, BusyAll: c.opt.BusyAll, Method: c.method, Markers: c.markers, MaxStates: maxStates, GPUs: c.header.GPUs(id),
		Why: true, Stacks: true, Waits: c.header.Rows(event.Run) > 0, OSCalls: c.header.Records(event.OS, id), Store: c.store,
		HostTime: c.compared, TotalsOnly: !c.compared && !c.opt.PerStep && !c.opt.Series,
	})
	r.walk = step.NewWalker(c.header, id, step.WalkOptions{Trace: true, BusyAll: c.opt.BusyAll, Work: true}, r)
	return r
}

// maxStates is how many states of a rank's threads are kept, 0 for what idle keeps.
var maxStates = 0 // changed by tests only

// Begin begins a slice.
func (r *rank) Begin(s step.Slice) {
	r.at = s
	slice := slice{step: -1, scope: r.scopeOf(s)}
	group := r.groupOf(slice.scope)
	switch s.Place {
	case step.InStep:
		slice.step = s.Step
	case step.Pending:
		group = idle.Pending
		if !r.marked {
			r.marked = true
			r.sample.Mark()
		}
	}
	k := r.idle.Cut(s.Start, group)
	r.slices = append(r.slices[:k], slice)
}

// End ends a slice at t.
func (r *rank) End(s step.Slice, t int64) {
	if t > s.Start { // else the next slice replaces it
		r.endSlice(s, t)
	}
	if s.Unrecorded {
		r.idle.Pause(s.Start, t)
		for _, d := range r.gpus {
			d.pause()
		}
	}
}

// endSlice adds up what a slice that ends at t had.
func (r *rank) endSlice(s step.Slice, t int64) {
	sum := &r.sums[r.slices[len(r.slices)-1].scope]
	switch {
	case s.Place == step.Pending && s.Trace:
		sum = &r.held[1]
	case s.Place == step.Pending:
		sum = &r.held[0]
	}
	sum.started.Add(&r.now)
	r.now = Counts{}
	if s.Start > none && t < never {
		sum.ns += t - s.Start
	}
}

// Step begins step k.
func (r *rank) Step(_ *event.Batch, _, k int) {
	s := r.walk.Steps.Last()
	if int(s.Segment) == len(r.segments) {
		r.segments = append(r.segments, segment{})
		r.beginSegment(s.Start)
	}
	if k == 0 { // what was launched before counts for no step
		r.marked = false
	}
	r.own = kernelTime{}
	r.idle.Step(s.Start, s.End)
	seg := &r.segments[s.Segment]
	if s.Ctx > 0 {
		r.sample.Begin(&seg.context, 0)
	} else {
		r.sample.Begin(&seg.steady, s.Gen)
	}
}

// EndStep ends step k.
// All that waited for this moment goes where owner says: gaps and groups to the segment, to
// the time between segments, or to nothing; idle slices and sums to the scope; samples
// to the step, unless they are dropped.
func (r *rank) EndStep(k int, owner step.Owner) {
	s := r.walk.Steps.Last()
	seg, p := &r.segments[s.Segment], &r.pending
	own := scope{segment: outside, phase: noPhase}
	switch owner {
	case step.StepOwner:
		own = scope{segment: s.Segment, phase: s.Phase}
		seg.gaps.merge(&p.gaps, r.c.opt.Top)
		r.between.gaps.merge(&p.across, r.c.opt.Top)
		seg.group(s.Phase).merge(&p.group)
	case step.GapOwner:
		own.segment = between
		r.between.gaps.merge(&p.gaps, r.c.opt.Top)
		r.between.gaps.merge(&p.across, r.c.opt.Top)
		r.between.group(noPhase).merge(&p.group)
		r.dropPending()
	default:
		r.dropPending()
	}
	r.idle.SettleEach(func(slice int) int {
		pending := &r.slices[slice]
		own.trace = r.scopes[pending.scope].trace
		pending.scope = r.scopeID(own)
		if owner == step.StepOwner {
			pending.step = int32(k)
		}
		return r.groupOf(pending.scope)
	})
	for trace, held := range r.held {
		if held == (scopeSum{}) {
			continue
		}
		own.trace = trace == 1
		sum := &r.sums[r.scopeID(own)]
		sum.started.Add(&held.started)
		sum.ns += held.ns
	}
	p.gaps.reset()
	p.across.reset()
	p.group, r.held = group{}, [2]scopeSum{}
	if r.c.compared {
		r.kept.Add(int64(k), r.own[:]...)
	}
	r.marked = false
	r.sample.End()
}

// dropPending forgets what was collected for the open step after its segment.
func (r *rank) dropPending() {
	if r.marked {
		r.sample.Drop()
	}
}

// Rows observes rows i to j, which are in order of start. Kinds that are not named here are
// ignored: what a later version of the stream adds passes by. What is kept of host threads is
// bounded once for all of the rows, not for each: a walker hands over at most a batch.
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
			if class, ok := b.Class.Get(i); ok && r.c.canFollow && thread >= 0 {
				r.followOf(thread).call(class, b.Start.Values[i], b.End.Values[i])
			}
		case event.Run:
			r.idle.Host(b, i)
		case event.Sample, event.Backtrace:
			r.idle.Stack(b, i)
		}
	}
	r.idle.Bound()
}

// seal observes the end of the rank's rows, of which only a window row may follow,
// and lets go of what only they needed.
func (r *rank) seal() {
	if r.sealed {
		return
	}
	r.sealed = true
	r.walk.Finish()
	if r.walk.Steps.Len() == 0 {
		r.sample.EndTrace(&r.trace.steady)
	}
	r.idle.Close()
	r.kept.Seal()
	for _, d := range r.gpus {
		if d.collectives != nil {
			d.collectives.Seal()
		}
	}
	r.calling = calling{}
	r.activity = activity{}           // which points into the ring
	r.slices = slices.Clone(r.slices) // without the room that they had to grow
}

// tracing reports whether what comes counts for the window of the trace: that was
// asked for, or there may be no steps at all.
func (r *rank) tracing() bool { return r.c.wholeTrace || r.walk.Steps.Len() == 0 }

// counting reports whether what starts now may be in a window.
func (r *rank) counting() bool { return r.at.Place != step.Outside || r.at.Trace }
