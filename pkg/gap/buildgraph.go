package gap

import (
	"github.com/hostbound/hostbound/pkg/coverage"
	"github.com/hostbound/hostbound/pkg/event"
)

// graphReport sums up graph coverage.
func (c *computer) graphReport(views []*view) coverage.Report {
	var sum coverage.Summary
	for _, v := range views {
		sum.AddRank(v.id, v.started(), c.header.RankFacts(v.id), v.steps)
		for _, seg := range v.segments {
			for phase, g := range seg.groups {
				if g != nil {
					sum.AddKernels(&g.eager, event.Phase(phase))
				}
			}
		}
	}
	return sum.Report(c, c.header.Source())
}
