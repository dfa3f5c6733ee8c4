package gap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/analysis/straggler"
	"github.com/hostbound/hostbound/pkg/report"
)

// graph shows what share of the kernels graphs replayed, what was not recorded, and which
// kernels were launched one by one.
func (rep *Report) graph(s *report.Section) {
	g := &rep.Graph
	switch {
	case g.Coverage == nil && g.Whole == 0:
		s.Say("No kernels.")
		return
	case g.Whole > 0 && g.Coverage == nil:
		s.Say("%d graph replays were recorded as a whole, without their kernels; no kernels ran outside of them.", g.Whole)
	case g.Whole > 0:
		s.Say("%d graph replays were recorded as a whole, without their kernels; %d kernels ran outside of them, %s of these replayed.",
			g.Whole, g.Kernels, report.Percent(*g.Coverage))
	default:
		s.Say("%s of %d kernels were replayed from graphs.", report.Strong(report.Percent(*g.Coverage)), g.Kernels)
	}
	if g.KernelLaunchesPerStep != nil {
		s.Say("Per step: %s kernel launches, %s graph launches.", report.Digits(*g.KernelLaunchesPerStep), report.Digits(*g.GraphLaunchesPerStep))
	}
	for _, r := range g.Partial {
		s.Note(report.Warn, "Rank %d was recorded in part: %d graphs launched, %d replays recorded (%s). What looks idle there may be work that was not recorded.",
			r.Rank, r.GraphLaunches, r.Recorded, report.Percent(ratio(r.Recorded, r.GraphLaunches)))
	}
	if g.Recapture != "" {
		s.Say("To see inside, record again:")
		s.Code(g.Recapture)
	}
	if len(g.Eager) == 0 {
		return
	}
	t := s.Table("Kernels launched one by one", report.Columns("kernel: names, class: 2, count: count adds 3, per step: figure adds, NVTX range: names 4, capturable: 1")...)
	t.Top = maxRows
	for _, e := range g.Eager {
		flag := ""
		if e.Capturable {
			flag = "yes, in generation steps"
		}
		t.Row(report.Str(e.Name), report.Str(e.Class), report.Int(e.Count), report.Opt(e.PerStep), report.Str(e.Range), report.Str(flag))
	}
}

// pattern shows the repeated unit with its groups and kernels, or that there is none.
func (rep *Report) pattern(s *report.Section) {
	p := rep.Pattern
	if p == nil {
		s.Say("None: no sequence of kernels repeats within a step, or graph replays recorded as a whole hide it.")
		return
	}
	s.Say("A block of %s in %s (%s; %s before, %d after). It covers %s of the kernels, the same in %s.",
		report.Strong(fmt.Sprintf("%d kernels × %d", p.Length, p.Repetitions)), p.Of, layersText(p), report.Counted(p.Prologue, "kernel"), p.Epilogue, report.Percent(p.Covered), report.Counted(p.Steps, "step"))
	if p.Sentence != "" {
		s.Say("%s.", report.Strong(p.Sentence))
	}
	per := "gap per step"
	if p.Of == layer.OfTrace {
		per = "total gap"
	}
	t := s.Table("Groups of kernels in the unit", report.Column{Title: "group"}, report.Column{Title: "kernels", Right: true}, report.Column{Title: "class"},
		report.Column{Title: "gap", Kind: report.Duration}, report.Column{Title: per, Kind: report.Duration},
		report.Column{Title: "share", Kind: report.Ratio}, report.Column{Title: "priority", Minor: 1})
	for _, g := range p.Groups {
		kernels := fmt.Sprintf("%d to %d", g.First, g.Last)
		if g.First == g.Last {
			kernels = fmt.Sprint(g.First)
		}
		t.Row(report.Str(g.Group), report.Str(kernels), report.Str(g.Class), report.Num(g.GapUs), report.Num(g.GapUsPerStep), report.Num(g.Share), report.Str(g.Priority))
	}
	t = s.Table("Kernels of the unit", report.Columns("#: count, kernel: names, class: 2, gap before: duration, duration: duration, variants: count 1")...)
	for _, k := range p.Kernels {
		t.Row(report.Int(k.Index), report.Str(k.Name), report.Str(k.Class), report.Num(k.GapUs), report.Num(k.Us), report.Int(k.Variants))
	}
}

