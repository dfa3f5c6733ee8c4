package round

import (
	"cmp"
	"fmt"

	"github.com/hostbound/hostbound/pkg/report"
)

// Document returns the report on all rounds for people: how the last one went, each
// round, whether to stop, and the final summary.
func (res *Result) Document() *report.Document {
	d, first := report.New(res.title())
	last := &res.Rounds[len(res.Rounds)-1]
	if last.Reason != "" {
		first.Say("%s: %s.", report.Name(last.Name), last.Reason)
	}
	if last.RollBack {
		first.Note(report.Bad, "Roll %s back.", report.Name(last.Name))
	}
	if res.Stop.Reason != nil {
		first.Say("%s: %s.", report.Strong("Stop"), *res.Stop.Reason)
	} else {
		first.Say("%s: no stop condition is met.", report.Strong("Go on"))
	}
	for _, w := range res.Warnings {
		first.Note(report.Warn, "%s", w)
	}
	for i := range res.Rounds[1:] {
		res.Rounds[i+1].section(d)
	}
	stop := d.Section("Stopping rules")
	for _, r := range res.Stop.Rules {
		holds := report.Plain("no")
		if r.Holds {
			holds = report.Text{report.Toned(report.Warn, "yes")}
		}
		stop.Item("%s: %s (%s)", r.Rule, holds, r.Detail)
	}
	res.summarySections(d)
	return d
}

// With returns the report on all rounds followed by that on the last kept profile, or
// only the latter if there is no round after the baseline.
func (res *Result) With(profile *report.Document) *report.Document {
	if len(res.Rounds) < 2 {
		return profile
	}
	d := res.Document()
	d.Section("Profile of "+res.Rounds[res.Last].Name).Say("%s.", profile.Title)
	d.Sections = append(d.Sections, profile.Sections...)
	return d
}

// Brief turns the brief report on the last kept profile into one on the rounds: the
// answer is whether to go on, and the profile says what to do then.
func (res *Result) Brief(b *report.Brief) *report.Brief {
	b.Answer, b.Conclusion = res.title().String()+"; go on", string(res.Rounds[len(res.Rounds)-1].Verdict)
	if why := res.Stop.Reason; why != nil {
		b.Answer, b.Next = res.title().String()+"; stop: "+*why, nil
	}
	return b.Fit()
}

// title returns the verdict on the last round, and the overall result.
func (res *Result) title() report.Text {
	last := &res.Rounds[len(res.Rounds)-1]
	if len(res.Rounds) == 1 {
		return report.Textf("Baseline %s", report.Name(last.Name))
	}
	t := report.Textf("%s: %s", report.Name(last.Name), string(last.Verdict))
	if c := res.Summary.Cumulative; c != nil {
		t = append(t, report.Textf("; profiled time %+.1f %% since %s", c.ChangePct, report.Name(c.From))...)
	}
	return t
}

// section shows one round after the baseline.
func (r *Round) section(d *report.Document) {
	s := d.Section(fmt.Sprintf("%s: %s", r.Name, r.Verdict))
	s.Say("Against %s: %s.", report.Name(*r.Against), r.Reason)
	if r.Note != nil && r.Note.Change != "" {
		s.Say("Change: %s.", r.Note.Change)
	}
	if t := r.Target; t != nil {
		what := report.Text{report.Name(t.Function)}
		if t.Source != "" {
			what = report.Textf("%s in %s", report.Name(t.Source), report.Name(t.Function))
		}
		after := "none (removed)"
		if t.AfterUs != nil {
			after = report.Micros(*t.AfterUs)
		}
		s.Say("Target: %s, from %s%s to %s.", what, report.Micros(*t.BeforeUs), unitOf(r.PerStep), after)
	}
	if r.Prediction != nil {
		r.Prediction.say(s)
	}
	changeTable(s, r.Functions, "function", r.PerStep)
	changeTable(s, r.Lines, "line", r.PerStep)
	for _, p := range r.Pitfalls {
		s.Note(report.Warn, "%s at line %d of %s: %s.", p.Name, p.Line, report.Name(p.Function), p.Reason)
	}
}

// unitOf returns what the times of a round are per.
func unitOf(perStep bool) string {
	if perStep {
		return " per step"
	}
	return ""
}

// changeTable lists changes of functions or of lines.
func changeTable(s *report.Section, changes []Change, what string, perStep bool) {
	if len(changes) == 0 {
		return
	}
	unit := unitOf(perStep)
	t := s.Table("", report.Column{Title: what, Kind: report.Names}, report.Column{Title: "before" + unit, Kind: report.Duration},
		report.Column{Title: "after" + unit, Kind: report.Duration}, report.Column{Title: "change", Kind: report.Duration, Signed: true}, report.Column{Title: "status", Minor: 1})
	t.OneUnit = true
	for _, c := range changes {
		name := c.Function
		if what == "line" {
			name = c.Source
		}
		t.Row(report.Str(name), report.Opt(c.BeforeUs), report.Opt(c.AfterUs), report.Num(c.DeltaUs), report.Str(c.Status))
	}
}

