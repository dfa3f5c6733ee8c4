package gap

import (
	"github.com/hostbound/hostbound/pkg/coverage"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/idle"
	"github.com/hostbound/hostbound/pkg/step"
)

// group adds up what happened in the steps of one phase of one segment.
type group struct {
	eager  coverage.Kernels
	calls  map[site]*calls
	chains map[int32]*chains // by path
	drains map[idle.Key]*drain
	after  map[site]int64 // calls outside of any range, by the last range before
}

// site is a name and the ranges around it.
type site struct{ name, path int32 }

// calls are calls that wait, copy or make something.
type calls struct {
	class     event.Class
	count, ns int64
}

// chains are rows of view operations before a launch.
type chains struct{ count, ops, ns int64 }

// group returns the group of a phase of the segment.
func (s *segment) group(phase event.Phase) *group {
	g := &s.groups[phase&3]
	if *g == nil {
		*g = &group{}
	}
	return *g
}

// group returns where row i counts, nil for nowhere.
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
		s := &r.walk.Steps[r.at.Step]
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
		g.eager.Add(coverage.Site{Name: a.Name, Path: path}, a.class, 1, a.End-a.Start)
	}
}

func (g *group) call(class event.Class, name, path int32, ns int64) {
	if g.calls == nil {
		g.calls = make(map[site]*calls)
	}
	c := g.calls[site{name, path}]
	if c == nil {
		c = &calls{class: class}
		g.calls[site{name, path}] = c
	}
	c.count++
	c.ns += ns
}

func (g *group) chain(path int32, ops, ns int64) {
	if g.chains == nil {
		g.chains = make(map[int32]*chains)
	}
	c := g.chains[path]
	if c == nil {
		c = &chains{}
		g.chains[path] = c
	}
	c.count++
	c.ops += ops
	c.ns += ns
}

// follow counts a call outside of any range that comes after one.
func (g *group) follow(s site) {
	if g.after == nil {
		g.after = make(map[site]int64)
	}
	g.after[s]++
}

// merge adds what happened in another group.
func (g *group) merge(o *group) {
	g.eager.Merge(&o.eager)
	for s, c := range o.calls {
		g.call(c.class, s.name, s.path, 0)
		e := g.calls[s]
		e.count += c.count - 1
		e.ns += c.ns
	}
	for s, n := range o.after {
		g.follow(s)
		g.after[s] += n - 1
	}
	for k, d := range o.drains {
		g.drain(k, d.ns)
		g.drains[k].count += d.count - 1
	}
	for path, c := range o.chains {
		g.chain(path, 0, 0)
		e := g.chains[path]
		e.count += c.count - 1
		e.ops += c.ops
		e.ns += c.ns
	}
}
