package timeline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// Document adds figures of the steps over time and, if there are several ranks, of the
// ranks side by side. parts are GPU work and the parts of idle time. by says in titles
// what idle time is divided by, such as "by cause"; "" for nothing.
func (s *Series) Document(d *report.Section, parts []figure.Series, by string) {
	if by != "" {
		by = " " + by
	}
	what := "GPU work and idle time" + by
	if s.Waits() {
		parts = append(slices.Clip(parts), figure.Series{Name: Waits, Color: WaitsColor})
		what = "GPU work, idle time" + by + " and waits in collectives"
	}
	if len(s.Bins) > 1 {
		s.steps(d, parts, what)
	}
	if len(s.Ranks) > 1 {
		s.ranks(d, parts, what)
	}
}

// steps draws the steps over time.
func (s *Series) steps(d *report.Section, parts []figure.Series, what string) {
	p := &figure.Steps{X: "step", Series: parts, Parts: make([][]float64, len(parts))}
	t := &report.Table{OneUnit: true, Columns: []report.Column{
		{Title: "step", Right: true}, {Title: "rank-steps", Kind: report.Count}, {Title: "wall, minimum", Kind: report.Duration},
		{Title: "median", Kind: report.Duration}, {Title: "maximum", Kind: report.Duration}, {Title: "idle, median", Kind: report.Duration}, {Title: "idle, maximum", Kind: report.Duration},
	}}
	addColumns(t, parts)
	slowest := 0
	for i := range s.Bins {
		b := &s.Bins[i]
		label := strconv.Itoa(b.First)
		if b.Last > b.First {
			label += " to " + strconv.Itoa(b.Last)
		}
		p.Labels = append(p.Labels, label)
		p.Low, p.Median, p.High = append(p.Low, b.Period[0]), append(p.Median, b.Period[1]), append(p.High, b.Period[2])
		row := []report.Cell{report.Str(label), report.Int(int64(b.Steps)), report.Num(b.Period[0]), report.Num(b.Period[1]), report.Num(b.Period[2]), report.Num(b.Idle[1]), report.Num(b.Idle[2])}
		for k := range parts {
			p.Parts[k] = append(p.Parts[k], b.Parts[k])
		}
		t.Row(append(row, numbers(b.Parts[:len(parts)])...)...)
		if b.Period[2] > s.Bins[slowest].Period[2] {
			slowest = i
		}
	}
	alt := fmt.Sprintf("Wall time per step over %d bins of steps. The slowest step takes %s and is step %s; the median of the first bin is %s, of the last %s.",
		len(p.Labels), report.Micros(p.High[slowest]), p.Labels[slowest], report.Micros(p.Median[0]), report.Micros(p.Median[len(p.Median)-1]))
	d.Extra("Steps over time: "+what+", per step and GPU", alt, p, t)
}

// ranks draws the ranks side by side.
func (s *Series) ranks(d *report.Section, parts []figure.Series, what string) {
	p := &figure.Bars{Series: parts, Named: true}
	t := &report.Table{OneUnit: true, Columns: []report.Column{{Title: "rank"}, {Title: "steps", Kind: report.Count}}}
	addColumns(t, parts)
	least, most := &s.Ranks[0], &s.Ranks[0]
	for k := range s.Ranks {
		r := &s.Ranks[k]
		name := fmt.Sprintf("rank %d", r.Rank)
		p.Rows = append(p.Rows, figure.Bar{Label: name, Parts: r.Parts[:len(parts)], Text: "idle " + report.Micros(r.Idle()), More: "of " + report.Micros(sum(r.Parts))})
		t.Row(append([]report.Cell{report.Str(name), report.Int(int64(r.Steps))}, numbers(r.Parts[:len(parts)])...)...)
		if r.Idle() < least.Idle() {
			least = r
		}
		if r.Idle() > most.Idle() {
			most = r
		}
	}
	alt := fmt.Sprintf("Rank %d is idle most, %s per step; rank %d least, %s.", most.Rank, report.Micros(most.Idle()), least.Rank, report.Micros(least.Idle()))
	d.Extra("Ranks compared: "+what+", per step and GPU"+Without(s.Left), alt, p, t)
}

// addColumns adds a column for each part.
func addColumns(t *report.Table, parts []figure.Series) {
	for _, one := range parts {
		t.Columns = append(t.Columns, report.Column{Title: one.Name, Kind: report.Duration})
	}
}

// numbers returns the cells of some times.
func numbers(us []float64) (cells []report.Cell) {
	for _, x := range us {
		cells = append(cells, report.Num(x))
	}
	return cells
}

// Without says how many ranks are not in a figure, "" for none.
func Without(ranks int) string {
	if ranks == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d ranks with less are not drawn)", ranks)
}
