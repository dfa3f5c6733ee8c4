package compare

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
)

// adviser says what to do.
type adviser struct{ *reader }

// advise says what to do: about graphs that are lost, about what threads wait for, which is the most
// exact, and about what is named for a step that takes longer.
func (c *adviser) advise() {
	c.adviseGraphs()
	c.adviseWhys()
	for n := range each(c.finding.named) {
		if do := c.opt.Sources.Advice(n.cause); do != "" && n.cause != "" && c.finding.sign > 0 {
			c.mitigate("%s %s: %s.", n.title, change(n.row.delta()), do)
		}
	}
}

// mitigate adds a sentence on what to do.
func (c *adviser) mitigate(format string, args ...any) {
	c.Mitigations = append(c.Mitigations, fmt.Sprintf(format, args...))
}

// adviseGraphs looks for graphs that the baseline replays and the target does not.
func (c *adviser) adviseGraphs() {
	a, b := c.Steady.Baseline, c.Steady.Target
	if a.Graph == nil || b.Graph == nil || *a.Graph+*a.Replays == 0 ||
		*b.Graph+*b.Replays > few*(*a.Graph+*a.Replays) || *b.Eager <= *a.Eager {
		return
	}
	what, before, after := "replayed kernels", *a.Graph, *b.Graph
	if *a.Replays > 0 {
		what, before, after = "graph replays", *a.Replays, *b.Replays
	}
	c.mitigate("CUDA graph replays are lost. Per step, before and now: %s %s and %s, kernels launched one by one %s and %s, launch calls %s and %s. Find out why the graph is no longer replayed: a shape or batch was not captured, or an operation cannot be.",
		what, report.Digits(before), report.Digits(after), report.Digits(*a.Eager), report.Digits(*b.Eager), report.Digits(c.base.figures[launchCalls].Mean), report.Digits(c.target.figures[launchCalls].Mean))
}

// kernelsOf is the number of kernels per step, replayed ones included, 0 where it is not
// known.
func kernelsOf(f *Figures) float64 {
	if f == nil || f.Eager == nil || f.Graph == nil {
		return 0
	}
	return *f.Eager + *f.Graph
}

// grownCauses are the causes of idle time that grew beyond the noise, or are named for a
// step that takes longer, the most first.
func (c *adviser) grownCauses() (all []*IdleRow) {
	for r := range each(c.Causes) {
		isNamed := c.finding.sign > 0 && slices.ContainsFunc(c.finding.named, func(n named) bool { return n.idle != nil && n.idle.Cause == r.Cause })
		if r.grown() > 0 || isNamed {
			all = append(all, r)
		}
	}
	return all
}
