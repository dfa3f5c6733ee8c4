package compare

import (
	"cmp"
	"strings"

	"github.com/hostbound/hostbound/pkg/names/marker"
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
	if v := c.opt.Verdict; v != nil {
		h.Verdict, h.Phase, h.HostPrepConfirmed = v.Verdict, v.Phase, v.HostPrepConfirmed
		return
	}
	h.Phase = c.bottleneckPhase()
	if c.target == nil {
		return
	}
	verdict := "NO"
	switch {
	case !c.Comparable:
		verdict = "INCONCLUSIVE"
	case c.Conclusion == HostInterStep || c.Conclusion == HostInStep:
		verdict = "YES"
	}
	h.Verdict = &verdict
}

// topCauses lists the causes of idle time that grew.
func (c *adviser) topCauses() {
	c.Handoff.TopIdleCauses = []report.IdleCause{}
	for _, r := range c.grownCauses() {
		if len(c.Handoff.TopIdleCauses) < topOps {
			c.Handoff.TopIdleCauses = append(c.Handoff.TopIdleCauses, report.IdleCause{Cause: r.Cause, Site: c.site(r), Delta: new(named{row: &r.Row}.change()), InterStep: new(r.inter())})
		}
	}
}

// topRegressions lists the operations that take longer by their own work.
func (c *adviser) topRegressions() {
	for i := range c.Operations {
		r := &c.Operations[i]
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
	for i := range c.Operations {
		r := &c.Operations[i]
		weight := r.grown()
		if !c.ownWork(r) {
			weight = 0
		}
		switch {
		case c.target == nil:
			weight = *r.Ceiling
			if v := c.opt.Verdict; v != nil && v.HostPrepConfirmed != nil && *v.HostPrepConfirmed && isPrep(r.Name) {
				weight += *c.Steady.Baseline.Wall
			}
		case weight > 0 && r.net == nil && r.Self.Delta != nil:
			weight = *r.Self.Delta
		}
		if weight > most {
			best, most = r, weight
		}
	}
	for i := range c.Rare {
		if r := &c.Rare[i]; best == nil && r.grown() {
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

// isPrep reports whether a range prepares the input of a step.
func isPrep(name string) bool {
	for _, part := range marker.PrepNames() {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// bottleneckPhase is the phase whose idle time grew most over all its steps, or,
// of one run, that has most of it. Where there is no host overhead it is nil.
func (c *adviser) bottleneckPhase() *string {
	if c.target != nil && c.Conclusion != HostInterStep && c.Conclusion != HostInStep {
		return nil
	}
	var best *string
	most := 0.0
	for _, name := range []string{Generation, Context} {
		p, ok := c.Phases[name]
		if !ok || p.Baseline == nil {
			continue
		}
		weight := 0.0
		switch {
		case c.target == nil:
			weight = *p.Baseline.TotalIdle
		case p.Target != nil && p.Idle.Delta != nil:
			weight = *p.Idle.Delta * float64(p.Target.Steps)
		}
		if weight > most {
			best, most = &name, weight
		}
	}
	return best
}
