package gap

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Reports are the parts of a report that can be selected.
var Reports = []string{"idle", "gaps", "graph", "pattern", "straggler"}

// IdleSection is the title of the section on idle time by cause.
const IdleSection = "Idle time by cause"

// maxRows is how many rows of a long table are shown by default.
const maxRows = 15

// minShare, 0.5 %: sites and whys with a smaller share of the idle time are not shown, because
// they are no target.
const minShare = 0.005

// Document returns the report as a document; part is one of Reports, or "" for all.
func (rep *Report) Document(part string) *report.Document {
	d, first := report.New(rep.title())
	if part == "" {
		rep.summary(first)
		rep.findings(d.Section("What to do"))
		d.Last = rep.last()
	}
	for k, p := range []struct {
		name  string
		title string
		write func(*report.Section)
	}{
		{"idle", IdleSection, rep.idle},
		{"idle", "Idle time by phase", rep.idlePhases},
		{"gaps", "Gaps between kernels of a stream", rep.gaps},
		{"graph", "Graph coverage", rep.graph},
		{"pattern", "Repeating pattern", rep.pattern},
		{"straggler", "Straggler", rep.straggler},
	} {
		if part == "" || part == p.name {
			s := d.Section(p.title)
			s.Detail = part == "" && k > 0
			p.write(s)
		}
	}
	d.Section("Warnings").Items(rep.Warnings)
	return d
}

// title returns the main finding, or why there is none.
func (rep *Report) title() report.Text {
	if rep.Idle.WindowUs == 0 {
		return report.Textf("Cannot tell where the GPUs wait: %s", cmp.Or(rep.reason, "the window is empty"))
	}
	f := rep.begin()
	switch {
	case f == nil:
		return report.Plain("Where the GPUs wait")
	case rep.Single:
		return report.Plain("Cannot tell what to begin with: there is one whole step")
	case f.GainUs == nil:
		return report.Plain(f.Title)
	}
	return report.Textf("%s (potential gain: %s%s)", f.Title, report.Micros(*f.GainUs), rep.per())
}

// begin returns the finding to begin with, nil if there is none.
func (rep *Report) begin() *findings.Finding {
	if len(rep.Findings) > 0 && (rep.First == nil || rep.Findings[0].GainUs == nil) {
		return &rep.Findings[0]
	}
	return rep.First
}

// last returns the answer in one line: the share of idle time, and what to begin with. It is
// nil without a window.
func (rep *Report) last() report.Text {
	if rep.Idle.WindowUs == 0 {
		return nil
	}
	text := report.Textf("Idle %s", report.Percent(rep.Idle.TotalUs/rep.Idle.WindowUs))
	if target := rep.Handoff.FirstTarget; target != nil && !rep.Single {
		text = report.Textf("%s; begin with %s", text, report.Name(*target))
	}
	return text
}

// summary says how much of the window the GPUs are idle, and the main cause. Without a window
// it says nothing of these.
func (rep *Report) summary(s *report.Section) {
	i := &rep.Idle
	if text := event.WorkloadText(rep.Workload); text != "" {
		s.Say("%s; steps have no phases.", report.Capital(text))
	}
	if i.WindowUs == 0 {
		return
	}
	over := fmt.Sprintf("%s of %s on %s", report.Micros(i.TotalUs), report.Micros(i.WindowUs), report.Counted(i.GPUs, "GPU"))
	if i.Steps > 0 {
		over += fmt.Sprintf(", %s per step (%s)", report.Micros(i.TotalUs/float64(i.Steps)), report.Counted(i.Steps, "rank-step"))
	}
	if i.InterStepUs != nil && i.TotalUs > 0 {
		over += fmt.Sprintf(", %s of it between steps", report.Percent(*i.InterStepUs/i.TotalUs))
	}
	outside := ""
	if i.Outside != nil {
		outside = i.Outside.Text(report.Micros(i.Outside.PauseUs))
	}
	s.Say("%s of the %s: %s.%s%s", report.Strong("Idle "+report.Percent(i.TotalUs/i.WindowUs)), scopeNames[i.Window], over, outside, rep.Waits.text())
	if len(i.Causes) > 0 {
		c := &i.Causes[0]
		s.Say("Main cause, %s of the idle time: %s%s.", report.Percent(c.Share), report.Name(c.Cause), c.where())
	}
	if i.PythonFunctions > 0 {
		s.Say("The trace has %s of Python functions, which were not read and may say what the host does then: %s.",
			report.Counted(int(i.PythonFunctions), "call"), report.Command(report.PythonToo))
	}
}

