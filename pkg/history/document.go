package history

import "github.com/hostbound/hostbound/pkg/report"

// Report says for people whether the run is worse than those before.
func (res *Result) Report(s *report.Section) {
	switch {
	case res.Unknown != "":
		s.Say("Cannot tell: %s.", res.Unknown)
		return
	case res.Worse:
		s.Say("%s than the last %d runs (chance of a false alarm at most %s):", report.Strong("Worse"), res.Runs, report.Percent(res.Alpha))
	default:
		s.Say("Not worse than the last %d runs, beyond their variation (chance of a false alarm at most %s).", res.Runs, report.Percent(res.Alpha))
		return
	}
	t := s.Table("", report.Column{Title: "scope"}, report.Column{Title: "metric"}, report.Column{Title: "before", Right: true},
		report.Column{Title: "since then", Right: true}, report.Column{Title: "worse since", Kind: report.Names}, report.Column{Title: "p", Right: true, Minor: 1})
	for _, x := range res.Series {
		if x.Worse {
			t.Row(report.Str(x.Scope), report.Str(x.Metric), report.Str(x.figure(x.Before)), report.Str(x.figure(x.After)),
				report.Str(x.since()), report.Str(report.Digits(x.Adjusted)))
		}
	}
}

// figure shows a value of the series.
func (x *Series) figure(v float64) string {
	if x.Metric == StepP50 {
		return report.Micros(v)
	}
	return report.Percent(v)
}

// since names the first run that is worse.
func (x *Series) since() string {
	switch {
	case x.Runs == 1:
		return "this run"
	case x.Since == "":
		return report.Digits(float64(x.Runs)) + " runs"
	}
	return x.Since
}
