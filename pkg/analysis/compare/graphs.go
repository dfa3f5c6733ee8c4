package compare

import "github.com/hostbound/hostbound/pkg/report"

// adviseGraphs looks for graphs that the baseline replays and the target does not, and reports
// whether it found any.
func (c *adviser) adviseGraphs() bool {
	a, b := c.Steady.Baseline, c.Steady.Target
	if a.Graph == nil || b.Graph == nil || *a.Graph+*a.Replays == 0 ||
		*b.Graph+*b.Replays > few*(*a.Graph+*a.Replays) || *b.Eager <= *a.Eager {
		return false
	}
	what, before, after := "replayed kernels", *a.Graph, *b.Graph
	if *a.Replays > 0 {
		what, before, after = "graph replays", *a.Replays, *b.Replays
	}
	c.mitigate("CUDA graph replays are lost. Per step, before and now: %s %s and %s, kernels launched one by one %s and %s, launch calls %s and %s. Find out why the graph is no longer replayed: a shape or batch was not captured, or an operation cannot be.",
		what, report.Digits(before), report.Digits(after), report.Digits(*a.Eager), report.Digits(*b.Eager), report.Digits(c.base.launches()), report.Digits(c.target.launches()))
	return true
}

// launches is how many API calls that launch a kernel there are per step.
func (s *side) launches() float64 {
	return s.average(s.samples.each(func(st *step, _ float64) float64 { return float64(st.work.Launches) }))
}
