package verdict

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/figure"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/report"
)

// figure draws the metrics of a scope against their limits, with their intervals.
func (s *Scope) figure() (title, alt string, plot figure.Plot, table *report.Table) {
	p := &figure.Intervals{Unit: figure.Ratio}
	title = "Metrics against their limits; how sure they are is not known"
	for m, name := range metric.Names {
		row := figure.Interval{Label: name, Value: s.value[m], Color: figure.Busy, Text: percentOr(s.value[m], "not applicable")}
		if i := s.interval[m]; i != nil && s.value[m] != nil {
			title = "Metrics against their limits, with 95 % intervals"
			row.Low, row.High = &i.Low, &i.High
			row.More = fmt.Sprintf("(%s to %s)", report.Percent(i.Low), report.Percent(i.High))
		}
		if m <= nccl {
			row.Limit, row.Below = s.limits.at(m), m == gpuUtilization
			if row.Text += ", limit " + s.limits.text(m); s.crossed[m] {
				row.Color = figure.Bad
			}
		}
		if slices.Contains(s.Borderline, name) {
			row.More += " borderline"
		}
		p.Rows = append(p.Rows, row)
	}
	table = &report.Table{Columns: columns}
	s.table(table)
	alt = fmt.Sprintf("%d of %d metrics are over the limit.", s.Crossed, s.Applicable)
	if over := s.evidence(); over != "" {
		alt += " " + capital(over) + "."
	}
	return title, alt, p, table
}

// percentOr is a ratio in percent, or what stands for one that is not known.
func percentOr(v *float64, unknown string) string {
	if v == nil {
		return unknown
	}
	return report.Percent(*v)
}
