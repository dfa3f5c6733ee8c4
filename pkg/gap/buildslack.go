package gap

import (
	"cmp"
	"slices"
)

// minTrend is how many steps a trend needs at least.
const minTrend = 10

// slackReport sums up launch slack over the steps of the window, nil where no launch
// is known.
func (c *computer) slackReport(views []*view) *Slack {
	rep := &Slack{}
	var p50, p10 []int64
	var trends []float64
	near, lowest := int64(0), int64(never)
	add := func(s *slackOfStep) {
		rep.Launches += s.count
		near += s.near
		p50, p10 = append(p50, s.p50), append(p10, s.p10)
		lowest = min(lowest, s.min)
	}
	for _, v := range views {
		var medians []int64
		for k := v.from; k < v.to; k++ {
			s := &v.slack[k]
			if s.count == 0 {
				continue
			}
			add(s)
			if v.walk.Steps[k].Ctx <= 0 {
				medians = append(medians, s.p50)
			}
			if c.opt.PerStep {
				rep.Steps = append(rep.Steps, StepSlack{
					Rank: v.id, Step: k, Launches: s.count, P50Us: us(s.p50), P10Us: us(s.p10),
					MinUs: us(s.min), NearZero: ratio(s.near, s.count),
				})
			}
		}
		if len(medians) >= minTrend {
			trends = append(trends, trend(medians))
		}
		if len(v.walk.Steps) == 0 && v.trace.slack.count > 0 {
			add(&v.trace.slack)
		}
	}
	if rep.Launches == 0 {
		return nil
	}
	slices.Sort(p50)
	slices.Sort(p10)
	rep.P50Us, rep.P10Us, rep.MinUs = us(quantile(p50, 0.5)), us(quantile(p10, 0.5)), us(lowest)
	rep.NearZero = ratio(near, rep.Launches)
	if len(trends) > 0 {
		slices.SortFunc(trends, cmp.Compare[float64])
		t := trends[len(trends)/2] / 1e3
		rep.TrendUs = &t
	}
	return rep
}

// trend returns by how much values change from one to the next: the distance between
// the medians of the first and the last third.
func trend(values []int64) float64 {
	n := len(values) / 3
	first, last := slices.Clone(values[:n]), slices.Clone(values[len(values)-n:])
	slices.Sort(first)
	slices.Sort(last)
	return float64(quantile(last, 0.5)-quantile(first, 0.5)) / float64(len(values)-n)
}
