package gap

import "github.com/hostbound/hostbound/pkg/slack"

// slackReport sums up launch slack over the steps of the window, nil where no launch
// is known.
func (c *computer) slackReport(views []*view) *slack.Report {
	var sum slack.Summary
	for _, v := range views {
		for k := v.from; k < v.to; k++ {
			sum.Add(v.slack[k], v.walk.Steps[k].Ctx <= 0)
			if c.opt.PerStep {
				sum.List(v.id, k, v.slack[k])
			}
		}
		sum.EndRank()
		if len(v.walk.Steps) == 0 {
			sum.Add(v.trace.slack, false)
		}
	}
	return sum.Report()
}
