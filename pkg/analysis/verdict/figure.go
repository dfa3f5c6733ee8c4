package verdict

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
)

// figure draws the metrics of a scope against their limits, with their intervals.
func (s *Scope) figure() (title, alt string, plot figure.Plot, table *report.Table) {
	p := &figure.Intervals{}
	title = "Metrics against their limits, without intervals"
	for m, name := range metric.Names[:nccl+1] {
		row := figure.Interval{Label: name, Value: s.value[m], Color: figure.Busy, Text: percentOr(s.value[m], "not applicable")}
		if i := s.interval[m]; i != nil && s.value[m] != nil {
			title = "Metrics against their limits, with 95 % intervals"
			row.Low, row.High = &i.Low, &i.High
			row.More = fmt.Sprintf("(%s to %s)", report.Percent(i.Low), report.Percent(i.High))
		}
		row.Limit, row.Below = s.limits.at(m), m == gpuUtilization
		if row.Text += ", limit " + s.limits.text(m); s.over[m] {
			row.Color = figure.Bad
		}
		if slices.Contains(s.Borderline, name) {
			row.More += " borderline"
		}
		p.Rows = append(p.Rows, row)
	}
	table = &report.Table{Columns: columns}
	s.table(table)
	alt = fmt.Sprintf("%d of %d metrics are over the limit.", s.Over, s.Applicable)
	if over := s.evidence(); over != "" {
		alt += " " + report.Capital(over) + "."
	}
	return title, alt, p, table
}

// seriesFigures draws the steps over time and by rank. Idle time is divided into that during
// input preparation, if there is any, and all other.
func (r page) seriesFigures(s *report.Section) {
	all := r.samples
	if len(all) == 0 {
		return
	}
	parts := []figure.Series{{Name: "GPU at work", Color: figure.Busy}, {Name: "idle while inputs are prepared", Color: 1}, {Name: "idle", Color: 2}}
	first, last := all[0].Step, all[0].Step
	prep := false
	for i := range all {
		first, last, prep = min(first, all[i].Step), max(last, all[i].Step), prep || all[i].Exposed > 0
	}
	rest := 1 // index of the part for all other idle time
	if prep {
		parts[2].Name = "idle otherwise"
	} else {
		parts, rest = append(parts[:1], parts[2]), 0
	}
	b := timeline.NewBuilder(first, last, len(parts)-1)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Rank == all[0].Rank {
			n++
		}
		rank := b.Rank(all[0].Rank, all[0].Step, n)
		for i := range all[:n] {
			one := &all[i]
			us := func(ns int64) float64 { return float64(ns) / 1e3 / float64(max(one.GPUs, 1)) }
			rank.Idle(one.Step, 0, us(one.Exposed))
			rank.Idle(one.Step, rest, us(one.Capacity-one.Busy-one.Exposed))
			rank.Wait(one.Step, us(one.Waits))
			rank.Step(one.Step, us(one.Capacity))
		}
		rank.Close()
		all = all[n:]
	}
	b.Close().Document(s, parts, "")
}

// percentOr formats a ratio in percent, or returns unknown for nil.
func percentOr(v *float64, unknown string) string {
	if v == nil {
		return unknown
	}
	return report.Percent(*v)
}
