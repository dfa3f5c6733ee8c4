package gap

import (
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// group adds up what happened in the steps of one phase of one segment. Its maps are
// nil while they are empty: most groups are.
type group struct {
	eager  Kernels
	calls  map[site]tally     // that wait, copy or make something; parts are those of threads that launch
	chains map[int32]tally    // rows of view operations before a launch, by path of ranges
	drains map[idle.Key]tally // idle time after a wait for the GPU, until the next work comes that the waiting thread launched
	older  map[idle.Key]tally // what follows drains, which may be idle for the same wait
	after  map[site]tally     // calls outside of any range, by the last range before
	blocks map[site]tally     // of calls the copies that take long
	// Waits that are the first of their thread since it launched kernels that sample, with the time
	// that they last; the idle time in them, and, of drains, what comes after them.
	tokens      map[site]tally
	tokenIdle   map[site]tally
	tokenDrains map[idle.Key]tally
}

// site is a name and the ranges around it.
type site struct{ name, path int32 }

// tally adds up things that happened. What is not measured of them is 0.
type tally struct {
	count, parts, ns int64
	threads          uint64 // that they happened on: a bit for each of 64
}

// on is the bit of a thread by its number.
func on(thread int) uint64 { return 1 << (thread & 63) }

// tallied adds n to what a map has for a key; the map may be nil.
func tallied[K comparable](m *map[K]tally, k K, n tally) {
	if *m == nil {
		*m = map[K]tally{}
	}
	t := (*m)[k]
	(*m)[k] = tally{t.count + n.count, t.parts + n.parts, t.ns + n.ns, t.threads | n.threads}
}

// merged adds what another map has.
func merged[K comparable](m *map[K]tally, other map[K]tally) {
	for k, n := range other {
		tallied(m, k, n)
	}
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
	merged(&g.calls, o.calls)
	merged(&g.chains, o.chains)
	merged(&g.drains, o.drains)
	merged(&g.older, o.older)
	merged(&g.after, o.after)
	merged(&g.blocks, o.blocks)
	merged(&g.tokens, o.tokens)
	merged(&g.tokenIdle, o.tokenIdle)
	merged(&g.tokenDrains, o.tokenDrains)
}
