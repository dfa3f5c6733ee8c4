package gap

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
)

// graphReport sums up graph coverage.
func (c *computer) graphReport(views []*view) Graph {
	g := Graph{Partial: []PartialRank{}, Eager: []EagerKernel{}}
	var n counts
	var steps int64
	for _, v := range views {
		m := v.started()
		n.add(&m)
		steps += v.steps
		if partial(m.calls, m.recorded) {
			g.Partial = append(g.Partial, PartialRank{v.id, m.calls, m.recorded})
		}
	}
	g.Kernels, g.Replayed, g.Launches, g.Recorded, g.Whole = n.kernels, n.replayed, n.calls, n.recorded, n.whole
	if n.kernels > 0 {
		coverage := ratio(n.replayed, n.kernels)
		g.Coverage = &coverage
	}
	g.KernelLaunchesPerStep = perStep(float64(n.launches), steps)
	g.GraphLaunchesPerStep = perStep(float64(n.calls), steps)
	g.Recapture = c.recapture(&g)
	g.Eager = c.eagerReport(views, steps)
	return g
}

// partial tells whether so many replays are missing that the recording cannot be
// trusted.
func partial(calls, recorded int64) bool {
	missing := calls - recorded
	return missing > 2 && 100*missing > calls
}

// recapture returns the command line that records what is missing, "" where
// nothing is.
func (c *computer) recapture(g *Graph) string {
	const command = "nsys profile -t cuda,nvtx,python-gil -c cudaProfilerApi --cuda-graph-trace=%s -o trace -f true YOUR-COMMAND"
	switch {
	case g.Whole > 0, len(g.Partial) > 0 && g.Recorded == 0:
		return strings.Replace(command, "%s", "node", 1)
	case len(g.Partial) > 0:
		// Records of single kernels were lost: whole graphs are a thousandth of them.
		return strings.Replace(command, "%s", "graph", 1)
	}
	return ""
}

// eagerReport lists the kernels that were launched by themselves, the most
// frequent first.
func (c *computer) eagerReport(views []*view, steps int64) []EagerKernel {
	type sum struct {
		EagerKernel
		ns      int64
		classes map[event.Class]int64
		paths   map[int32]int64
	}
	sums := map[int32]*sum{}
	for _, v := range views {
		for _, seg := range v.segments {
			for phase, g := range seg.groups {
				if g == nil {
					continue
				}
				for at, k := range g.eager {
					s := sums[at.name]
					if s == nil {
						s = &sum{classes: map[event.Class]int64{}, paths: map[int32]int64{}}
						s.Name = c.kernels.text(at.name)
						sums[at.name] = s
					}
					s.Count += k.count
					s.ns += k.ns
					s.classes[k.class] += k.count
					s.paths[at.path] += k.count
					if event.Phase(phase) == event.Generation {
						s.Generation += k.count
						s.Capturable = s.Capturable || capturable(k.class)
					}
				}
			}
		}
	}
	list := []EagerKernel{}
	for _, s := range sums {
		if class := most(s.classes); class >= 0 {
			s.Class = event.Classes[class]
		}
		path := c.mostRange(s.paths)
		s.Range, s.Path, s.Source = c.rangeText(path), c.pathText(path), c.source(path)
		s.Us, s.PerStep = us(s.ns), perStep(float64(s.Count), steps)
		list = append(list, s.EagerKernel)
	}
	slices.SortFunc(list, func(a, b EagerKernel) int {
		if n := cmp.Compare(b.Count, a.Count); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// most returns the key with the largest count, of equal ones the smallest, -1 for
// no keys.
func most[K ~int32](counts map[K]int64) K {
	best := K(-1)
	for i, k := range slices.Sorted(maps.Keys(counts)) {
		if i == 0 || counts[k] > counts[best] {
			best = k
		}
	}
	return best
}

// mostRange returns the most frequent path to the most frequent innermost range.
func (c *computer) mostRange(paths map[int32]int64) int32 {
	names := map[int32]int64{}
	for path, n := range paths {
		names[c.sites.Range(path)] += n
	}
	name := most(names)
	to := map[int32]int64{}
	for path, n := range paths {
		if c.sites.Range(path) == name {
			to[path] = n
		}
	}
	return most(to)
}
