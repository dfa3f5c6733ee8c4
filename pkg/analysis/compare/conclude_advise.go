package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
)

// adviser gives advice.
type adviser struct{ *reader }

// advise gives advice about lost graphs, about what threads wait for, which is most
// specific, and if steps take longer, about the named causes.
func (c *adviser) advise() {
	c.adviseGraphs()
	waits := c.adviseWhys()
	for n := range each(c.finding.named) {
		do := c.opt.Sources.Advice(n.cause)
		switch name, ok := strings.CutPrefix(n.cause, "host:"); {
		case n.cause == "" || do == "" || c.finding.sign < 0 || waits[n.cause]:
			continue
		case ok && c.interrupted(name):
			do = "run gaps on the target to see what interrupts it, such as garbage collection: in the median step it takes no longer"
		}
		c.mitigate(n.title+" "+change(n.row.delta()), do)
	}
}

// interrupted reports whether an operation takes no longer in the median step: then its
// growth is not due to what it does in every step. It needs one run per side.
func (c *adviser) interrupted(name string) bool {
	a, b := c.base.rows[operations][name], c.target.rows[operations][name]
	return a != nil && b != nil && len(c.base.run.repeats)+len(c.target.run.repeats) == 2 &&
		stat.Quantile(slices.Sorted(slices.Values(b.bins)), 0.5) <= stat.Quantile(slices.Sorted(slices.Values(a.bins)), 0.5)
}

// mitigate adds a sentence of advice.
func (c *adviser) mitigate(about, do string) {
	c.finding.do = cmp.Or(c.finding.do, do)
	c.Mitigations = append(c.Mitigations, about+": "+do+".")
}

// adviseGraphs looks for graphs that the baseline replays and the target does not.
func (c *adviser) adviseGraphs() {
	replays, eager := map[string]string{graphKernels: "replayed kernels", graphLaunches: "graph replays"}, c.Counts[0]
	for r := range each(c.Counts) {
		if what := replays[r.Name]; what != "" && r.moved() < 0 && *r.Target <= few**r.Baseline && eager.grown() > 0 {
			c.mitigate(fmt.Sprintf("CUDA graph replays are lost. Per step, before and now: %s %s and %s, kernels launched one by one %s and %s", what,
				report.Digits(*r.Baseline), report.Digits(*r.Target), report.Digits(*eager.Baseline), report.Digits(*eager.Target)),
				"find out why the graph is no longer replayed: a shape or batch was not captured, or an operation cannot be")
		}
	}
}

// handoff fills in the hand-off, the largest changes first. It lists operations that
// take longer by their own work. It also lists causes of idle time that grew beyond the
// noise, or are named for a step that takes longer.
func (c *adviser) handoff() {
	h, f := &c.Handoff, cmp.Or(c.Steady.Target, c.Steady.Baseline)
	h.TopRegressingOps, h.TopIdleCauses = []report.Operation{}, []report.IdleCause{}
	h.Wall, h.GapP50, h.FirstTarget = f.Wall, f.Gap.P50, c.firstTarget()
	if f.Eager != nil && f.Graph != nil {
		h.Kernels = number(*f.Eager + *f.Graph)
	}
	for r := range each(c.Operations) {
		if r.grown() > 0 && c.ownWork(r) && len(h.TopRegressingOps) < topOps {
			h.TopRegressingOps = append(h.TopRegressingOps, report.Operation{
				Name: r.Name, Delta: r.grown(), Function: report.OrNull(r.Source), File: report.OrNull(c.opt.Sources.File(r.Name)),
			})
		}
	}
	for r := range each(c.Causes) {
		isNamed := c.finding.sign > 0 && slices.ContainsFunc(c.finding.named, func(n named) bool { return n.idle != nil && n.idle.Cause == r.Cause })
		if (r.grown() > 0 || isNamed) && len(h.TopIdleCauses) < topOps {
			h.TopIdleCauses = append(h.TopIdleCauses, report.IdleCause{Cause: r.Cause, Site: c.site(r), Delta: r.Delta, InterStep: r.InterStep.Delta})
		}
	}
}

// firstTarget returns what to look at first, ranges as functions if they stand for one.
// If steps take longer it is the first named cause, else an operation that grew in few
// steps. For one run it is the operation with most exposed idle time. It is nil if there
// is none.
func (c *adviser) firstTarget() *string {
	function := func(name string) *string { return new(cmp.Or(c.opt.Sources.Function(name), name)) }
	if n := c.finding.named; len(n) > 0 && c.finding.sign > 0 && (n[0].cause != "" || c.heldByHost()) {
		if name, ok := strings.CutPrefix(n[0].cause, "host:"); ok {
			return function(name)
		}
		return &n[0].title
	}
	for r := range each(c.Rare) {
		if r.grown() {
			return function(r.Name)
		}
	}
	if r := c.mostExposed(); r != nil && c.target == nil {
		return function(r.Name)
	}
	return nil
}

// mostExposed returns the operation with the most exposed time, nil if none has any.
func (c *Comparison) mostExposed() (best *Row) {
	for r := range each(c.Operations) {
		if r.Ceiling != nil && *r.Ceiling > 0 && (best == nil || *r.Ceiling > *best.Ceiling) {
			best = r
		}
	}
	return best
}
