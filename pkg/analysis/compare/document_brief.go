package compare

import (
	"cmp"
	"fmt"
	"math"

	"github.com/hostbound/hostbound/pkg/report"
)

// Brief returns the comparison for programs: what explains the change, then the
// operations that changed beyond the noise.
func (c *Comparison) Brief() *report.Brief {
	b := &report.Brief{Answer: c.headline(), Conclusion: c.Conclusion}
	for n := range each(c.finding.named) {
		b.Items = append(b.Items, n.row.brief(n.title))
	}
	for r := range each(c.Operations) {
		if r.Significant && r.Status != "" {
			b.Items = append(b.Items, r.brief(r.Name))
		}
	}
	if do := c.finding.do; len(b.Items) > 0 && do != "" {
		b.Items[0].Claim += ": " + do
	}
	b.CannotTell = append(b.CannotTell, c.Warnings...)
	if c.target != nil && c.Runs.Baseline == 1 && c.Runs.Target == 1 {
		b.CannotTell = append(b.CannotTell, "run-to-run variation: give --baseline and --target three runs each")
	}
	switch c.Conclusion {
	case HostInStep, HostInterStep:
		b.Next = report.OrNull("gaps TARGET --brief")
	case Unclear, NotComparable:
		b.Next = report.OrNull("nsys2arrow --doctor TARGET")
	}
	return b.Fit()
}

// brief returns a row as an item.
func (r *Row) brief(title string) report.BriefItem {
	more := map[bool]string{true: "shorter", false: "longer"}[r.delta() < 0]
	item := report.BriefItem{
		ID: report.BriefID("diff", title), Where: report.OrNull(cmp.Or(r.Source, r.Name)), MagnitudeUs: r.Delta,
		Claim: fmt.Sprintf("%s takes %s %s per step", report.Short(title), report.Micros(math.Abs(r.delta())), more),
	}
	if r.CI != nil && !math.IsInf(r.CI[0], 0) && !math.IsInf(r.CI[1], 0) {
		item.CIUs = (*[2]float64)(r.CI)
	}
	if r.P != nil {
		item.Evidence = fmt.Sprintf("p = %.2g", *r.P)
	}
	if r.Unknown != "" {
		item.Evidence = "cannot tell: " + r.Unknown
	}
	return item
}