// scopeNames are the texts for windows and phases.
var scopeNames = map[string]string{
	WindowBenchmark: step.BenchmarkWindow, WindowTrace: step.WholeTrace,
	event.Phases[event.Context]: step.ContextSteps, event.Phases[event.Generation]: step.GenerationSteps,
	event.Phases[event.Unknown]: step.UnknownSteps,
}

// where says where most of a cause arises, nil if unknown.
func (c *Cause) where() report.Text {
	if c.Source != "" || len(c.Sites) == 0 || strings.HasPrefix(c.Cause, hostPrefix) {
		return sourceText(c.Source)
	}
	s := &c.Sites[0]
	text := report.Textf(": %s of that in %s", report.Percent(float64(s.Ns)/float64(c.Ns)), report.Name(report.Short(s.Site)))
	if s.Path != "" {
		text = report.Textf("%s, in %s", text, report.Name(s.Path))
	}
	return report.Textf("%s%s", text, sourceText(s.Source))
}

// sourceText returns a function in parentheses, nil for "".
func sourceText(source string) report.Text {
	if source == "" {
		return nil
	}
	return report.Textf(" (%s)", report.Name(source))
}

// negligible is the share of the window below which idle time is not worth looking into.
const negligible = 0.01

// findings lists what to do, in the order of the findings.
func (rep *Report) findings(s *report.Section) {
	if rep.Idle.WindowUs == 0 {
		return
	}
	switch i := &rep.Idle; {
	case rep.First != nil || len(rep.Findings) > 0:
	case i.TotalUs < negligible*i.WindowUs:
		s.Say("Nothing here: the GPUs work nearly all the time. Look at their kernels: which take the time, and how close they are to the hardware's limits.")
	default:
		s.Say("%s", i.bound())
	}
	list := rep.Findings
	if rep.First != nil && rep.First.Pattern == findings.HostWork {
		list = append([]findings.Finding{*rep.First}, list...)
	}
	for _, f := range list {
		gain := ""
		if f.GainUs != nil {
			gain = ", " + report.Micros(*f.GainUs) + rep.per()
		}
		if f.GainUs != nil && f.CIUs != nil {
			gain += fmt.Sprintf(" (%s to %s)", report.Micros(f.CIUs[0]), report.Micros(f.CIUs[1]))
		}
		s.Number("%s%s: %s. %s.%s", report.Strong(f.Pattern), gain, f.Text, report.Capital(f.Do), sourceText(text(f.Source)))
	}
	if p := rep.Pair; p != nil {
		s.Say("Gains do not add up: %s and %s together save %s%s.", rep.Findings[p.Of[0]].Pattern, rep.Findings[p.Of[1]].Pattern, report.Micros(p.GainUs), rep.per())
	}
}

// per returns the unit of gains: " per step", or "" without steps.
func (rep *Report) per() string {
	if rep.Idle.Steps == 0 {
		return ""
	}
	return " per step"
}

// idle shows the causes of the idle time in the window, with figures if there are Series and
// Stacks.
func (rep *Report) idle(s *report.Section) {
	i := &rep.Idle
	if i.WindowUs == 0 {
		return
	}
	rep.seriesFigures(s)
	rep.flameFigure(s)
	causes(s.Table("In the "+scopeNames[i.Window], causeColumns...), i.Causes)
	rep.Waits.table(s)
	i.sites(s)
	i.whys(s)
}

// idlePhases shows the causes in each phase, and in single steps.
func (rep *Report) idlePhases(s *report.Section) {
	i := &rep.Idle
	for _, ph := range i.Phases {
		if len(i.Phases) == 1 && ph.WindowUs == i.WindowUs && ph.TotalUs == i.TotalUs { // it would repeat the table of idle
			s.Say("All of the %s is %d %s.", scopeNames[i.Window], ph.Steps, scopeNames[ph.Phase])
			break
		}
		causes(s.Table(fmt.Sprintf("In the %d %s: idle %s of %s", ph.Steps, scopeNames[ph.Phase], report.Micros(ph.TotalUs), report.Micros(ph.WindowUs)),
			causeColumns...), ph.Causes)
	}
	if len(i.PerStep) == 0 {
		return
	}
	t := s.Table("Steps", report.Columns("rank: count, step: count, phase, period: duration, idle: duration, largest causes: names")...)
	for _, st := range i.PerStep {
		var first []string
		for _, c := range st.Causes[:min(3, len(st.Causes))] {
			first = append(first, c.Cause+" "+report.Micros(c.Us))
		}
		t.Row(report.Int(st.Rank), report.Int(st.Step), report.Str(st.Phase), report.Num(st.WindowUs), report.Num(st.TotalUs), report.Str(strings.Join(first, ", ")))
	}
}

