package gap

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/figure"
	"github.com/hostbound/hostbound/pkg/flame"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/straggler"
)

// Palette gives each of the largest causes a colour, the same in all figures.
func (rep *Report) Palette() figure.Palette {
	p := figure.Palette{}
	for i := range rep.Idle.Causes {
		p.Color(rep.Idle.Causes[i].Cause)
	}
	return p
}

// series names busy time, the causes and the rest, as the parts of a Series.
func (rep *Report) series() []figure.Series {
	colors := rep.Palette()
	all := []figure.Series{{Name: "GPU busy", Color: figure.Busy}}
	for _, name := range rep.Series.Causes {
		all = append(all, figure.Series{Name: name, Color: colors.Color(name)})
	}
	if len(rep.Idle.Causes) > len(rep.Series.Causes) {
		return append(all, figure.Series{Name: "other causes", Color: figure.Other})
	}
	return all
}

// stepsFigure draws the steps over time.
func (rep *Report) stepsFigure(s *report.Section) {
	if rep.Series == nil || len(rep.Series.Bins) < 2 {
		return
	}
	series := rep.series()
	p := &figure.Steps{X: "step", Series: series, Parts: make([][]float64, len(series))}
	t := &report.Table{OneUnit: true, Columns: []report.Column{
		{Title: "step", Right: true}, {Title: "rank-steps", Kind: report.Count}, {Title: "wall, minimum", Kind: report.Duration},
		{Title: "median", Kind: report.Duration}, {Title: "maximum", Kind: report.Duration}, {Title: "idle, median", Kind: report.Duration}, {Title: "idle, maximum", Kind: report.Duration},
	}}
	for _, one := range series {
		t.Columns = append(t.Columns, report.Column{Title: one.Name, Kind: report.Duration})
	}
	slowest := 0
	for i := range rep.Series.Bins {
		b := &rep.Series.Bins[i]
		label := strconv.Itoa(b.First)
		if b.Last > b.First {
			label += " to " + strconv.Itoa(b.Last)
		}
		p.Labels = append(p.Labels, label)
		p.Low, p.Median, p.High = append(p.Low, b.Period[0]), append(p.Median, b.Period[1]), append(p.High, b.Period[2])
		row := []report.Cell{report.Str(label), report.Int(int64(b.Steps)), report.Num(b.Period[0]), report.Num(b.Period[1]), report.Num(b.Period[2]), report.Num(b.Idle[1]), report.Num(b.Idle[2])}
		for k := range series {
			p.Parts[k] = append(p.Parts[k], b.Parts[k])
			row = append(row, report.Num(b.Parts[k]))
		}
		t.Row(row...)
		if b.Period[2] > rep.Series.Bins[slowest].Period[2] {
			slowest = i
		}
	}
	alt := fmt.Sprintf("Wall time per step over %d bins of steps. The slowest step takes %s and is step %s; the median of the first bin is %s, of the last %s.",
		len(p.Labels), report.Micros(p.High[slowest]), p.Labels[slowest], report.Micros(p.Median[0]), report.Micros(p.Median[len(p.Median)-1]))
	s.Extra("Steps over time: GPU busy, and idle by cause, per step and GPU", alt, p, t)
}

// ranksFigure draws the ranks beside one another.
func (rep *Report) ranksFigure(s *report.Section) {
	if rep.Series == nil || len(rep.Series.Ranks) < 2 {
		return
	}
	series := rep.series()
	p := &figure.Bars{Series: series, Named: true}
	t := &report.Table{OneUnit: true, Columns: []report.Column{{Title: "rank"}, {Title: "steps", Kind: report.Count}}}
	for _, one := range series {
		t.Columns = append(t.Columns, report.Column{Title: one.Name, Kind: report.Duration})
	}
	least, most := 0, 0
	idle := func(k int) float64 { return rep.Series.Ranks[k].idle() }
	for k, r := range rep.Series.Ranks {
		name := fmt.Sprintf("rank %d", r.Rank)
		p.Rows = append(p.Rows, figure.Bar{Label: name, Parts: r.Parts[:len(series)], Text: "idle " + report.Micros(idle(k)), More: "of " + report.Micros(wall(r.Parts))})
		row := []report.Cell{report.Str(name), report.Int(int64(r.Steps))}
		for i := range series {
			row = append(row, report.Num(r.Parts[i]))
		}
		t.Row(row...)
		if idle(k) < idle(least) {
			least = k
		}
		if idle(k) > idle(most) {
			most = k
		}
	}
	alt := fmt.Sprintf("Rank %d is idle most, %s per step; rank %d least, %s.", rep.Series.Ranks[most].Rank, report.Micros(idle(most)), rep.Series.Ranks[least].Rank, report.Micros(idle(least)))
	s.Extra("Ranks compared: GPU busy, and idle by cause, per step and GPU"+without(rep.Series.Left), alt, p, t)
}

// without says how many ranks are not in a figure.
func without(ranks int) string {
	if ranks == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d ranks with less are not drawn)", ranks)
}

