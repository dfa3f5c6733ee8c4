package gap

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// group adds up what happened in the steps of one phase of one segment.
type group struct {
	eager Kernels
	calls map[site]tally // that wait, copy or make something; parts are those of threads that launch
}

// site is a name and the ranges around it; outside of all ranges after is the last one that no
// other was around, else -1.
type site struct{ name, path, after int32 }

// tally adds up things that happened.
type tally struct{ count, parts, ns int64 }

// tallied adds n to what a map has for a key; the map may be nil.
func tallied(m *map[site]tally, k site, n tally) {
	if *m == nil {
		*m = map[site]tally{}
	}
	t := (*m)[k]
	(*m)[k] = tally{t.count + n.count, t.parts + n.parts, t.ns + n.ns}
}

// group returns the group of a phase of the segment.
func (s *segment) group(phase event.Phase) *group {
	g := &s.groups[phase&3]
	if *g == nil {
		*g = &group{}
	}
	return *g
}

// group returns where row i counts, nil for nowhere.
// In the trace's window a row's phase is its own column's; with steps it is the step's.
func (r *rank) group(b *event.Batch, i int) *group {
	if r.tracing() {
		if !r.at.Trace {
			return nil
		}
		phase := noPhase
		if r.c.phased {
			if v, ok := b.Phase.Get(i); ok {
				phase = v
			}
		}
		return r.trace.group(phase)
	}
	return r.openGroup()
}

// openGroup returns where rows count now, nil for nowhere.
func (r *rank) openGroup() *group {
	switch {
	case r.tracing():
		if r.at.Trace {
			return r.trace.group(noPhase)
		}
	case r.at.Place == step.InStep:
		s := r.walk.Steps.Last()
		return r.segments[s.Segment].group(s.Phase)
	case r.at.Place == step.Pending:
		return &r.pending.group
	}
	return nil
}

// addKernel observes a kernel.
func (r *rank) addKernel(b *event.Batch, i int, a *activity) {
	r.now.Kernels++
	if a.Replayed {
		r.now.Replayed++
	}
	if a.Replayed || !r.counting() {
		return
	}
	if g := r.group(b, i); g != nil {
		path := int32(-1)
		if a.launch != nil {
			path = a.launch.path
		}
		g.eager.Add(EagerSite{Name: a.Name, Path: path}, a.class, 1, a.End-a.Start)
	}
}

// merge adds what happened in another group.
func (g *group) merge(o *group) {
	g.eager.Merge(&o.eager)
	for k, n := range o.calls {
		tallied(&g.calls, k, n)
	}
}
