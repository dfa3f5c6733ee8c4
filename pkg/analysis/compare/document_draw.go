package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/stat"
)

// waterfall draws the change from the GPU time of a step in the baseline to that in the
// target. Its bars are busy time, then the causes of idle time that changed most, if by
// more than counts as the same wall time. The last bar is all other causes.
func (c *page) waterfall(s *report.Section) {
	busy, idle := c.summary(busyTime), c.summary(idleTime)
	from, to := *busy.Baseline+*idle.Baseline, *busy.Target+*idle.Target
	p := &figure.Bars{Named: true, Series: []figure.Series{{Name: "baseline and target", Color: figure.Busy}, {Name: "less", Color: figure.Good}, {Name: "more", Color: figure.Bad}}}
	t := &report.Table{OneUnit: true, Columns: []report.Column{{Title: "per step", Kind: report.Names}, {Title: "change", Kind: report.Duration, Signed: true}, {Title: "comes to", Kind: report.Duration}}}
	total := func(name string, us float64) {
		p.Rows = append(p.Rows, figure.Bar{Label: name, Parts: []float64{us, 0, 0}, Text: report.Micros(us)})
		t.Row(report.Label(name), report.Cell{}, report.Num(us))
	}
	total("baseline", from)
	at, largest, most := from, "", math.Inf(-1)
	part := func(name string, delta float64) {
		p.Rows = append(p.Rows, figure.Bar{Label: name, From: at, Parts: []float64{0, min(delta, 0), max(delta, 0)}, Text: change(delta)})
		at += delta
		t.Row(report.Str(name), report.Num(delta), report.Num(at))
		if math.Abs(delta) > most {
			largest, most = name+", "+change(delta), math.Abs(delta)
		}
	}
	part("GPU busy", *busy.Delta)
	rest := *idle.Delta
	for r := range each(c.Causes[:min(len(c.Causes), topOps)]) {
		if c.worthALine(math.Abs(*r.Delta)) {
			part(causeTitle(r.Cause), *r.Delta)
			rest -= *r.Delta
		}
	}
	part("idle, all other causes", rest)
	total("target", to)
	title := "From baseline to target: GPU time per step, busy and idle by cause"
	if p.Zoom(); p.Low > 0 {
		title += fmt.Sprintf(" (the axis begins at %s)", report.Micros(p.Low))
	}
	s.Extra(title, fmt.Sprintf("A step takes %s of GPU time in the baseline and %s in the target. The largest change is %s.",
		report.Micros(from), report.Micros(to), largest), p, t)
}

// overTime draws the wall time of each side's steps over time, to show if a difference
// persists throughout. A side of several runs has no such order and is not drawn.
func (c *page) overTime(s *report.Section) {
	p := &figure.Lines{First: "start of the run", End: "end"}
	t := &report.Table{OneUnit: true, Columns: []report.Column{{Title: "part of the run", Right: true}}}
	parts := maxParts
	var bins [][][]float64 // by side: bins with steps
	for _, one := range c.sides() {
		if one.samples.runs > 1 {
			return
		}
		some := slices.DeleteFunc(slices.Clone(one.walls.Bins), func(bin []float64) bool { return len(bin) == 0 })
		bins, parts = append(bins, some), min(parts, len(some))
	}
	if parts < maxSaid {
		return
	}
	alt := "Wall time per step in the order of time."
	for k, name := range []string{"baseline", "target"}[:len(bins)] {
		p.Series = append(p.Series, figure.Series{Name: name, Color: []figure.Color{1, 6}[k]})
		medians := make([]float64, parts)
		for i := range medians {
			all := slices.Concat(bins[k][i*len(bins[k])/parts : (i+1)*len(bins[k])/parts]...)
			slices.Sort(all)
			medians[i] = stat.Quantile(all, 0.5) * us
		}
		p.Values = append(p.Values, medians)
		t.Columns = append(t.Columns, report.Column{Title: name + ", median", Kind: report.Duration})
		alt += fmt.Sprintf(" Median of the %s: %s in the first part, %s in the last.", name, report.Micros(p.Values[k][0]), report.Micros(p.Values[k][parts-1]))
	}
	for i := range parts {
		row := []report.Cell{report.Int(i + 1)}
		for _, values := range p.Values {
			row = append(row, report.Num(values[i]))
		}
		t.Row(row...)
	}
	s.Extra(fmt.Sprintf("Wall time of steps over time: median in each of %d parts of the run (the axis begins at %s)", parts, report.Micros(p.Low())), alt, p, t)
}
