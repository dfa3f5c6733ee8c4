package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// page makes the document of a comparison.
type page struct{ *Comparison }

// Document returns the comparison as a document.
func (c *Comparison) Document() *report.Document {
	d, first := report.New(report.Textf("%s", c.headline()))
	if c.target != nil {
		first.Say("%s -> %s", report.Name(c.Labels[0]), report.Name(c.Labels[1]))
	}
	if text := event.WorkloadText(c.base.run.workload); text != "" && c.Comparable {
		first.Say("%s%s; steps have no phases.", strings.ToUpper(text[:1]), text[1:])
	}
	first.Items(c.Explanation)
	d.Section("Warnings").Items(c.Warnings)
	d.Section("What to do").Items(c.Mitigations)
	p := &page{c}
	p.steps(d.Section(c.StepsSection()))
	p.few(d.Section("In few steps"))
	p.causes(d.Section(fmt.Sprintf("Idle time by cause (%s steps)", c.opt.Phase)), "cause", c.Causes)
	p.causes(d.Details("Idle time by cause and site"), "cause", c.Idle)
	p.causes(d.Section(fmt.Sprintf("What launching threads were doing (%s steps)", c.opt.Phase)), "cause and why", c.whys())
	p.rows(d.Section("Operations (NVTX ranges)"), c.Operations, true)
	p.rows(d.Details("GPU kernels by class"), c.Classes, false)
	p.rows(d.Details("GPU kernels by name"), c.Kernels, false)
	p.rows(d.Details("CUDA API calls"), c.API, false)
	p.howToRead(d.Details("How to read this"))
	return d
}

// StepsSection returns the title of the section about steps.
func (c *Comparison) StepsSection() string {
	matched := ""
	if c.opt.Match != "" {
		matched = ", batches matched"
	}
	return fmt.Sprintf("Per step (%s steps%s)", c.opt.Phase, matched)
}

// summaryTitles are the names of summary rows in documents.
var summaryTitles = map[string]string{
	wall: "wall", busyTime: "GPU busy", idleTime: "GPU idle", hostIdle: "idle, host causes", hostWork: "all host work", idleIn: "idle within steps", idleOut: "idle between steps", duration: "duration",
	gap: "gap, mean", gapP50: "gap, P50", gapP90: "gap, P90", gpuTime: "GPU time",
	waitTime: "waits in collectives", workTime: "GPU work", hostHeld: "idle and waits, host causes", idleCopies: "idle, GPU copies", imbalanceTime: "waits for a slower GPU",
	wallP50: "wall, P50", wallP90: "wall, P90", wallP99: "wall, P99", wallMax: "wall, maximum",
	eagerKernels: "eager kernels", graphKernels: "replayed kernels", graphLaunches: "whole-graph replays",
}

// steps adds the summary.
func (c *page) steps(s *report.Section) {
	if t := c.Steady.Target; t != nil {
		s.Say("%d rank-steps in the baseline (%s), %d in the target (%s).", c.Steady.Baseline.Steps, report.Name(c.Labels[0]), t.Steps, report.Name(c.Labels[1]))
	} else {
		s.Say("%d rank-steps.", c.Steady.Baseline.Steps)
	}
	if c.target != nil && c.Steady.Baseline.Idle != nil && c.Steady.Target.Idle != nil {
		c.waterfall(s)
	}
	c.overTime(s)
	t := c.table(s, "", "per step", report.Duration)
	for r := range each(c.Summary) {
		t.Row(c.cells(r, report.Label(summaryTitles[r.Name]))...)
	}
	if c.target != nil {
		s.Say("Evidence: changed, REGRESSION (above +50 %%) and IMPROVED (below -30 %%) are significant; ~ is not significant, ? not testable (--format json says why).")
	}
	some := slices.DeleteFunc(rowsOf(c.Counts), func(r *Row) bool {
		return (r.Baseline == nil || *r.Baseline == 0) && (r.Target == nil || *r.Target == 0)
	})
	if len(some) > 0 {
		t = c.table(s, "Kernels and replays", "per step", report.Figure)
	}
	for _, r := range some {
		t.Row(c.cells(r, report.Label(summaryTitles[r.Name]))...)
	}
}

// table adds a table of rows with figures of a kind to a section. Further columns come
// before the last one.
func (c *page) table(s *report.Section, title, what string, kind report.Kind, more ...report.Column) *report.Table {
	columns := []report.Column{{Title: what, Kind: report.Names}, {Title: "value", Kind: kind}}
	last := report.Column{Title: "95 % interval", Kind: kind, Minor: 1}
	if c.target != nil {
		columns = []report.Column{{Title: what, Kind: report.Names}, {Title: "baseline", Kind: kind}, {Title: "target", Kind: kind},
			{Title: "delta", Kind: kind, Signed: true}, {Title: "change", Kind: report.Ratio, Signed: true, Minor: 3},
			{Title: "95 % interval", Kind: kind, Signed: true, Minor: 1}}
		last = report.Column{Title: "evidence"}
	}
	t := s.Table(title, append(append(columns, more...), last)...)
	t.OneUnit, t.Top, t.More = true, maxRows, "--format json has all"
	return t
}

// cells returns the cells that all tables have, with further ones before the last.
func (c *page) cells(r *Row, title report.Cell, more ...report.Cell) []report.Cell {
	ends := func(ci *Interval) report.Cell {
		if ci == nil {
			return report.Cell{}
		}
		return report.Range(ci[0], ci[1])
	}
	if c.target == nil {
		return append(append([]report.Cell{title, report.Opt(r.Baseline)}, more...), ends(r.BaselineCI))
	}
	percent := report.Cell{}
	if r.DeltaPercent != nil {
		percent = report.Num(*r.DeltaPercent / 100)
	}
	cells := []report.Cell{title, report.Opt(r.Baseline), report.Opt(r.Target), report.Opt(r.Delta), percent, ends(r.CI)}
	return append(append(cells, more...), evidenceCell(r.evidence()+r.renamed()))
}

