package gap

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/pattern"
	"github.com/hostbound/hostbound/pkg/step"
)

// length shows a time in us with three digits.
func length(us float64) string {
	a := math.Abs(us)
	switch {
	case a >= 999_500:
		return digits(us/1e6) + " s"
	case a >= 999.5:
		return digits(us/1e3) + " ms"
	}
	return digits(us) + " us"
}

// digits shows a number below a thousand with three digits, at most two of them
// behind the point.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case a == 0:
		return "0"
	}
	return fmt.Sprintf("%.2f", x)
}

func percent(share float64) string { return digits(100*share) + " %" }

// Reports are the parts that WriteText can write.
var Reports = []string{"idle", "gaps", "graph", "pattern", "straggler", "slack"}

// WriteText writes the report as a markdown page; part is one of Reports, or "" for
// all.
func (rep *Report) WriteText(w io.Writer, part string) error {
	p := &page{}
	if part == "" {
		p.summary(rep)
		p.findings(rep)
	}
	for _, s := range []struct {
		name  string
		write func(*Report)
	}{
		{"idle", p.idle}, {"gaps", p.gaps}, {"graph", p.graph}, {"pattern", p.pattern}, {"straggler", p.straggler}, {"slack", p.slack},
	} {
		if part == "" || part == s.name {
			s.write(rep)
		}
	}
	if len(rep.Warnings) > 0 {
		p.head("Warnings")
		for _, s := range rep.Warnings {
			p.line("- %s", plain(s))
		}
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// page is a markdown page.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) head(text string) {
	if p.Len() > 0 {
		p.line("")
	}
	p.line("## %s\n", text)
}

// plain makes a text fit for a cell of a table.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return strings.ReplaceAll(s, "|", "\\|")
}

// short cuts a text.
func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// row writes the row of a table, or its head where it is the first.
func (p *page) row(cells ...string) {
	for i := range cells {
		cells[i] = plain(cells[i])
	}
	p.line("| %s |", strings.Join(cells, " | "))
}

// table begins a table. A name that begins with > heads numbers.
func (p *page) table(names ...string) {
	rule := make([]string, len(names))
	for i, n := range names {
		rule[i] = "---"
		if name, ok := strings.CutPrefix(n, ">"); ok {
			names[i], rule[i] = name, "---:"
		}
	}
	p.row(names...)
	p.line("| %s |", strings.Join(rule, " | "))
}

func orDash(x *float64, show func(float64) string) string {
	if x == nil {
		return "-"
	}
	return show(*x)
}

func (p *page) summary(rep *Report) {
	p.line("# Where the GPU waits\n")
	i := &rep.Idle
	if i.WindowUs == 0 {
		p.line("There is no window to look at.")
		return
	}
	over := fmt.Sprintf("%s of %s on %d %s", length(i.TotalUs), length(i.WindowUs), i.Lanes, plural(i.Lanes, "GPU", "GPUs"))
	if i.Steps > 0 {
		over += fmt.Sprintf(", %s in each of %d rank-steps", length(i.TotalUs/float64(i.Steps)), i.Steps)
	}
	if i.InterStepUs != nil && i.TotalUs > 0 {
		over += fmt.Sprintf(", %s of it between steps", percent(*i.InterStepUs/i.TotalUs))
	}
	p.line("**Idle %s** of the %s: %s.", percent(i.TotalUs/i.WindowUs), scopeNames[i.Window], over)
	if len(i.Causes) > 0 {
		c := &i.Causes[0]
		p.line("Most of it, %s, is **%s**%s.", percent(c.Share), plain(c.Cause), c.where())
	}
}

// scopeNames are what windows and phases are called.
var scopeNames = map[string]string{
	WindowBenchmark: step.BenchmarkWindow, WindowTrace: step.WholeTrace,
	event.Phases[event.Context]: step.ContextSteps, event.Phases[event.Generation]: step.GenerationSteps,
	event.Phases[event.Unknown]: step.UnknownSteps,
}

