package gap

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/report"
)

// Brief returns the short form for programs: what to begin with, then the findings, each
// with its gain per step. Without steps there are no per-step figures.
func (rep *Report) Brief() *report.Brief {
	b := &report.Brief{Answer: rep.reason, Conclusion: "unclear"}
	span := "window"
	if rep.Idle.Steps == 0 {
		span = "whole trace"
	}
	if rep.reason == "" {
		b.Conclusion = "nothing_to_gain"
		b.Answer = fmt.Sprintf("The GPUs are idle %s of the %s", report.Percent(rep.Idle.TotalUs/max(rep.Idle.WindowUs, 1e-9)), span)
	}
	all := slices.Clone(rep.Findings)
	if f := rep.First; f != nil {
		same := func(x findings.Finding) bool { return x.Pattern == f.Pattern && x.Text == f.Text }
		all = append([]findings.Finding{*f}, slices.DeleteFunc(all, same)...)
	}
	for i := range all {
		f := &all[i]
		item := report.BriefItem{Claim: f.Pattern + ": " + f.Do, Evidence: f.Text, Where: cmp.Or(f.Source, f.Path, f.Site)}
		if rep.Idle.Steps > 0 {
			item.MagnitudeUs, item.CIUs = f.GainUs, f.CIUs
		}
		item.ID = report.BriefID("gaps", f.Pattern, text(f.Path), text(f.Site))
		b.Items = append(b.Items, item)
	}
	if len(all) > 0 {
		b.Conclusion = all[0].Pattern
		if rep.Single {
			b.Answer += "; one whole step cannot tell what to begin with"
		} else {
			b.Answer += "; begin with " + all[0].Pattern
		}
		if us := all[0].GainUs; us != nil {
			b.Answer += fmt.Sprintf(", which gains %s%s", report.Micros(*us), rep.per())
		}
	}
	b.CannotTell = append(b.CannotTell, rep.Warnings...)
	next := "whatif TRACE --brief"
	if f := rep.First; f != nil && f.Source != nil {
		next = "gaps TRACE --format json | hotspots --evidence - PROFILE --brief"
	}
	if rep.Idle.Steps == 0 { // whatif and diff need steps
		b.CannotTell = append([]string{"what a step takes: no steps were found"}, b.CannotTell...)
		next = "nsys2arrow --doctor TRACE"
	}
	b.Next = &next
	return b.Fit()
}

// text returns *s, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
