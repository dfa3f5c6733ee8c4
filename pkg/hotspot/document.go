package hotspot

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// View says which part of a report is shown.
type View struct {
	Remarks []string // what a trace says about the whole
	Trace   bool     // a trace has weighed the hotspots
}

// Document returns the report for people. It contains source text.
func (r *Report) Document(v View) *report.Document {
	d, first := report.New(r.title(v))
	r.sayBasis(first, v)
	for _, w := range r.Warnings {
		first.Note(report.Warn, "%s", w)
	}
	r.hotspotTable(d.Section("Hotspots"), v)
	shown := 0
	for i := range r.Hotspots {
		if h := &r.Hotspots[i]; h.Type != Compute && shown < detailed {
			h.section(d)
			shown++
		}
	}
	r.drillDownSection(d)
	r.functionTable(d.Section("Functions"))
	return d
}

// title returns the answer in one line.
func (r *Report) title(v View) report.Text {
	for i := range r.Hotspots {
		h := &r.Hotspots[i]
		if h.Sub == Opaque && h.Share > opaqueShare && h.Scope != PerRun {
			return report.Textf("Hidden in a call at %s: %s of the time; profile it next", report.Name(path.Base(h.place())), report.Percent(h.Share))
		}
		if h.Type == Compute {
			continue
		}
		if v.Trace {
			return report.Textf("Begin with %s: %s", report.Name(path.Base(h.place())), string(h.Type))
		}
		return report.Textf("Most time lost: %s, %s", report.Name(path.Base(h.place())), string(h.Type))
	}
	if len(r.Hotspots) == 0 {
		return report.Plain("No profiled function took any time")
	}
	if !r.HasSource() {
		return report.Textf("Most time in %s: its source is needed to say why", report.Name(path.Base(r.Hotspots[0].place())))
	}
	return report.Plain("No waste found on any line")
}

// HasSource reports whether the source of any hotspot is known. Without source, a
// hotspot is COMPUTE because nothing else can be told.
func (r *Report) HasSource() bool {
	return slices.ContainsFunc(r.Hotspots, func(h Hotspot) bool { return h.Source != "" })
}

// place returns the location of a hotspot in the form that editors accept.
func (h *Hotspot) place() string {
	if h.Line == 0 {
		return h.Function
	}
	return fmt.Sprintf("%s:%d", h.File, h.Line)
}

// sayBasis says what was read, and what is unknown about it.
func (r *Report) sayBasis(s *report.Section, v View) {
	what := fmt.Sprintf("%s in %s", report.Micros(r.TotalUs), report.Counted(len(r.Functions), "function"))
	if n := len(r.Profiles); n > 1 {
		what += fmt.Sprintf(" of %d profiles", n)
	}
	if r.Steps > 0 {
		what += fmt.Sprintf(", %s per step (%d steps, counted by %s)", report.Micros(r.TotalUs/float64(r.Steps)), r.Steps, r.StepsFrom)
	}
	s.Say("Profiled: %s. The profiler inflates short lines most: compare shares within a run, or rounds.", what)
	if r.ranks {
		s.Say("The files are treated as ranks of one run: for each function the slowest rank counts. To compare runs, name them as rounds: %s",
			report.Command("hotspots round0_before=a.txt round1_after=b.txt"))
	}
	for _, remark := range v.Remarks {
		s.Say("%s", remark)
	}
	if !v.Trace {
		s.Note(report.Warn, "line_profiler cannot tell whether the CPU is the bottleneck: a line may take long while the GPUs are busy. A trace can:")
		s.Code("hotspots --evidence trace.sqlite profile.txt")
	}
}

// hotspotTable lists the hotspots.
func (r *Report) hotspotTable(s *report.Section, v View) {
	if len(r.Hotspots) == 0 {
		return
	}
	columns := []report.Column{
		{Title: "line", Kind: report.Names}, {Title: "function", Kind: report.Names, Minor: 1}, {Title: "type"}, {Title: "severity", Minor: 3}, {Title: "confidence", Minor: 2},
		{Title: "time", Kind: report.Duration, Adds: true}, {Title: "share", Kind: report.Ratio, Adds: true}, {Title: "hits", Kind: report.Count, Minor: 2}, {Title: "per hit", Kind: report.Duration, Minor: 1},
	}
	if v.Trace {
		columns = append(columns, report.Column{Title: "exposed per step", Kind: report.Duration})
	}
	replayed := slices.ContainsFunc(r.Hotspots, func(h Hotspot) bool { return h.GainUsPerStep != nil })
	if replayed {
		columns = append(columns, report.Column{Title: "saves per step", Kind: report.Duration})
	}
	t := s.Table("", columns...)
	for i := range r.Hotspots {
		h := &r.Hotspots[i]
		cells := []report.Cell{
			report.Str(path.Base(h.place())), report.Str(h.Function), report.Str(h.kind()), report.Str(string(h.Severity)), report.Str(string(h.Confidence)),
			report.Num(h.TimeUs), report.Num(h.Share), report.Int(h.Hits), report.Num(h.PerHitUs),
		}
		if v.Trace {
			cells = append(cells, report.Opt(h.ExposedUsPerStep))
		}
		if replayed {
			cells = append(cells, report.Opt(h.GainUsPerStep))
		}
		t.Row(cells...)
	}
}

