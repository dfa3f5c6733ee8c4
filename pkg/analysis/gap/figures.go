package gap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// Palette returns the colours of the causes, the same in all figures.
func (rep *Report) Palette() figure.Palette {
	p := figure.Palette{}
	for i := range rep.Idle.Causes {
		p.Color(rep.Idle.Causes[i].Cause)
	}
	return p
}

// maxFlameRows is the number of stacks in the table of the flame graph.
const maxFlameRows = 50

// flameFigure draws the stacks of idle time, and of waits in collectives.
func (rep *Report) flameFigure(s *report.Section) {
	colors := rep.Palette()
	stacks := slices.Clone(rep.Stacks)
	if len(stacks) == 0 {
		return
	}
	what := "idle"
	if rep.Waits != nil {
		what = "idle or waiting"
	}
	p := &figure.Flame{Root: figure.Node{Name: what, Color: figure.Other}}
	slices.SortFunc(stacks, func(a, b figure.Stack) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), slices.Compare(a.Frames(), b.Frames()))
	})
	t := &report.Table{Top: maxFlameRows, More: "--flame FILE writes all", Columns: []report.Column{
		{Title: what, Kind: report.Duration, Adds: true}, {Title: "share", Kind: report.Ratio, Adds: true}, {Title: "stack", Kind: report.Names}}}
	for i := range stacks {
		p.Root.Value += us(stacks[i].Ns)
	}
	for i := range stacks {
		st := &stacks[i]
		if st.Why == idle.Unknown.String() { // omit a level without information
			st.Why = ""
		}
		at := &p.Root
		for depth, name := range st.Frames() {
			at = at.Part(name)
			at.Value += us(st.Ns)
			switch at.Color = figure.Other; {
			case depth >= 2 && st.Cause == timeline.Waits:
				at.Color = timeline.WaitsColor
			case depth >= 2:
				at.Color = colors.Color(st.Cause)
			}
		}
		t.Row(report.Num(us(st.Ns)), report.Num(us(st.Ns)/p.Root.Value), report.Str(strings.Join(st.Frames(), " > ")))
	}
	first := &rep.Idle.Causes[0]
	alt := fmt.Sprintf("Time %s by rank, phase, cause, why, ranges and call. The largest cause of idle time is %s with %s of it.", what, first.Cause, report.Percent(first.Share))
	s.Extra(report.Capital("time "+what+" by rank, phase, cause, and where it arises"), alt, p, t)
}
