package compare

import (
	"math"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	spans "github.com/hostbound/hostbound/pkg/stat"
	steps "github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// step is what was measured of one step, in ns. busy and gpu are sums over GPUs.
type step struct {
	period int64 // without unrecorded time
	extent int64 // from its start to its end
	busy   int64 // within the period
	copies int64 // idle time in it during which GPUs copy or fill
	inter  int64 // idle time between steps, summed over GPUs
	gpu    int64 // full durations of what starts in the period
	work   steps.Work
	ctx    int32 // unknown if not known
	gen    int32 // likewise
	size   int32 // the number of its allreduce kernels, or 1
	phase  event.Phase
	// cut says that the period is not whole: the step is the last of its segment, or
	// part of the period was not recorded.
	cut bool
}

const unknown = -1

// rank is the state of one rank after the rows so far. It is a step.Accumulator: the
// walker says which step rows belong to.
type rank struct {
	*profile // what remains of it at the end
	shared   *profiler
	walk     *steps.Walker

	devices []gpu // in the order of their first activity
	last    int   // index of the device of the last GPU row
	due     int64 // end of the range that closes next

	idle    attribution
	segment int64       // start of the open segment
	now     steps.Slice // the current slice
	began   int64       // busy time before it
	copies  int64       // idle time in it during which GPUs copy or fill
	pending step        // sums of pending slices

	opens opens         // open ranges
	near  *steps.Cursor // at the step of the last wait
}

// newRank returns a rank of the stream before its first row.
func (p *profiler) newRank(id int32) *rank {
	h := p.header
	r := &rank{profile: p.run.newProfile(id), shared: p, due: never, opens: opens{threads: map[int64][]*open{}}, segment: none}
	r.idle.Rank = idle.NewRank(p.sites, idle.Options{
		BusyAll: p.busy>>event.Memcpy&1 != 0, GPUs: h.GPUs(id), Method: h.Isolation.Method, Markers: p.markers,
		Why: p.run.why, OSCalls: h.Records(event.OS, id), Store: p.run.store,
	})
	r.walk = steps.NewWalker(h, id, steps.WalkOptions{Work: true}, r)
	return r
}

// Begin begins a slice.
func (r *rank) Begin(s steps.Slice) {
	r.now = s
	k := r.idle.Cut(s.Start, s.Place != steps.Outside)
	if r.idle.step = append(r.idle.step[:k], s.Step); s.Place == steps.Pending {
		r.idle.step[k] = pending
	}
}

// End attributes what GPUs did in a slice that ends at t.
func (r *rank) End(s steps.Slice, t int64) {
	for k := range r.devices {
		g := &r.devices[k]
		busy := g.busy.Cut(t)
		g.closed += busy
		r.copies += g.any.Cut(t) - busy
	}
	to := &r.pending
	if s.Place == steps.InStep {
		to = r.lastStep()
	}
	busy := r.busyUntil(t)
	if s.Place != steps.Outside {
		to.busy, to.copies = to.busy+busy-r.began, to.copies+r.copies
	}
	r.began, r.copies = busy, 0
	if s.Unrecorded {
		r.idle.Pause(s.Start, t)
	}
}

// Step begins a step.
func (r *rank) Step(b *event.Batch, i, _ int) {
	r.steps = append(r.steps, step{size: int32(b.Size.Values[i])})
	r.idle.Step(b.Start.Values[i], b.End.Values[i])
	if s := r.walk.Steps.Last(); r.walk.Segments[s.Segment].Steps == 1 {
		r.segment = s.Start
		for k := range r.devices {
			r.devices[k].log.Segment(s.Start)
		}
	}
}

// EndStep ends a step, which is then complete.
func (r *rank) EndStep(k int, owner steps.Owner) {
	s, known := r.lastStep(), r.walk.Steps.Last()
	if owner == steps.StepOwner {
		s.busy, s.copies = s.busy+r.pending.busy, s.copies+r.pending.copies
	}
	r.pending = step{}
	r.idle.endStep(k, owner)
	s.period, s.extent, s.cut = known.Period(), known.End-known.Start, !known.Whole
	s.work = known.Work
	s.ctx, s.gen, s.phase = int32(min(known.Ctx, math.MaxInt32)), int32(min(known.Gen, math.MaxInt32)), known.Phase
}

// Rows observes rows i to j, all of one slice.
func (r *rank) Rows(b *event.Batch, i, j int) {
	kinds := b.Kind.Values[:j]
	starts, ends := b.Start.Values[:j], b.End.Values[:j]
	for ; i < j; i++ {
		t, e := starts[i], ends[i]
		if t >= r.due {
			r.closeRanges(t)
		}
		switch kind := kinds[i]; kind {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			r.observeGPU(b, i, t, e, kind)
		case event.API:
			call := r.idle.Call(b, i)
			if k := r.stepOf(b, i); k != noStep {
				r.sections[calls].at(call.Name).add(k, e-t, 0, 0)
			}
		case event.NVTX:
			r.observeRange(b, i, t, e, r.idle.Range(b, i).Name)
		case event.OS, event.Run, event.Overhead:
			r.idle.Host(b, i)
		case event.Backtrace:
			r.idle.Stack(b, i)
		}
	}
	r.idle.Bound()
}

// lastStep returns the step that began last.
func (r *rank) lastStep() *step { return &r.steps[len(r.steps)-1] }

// stepOf returns the step of row i, the last one or noStep. In a pending slice the row's
// own step number decides.
func (r *rank) stepOf(b *event.Batch, i int) int32 {
	if r.now.Place == steps.InStep || r.now.Place == steps.Pending && b.Step.Valid.Get(i) {
		return r.now.Step
	}
	return noStep
}

// observeGPU observes a kernel, a whole-graph row, a copy or a memset.
func (r *rank) observeGPU(b *event.Batch, i int, t, e int64, kind event.Kind) {
	name, class := int32(-1), event.Class(event.Other)
	if c, ok := b.Class.Get(i); ok {
		class = c
	}
	if e > t && r.shared.busy>>uint32(kind)&1 != 0 {
		var a idle.Activity
		r.idle.Read(b, i, &a)
		name = a.Name
		d := r.idle.Activity(&a)
		if r.last >= len(r.devices) || r.devices[r.last].device != a.Device {
			r.last = r.findGPU(a.Device)
		}
		g := &r.devices[r.last]
		busy := g.busy.Add(t, e)
		g.closed += busy
		r.copies += g.any.Add(t, e) - busy
		r.observeCollective(g, d, &a, class)
	}
	if kind.IsCopy() {
		for k := range r.devices {
			if g := &r.devices[k]; g.device == b.Device.Values[i] {
				r.copies += g.any.Add(t, e)
			}
		}
		return
	}
	k := r.stepOf(b, i)
	if k == noStep {
		return
	}
	r.lastStep().gpu += e - t
	if name < 0 {
		name = r.shared.sites.Names.Of(&b.Name, i)
	}
	r.shared.run.setClass(name, kind, class)
	r.sections[kernels].at(name).add(k, e-t, 0, 0)
}

// findGPU returns the index of a device, a new one if it is unknown.
func (r *rank) findGPU(device int32) int {
	for k := range r.devices {
		if r.devices[k].device == device {
			return k
		}
	}
	r.devices = append(r.devices, gpu{device: device, busy: spans.Empty, any: spans.Empty, log: collective.NewLog(r.shared.run.store)})
	return len(r.devices) - 1
}

// busyUntil returns the busy time before t over all GPUs, ns. All GPU rows that start
// before t, and no later ones, must have been observed.
func (r *rank) busyUntil(t int64) int64 {
	sum := int64(0)
	for k := range r.devices {
		sum += r.devices[k].closed + r.devices[k].busy.Until(t)
	}
	return sum
}

// observeRange observes an NVTX range. Forward-step markers and ranges of the
// interpreter lock are left out: ranges nested in them count as nested in what surrounds
// them.
func (r *rank) observeRange(b *event.Batch, i int, t, e int64, name int32) {
	if class, ok := b.Class.Get(i); ok && (class == event.StepMarker || class == event.GIL) {
		return
	}
	o := open{start: t, end: e, thread: b.Thread.Values[i], step: r.stepOf(b, i), name: name}
	o.hidden = r.busyUntil(t)
	r.opens.push(o)
	r.due = min(r.due, e)
}

// closeRanges closes the ranges that end at or before t, in the order of their ends.
func (r *rank) closeRanges(t int64) {
	for r.opens.next() <= t {
		if o := r.opens.pop(); o.step != noStep {
			span := o.end - o.start
			r.sections[operations].at(o.name).add(o.step, span, span-o.covered, r.busyUntil(o.end)-o.hidden)
		}
	}
	r.due = r.opens.next()
}

// finish completes the rank, except for waits in collectives.
func (r *rank) finish() {
	r.walk.Finish()
	r.idle.Close()
	r.addIdle()
	r.idle = attribution{}
	r.closeRanges(never - 1)
	r.gpus = len(r.devices)
	if w := r.walk.Window; w != nil {
		r.size, r.unlike = w.CommonSize, w.UnlikeMarkers
	}
	for _, k := range r.walk.Steady() {
		r.steady = append(r.steady, int32(k))
	}
	r.benchmark(r.walk.BenchmarkSteps())
}
