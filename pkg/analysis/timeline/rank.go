package timeline

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// segment is the kept steps of a segment.
type segment struct {
	index  int32 // in RankSteps.Segments
	steps  int
	worst  worst
	spread spread
}

// rank is the state of a rank after the rows so far. It is a step.Accumulator.
type rank struct {
	c    *Collector
	id   int32
	walk *step.Walker
	from int64 // start of the open segment, None before the first
	idle *idle.Rank

	gpus    []*gpu
	now     *Step            // the open step, or what precedes the first
	names   map[string]int32 // indexes in now.Names
	open    segment          // the open segment
	last    segment          // the last one before it with at least step.MinSteps steps
	late    []*Step          // steps that ended while a GPU was idle
	lastRow int64            // number of its last row in the stream
	closed  bool
}

// gpu is a GPU of the rank.
type gpu struct {
	*idle.GPU
	log *collective.Log
}

func newRank(c *Collector, id int32) *rank {
	r := &rank{c: c, id: id, from: None, open: segment{index: -1}, last: segment{index: -1}}
	opt := idle.Options{Store: c.store, BusyAll: c.opt.BusyAll, Why: true, GPUs: c.header.GPUs(id), OSCalls: c.header.Rows(event.OS) > 0}
	if f := c.header.RankFacts(id); f != nil {
		opt.OSCalls = f.OSCalls > 0
	}
	r.idle = idle.NewRank(c.sites, opt)
	r.begin(-1, None)
	r.walk = step.NewWalker(c.header, id, step.WalkOptions{BusyAll: c.opt.BusyAll, Unclear: true}, r)
	return r
}

// begin makes a new step the open one. It takes over the events that are still open.
func (r *rank) begin(number, start int64) {
	before := r.now
	r.now = &Step{Rank: r.id, Number: number, Phase: event.Unknown, Start: start}
	r.names = map[string]int32{}
	if before == nil {
		return
	}
	for i := range before.Events {
		if e := before.Events[i]; e.End > start || e.Kind == event.API && e.Start >= before.Start && e.Correlation != None {
			e.Name = r.name([]byte(before.Names[e.Name]))
			r.now.Events = append(r.now.Events, e)
		}
	}
}

// name returns the index of a name in the open step, a new one if it is new.
func (r *rank) name(text []byte) int32 {
	n, ok := r.names[string(text)]
	if !ok {
		n = int32(len(r.now.Names))
		r.now.Names = append(r.now.Names, string(text))
		r.names[string(text)] = n
	}
	return n
}

// Begin implements step.Accumulator.
func (r *rank) Begin(step.Slice) {}

// End pauses the idle time during a slice that was not recorded.
func (r *rank) End(s step.Slice, t int64) {
	if !s.Unrecorded {
		return
	}
	for _, d := range r.gpus {
		r.addGap(Gap{Device: d.Device, Start: d.GPU.End, End: s.Start, Cause: idle.Tail.String()})
	}
	r.idle.Pause(s.Start, t)
}

// Step begins step k, whose row is row i.
func (r *rank) Step(b *event.Batch, i, k int) {
	s := r.walk.Steps.Last()
	if k == 0 {
		r.idle.Cut(s.Start, true)
	}
	if s.Segment != r.open.index {
		r.endSegment()
		r.from = s.Start
		for _, d := range r.gpus {
			d.log.Segment(s.Start)
		}
		r.open = segment{index: s.Segment, worst: worst{limit: r.c.opt.Worst}}
		if r == r.c.ranks[0] {
			r.open.spread.limit = r.c.opt.Spread
		}
	}
	r.open.steps++
	r.begin(b.Step.Values[i], s.Start)
	r.now.Phase = s.Phase
	r.idle.Step(s.Start, s.End)
}

// endSegment ends the open segment, and keeps its steps if there are enough.
func (r *rank) endSegment() {
	drop := &r.open
	if r.open.steps >= step.MinSteps {
		drop, r.last = &segment{worst: r.last.worst, spread: r.last.spread}, r.open
	}
	drop.worst.release()
	for _, s := range drop.spread.steps {
		s.refs--
	}
	r.open = segment{index: -1}
}

// EndStep ends step k.
func (r *rank) EndStep(k int, _ step.Owner) { r.end(r.walk.Steps.Last().Until) }

// end ends the open step at a time, and keeps it if it is one to keep.
func (r *rank) end(until int64) {
	s := r.now
	s.Until = until
	for _, g := range s.Gaps {
		s.Idle += max(0, min(g.End, until)-g.Start)
	}
	late := false
	for _, d := range r.gpus {
		if open := until - max(d.GPU.End, s.Start); open > 0 {
			s.Idle += open
			late = true
		}
	}
	if s.weight = s.Idle; r.c.opt.Slowest {
		s.weight = until - s.Start
	}
	if slices.Contains(r.c.opt.Numbers, s.Number) && len(r.c.asked) < MaxNumbers {
		s.Asked = true
		s.refs++
		r.c.asked = append(r.c.asked, s)
	}
	if !s.Asked && !r.open.worst.wants(s.weight) && !r.c.all.wants(s.weight) && !r.open.spread.wants() {
		r.open.spread.seen++
		return
	}
	r.open.worst.add(s)
	r.open.spread.add(s)
	r.c.all.add(s)
	if late {
		r.late = append(slices.DeleteFunc(r.late, r.complete), s)
	}
}