// wall is what the parts of a step add up to.
func wall(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// maxFlameRows is how many stacks the table of the flame graph has.
const maxFlameRows = 50

// flameFigure draws the stacks of the idle time.
func (rep *Report) flameFigure(s *report.Section) {
	colors := rep.Palette()
	stacks := slices.Clone(rep.Stacks)
	if len(stacks) == 0 {
		return
	}
	p := &figure.Flame{Root: figure.Node{Name: "idle", Color: figure.Other}}
	slices.SortFunc(stacks, func(a, b flame.Stack) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), slices.Compare(a.Frames(), b.Frames()))
	})
	t := &report.Table{Top: maxFlameRows, More: "--flame FILE writes all", Columns: []report.Column{
		{Title: "idle", Kind: report.Duration, Adds: true}, {Title: "share", Kind: report.Ratio, Adds: true}, {Title: "stack", Kind: report.Names}}}
	for i := range stacks {
		p.Root.Value += us(stacks[i].Ns)
	}
	for i := range stacks {
		st := &stacks[i]
		at := &p.Root
		for depth, name := range st.Frames() {
			at = at.Part(name)
			at.Value += us(st.Ns)
			if at.Color = figure.Other; depth >= 2 {
				at.Color = colors.Color(st.Cause)
			}
		}
		t.Row(report.Num(us(st.Ns)), report.Num(us(st.Ns)/p.Root.Value), report.Str(strings.Join(st.Frames(), " > ")))
	}
	first := &rep.Idle.Causes[0]
	alt := fmt.Sprintf("The idle time by rank, phase, cause, why, ranges and call. The largest cause is %s with %s of it.", first.Cause, report.Percent(first.Share))
	s.Extra("Idle time by rank, phase, cause, and where it arises", alt, p, t)
}

// bucketsFigure draws how the time of gaps is distributed over their lengths.
func (g *Gaps) bucketsFigure() (title, alt string, plot figure.Plot) {
	p := &figure.Bars{Unit: figure.Ratio, Series: []figure.Series{{Name: "share of the time in gaps", Color: figure.Busy}}}
	for i := range g.Buckets {
		b := &g.Buckets[i]
		p.Rows = append(p.Rows, figure.Bar{Label: b.name(), Parts: []float64{b.Share}, Text: report.Percent(b.Share), More: fmt.Sprintf("%s in %d gaps", report.Micros(b.TotalUs), b.Count)})
	}
	return "Time in gaps by their length", "Most of the time: " + g.Dominant + ".", p
}

// ranksLate draws how late each rank is, and how long it waits.
func lateFigure(rep *Report) (title, alt string, plot figure.Plot) {
	p := &figure.Bars{Named: true, Series: []figure.Series{{Name: "late", Color: figure.Bad}, {Name: "waits for the last", Color: 2}}}
	latest := 0
	ranks, left := mostOf(rep.Straggler.Ranks, func(r straggler.RankReport) float64 { return r.LateUs })
	for i, r := range ranks {
		p.Rows = append(p.Rows, figure.Bar{Label: fmt.Sprintf("rank %d", r.Rank), Parts: []float64{r.LateUs, r.WaitUs},
			Text: "late " + report.Micros(r.LateUs), More: "last in " + report.Percent(r.ShareOfSteps) + " of the steps"})
		if r.LateUs > ranks[latest].LateUs {
			latest = i
		}
	}
	if len(p.Rows) > 0 {
		r := &ranks[latest]
		alt = fmt.Sprintf("Rank %d is the latest: %s per step, the last in %s of the steps.", r.Rank, report.Micros(r.LateUs), report.Percent(r.ShareOfSteps))
	}
	return "Lateness per rank and step" + without(left), alt, p
}

// unitFigure draws the kernels of the layer and the gaps before them.
func (rep *Report) unitFigure() (title, alt string, plot figure.Plot) {
	p := &figure.Timeline{}
	colors := figure.Palette{}
	gap := figure.Series{Name: "no kernel", Color: figure.Bad}
	track := figure.Track{Name: "kernels of the unit, on average"}
	p.Named = append(p.Named, gap)
	for i := range rep.Pattern.Kernels {
		k := &rep.Pattern.Kernels[i]
		if k.GapUs > 0 {
			track.Spans = append(track.Spans, figure.Span{Name: "no kernel before " + k.Name, From: p.To, To: p.To + k.GapUs, Color: gap.Color})
			p.To += k.GapUs
		}
		color := colors.Color(k.Class)
		if s := (figure.Series{Name: k.Class, Color: color}); !slices.Contains(p.Named, s) {
			p.Named = append(p.Named, s)
		}
		track.Spans = append(track.Spans, figure.Span{Name: k.Name, From: p.To, To: p.To + k.Us, Color: color})
		p.To += k.Us
	}
	p.Tracks = []figure.Track{track}
	alt = fmt.Sprintf("%d kernels in %s, of which %s have no kernel. %s", len(rep.Pattern.Kernels), report.Micros(p.To), report.Micros(rep.Pattern.GapUs), rep.Pattern.Sentence)
	return "The repeated unit: kernels and the gaps between them", alt, p
}
