package compare

import (
	"cmp"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// handoff fills the block in.
func (c *adviser) handoff() {
	h := &c.Handoff
	h.TopRegressingOps = []report.Operation{}
	f := cmp.Or(c.Steady.Target, c.Steady.Baseline)
	h.Wall, h.GapP50 = f.Wall, f.Gap.P50
	if f.Eager != nil && f.Graph != nil {
		h.Kernels = number(*f.Eager + *f.Graph)
	}
	c.topRegressions()
	c.topCauses()
	h.FirstTarget = c.firstTarget()
}

// topCauses lists the causes of idle time that grew.
func (c *adviser) topCauses() {
	c.Handoff.TopIdleCauses = []report.IdleCause{}
	grown := c.grownCauses()
	for _, r := range grown[:min(len(grown), topOps)] {
		c.Handoff.TopIdleCauses = append(c.Handoff.TopIdleCauses, report.IdleCause{Cause: r.Cause, Site: c.site(r), Delta: r.Delta, InterStep: r.InterStep.Delta})
	}
}

// topRegressions lists the operations that take longer by their own work.
func (c *adviser) topRegressions() {
	for r := range each(c.Operations) {
		if r.grown() == 0 || !c.ownWork(r) || len(c.Handoff.TopRegressingOps) >= topOps {
			continue
		}
		c.Handoff.TopRegressingOps = append(c.Handoff.TopRegressingOps, report.Operation{
			Name: r.Name, Delta: r.grown(), Function: report.OrNull(r.Source), File: report.OrNull(c.opt.Sources.File(r.Name)),
		})
	}
}

// firstTarget is what to look at first: what is named first for a step that takes longer, a function
// where the range is known to stand for one; else what happens in few steps; of one run, the
// function that hides most idle time.
func (c *adviser) firstTarget() *string {
	if n := c.finding.named; len(n) > 0 && c.finding.sign > 0 && (n[0].cause != "" || c.heldByHost()) {
		if name, ok := strings.CutPrefix(n[0].cause, "host:"); ok {
			return c.function(name)
		}
		return &n[0].title
	}
	for r := range each(c.Rare) {
		if r.grown() {
			return c.function(r.Name)
		}
	}
	var best *Row
	for r := range each(c.Operations) {
		if c.target == nil && *r.Ceiling > 0 && (best == nil || *r.Ceiling > *best.Ceiling) {
			best = r
		}
	}
	if best == nil {
		return nil
	}
	return c.function(best.Name)
}

// function is the function that a range stands for, or the range.
func (c *adviser) function(name string) *string {
	return new(cmp.Or(c.opt.Sources.Function(name), name))
}
