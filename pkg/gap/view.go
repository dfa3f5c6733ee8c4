package gap

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/thread"
)

// view is a rank in its window.
type view struct {
	*rank
	start, end int64
	segments   []*segment // that the window holds; of the trace, the trace
	steps      int64      // rank-steps in them
}

// views returns the ranks that have a window, in order.
func (c *computer) views() []*view {
	var all []*view
	for _, r := range c.ranks {
		v := &view{rank: r}
		switch {
		case c.wholeTrace:
			if r.traceEnd == never {
				continue
			}
			v.start, v.end = r.traceStart, r.traceEnd
			v.segments = []*segment{&r.trace}
		case !r.window.there || len(r.segments) == 0:
			continue
		case r.window.segment >= 0 && int(r.window.segment) < len(r.segments):
			v.start, v.end = r.window.start, r.window.end
			v.segments = []*segment{&r.segments[r.window.segment]}
		default:
			v.start, v.end = r.window.start, r.window.end
			for k := range r.segments {
				v.segments = append(v.segments, &r.segments[k])
			}
			v.segments = append(v.segments, &r.holes)
		}
		for k := range r.steps {
			if v.inWindow(&r.steps[k]) {
				v.steps++
			}
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *view) int { return cmp.Compare(a.id, b.id) })
	return all
}

// inWindow tells whether a step is one of the benchmark segment, or of all where
// there is none.
func (v *view) inWindow(s *stepInfo) bool {
	return v.window.there && (v.window.segment < 0 || s.segment == v.window.segment)
}

// has tells whether the window holds a cell.
func (v *view) has(c *cell) bool {
	if v.c.wholeTrace {
		return c.trace
	}
	return v.inBenchmark(c)
}

// inBenchmark tells whether the benchmark window holds a cell.
func (v *view) inBenchmark(c *cell) bool {
	switch {
	case !v.window.there:
		return false
	case v.window.segment >= 0:
		return c.segment == v.window.segment
	}
	return c.segment >= 0 || c.hole
}

// phaseOf returns the phase of a cell, -1 for a cell of no step.
func (v *view) phaseOf(c *cell) int32 {
	if c.step < 0 || !v.c.phased {
		return -1
	}
	return v.rank.steps[c.step].phase
}

// eachCell calls f with the cells of the window and their length.
func (v *view) eachCell(f func(c *cell, ns int64)) { v.cellsWhere(v.has, f) }

// eachStepCell calls f with the cells of the steps of the benchmark segment.
func (v *view) eachStepCell(f func(c *cell, ns int64)) {
	v.cellsWhere(v.ofStep, f)
}

// ofStep tells whether a cell is part of a step that counts.
func (v *view) ofStep(c *cell) bool { return c.step >= 0 && v.inBenchmark(c) }

func (v *view) cellsWhere(has func(*cell) bool, f func(c *cell, ns int64)) {
	for k := range v.cells {
		if c := &v.cells[k]; k+1 < len(v.cells) && has(c) {
			f(c, v.cells[k+1].start-c.start)
		}
	}
}

// eachPiece calls f with the pieces of idle time in the window.
func (v *view) eachPiece(f func(c *cell, cause thread.State, ns int64)) {
	v.piecesWhere(v.has, v.end, f)
}

// eachStepPiece calls f with the pieces of idle time in the periods of the steps
// of the benchmark segment.
func (v *view) eachStepPiece(f func(c *cell, cause thread.State, ns int64)) {
	v.piecesWhere(v.ofStep, v.window.end, f)
}

// piecesWhere calls f with the pieces in cells that a window has, which ends at
// end.
func (v *view) piecesWhere(has func(*cell) bool, end int64, f func(c *cell, cause thread.State, ns int64)) {
	for _, p := range v.pieces {
		if c := &v.cells[p.cell]; has(c) {
			f(c, p.cause, p.ns)
		}
	}
	for _, p := range v.late {
		c := &v.cells[p.cell]
		if !has(c) {
			continue
		}
		cause := p.cause
		if p.until >= end {
			cause = tailCause
		}
		f(c, cause, p.ns)
	}
}

// counted returns what started in the window.
func (v *view) counted() (n counts) {
	v.eachCell(func(c *cell, _ int64) { n.add(&c.counts) })
	return n
}

// capturable tells whether kernels of a class belong into a graph.
func capturable(class int32) bool {
	switch class {
	case event.GEMM, event.Norm, event.Allreduce, event.Activation, event.RoPE, event.Quant:
		return true
	}
	return false
}
