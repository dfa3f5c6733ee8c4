package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
)

// Brief returns the table for programs: the changes with a gain, the largest first, or
// the only change. A run with a single step has none.
func (r *Report) Brief() *report.Brief {
	b := &report.Brief{Answer: r.title().String(), Conclusion: "nothing_helps"}
	best := slices.Clone(r.Scenarios)
	slices.SortStableFunc(best, func(a, b Prediction) int { return cmp.Compare(b.GainUs, a.GainUs) })
	if r.Single {
		b.Conclusion, best = "unclear", nil
	}
	for i := range best {
		p := &best[i]
		if p.GainUs <= 0 && len(best) > 1 {
			break
		}
		b.Conclusion = "gain"
		b.Items = append(b.Items, report.BriefItem{
			ID: report.BriefID("whatif", p.Change), Claim: "would gain: " + p.Change, MagnitudeUs: &p.GainUs, CIUs: p.CIUs,
			Evidence: fmt.Sprintf("a step of %s would take %s (%s less), by replay", report.Micros(r.StepUs), report.Micros(p.StepUs), report.Percent(p.GainShare)),
		})
	}
	b.CannotTell = append(b.CannotTell, r.Warnings...)
	next := "gaps TRACE --brief"
	b.Next = &next
	return b.Fit()
}