// complete reports whether a step is complete, or not kept any more.
func (r *rank) complete(s *Step) bool {
	return s.refs == 0 || !slices.ContainsFunc(r.gpus, func(d *gpu) bool { return d.GPU.End < s.Until })
}

// Rows observes rows i to j.
func (r *rank) Rows(b *event.Batch, i, j int) {
	for ; i < j; i++ {
		switch kind := b.Kind.Values[i]; kind {
		case event.Kernel, event.Graph, event.Memcpy, event.Memset:
			r.addGPU(b, i)
		case event.API:
			r.idle.Call(b, i)
		case event.NVTX:
			r.idle.Range(b, i)
		case event.OS, event.Run, event.Overhead:
			r.idle.Host(b, i)
		default:
			continue
		}
		r.addEvent(b, i)
	}
	r.idle.Bound()
}

// addGPU observes a GPU row and the gap that it ends.
func (r *rank) addGPU(b *event.Batch, i int) {
	if !r.idle.IsActivity(b, i) {
		return
	}
	if !r.stepped() && len(r.gpus) == 0 {
		r.idle.Cut(b.Start.Values[i], true)
		r.now.Start = b.Start.Values[i]
	}
	var a idle.Activity
	r.idle.Read(b, i, &a)
	d := r.gpu(r.idle.Activity(&a))
	defer r.observeCollective(d, &a, b, i)
	if !r.idle.EndedGap() {
		return
	}
	at := d.GapStart
	for _, part := range r.idle.LastGap() {
		if d.GapStart >= r.from {
			d.log.Idle(collective.Key(part.Key), part.Ns)
		}
		g := r.c.label(part.Key)
		g.Device, g.Start, g.End = d.Device, at, at+part.Ns
		r.addGap(g)
		at = g.End
	}
}

// stepped reports whether the stream has steps.
func (r *rank) stepped() bool { return r.c.header.Isolation != nil }

// gpu returns the GPU for one of package idle, a new one if it is new.
func (r *rank) gpu(of *idle.GPU) *gpu {
	for _, d := range r.gpus {
		if d.GPU == of {
			return d
		}
	}
	r.gpus = append(r.gpus, &gpu{of, collective.NewLog(r.c.store)})
	return r.gpus[len(r.gpus)-1]
}

// addGap adds idle time to the open step, and to earlier ones that it extends into.
func (r *rank) addGap(g Gap) {
	if from := max(g.Start, r.now.Start); from < g.End {
		r.now.Gaps = append(r.now.Gaps, Gap{Device: g.Device, Start: from, End: g.End, Cause: g.Cause, Site: g.Site, Path: g.Path, Why: g.Why})
	}
	for _, s := range r.late {
		if from, to := max(g.Start, s.Start), min(g.End, s.Until); from < to {
			s.Gaps = append(s.Gaps, Gap{Device: g.Device, Start: from, End: to, Cause: g.Cause, Site: g.Site, Path: g.Path, Why: g.Why})
		}
	}
}

// addEvent adds a row to the open step. Before the first step, only open events are kept
// when there are too many.
func (r *rank) addEvent(b *event.Batch, i int) {
	s := r.now
	if len(s.Events) >= MaxEvents && r.stepped() && r.walk.Steps.Len() == 0 {
		at := b.Start.Values[i]
		r.begin(s.Number, s.Start)
		r.now.Events = slices.DeleteFunc(r.now.Events, func(e Event) bool { return e.End <= at })
		s = r.now
	}
	if len(s.Events) >= MaxEvents {
		s.Left++
		return
	}
	orNone := func(v *event.Ints[int64]) int64 {
		if n, ok := v.Get(i); ok {
			return n
		}
		return None
	}
	e := Event{
		Start: b.Start.Values[i], End: b.End.Values[i], Kind: b.Kind.Values[i], Class: -1, Name: r.name(b.Name.Get(i)),
		Device: b.Device.Values[i], Stream: orNone(&b.Stream), Thread: orNone(&b.Thread), Correlation: orNone(&b.Correlation),
		Replayed: b.GraphNode.Valid.Get(i), launched: orNone(&b.LaunchStart),
	}
	if class, ok := b.Class.Get(i); ok {
		e.Class = class
	}
	s.Events = append(s.Events, e)
}

// close ends the rank's rows. Only its window row may follow.
func (r *rank) close() {
	if r.closed {
		return
	}
	r.closed = true
	r.walk.Finish()
	if !r.stepped() && len(r.gpus) > 0 {
		end := None
		for _, d := range r.gpus {
			end = max(end, d.GPU.End)
		}
		r.end(end)
	}
	r.now = &Step{Start: 1<<63 - 1}
	for _, d := range r.gpus {
		r.addGap(Gap{Device: d.Device, Start: d.GPU.End, End: 1<<63 - 1, Cause: idle.Tail.String()})
	}
	r.endSegment()
	for _, s := range r.last.worst.steps {
		r.c.last.add(s)
	}
	r.last.worst.release()
	r.idle.Close()
	r.names, r.late, r.now = nil, nil, nil
}