var causeColumns = report.Columns("cause: names, per step: duration adds 1, share: ratio adds, total: duration adds 2, NVTX range: names 3, source: names 4")

// causes fills a table of causeColumns. Times and shares add up to the whole, so a shortened
// table can sum up the rest in one row.
func causes(t *report.Table, causes []Cause) {
	t.Top = maxRows
	for _, c := range causes {
		t.Row(report.Str(c.Cause), report.Opt(c.UsPerStep), report.Num(c.Share), report.Num(c.Us), report.Str(c.Path), report.Str(c.Source))
	}
}

// sites lists the largest sites of all causes but ranges: the path of a range is shown with
// its cause.
func (i *Idle) sites(s *report.Section) {
	type row struct {
		cause string
		*Site
	}
	var rows []row
	for k := range i.Causes {
		c := &i.Causes[k]
		for n := range c.Sites {
			if !strings.HasPrefix(c.Cause, hostPrefix) && c.Sites[n].Us >= minShare*i.TotalUs {
				rows = append(rows, row{c.Cause, &c.Sites[n]})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.Ns, a.Ns) })
	t := s.Table("Top call sites (the launch call, or the kernel that ended the gap)",
		report.Columns("cause: names, site: names, per step: duration adds 1, share: ratio adds, NVTX range: names 2, source: names 3")...)
	t.Top = maxRows
	for _, r := range rows {
		t.Row(report.Str(r.cause), report.Str(r.Site.Site), report.Opt(perStep(r.Us, i.Steps)), report.Num(r.Us/i.TotalUs), report.Str(r.Path), report.Str(r.Source))
	}
}

// gaps shows the gaps of streams by length, and the longest. They are not idle time, because
// other streams may run during them.
func (rep *Report) gaps(s *report.Section) {
	g := &rep.Gaps
	if g.Dominant == "" {
		s.Say("There are none.")
		return
	}
	most := slices.MaxFunc(g.Buckets, func(a, b Bucket) int { return cmp.Compare(a.Ns, b.Ns) })
	s.Say("Gaps of %s hold the largest share of the time in gaps, %s. The typical source is a rule of thumb by length; for the actual cause see Idle time by cause.", most.name(), report.Percent(most.Share))
	t := s.Table("", report.Columns("gap: right, count: count, total: duration, share: ratio, typical source: 1")...)
	for _, b := range g.Buckets {
		t.Row(report.Str(b.name()), report.Int(b.Count), report.Num(b.TotalUs), report.Num(b.Share), report.Str(b.Source))
	}
	if len(g.Top) == 0 {
		return
	}
	t = s.Table("The longest", report.Columns("gap: duration, rank: count, step: count, from: names 3, to: names, launched by: names 2, NVTX range: names 1, meanwhile: names")...)
	for _, top := range g.Top {
		step := report.Cell{}
		if top.Step != nil {
			step = report.Int(*top.Step)
		}
		var parts []string
		for _, c := range top.Causes[:min(2, len(top.Causes))] {
			parts = append(parts, c.Cause+" "+report.Micros(c.Us))
		}
		t.Row(report.Num(top.GapUs), report.Int(top.Rank), step, report.Str(top.Previous), report.Str(top.Next), report.Str(top.Call),
			report.Str(top.Path), report.Str(strings.Join(parts, ", ")))
	}
}

// name returns the range of lengths of a bucket as text.
func (b *Bucket) name() string {
	bound := func(us float64) string {
		unit := "µs"
		if us >= 1e3 {
			us, unit = us/1e3, "ms"
		}
		return strconv.FormatFloat(us, 'g', -1, 64) + " " + unit
	}
	switch {
	case b.UpperUs == nil:
		return "≥ " + bound(b.LowerUs)
	case b.LowerUs == 0:
		return "< " + bound(*b.UpperUs)
	}
	return bound(b.LowerUs) + " to " + bound(*b.UpperUs)
}