// where says where most of a cause arises, "" where that is not known.
func (c *Cause) where() string {
	if c.Source != "" || len(c.Sites) == 0 || strings.HasPrefix(c.Cause, hostPrefix) {
		return sourceText(c.Source)
	}
	s := &c.Sites[0]
	text := fmt.Sprintf(": %s of that in %s", percent(float64(s.Ns)/float64(c.Ns)), plain(s.Site))
	if s.Path != "" {
		text += ", in " + plain(s.Path)
	}
	return text + sourceText(s.Source)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func sourceText(source string) string {
	if source == "" {
		return ""
	}
	return " (" + plain(source) + ")"
}

func (p *page) findings(rep *Report) {
	p.head("What to do")
	if len(rep.Findings) == 0 {
		p.line("No pattern with a known treatment: begin with the first causes below.")
	}
	per := " per step"
	if rep.Idle.Steps == 0 {
		per = ""
	}
	for n, f := range rep.Findings {
		at := ""
		if f.UsStep > 0 {
			at = " [" + length(f.UsStep) + per + "]"
		}
		p.line("%d. **%s**%s: %s%s", n+1, f.Pattern, at, plain(f.Evidence), sourceText(f.Source))
	}
}

// maxRows is how many rows of a long table are shown.
const maxRows = 15

func (p *page) idle(rep *Report) {
	p.head("Idle time by cause")
	p.line("In the %s:\n", scopeNames[rep.Idle.Window])
	p.causes(rep.Idle.Causes)
	p.sites(&rep.Idle)
	for _, ph := range rep.Idle.Phases {
		p.line("\nIn the %d %s: idle %s of %s\n", ph.Steps, scopeNames[ph.Phase], length(ph.TotalUs), length(ph.WindowUs))
		p.causes(ph.Causes)
	}
	if len(rep.Idle.PerStep) == 0 {
		return
	}
	p.line("\nSteps\n")
	p.table(">rank", ">step", "phase", ">period", ">idle", "first causes")
	for _, s := range rep.Idle.PerStep {
		var first []string
		for _, c := range s.Causes[:min(3, len(s.Causes))] {
			first = append(first, c.Cause+" "+length(c.Us))
		}
		p.row(fmt.Sprint(s.Rank), fmt.Sprint(s.Step), s.Phase, length(s.WindowUs), length(s.TotalUs), strings.Join(first, ", "))
	}
}

// sites lists the largest sites of causes that are no ranges, whose path stands with
// the cause.
func (p *page) sites(i *Idle) {
	type row struct {
		cause string
		*Site
	}
	var rows []row
	for k := range i.Causes {
		c := &i.Causes[k]
		for n := range c.Sites {
			if !strings.HasPrefix(c.Cause, hostPrefix) && c.Sites[n].Us >= minSiteShare*i.TotalUs {
				rows = append(rows, row{c.Cause, &c.Sites[n]})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.Ns, a.Ns) })
	p.line("\nThe largest sites: calls, and where they are made; kernels that ended what was queued or a gap in a graph\n")
	p.table("cause", "site", ">per step", ">share", "in", "source")
	for _, r := range rows[:min(maxSites, len(rows))] {
		p.row(r.cause, short(r.Site.Site, 60), orDash(perStep(r.Us, i.Steps), length), percent(r.Us/i.TotalUs), short(r.Path, 80), r.Source)
	}
}

// Limits of the sites that are shown.
const (
	maxSites     = 10
	minSiteShare = 0.005 // of the idle time
)

func (p *page) causes(causes []Cause) {
	p.table("cause", ">per step", ">share", ">total", "path", "source")
	rest := Cause{Cause: "(others)"}
	for i, c := range causes {
		if i >= maxRows && len(causes) > maxRows+1 && c.Cause != "untraced" {
			rest.Us += c.Us
			rest.Share += c.Share
			if c.UsPerStep != nil {
				sum := *c.UsPerStep
				if rest.UsPerStep != nil {
					sum += *rest.UsPerStep
				}
				rest.UsPerStep = &sum
			}
			continue
		}
		p.cause(&c)
	}
	if rest.Us > 0 {
		p.cause(&rest)
	}
}

func (p *page) cause(c *Cause) {
	p.row(short(c.Cause, 60), orDash(c.UsPerStep, length), percent(c.Share), length(c.Us), short(c.Path, 80), c.Source)
}

func (p *page) gaps(rep *Report) {
	p.head("Gaps between kernels of a stream")
	if rep.Gaps.Dominant == "" {
		p.line("There are none.")
		return
	}
	p.line("Most of the time: %s.\n", rep.Gaps.Dominant)
	p.table("gap", ">count", ">total", ">share", "typical source")
	for _, b := range rep.Gaps.Buckets {
		name := "≥ " + length(b.LowerUs)
		if b.UpperUs != nil {
			name = length(b.LowerUs) + " – " + length(*b.UpperUs)
		}
		p.row(name, fmt.Sprint(b.Count), length(b.TotalUs), percent(b.Share), b.Source)
	}
	if len(rep.Gaps.Top) == 0 {
		return
	}
	p.line("\nThe longest\n")
	p.table(">gap", ">rank", ">step", "from", "to", "launched by", "in", "meanwhile")
	for _, g := range rep.Gaps.Top {
		step := "-"
		if g.Step != nil {
			step = fmt.Sprint(*g.Step)
		}
		var parts []string
		for _, c := range g.Causes[:min(3, len(g.Causes))] {
			parts = append(parts, short(c.Cause, 40)+" "+length(c.Us))
		}
		p.row(length(g.GapUs), fmt.Sprint(g.Rank), step, short(g.Previous, 40), short(g.Next, 40), g.Call, short(g.Path, 60), strings.Join(parts, ", "))
	}
}

func (p *page) graph(rep *Report) {
	p.head("Graph coverage")
	g := &rep.Graph
	switch {
	case g.Coverage == nil && g.Whole == 0:
		p.line("No kernels.")
		return
	case g.Whole > 0:
		p.line("%d graph replays were recorded as a whole, without their kernels; %d kernels ran beside them, %s of them replayed.",
			g.Whole, g.Kernels, orDash(g.Coverage, percent))
	default:
		p.line("**%s** of %d kernels were replayed from graphs.", percent(*g.Coverage), g.Kernels)
	}
	if g.KernelLaunchesPerStep != nil {
		p.line("Launch calls per step: %s of kernels, %s of graphs.", digits(*g.KernelLaunchesPerStep), digits(*g.GraphLaunchesPerStep))
	}
	for _, r := range g.Partial {
		p.line("**Partial recording** on rank %d: %d graphs launched, %d replays recorded (%s). What looks idle there may be work that was not recorded.",
			r.Rank, r.GraphLaunches, r.Recorded, percent(ratio(r.Recorded, r.GraphLaunches)))
	}
	if g.Recapture != "" {
		p.line("\nTo see inside, record again:\n\n    %s", g.Recapture)
	}
	if len(g.Eager) == 0 {
		return
	}
	p.line("\nKernels launched by themselves\n")
	p.table("kernel", "class", ">count", ">per step", "in", "capturable")
	for _, e := range g.Eager[:min(maxRows, len(g.Eager))] {
		flag := ""
		if e.Capturable {
			flag = "yes, in generation steps"
		}
		p.row(short(e.Name, 60), e.Class, fmt.Sprint(e.Count), orDash(e.PerStep, digits), short(e.Range, 60), flag)
	}
	if n := len(g.Eager) - maxRows; n > 0 {
		p.line("\nand %d others.", n)
	}
}

func (p *page) pattern(rep *Report) {
	p.head("Repeating pattern")
	t := rep.Pattern
	if t == nil {
		p.line("None: the kernels of a step repeat no unit (or are hidden in whole-graph rows).")
		return
	}
	p.line("A unit of **%d kernels × %d** in %s (%s; %d kernels before, %d after; %s of the kernels, %d steps agree).",
		t.Length, t.Repetitions, t.Of, layersText(t), t.Prologue, t.Epilogue, percent(t.Covered), t.Steps)
	p.line("**%s.**\n", t.Sentence)
	per := ">gap per step"
	if t.Of == pattern.OfTrace {
		per = ">gap in all"
	}
	p.table("group", "kernels", "class", ">gap", per, ">share", "priority")
	for _, g := range t.Groups {
		p.row(g.Group, fmt.Sprintf("%d-%d", g.First, g.Last), g.Class, length(g.GapUs), length(g.GapUsPerStep), percent(g.Share), g.Priority)
	}
	p.line("")
	p.table(">#", "kernel", "class", ">gap before", ">duration", ">variants")
	for _, k := range t.Kernels {
		p.row(fmt.Sprint(k.Index), short(k.Name, 60), k.Class, length(k.GapUs), length(k.Us), fmt.Sprint(k.Variants))
	}
}

// layersText says how many layers there are, and of which types.
func layersText(t *pattern.Report) string {
	if t.Layers == nil {
		return "how many layers that is cannot be told"
	}
	text := fmt.Sprintf("%d %s", *t.Layers, plural(*t.Layers, "layer", "layers"))
	for i, lt := range t.LayerTypes {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s%d %s", sep, lt.Count, lt.Type)
	}
	return text
}

func (p *page) straggler(rep *Report) {
	p.head("Straggler")
	s := rep.Straggler
	if s == nil {
		p.line("Nothing to compare: one rank, or no collectives in steps.")
		return
	}
	switch s.Kind {
	case "persistent":
		p.line("**Rank %d** is late by %s per step: it is the last in %s of the steps and has %s of all lateness.",
			*s.Rank, length(s.LateUs), percent(s.ShareOfSteps), percent(s.ShareOfLateness))
		switch {
		case s.Side == "gpu":
			p.line("Its own kernels take longer than those of the others (%s): it is the GPU, or the work it is given, not the host.", plain(strings.Join(s.Causes, ", ")))
		case len(s.Causes) > 0:
			p.line("It spends more than the others on %s.", plain(strings.Join(s.Causes, ", ")))
		default:
			p.line("Neither its own kernels nor its host operations explain it.")
		}
	case "rotating":
		p.line("No rank in particular: who is last changes (the most frequent one is it in %s of the steps, with %s of all lateness).",
			percent(s.ShareOfSteps), percent(s.ShareOfLateness))
	case "unknown":
		p.line("It cannot be told: %s.", plain(s.Reason))
	default:
		p.line("Nobody: the ranks arrive together.")
	}
	p.line("%d collectives of %d steps were matched; their ends agree within %s (of nine in ten), what is less counts as at once.\n", s.Matched, s.Steps, length(s.ClockErrorUs))
	p.table(">rank", ">straggler", ">late per step", ">waits per step", ">transfer per step", ">clock offset")
	for _, r := range s.Ranks {
		p.row(fmt.Sprint(r.Rank), percent(r.ShareOfSteps), length(r.LateUs), length(r.WaitUs), length(r.TransferUs), length(r.OffsetUs))
	}
	if len(s.Why) == 0 {
		return
	}
	p.line("\nWhat it does more than the others, per step\n")
	p.table("what", "name", ">it", ">the others", ">excess", "source")
	for _, w := range s.Why[:min(maxRows, len(s.Why))] {
		p.row(w.What, short(w.Name, 60), length(w.UsStep), length(w.OthersUs), length(w.ExcessUs), w.Source)
	}
}

func (p *page) slack(rep *Report) {
	p.head("Launch slack")
	s := rep.Slack
	if s == nil {
		p.line("No launch is known.")
		return
	}
	p.line("The host is **%s** ahead of the GPU in the middle (P10 %s, least %s); %s of %d launches find the GPU waiting.",
		length(s.P50Us), length(s.P10Us), length(s.MinUs), percent(s.NearZero), s.Launches)
	if s.TrendUs != nil {
		p.line("From step to step that changes by %s.", length(*s.TrendUs))
	}
	if len(s.Steps) == 0 {
		return
	}
	p.line("")
	p.table(">rank", ">step", ">launches", ">P50", ">P10", ">least", ">near zero")
	for _, t := range s.Steps {
		p.row(fmt.Sprint(t.Rank), fmt.Sprint(t.Step), fmt.Sprint(t.Launches), length(t.P50Us), length(t.P10Us), length(t.MinUs), percent(t.NearZero))
	}
}
