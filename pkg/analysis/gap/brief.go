package gap

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/report"
)

// Brief is the report for a program that reads little: what to begin with, then the findings,
// each with what a step gains by it.
func (rep *Report) Brief() *report.Brief {
	b := &report.Brief{Answer: rep.reason, Conclusion: "nothing_to_gain"}
	if rep.reason == "" {
		b.Answer = fmt.Sprintf("The GPUs are idle %s of the window", report.Percent(rep.Idle.TotalUs/max(rep.Idle.WindowUs, 1e-9)))
	}
	all := slices.Clone(rep.Findings)
	if f := rep.First; f != nil {
		same := func(x findings.Finding) bool { return x.Pattern == f.Pattern && x.Text == f.Text }
		all = append([]findings.Finding{*f}, slices.DeleteFunc(all, same)...)
	}
	for i := range all {
		f := &all[i]
		where := f.Source
		for _, place := range []*string{f.Path, f.Site} {
			if where == nil {
				where = place
			}
		}
		item := report.BriefItem{Claim: f.Pattern + ": " + f.Do, MagnitudeUs: f.GainUs, CIUs: f.CIUs, Evidence: f.Text, Where: where}
		item.ID = report.BriefID("gaps", f.Pattern, text(f.Path), text(f.Site))
		b.Items = append(b.Items, item)
	}
	if len(all) > 0 {
		b.Conclusion = all[0].Pattern
		b.Answer += "; begin with " + all[0].Pattern
		if us := all[0].GainUs; us != nil {
			b.Answer += fmt.Sprintf(", which gains %s per step", report.Micros(*us))
		}
	}
	b.CannotTell = append(b.CannotTell, rep.Warnings...)
	next := "whatif TRACE --brief"
	if f := rep.First; f != nil && f.Source != nil {
		next = "gaps TRACE --format json | hotspots --evidence - PROFILE --brief"
	}
	b.Next = &next
	return b.Fit()
}

// text is what a pointer is to, "" for none.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
