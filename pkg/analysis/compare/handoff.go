package compare

import (
	"cmp"

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

// firstTarget is what to look at first: waiting for the interpreter lock or the
// collector where most of the idle time that grew is that, else the function whose
// own time, without what is nested in it, grew most; of one run, the function that
// hides most idle time.
func (c *adviser) firstTarget() *string {
	if n := c.finding.named; len(n) > 0 && n[0].idle != nil && n[0].idle.grown() > 0 && (n[0].idle.Cause == waitsForGIL || n[0].idle.Cause == collects) {
		return report.OrNull(n[0].title)
	}
	var best *Row
	most := 0.0
	for r := range each(c.Operations) {
		weight := 0.0
		switch {
		case c.target == nil:
			weight = *r.Ceiling
		case r.grown() > 0 && c.ownWork(r):
			weight = *r.Self.Delta
		}
		if weight > most {
			best, most = r, weight
		}
	}
	for r := range each(c.Rare) {
		if best == nil && r.grown() {
			return report.OrNull(cmp.Or(c.opt.Sources.Function(r.Name), r.Name))
		}
	}
	if best == nil {
		return nil
	}
	if best.Source != "" {
		return &best.Source
	}
	return &best.Name
}
