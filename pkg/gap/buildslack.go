package gap

import (
	"github.com/hostbound/hostbound/pkg/slack"
	"github.com/hostbound/hostbound/pkg/spill"
)

// slackReport sums up launch slack over the steps of the window, nil where no launch
// is known.
func (c *computer) slackReport(views []*view) *slack.Report {
	var sum slack.Summary
	for _, v := range views {
		v.eachStep(columnsFrom(colSlack, colFact), func(k int, rows spill.Rows, i int) {
			s := slackOf(rows, i)
			sum.Add(s, v.walk.Steps[k].Ctx <= 0)
			if c.opt.PerStep {
				sum.List(v.id, k, s)
			}
		})
		sum.EndRank()
		if len(v.walk.Steps) == 0 {
			sum.Add(v.trace.slack, false)
		}
	}
	return sum.Report()
}
