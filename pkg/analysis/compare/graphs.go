package compare

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	steps "github.com/hostbound/hostbound/pkg/step"
)

// adviseGraphs looks for graphs that are no longer replayed, in all steps or in
// some, and reports whether it found any.
func (c *adviser) adviseGraphs() bool {
	if c.target != nil && c.lostGraphs() {
		return true
	}
	s := c.latest()
	f := s.fallbacks()
	if f.share <= fewFallbacks || c.target != nil && f.share <= c.base.fallbacks().share+fewFallbacks {
		return false
	}
	c.mitigate("%d of %s (%.0f %%) of %s run without the CUDA graph that the others replay: they launch %s kernels one by one and take %s, the others %s. Capture the shapes that these steps have, or find what keeps them from the graph.",
		f.steps, c.counted(f.of), 100*f.share, s.run.Name, report.Digits(f.eager), report.Micros(f.wall*us), report.Micros(f.otherWall*us))
	return true
}

// lostGraphs looks for graphs that the baseline replays and the target does not.
func (c *adviser) lostGraphs() bool {
	a, b := c.Steady.Baseline, c.Steady.Target
	if a.Graph == nil || b.Graph == nil || *a.Graph+*a.Replays == 0 ||
		*b.Graph+*b.Replays > few*(*a.Graph+*a.Replays) || *b.Eager <= *a.Eager {
		return false
	}
	what, before, after := "replayed kernels", *a.Graph, *b.Graph
	if *a.Replays > 0 {
		what, before, after = "graph replays", *a.Replays, *b.Replays
	}
	c.mitigate("CUDA graphs are lost: %s per step %s before and %s now, kernels launched one by one %s and %s, launch calls %s and %s. Find why the graph is not replayed any more: a shape or a batch that was not captured, or an operation that cannot be.",
		what, report.Digits(before), report.Digits(after), report.Digits(*a.Eager), report.Digits(*b.Eager), report.Digits(c.base.launches()), report.Digits(c.target.launches()))
	return true
}

// launches is how many API calls that launch a kernel there are per step.
func (s *side) launches() float64 {
	return s.average(s.samples.each(func(st *step, _ float64) float64 { return float64(st.work.Launches) }))
}

// fallback is what is known of the steps of a run that replay no graph where others
// do. Times are ns per step.
type fallback struct {
	steps, of       int
	share           float64
	eager           float64 // kernels launched one by one in such a step
	wall, otherWall float64
}

// fallbacks finds the steps that run eagerly where others replay a graph.
func (s *side) fallbacks() (f fallback) {
	var works []steps.Work
	var periods []float64
	for _, st := range s.samples.steps {
		works, periods = append(works, st.work), append(periods, float64(st.period))
	}
	eager, others := []float64(nil), 0
	for k, kind := range steps.Kinds(works, s.run.Method) {
		switch {
		case kind.Eager:
			eager = append(eager, float64(works[k].Forward+works[k].Loose))
			f.wall += periods[k]
		case kind.Replays:
			others++
			f.otherWall += periods[k]
		}
	}
	f.of = s.samples.n
	if len(eager) <= 1 || others == 0 {
		return fallback{of: f.of}
	}
	f.eager, f.steps, f.share = median(eager), len(eager), float64(len(eager))/float64(f.of)
	f.wall, f.otherWall = f.wall/float64(len(eager)), f.otherWall/float64(others)
	return f
}

// median returns the upper median of x, which it sorts.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
