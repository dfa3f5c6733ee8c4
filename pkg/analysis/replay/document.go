package replay

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// Document returns the report as a document.
func (r *Report) Document() *report.Document {
	d, s := report.New(r.title())
	s.Say("A step takes %s now, the mean of %s (all of the benchmark window). Gains are means over the same steps, as in gaps.", report.Micros(r.StepUs), report.Counted(r.Steps, "rank-step"))
	for i := range r.Scenarios {
		if of := r.Scenarios[i].of; of.pair {
			two := Scenario{Changes: of.Changes}
			s.Say("The best two: %s.", report.Command(two.String()))
		}
	}
	if r.Bounds.GPUUs != nil {
		s.Say("Bounds: %s with a host that takes no time, %s with a GPU that takes none.", report.Micros(*r.Bounds.GPUUs), report.Micros(*r.Bounds.HostUs))
	}
	r.table(s)
	r.waterfall(s)
	r.phases(d)
	v := d.Section("Valid for")
	v.Say("Launch order, dependencies, and the time that each item takes by itself are kept from the recording. Changes to what the GPU computes, contention for memory or power, and other batch sizes are not predicted. Collectives inside graphs recorded as a whole, and messages between processes, are not followed. Ranks that were not recorded are assumed to arrive as they did.")
	v.Say("Work starts %s per step later than its known dependencies explain: that delay is kept.", report.Micros(r.UnexplainedUs))
	for _, w := range r.Warnings {
		v.Note(report.Warn, "%s", w)
	}
	return d
}

// title names the change that helps most.
func (r *Report) title() report.Text {
	p := r.best()
	switch {
	case r.Single && len(r.Scenarios) == 1:
		return report.Textf("Cannot tell from one step: it would take %s in place of %s: %s", report.Micros(p.StepUs), report.Micros(r.StepUs), p.Change)
	case r.Single:
		return report.Textf("Cannot tell what would help: the run has one whole step")
	case r.Doubt != "":
		return report.Textf("Cannot tell what would help: work starts %s per step later than its known dependencies explain", report.Micros(r.UnexplainedUs))
	case len(r.Scenarios) == 1:
		return report.Textf("A step would take %s in place of %s: %s", report.Micros(p.StepUs), report.Micros(r.StepUs), p.Change)
	case p.GainUs <= 0:
		return report.Textf("What if: none of the changes tried makes steps shorter")
	case p.of.pair:
		return report.Textf("What if: the best two changes together would save %s of a step of %s", report.Micros(p.GainUs), report.Micros(r.StepUs))
	}
	return report.Textf("What if: %s would save %s of a step of %s", p.Change, report.Micros(p.GainUs), report.Micros(r.StepUs))
}

// label returns the name of the scenario's row. The best two are spelled out above the
// table.
func (p *Prediction) label() string {
	if p.of.pair {
		return bestTwo
	}
	return p.Change
}

// table adds the table of scenarios.
func (r *Report) table(s *report.Section) {
	t := s.Table("", report.Columns("change: names, step: duration, gain: duration, gain/step: ratio, 95 % interval of the gain: duration 1, waits kept: duration 2, event before: duration 2, tokens/s per rank: figure 3")...)
	t.OneUnit = true
	for i := range r.Scenarios {
		p := &r.Scenarios[i]
		ci := report.Cell{}
		if p.CIUs != nil {
			ci = report.Range(p.CIUs[0], p.CIUs[1])
		}
		t.Row(report.Str(p.label()), report.Num(p.StepUs), report.Num(p.GainUs), report.Num(p.GainShare), ci, report.Opt(p.KeepUs), report.Opt(p.OlderUs), report.Opt(p.TokensPerS))
	}
}

// waterfall draws how much each scenario takes off the present step.
func (r *Report) waterfall(s *report.Section) {
	p := &figure.Bars{Series: []figure.Series{{Name: "a step", Color: figure.Busy}, {Name: "gone", Color: figure.Other}}, Named: true}
	now := report.Micros(r.StepUs)
	p.Rows = append(p.Rows, figure.Bar{Label: "now", Parts: []float64{r.StepUs, 0}, Text: now})
	t := &report.Table{Columns: report.Columns("change: names, step: duration, gain: duration")}
	for i := range r.Scenarios {
		one := &r.Scenarios[i]
		bar := figure.Bar{Label: one.label(), Parts: []float64{one.StepUs, max(0, one.GainUs)}, Text: report.Micros(one.StepUs)}
		if one.CIUs != nil {
			bar.More = fmt.Sprintf("(%s less, %s to %s)", report.Micros(one.GainUs), report.Micros(one.CIUs[0]), report.Micros(one.CIUs[1]))
		}
		p.Rows = append(p.Rows, bar)
		t.Row(report.Str(one.label()), report.Num(one.StepUs), report.Num(one.GainUs))
	}
	s.Extra("What a step would take", fmt.Sprintf("A step takes %s now; each bar shows what it would take with a change, and what that saves.", now), p, t)
}

// phases adds a table of the scenarios by phase, if there are several phases.
func (r *Report) phases(d *report.Document) {
	names := []string{"context", "generation", "unknown"}
	have := map[string]bool{}
	for _, p := range r.Scenarios {
		for name := range p.Phases {
			have[name] = true
		}
	}
	if len(have) < 2 {
		return
	}
	columns := []report.Column{{Title: "change", Kind: report.Names}}
	for _, name := range names {
		if have[name] {
			columns = append(columns, report.Column{Title: name + " step", Kind: report.Duration, Minor: 1}, report.Column{Title: name + " gain", Kind: report.Ratio})
		}
	}
	t := d.Section("By phase, all steps of the benchmark segment").Table("", columns...)
	for _, p := range r.Scenarios {
		cells := []report.Cell{report.Str(p.Change)}
		for _, name := range names {
			if f, ok := p.Phases[name]; ok {
				cells = append(cells, report.Num(f.StepUs), report.Num(f.GainShare))
			} else if have[name] {
				cells = append(cells, report.Cell{}, report.Cell{})
			}
		}
		t.Row(cells...)
	}
}