// renamed returns the likely name of a row in the baseline, in parentheses.
func (r *Row) renamed() string {
	if r.Rename == "" {
		return ""
	}
	return " (was " + r.Rename + ")"
}

// evidenceCell colours an evidence.
func evidenceCell(text string) report.Cell {
	return report.Str(text).With(map[string]report.Tone{Regression: report.Bad, Improved: report.Good}[text])
}

// evidence returns the status of a row, "changed" for a significant change that is
// neither a regression nor an improvement, "~" for none, "?" if not testable. If the
// interval of an operation excludes 0 although it did not change net of all host work,
// it says so.
func (r *Row) evidence() string {
	text := r.Evidence.text()
	if text != "~" || r.Relative == nil || r.CI == nil || r.CI[0] <= 0 && r.CI[1] >= 0 {
		return text
	}
	return "~ as all host work"
}

// text returns the evidence in a word.
func (e *Evidence) text() string {
	switch {
	case e.P == nil, e.Unknown != "":
		return "?"
	case !e.Significant:
		return "~"
	case e.Status != "":
		return e.Status
	}
	return "changed"
}

// rows adds a table of a section's rows, in their order.
func (c *page) rows(s *report.Section, rows []Row, ops bool) {
	if len(rows) == 0 {
		return
	}
	more := []report.Column{{Title: "per step", Right: true, Minor: 2}}
	if ops {
		signed := c.target != nil
		more = append(more, report.Column{Title: "self", Kind: report.Duration, Signed: signed, Minor: 2},
			report.Column{Title: "exposed", Kind: report.Duration, Signed: signed, Minor: 1})
	}
	t := c.table(s, "", "name", report.Duration, more...)
	for r := range each(rows) {
		further := []report.Cell{report.Str(counts(r))}
		if ops {
			further = append(further, part(r.Self), part(r.Exposed))
		}
		t.Row(c.cells(r, report.Str(r.Name), further...)...)
	}
}

// counts returns the occurrences per step.
func counts(r *Row) string {
	digits := func(v *float64) string {
		if v == nil {
			return "0"
		}
		return report.Digits(*v)
	}
	before, now := digits(r.BaselineCount), digits(r.TargetCount)
	if r.Delta == nil || before == now {
		return before
	}
	return before + " -> " + now
}

// part returns a part of a row: for one run its size, for two its change.
func part(p *Part) report.Cell {
	switch {
	case p == nil:
		return report.Cell{}
	case p.Delta != nil:
		return report.Num(*p.Delta)
	}
	return report.Opt(p.Baseline)
}

// causes adds a table of idle time. Rows of less than a hundredth of it are omitted.
func (c *page) causes(s *report.Section, what string, all []IdleRow) {
	large := func(v *float64, f *Figures) bool {
		return v != nil && f != nil && f.Idle != nil && *v >= sameShare**f.Idle
	}
	rows := slices.DeleteFunc(slices.Clone(all), func(r IdleRow) bool {
		return !large(r.Baseline, c.Steady.Baseline) && !large(r.Target, c.Steady.Target)
	})
	if len(rows) == 0 {
		return
	}
	t := c.table(s, "", what, report.Duration, report.Column{Title: "between steps", Kind: report.Duration, Signed: c.target != nil, Minor: 2})
	for r := range each(rows) {
		t.Row(c.cells(&r.Row, report.Str(r.title()), part(r.InterStep))...)
	}
	if n := len(all) - len(rows); n > 0 {
		s.Say("%d smaller ones are in --format json.", n)
	}
}

// few adds a table of what happens in few steps.
func (c *page) few(s *report.Section) {
	if len(c.Rare) == 0 {
		return
	}
	columns := []report.Column{{Title: "operation", Kind: report.Names}, {Title: "baseline"}, {Title: "which steps", Minor: 1}}
	if c.target != nil {
		columns = []report.Column{columns[0], columns[1], {Title: "target"}, columns[2], {Title: "evidence"}}
	}
	t := s.Table("", columns...)
	t.Top = maxRows
	for r := range each(c.Rare) {
		cells := []report.Cell{report.Str(r.Name), report.Str(r.Baseline.text()), report.Str(r.Baseline.which())}
		if c.target != nil {
			cells = []report.Cell{cells[0], cells[1], report.Str(r.Target.text()), report.Str(r.Target.which()), evidenceCell(r.Evidence.text())}
		}
		t.Row(cells...)
	}
}

// howToRead explains the figures and their certainty.
func (c *page) howToRead(s *report.Section) {
	if m := c.Method; m.Duration != "" {
		s.Say("All figures are of %s. Duration: %s. Gap: %s. Idle between steps: %s.", m.Scope, m.Duration, m.Gap, m.InterStep)
	}
	if c.target == nil {
		s.Say("self: without what is nested in it. exposed: while GPUs are idle, the most you could save by eliminating it.")
		return
	}
	s.Say("Means over %s steps, with 95 %% intervals that allow for correlation between neighbouring steps. "+
		"At most %s of the significant rows are expected to be false alarms (Benjamini and Hochberg over all rows). "+
		"A change common to all host work of a step has a row of its own, and operations are tested net of it. self: without nested ranges; exposed: while GPUs are idle, the most you could save; "+
		"both as changes.",
		c.opt.Phase, report.Percent(alpha))
}
