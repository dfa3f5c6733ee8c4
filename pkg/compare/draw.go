package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/figure"
	"github.com/hostbound/hostbound/pkg/report"
)

// What is drawn of many rows: those that changed most. The tables have more.
const (
	maxForest    = 15
	maxWaterfall = 10
	wallBins     = 40
)

// figures adds what a page shows of the comparison.
func (c *Comparison) figures(s *report.Section) {
	if c.target != nil && c.Steady.Baseline.Idle != nil && c.Steady.Target.Idle != nil {
		c.waterfall(s)
	}
	c.distributions(s)
}

// waterfall leads from the time of a step in the baseline, busy and idle, over what
// changed of it to that in the target. The changes add up.
func (c *Comparison) waterfall(s *report.Section) {
	busy, idle := c.summary(busyTime), c.summary(idleTime)
	causes := map[string]float64{}
	for i := range c.Idle {
		causes[c.Idle[i].Cause] += *c.Idle[i].Delta
	}
	type part struct {
		name  string
		delta float64
	}
	parts := []part{{"GPU busy", *busy.Delta}}
	for name, delta := range causes {
		parts = append(parts, part{name, delta})
	}
	slices.SortFunc(parts[1:], func(a, b part) int {
		return cmp.Or(cmp.Compare(math.Abs(b.delta), math.Abs(a.delta)), cmp.Compare(a.name, b.name))
	})
	if parts = parts[:min(len(parts), maxWaterfall+1)]; len(parts) > 0 {
		rest := *idle.Delta
		for _, p := range parts[1:] {
			rest -= p.delta
		}
		parts = append(parts, part{"idle, all other causes", rest})
	}
	from, to := *busy.Baseline+*idle.Baseline, *busy.Target+*idle.Target
	p := &figure.Bars{Named: true, Series: []figure.Series{{Name: "baseline and target", Color: figure.Busy}, {Name: "less", Color: figure.Good}, {Name: "more", Color: figure.Bad}}}
	t := &report.Table{OneUnit: true, Columns: []report.Column{{Title: "per step", Kind: report.Names}, {Title: "change", Kind: report.Duration, Signed: true}, {Title: "comes to", Kind: report.Duration}}}
	total := func(name string, us float64) {
		p.Rows = append(p.Rows, figure.Bar{Label: name, Parts: []float64{us, 0, 0}, Text: report.Micros(us)})
		t.Row(report.Label(name), report.Cell{}, report.Num(us))
	}
	total("baseline", from)
	at := from
	for _, one := range parts {
		bar := figure.Bar{Label: one.name, From: at, Parts: []float64{0, min(one.delta, 0), max(one.delta, 0)}, Text: change(one.delta)}
		at += one.delta
		p.Rows = append(p.Rows, bar)
		t.Row(report.Str(one.name), report.Num(one.delta), report.Num(at))
	}
	total("target", to)
	title := "From baseline to target: GPU time per step, busy and idle by cause"
	if p.Zoom(); p.Low > 0 {
		title += fmt.Sprintf(" (the axis begins at %s)", report.Micros(p.Low))
	}
	largest := slices.MaxFunc(parts, func(a, b part) int { return cmp.Compare(math.Abs(a.delta), math.Abs(b.delta)) })
	alt := fmt.Sprintf("A step takes %s of GPU time in the baseline and %s in the target. The largest change is %s, %s.", report.Micros(from), report.Micros(to), largest.name, change(largest.delta))
	s.Extra(title, alt, p, t)
}

// forest draws the changes of rows with their intervals, those that changed most.
func (c *Comparison) forest(s *report.Section, what string, rows []Row) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Delta == nil })
	if c.target == nil || len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(math.Abs(*b.Delta), math.Abs(*a.Delta)) })
	p := &figure.Intervals{Zero: true}
	t := c.columns("change", "name", report.Duration)
	sure := 0
	for i := range rows[:min(len(rows), maxForest)] {
		r := &rows[i]
		one := figure.Interval{Label: r.Name, Value: r.Delta, Text: change(*r.Delta), More: r.evidence(), Color: figure.Other}
		if r.CI != nil {
			one.Low, one.High = &r.CI[0], &r.CI[1]
			one.More = fmt.Sprintf("(%s to %s) %s", change(r.CI[0]), change(r.CI[1]), one.More)
		}
		if r.Significant && r.CannotTell == "" {
			sure++
			if one.Color = figure.Bad; *r.Delta < 0 {
				one.Color = figure.Good
			}
		}
		p.Rows = append(p.Rows, one)
		t.Row(c.cells(r, report.Str(r.Name))...)
	}
	alt := fmt.Sprintf("Of the %d rows that changed most, %d changed beyond the noise. The largest change is %s, %s per step.", len(p.Rows), sure, rows[0].Name, change(*rows[0].Delta))
	s.Extra("Changes per step of "+what+", with 95 % intervals; grey is no evidence of a change", alt, p, t)
}

// distributions draws how long the steps of each side take.
func (c *Comparison) distributions(s *report.Section) {
	sides := []*side{c.base}
	series := []figure.Series{{Name: "baseline", Color: 1}}
	if c.target != nil {
		sides, series = append(sides, c.target), append(series, figure.Series{Name: "target", Color: 6})
	}
	low, high, most := math.Inf(1), 0.0, 0.0
	for _, one := range sides {
		if len(one.walls.Sorted()) == 0 {
			return
		}
		low = min(low, *one.walls.quantile(0))
		high = max(high, *one.walls.quantile(0.99))
		most = max(most, *one.walls.quantile(1))
	}
	if high = low + (high-low)*1.05; most <= low+(high-low)*1.1 {
		high = most
	}
	if high <= low {
		high = low + 1
	}
	p := &figure.Density{Series: series}
	t := &report.Table{OneUnit: true, Columns: []report.Column{{Title: "wall time from", Kind: report.Duration}, {Title: "to", Kind: report.Duration}}}
	for k := range wallBins + 1 {
		p.Edges = append(p.Edges, low+(high-low)*float64(k)/wallBins)
	}
	alt := "How long steps take."
	for k, one := range sides {
		p.Shares = append(p.Shares, make([]float64, wallBins))
		walls := one.walls.Sorted()
		for _, w := range walls {
			bin := int((w*us - low) / (high - low) * wallBins)
			p.Shares[k][min(max(bin, 0), wallBins-1)] += 1 / float64(len(walls))
		}
		t.Columns = append(t.Columns, report.Column{Title: series[k].Name, Kind: report.Ratio})
		alt += fmt.Sprintf(" Median of the %s: %s, P90 %s.", series[k].Name, micros(one.walls.quantile(0.5)), micros(one.walls.quantile(0.9)))
	}
	for bin := range wallBins {
		row := []report.Cell{report.Num(p.Edges[bin]), report.Num(p.Edges[bin+1])}
		for k := range sides {
			row = append(row, report.Num(p.Shares[k][bin]))
		}
		t.Row(row...)
	}
	title := "Wall time of steps: share of the steps in each of " + fmt.Sprint(wallBins) + " bins"
	if most > high {
		title += fmt.Sprintf("; the last one has all up to %s", report.Micros(most))
	}
	s.Extra(title, alt, p, t)
}
