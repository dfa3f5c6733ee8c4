package metric

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/report"
)

// Report adds to s whether the run is worse than those before.
func (res *HistoryResult) Report(s *report.Section) {
	switch {
	case res.Unknown != "":
		s.Say("Cannot tell: %s.", res.Unknown)
		return
	case res.Worse:
		x := &res.Series[0]
		s.Say("%s than the last %d runs: %s %s (chance of a false alarm at most %s).", report.Strong("Worse"), res.Runs, x.change(), report.Name(x.since()), report.Percent(res.Alpha))
		s.Say("If this level is meant to stay, pass --accept with the name of the run that began it.")
	default:
		s.Say("No regression against the last %d runs: no rise of more than %s of a step, beyond their variation (chance of a false alarm at most %s).",
			res.Runs, report.Percent(res.Least), report.Percent(res.Alpha))
		return
	}
	t := s.Table("", report.Column{Title: "scope"}, report.Column{Title: "metric"}, report.Column{Title: "before", Right: true},
		report.Column{Title: "since then", Right: true}, report.Column{Title: "rise", Right: true}, report.Column{Title: "worse since", Kind: report.Names}, report.Column{Title: "p", Right: true, Minor: 1})
	for _, x := range res.Series {
		if x.Worse {
			t.Row(report.Str(x.Scope), report.Str(x.Metric), report.Str(x.figure(x.Before)), report.Str(x.figure(x.After)),
				report.Str(x.rise()), report.Str(x.since()), report.Str(report.Digits(x.Adjusted)))
		}
	}
}

// Finding says in one line what most certainly got worse, by how much and since when. It is ""
// if nothing did.
func (res *HistoryResult) Finding() string {
	if !res.Worse {
		return ""
	}
	x := &res.Series[0]
	return x.change() + " " + x.since()
}

// change says what changed and by how much. The name of the run that it began with follows.
func (x *Series) change() string {
	how := "since"
	if x.Drift {
		how = "drifting since"
	}
	return fmt.Sprintf("%s of %s went from %s to %s (%s), %s", x.Metric, x.Scope, x.figure(x.Before), x.figure(x.After), x.rise(), how)
}

// Test returns the comparison as a check for continuous integration.
func (res *HistoryResult) Test() report.Test {
	t := report.Test{Name: "the run is not worse than those before it", Skipped: res.Unknown}
	if res.Worse {
		t.Failure = fmt.Sprintf("Worse than the last %d runs: %s.", res.Runs, res.Finding())
	}
	return t
}

// figure formats a value of the series.
func (x *Series) figure(v float64) string {
	if x.Metric == StepP50 {
		return report.Micros(v)
	}
	return report.Percent(v)
}

// rise formats by how much the level rose.
func (x *Series) rise() string {
	if x.Metric == StepP50 {
		return report.Change(x.Rise)
	}
	return report.Change(x.Rise) + " of a step"
}

// since names the first run at the new level.
func (x *Series) since() string {
	switch {
	case x.Runs == 1:
		return "this run"
	case x.Since == "":
		return report.Digits(float64(x.Runs)) + " runs"
	}
	return x.Since
}
