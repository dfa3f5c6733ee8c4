package command

import (
	"fmt"
	"time"

	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// maxNamed is the most input files that a report names, so that they fit on a line.
const maxNamed = 3

// about adds the report's inputs to the end of its first section.
func about(d *report.Document, side string, p *event.Provenance, ranks int) {
	if p == nil || len(p.Files) == 0 || len(d.Sections) == 0 {
		return
	}
	shown := min(len(p.Files), maxNamed)
	t := append(report.Plain(side), nameList(p.Files[:shown])...)
	if more := len(p.Files) - shown; more > 0 {
		t = append(t, report.Textf(" and %d more", more)...)
	}
	t = append(t, report.Textf(", %s", report.Counted(ranks, "rank"))...)
	t = append(t, named(", on ", p.GPUs)...)
	if p.Time != 0 {
		t = append(t, report.Textf(", recorded %s", time.Unix(0, p.Time).UTC().Format("2006-01-02 15:04 UTC"))...)
	}
	t = append(t, named(", by ", p.Recorders)...)
	for _, note := range p.Notes {
		t = append(t, report.Textf("; %s", note)...)
	}
	d.Sections[0].Say("%s.", t)
}

// named returns names after a label, nil if there are none.
func named(what string, names []string) report.Text {
	if len(names) == 0 {
		return nil
	}
	return append(report.Plain(what), nameList(names)...)
}

// provenance returns the provenance of the inputs that are events, and the number of
// their ranks.
func provenance(inputs []*source.Input) (p *event.Provenance, ranks int) {
	p = &event.Provenance{}
	for _, in := range inputs {
		if in.Events != nil {
			p = p.With(in.Events.Header().Provenance())
			ranks += in.Events.Header().NumRanks()
		}
	}
	return p, ranks
}

// aboutInputs is about for inputs.
func aboutInputs(d *report.Document, side string, inputs []*source.Input) {
	p, ranks := provenance(inputs)
	about(d, side, p, ranks)
}

// sideName returns the label of a side with n runs.
func sideName(name string, n int) string {
	if n > 1 {
		return fmt.Sprintf("%s (%d runs): ", name, n)
	}
	return name + ": "
}

// aboutSides adds the inputs of each side of a comparison.
func aboutSides(d *report.Document, baseline, target []*source.Input) {
	if len(target) == 0 {
		aboutInputs(d, "Input: ", baseline)
		return
	}
	aboutInputs(d, sideName("Baseline", len(baseline)), baseline)
	aboutInputs(d, sideName("Target", len(target)), target)
}