// kind returns the types of a hotspot, the first with its sub-kind.
func (h *Hotspot) kind() string {
	if h.Sub == Opaque {
		return "to profile"
	}
	kind := string(h.Type)
	if h.Sub != "" {
		kind += "/" + h.Sub
	}
	for _, t := range h.Types {
		if t != h.Type {
			kind += ", " + string(t)
		}
	}
	return kind
}

// often says how often lines of a scope run.
var often = map[Scope]string{
	PerRun: "runs less than once per step", PerStep: "runs about once per step", PerLayer: "runs about once per layer",
	PerKernel: "runs more than once per layer", PerItem: "runs once per request or token", NoScope: "how often it runs per step is unknown",
}

// section shows a hotspot, its evidence, and what to do about it.
func (h *Hotspot) section(d *report.Document) {
	s := d.Section(fmt.Sprintf("%s at %s", h.Type, path.Base(h.place())))
	if h.Source != "" {
		s.Code(h.Source)
	}
	runs, once := often[h.Scope], h.Scope == PerRun && h.Hits == 1
	if once {
		runs = "ran once in all, so no step is longer for it"
	}
	s.Say("%s of the profiled time, %s of %s; %s. Place: %s.", report.Percent(h.Share), report.Percent(h.ShareOfFunction), report.Name(h.Function), runs, report.Name(h.place()))
	s.Items(h.Evidence)
	for _, o := range h.Options {
		saves := fmt.Sprintf("%.1f to %.1f %% of the profiled time", o.SavingsPct[0], o.SavingsPct[1])
		switch {
		case once:
			saves = fmt.Sprintf("%s to %s once, %s", report.Micros(o.SavingsOf[0]*h.TimeUs), report.Micros(o.SavingsOf[1]*h.TimeUs), saves)
		case o.SavingsUs != nil:
			saves = fmt.Sprintf("%s to %s of host time per step, %s", report.Micros(o.SavingsUs[0]), report.Micros(o.SavingsUs[1]), saves)
		}
		s.Number("%s: %s. Saves %s; risk %s, complexity %s.", report.Strong(o.Option), strings.TrimSuffix(o.Description, "."), saves, string(o.Risk), o.Complexity)
	}
	if len(h.Tests) > 0 {
		s.Say("Test with: %s", strings.Join(h.Tests, ", "))
	}
}

// drillDownSection shows where time is hidden, and what to profile next.
func (r *Report) drillDownSection(d *report.Document) {
	if len(r.DrillDown) == 0 && r.ProfileNext == "" {
		return
	}
	s := d.Section("Hidden in calls")
	for _, x := range r.DrillDown {
		what := report.Textf("Line %d takes %s of %s, in %s", x.Line, report.Percent(x.ShareOfFunction), report.Name(x.Function), report.Name(x.Callee))
		note := ""
		if x.Note != "" {
			note = " " + report.Capital(x.Note) + "."
		}
		switch {
		case x.Profiled:
			s.Item("%s, which is profiled: continue there.", what)
		case x.Target != nil:
			s.Item("%s: profile %s.%s", what, report.Name(*x.Target), note)
		default:
			s.Item("%s.%s", what, note)
		}
	}
	if r.ProfileNext != "" {
		s.Say("Profile next:")
		s.Code(r.ProfileNext)
	}
}

// functionTable lists the functions, with the time in each profile if there are
// several.
func (r *Report) functionTable(s *report.Section) {
	columns := []report.Column{{Title: "function", Kind: report.Names}, {Title: "at", Kind: report.Names, Minor: 1},
		{Title: "time", Kind: report.Duration}, {Title: "share", Kind: report.Ratio}, {Title: "entered", Kind: report.Count, Minor: 2}}
	if len(r.Profiles) > 1 {
		for i := range r.Profiles {
			columns = append(columns, report.Column{Title: fmt.Sprintf("in %d", i), Kind: report.Duration, Minor: 3})
		}
	}
	t := s.Table("", columns...)
	t.Top, t.OneUnit = 20, true
	for _, f := range r.Functions {
		cells := []report.Cell{report.Str(f.Function), report.Str(fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)), report.Num(f.TotalUs), report.Num(f.Share), report.Int(f.Hits)}
		if len(r.Profiles) > 1 {
			for _, us := range f.PerProfileUs {
				cells = append(cells, report.Opt(us))
			}
		}
		t.Row(cells...)
	}
}
