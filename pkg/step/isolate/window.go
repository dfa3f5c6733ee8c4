package isolate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// ended is a rank whose rows have ended, with its benchmark window. It has at least one
// step.
type ended struct {
	*rank
	sizes      []int32 // of all steps
	size       int32   // the most frequent size
	segment    int     // index of the benchmark segment, -1 for none
	start, end int64   // of the window
	unclear    bool    // its steps cannot be identified
	// unlikeMarkers: see step.Window.
	unlikeMarkers bool
}

// newEnded returns the rank with its window: the last segment that has enough steps of
// the common size, or all if there is none.
func newEnded(r *rank) *ended {
	e := &ended{rank: r, segment: -1, start: r.segments[0].start}
	counts := map[int32]int{}
	for _, seg := range r.segments {
		e.sizes, e.end = append(e.sizes, seg.sizes...), max(e.end, seg.end)
	}
	for _, size := range e.sizes {
		counts[size]++
	}
	for size, n := range counts { // the larger one, if two are equally frequent
		if most := counts[e.size]; n > most || n == most && size > e.size {
			e.size = size
		}
	}
	for i, seg := range r.segments {
		if n := len(seg.sizes); n >= step.MinSteps && stat.MostOf(n-e.odd(seg.sizes), n) {
			e.segment, e.start, e.end = i, seg.start, seg.end
		}
	}
	return e
}

// odd returns how many sizes differ from the common one.
func (e *ended) odd(sizes []int32) (n int) {
	for _, size := range sizes {
		n += b2n(size != e.size)
	}
	return n
}

// inWindow returns the sizes of the steps of the window.
func (e *ended) inWindow() []int32 {
	if e.segment < 0 {
		return e.sizes
	}
	return e.segments[e.segment].sizes
}

// addWindows makes the last batch, the window rows, and warns of irregularities. It
// returns the error if the steps of a rank could not be identified.
func (it *Isolator) addWindows() error {
	if !slices.ContainsFunc(it.ranks, func(r *rank) bool { return r.steps > 0 }) {
		it.opt.Warn("no steps at all: " + inVain[it.plan.method])
		return nil
	}
	slices.SortFunc(it.ranks, func(a, b *rank) int { return cmp.Compare(a.id, b.id) })
	var ends []*ended
	var none *step.NotFound
	marked := false
	for _, r := range it.ranks {
		if r.steps == 0 {
			if !r.left && r.id != noRank {
				r.warn("rank %d has no steps", r.id)
			}
			continue
		}
		e := newEnded(r)
		ends = append(ends, e)
		switch one := e.check(); {
		case one == nil:
			marked = marked || r.markers.ids > 0
		case none == nil:
			e.unclear, none = true, one
		default:
			e.unclear = true
			none.Ranks, none.Msg = append(none.Ranks, one.Ranks...), none.Msg+"; "+one.Msg
		}
	}
	if none != nil && !marked {
		none.Ranks = nil
	}
	if none != nil && (it.opt.Unclear == nil || !it.opt.Unclear(none)) {
		return none
	}
	b := it.pool.get()
	it.ready = append(it.ready, b)
	all := none != nil && none.Ranks == nil
	for _, e := range ends {
		e.addWindow(b, !all && !e.unclear)
	}
	if !all {
		it.checkUnlike(ends)
	}
	return nil
}

// inVain says, by method, what was not found.
var inVain = map[string]string{
	step.Allreduce: "no rank has an all-reduce kernel",
	step.NVTX:      "no rank has a forward-step marker",
	step.Graph:     "no rank has a recorded replay of a CUDA graph",
}

// addWindow appends the rank's window row. It has no number of steps unless they are
// identified.
func (e *ended) addWindow(b *event.Batch, identified bool) {
	i := b.AppendNulls()
	b.Kind.Set(i, event.Window)
	b.Start.Set(i, e.start)
	b.End.Set(i, e.end)
	b.Rank.Set(i, e.id)
	b.Name.SetLast("window")
	if !identified {
		return
	}
	b.Step.Set(i, int64(len(e.sizes)))
	b.Size.Set(i, int64(e.size))
	if e.segment >= 0 {
		b.Segment.Set(i, int64(e.segment))
	}
	if e.unlikeMarkers && b.Columns.Has(event.ColClass) {
		b.Class.Set(i, event.StepMarker)
	}
}

// checkUnlike warns if the steps of one rank take much longer than those of another, as
// with two engines or with prefill and decode processes. Figures per step then describe
// neither.
func (it *Isolator) checkUnlike(ends []*ended) {
	pace := func(e *ended) int64 { return (e.end - e.start) / int64(len(e.inWindow())) }
	by := func(a, b *ended) int { return cmp.Compare(pace(a), pace(b)) }
	ends = slices.DeleteFunc(ends, func(e *ended) bool { return e.segment < 0 })
	if len(ends) == 0 {
		return
	}
	short, long := slices.MinFunc(ends, by), slices.MaxFunc(ends, by)
	if float64(pace(long)) > unlike*float64(pace(short)) {
		it.opt.Warn(fmt.Sprintf("steps take %s on rank %d and %s on rank %d: figures per step are means of unlike steps; --rank chooses ranks",
			shown(pace(short)), short.id, shown(pace(long)), long.id))
	}
}
