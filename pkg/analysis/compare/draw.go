package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// changed is a part of the time of a step, and by how much it changed, us.
type changed struct {
	name  string
	delta float64
}

// changes are those of busy time and of idle time by cause, the largest; the last one is
// all others. They add up to the change of both.
func (c *page) changes() []changed {
	var parts []changed
	for r := range each(c.Causes) {
		parts = append(parts, changed{causeTitle(r.Cause), *r.Delta})
	}
	slices.SortFunc(parts, func(a, b changed) int {
		return cmp.Or(cmp.Compare(math.Abs(b.delta), math.Abs(a.delta)), cmp.Compare(a.name, b.name))
	})
	parts = parts[:min(len(parts), topOps)]
	rest := *c.summary(idleTime).Delta
	for _, p := range parts {
		rest -= p.delta
	}
	parts = append(parts, changed{"idle, all other causes", rest})
	return slices.Insert(parts, 0, changed{"GPU busy", *c.summary(busyTime).Delta})
}

// waterfall leads from the time of a step in the baseline, busy and idle, over what
// changed of it to that in the target.
func (c *page) waterfall(s *report.Section) {
	if c.target == nil || c.Steady.Baseline.Idle == nil || c.Steady.Target.Idle == nil {
		return
	}
	busy, idle := c.summary(busyTime), c.summary(idleTime)
	from, to := *busy.Baseline+*idle.Baseline, *busy.Target+*idle.Target
	p := &figure.Bars{Named: true, Series: []figure.Series{{Name: "baseline and target", Color: figure.Busy}, {Name: "less", Color: figure.Good}, {Name: "more", Color: figure.Bad}}}
	t := &report.Table{OneUnit: true, Columns: []report.Column{{Title: "per step", Kind: report.Names}, {Title: "change", Kind: report.Duration, Signed: true}, {Title: "comes to", Kind: report.Duration}}}
	total := func(name string, us float64) {
		p.Rows = append(p.Rows, figure.Bar{Label: name, Parts: []float64{us, 0, 0}, Text: report.Micros(us)})
		t.Row(report.Label(name), report.Cell{}, report.Num(us))
	}
	total("baseline", from)
	at, parts := from, c.changes()
	for _, one := range parts {
		p.Rows = append(p.Rows, figure.Bar{Label: one.name, From: at, Parts: []float64{0, min(one.delta, 0), max(one.delta, 0)}, Text: change(one.delta)})
		at += one.delta
		t.Row(report.Str(one.name), report.Num(one.delta), report.Num(at))
	}
	total("target", to)
	title := "From baseline to target: GPU time per step, busy and idle by cause"
	if p.Zoom(); p.Low > 0 {
		title += fmt.Sprintf(" (the axis begins at %s)", report.Micros(p.Low))
	}
	largest := slices.MaxFunc(parts, func(a, b changed) int { return cmp.Compare(math.Abs(a.delta), math.Abs(b.delta)) })
	s.Extra(title, fmt.Sprintf("A step takes %s of GPU time in the baseline and %s in the target. The largest change is %s, %s.",
		report.Micros(from), report.Micros(to), largest.name, change(largest.delta)), p, t)
}