// summarySections adds the seven parts of the final summary.
func (res *Result) summarySections(d *report.Document) {
	s := &res.Summary
	rounds := d.Section("Summary: rounds")
	rounds.Say("%d rounds after the baseline, %d of them improved.", s.Rounds, s.Improved)
	t := rounds.Table("", report.Column{Title: "round", Kind: report.Names}, report.Column{Title: "profiled time", Kind: report.Duration},
		report.Column{Title: "per step", Kind: report.Duration, Minor: 2}, report.Column{Title: "change", Right: true}, report.Column{Title: "throughput", Right: true, Minor: 1},
		report.Column{Title: "TPOT", Right: true, Minor: 1}, report.Column{Title: "verdict"})
	for i := range res.Rounds {
		r := &res.Rounds[i]
		t.Row(report.Str(r.Name), report.Num(r.TotalUs), report.Opt(r.UsPerStep), pctCell(r.ChangePct),
			r.metricCell(OutputThroughput), r.metricCell(TPOT), report.Str(string(r.Verdict)))
	}
	cum := d.Section("Summary: cumulative improvement")
	if c := s.Cumulative; c != nil {
		cum.Say("Profiled time%s: %s to %s, %+.1f %% (%s), from %s to %s.", unitOf(c.PerStep), report.Micros(c.BeforeUs), report.Micros(c.AfterUs),
			c.ChangePct, report.Micros(c.ChangeUs), report.Name(c.From), report.Name(c.To))
	} else {
		cum.Say("Nothing to compare.")
	}
	res.benchmarkSection(d)
	res.changeSections(d)
}

// pctCell returns a change in percent, missing if it is unknown.
func pctCell(x *float64) report.Cell {
	if x == nil {
		return report.Cell{}
	}
	return report.Str(fmt.Sprintf("%+.1f %%", *x))
}

// metricCell returns a metric of the round with its unit, missing if it was not
// measured.
func (r *Round) metricCell(m Metric) report.Cell {
	if mean := r.mean(m); mean != nil {
		return report.Str(m.show(*mean))
	}
	return report.Cell{}
}

// mean returns a metric of the round's benchmark, in the metric's unit, nil if it was
// not measured.
func (r *Round) mean(m Metric) *float64 {
	for i := range r.Benchmark {
		if r.Benchmark[i].Metric == m {
			return &r.Benchmark[i].Mean
		}
	}
	return nil
}

// show formats a figure of a metric with its unit.
func (m Metric) show(x float64) string {
	switch m {
	case OutputThroughput:
		return fmt.Sprintf("%.0f tokens/s", x)
	case RequestThroughput:
		return fmt.Sprintf("%.2f requests/s", x)
	}
	return fmt.Sprintf("%.4g ms", x)
}

// benchmarkSection compares the baseline with the last kept round that was measured, by
// metric.
func (res *Result) benchmarkSection(d *report.Document) {
	s := d.Section("Summary: benchmark")
	if len(res.Summary.Benchmark) == 0 {
		s.Say("No benchmark of both the baseline and a later round: whether throughput followed is unknown.")
		return
	}
	t := s.Table("", report.Column{Title: "metric"}, report.Column{Title: "baseline", Right: true}, report.Column{Title: "final", Right: true},
		report.Column{Title: "change", Right: true}, report.Column{Title: "95 % interval", Right: true}, report.Column{Title: "final round", Kind: report.Names, Minor: 1})
	single := false
	for _, l := range res.Summary.Benchmark {
		ci := report.Cell{}
		if l.ChangeCI != nil {
			ci = report.Str(fmt.Sprintf("%+.1f to %+.1f %%", l.ChangeCI[0], l.ChangeCI[1]))
		} else {
			single = true
		}
		t.Row(report.Str(metricNames[l.Metric]), report.Str(l.Metric.show(l.Baseline)), report.Str(l.Metric.show(l.Final)), pctCell(&l.ChangePct), ci, report.Str(l.Round))
	}
	if single {
		s.Say("One run per side: noise between runs is unknown. Give several (--bench NAME=FILE again) for an interval.")
	}
}

// changeSections lists what was kept, what was not, what is left and what to do next.
func (res *Result) changeSections(d *report.Document) {
	s := d.Section("Summary: changes")
	if len(res.Summary.Changes) == 0 {
		s.Say("None was kept.")
	}
	for _, c := range res.Summary.Changes {
		what := cmp.Or(c.Change, "(no notes say what was changed)")
		if c.ChangePct != nil {
			what = fmt.Sprintf("%+.1f %%, %s", *c.ChangePct, what)
		}
		s.Item("%s: %s%s", report.Name(c.Round), what, at(c.File, c.Line, c.Type))
	}
	f := d.Section("Summary: failed attempts")
	if len(res.Summary.Failed) == 0 {
		f.Say("None.")
	}
	for _, a := range res.Summary.Failed {
		what := cmp.Or(a.Change, "the change")
		f.Item("%s: %s%s: %s", report.Name(a.Round), what, at("", 0, a.Type), a.Reason)
	}
	rem := d.Section("Summary: remaining hotspots")
	if len(res.Summary.Remaining) == 0 {
		rem.Say("None: what is left is real work.")
	}
	for _, h := range res.Summary.Remaining {
		rem.Item("%s %s, %s of the profiled time: %s", h.Type, report.Name(fmt.Sprintf("%s:%d", h.File, h.Line)), report.Percent(h.Share), report.Name(h.Source))
	}
	d.Section("Summary: recommendations").Items(res.Summary.Recommendations)
}

// at returns the place and type of a change.
func at(file string, line int, typ string) report.Text {
	if line > 0 {
		file = fmt.Sprintf("%s:%d", file, line)
	}
	switch {
	case file == "" && typ == "":
		return report.Text{}
	case file == "":
		return report.Textf(" (%s)", typ)
	case typ == "":
		return report.Textf(" (%s)", report.Name(file))
	}
	return report.Textf(" (%s, %s)", report.Name(file), typ)
}