// layersText returns the number of layers, in all and by type.
func layersText(p *layer.Report) string {
	if p.Layers == nil {
		return "number of layers unknown"
	}
	text := report.Counted(*p.Layers, "layer")
	for i, lt := range p.LayerTypes {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s%d %s", sep, lt.Count, lt.Type)
	}
	return text
}

// straggler shows which rank the others wait for, how often, and why.
func (rep *Report) straggler(s *report.Section) {
	t := rep.Straggler
	if t == nil {
		s.Say("Not applicable: needs two or more ranks with collectives in their steps.")
		return
	}
	stragglerSays(s, t)
	clocks := "The ranks share one clock"
	if t.ClockErrorUs > 0 {
		clocks = fmt.Sprintf("The clocks of the ranks agree to within %s: arrivals closer than that count as simultaneous", report.Micros(t.ClockErrorUs))
	}
	s.Say("%d collectives in %d steps were matched. %s.", t.Matched, t.Steps, clocks)
	ranks := s.Table("", report.Columns("rank: count, straggler: ratio, late per step: duration, waits per step: duration, transfer per step: duration 2, clock offset: duration 1")...)
	for _, r := range t.Ranks {
		ranks.Row(report.Int(r.Rank), report.Num(r.ShareOfSteps), report.Num(r.LateUs), report.Num(r.WaitUs), report.Num(r.TransferUs), report.Num(r.OffsetUs))
	}
	if len(t.Why) == 0 {
		return
	}
	why := s.Table("What it spends more on than the others, per step", report.Columns("what: 1, name: names, this rank: duration, others: duration, excess: duration, source: names 2")...)
	why.OneUnit, why.Top = true, maxRows
	for _, w := range t.Why {
		why.Row(report.Str(w.What), report.Str(w.Name), report.Num(w.UsStep), report.Num(w.OthersUs), report.Num(w.ExcessUs), report.Str(w.Source))
	}
}

// stragglerSays says which rank the others wait for, and why.
func stragglerSays(s *report.Section, t *straggler.Report) {
	switch t.Kind {
	case "persistent", "together":
		if t.Rank != nil {
			s.Say("%s is late by %s per step: it arrives last in %s of the steps and accounts for %s of the total delay.",
				report.Strong(fmt.Sprintf("Rank %d", *t.Rank)), report.Micros(t.LateUs), report.Percent(t.ShareOfSteps), report.Percent(t.ShareOfLateness))
		}
		if t.Together != nil {
			s.Say("%s are late at once: they wait %s per step less than the others for the last of them.", report.Strong("Rank"+report.Numbered(t.Together)), report.Micros(*t.ApartUs))
		}
		causes := report.Name(strings.Join(t.Causes, ", "))
		switch {
		case t.Side == "gpu":
			s.Say("Own kernels take longer than those of the others (%s): suspect the GPU or its share of the work, not the host.", causes)
		case len(t.Causes) > 0:
			s.Say("More time than on the other ranks goes to %s.", causes)
		default:
			s.Say("Neither own kernels nor host operations explain it.")
		}
	case "rotating":
		s.Say("No consistent straggler: the most frequent one arrives last in %s of the steps and accounts for %s of the total delay.",
			report.Percent(t.ShareOfSteps), report.Percent(t.ShareOfLateness))
	case "unknown":
		s.Say("Cannot tell: %s.", t.Reason)
	default:
		if t.ShareOfSteps > 0 {
			s.Say("None: one rank arrives last in %s of the steps, which equal ranks may show by chance.", report.Percent(t.ShareOfSteps))
			s.Say("Where hosts do not wait for one another, a rank that fell behind stays behind for a while. The correlation of a rank's delay with that of the step before is %.2f.", t.StepCorrelation)
			return
		}
		if slices.ContainsFunc(t.Ranks, func(r straggler.RankReport) bool { return r.LateUs > 0 }) {
			s.Say("None: in most steps several ranks arrive last at some collectives, as kernels vary in length.")
			return
		}
		s.Say("None: the ranks arrive together.")
	}
}
