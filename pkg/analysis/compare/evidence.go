package compare

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/hostbound/hostbound/pkg/stat"
)

// Interval bounds what a figure may be. A bound of which nothing is known is
// infinite, and null in JSON.
type Interval [2]float64

// half is half of its width, 0 where it is not known.
func (i *Interval) half() float64 {
	if i == nil {
		return 0
	}
	return (i[1] - i[0]) / 2
}

// MarshalJSON writes the bounds.
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]*float64{number(i[0]), number(i[1])})
}

// The shares of the false alarms that sections get. What sections that have no rows
// would get is divided among the others.
const (
	shareWall       = 0.13
	shareConclusion = 0.14 // busy and idle time
	shareSummary    = 0.05 // the rest of it without the wall time's tail
	shareOperations = 0.25
	shareIdle       = 0.06
	shareGPU        = 0.04
	shareAPI        = 0.02
	shareWhy        = 0.06 // where it was asked for
	sharePeak       = 0.25 // the largest wall time
	shareTop        = 0.06 // its P99
)

// shareSlower is the part of its share that a slower tail gets, or something rare that
// comes more often: that is what is looked for.
const shareSlower = 0.9

// shareOften is the part of the share of what is rare that is for its coming more
// or less often; the rest is for how long it takes.
const shareOften = 0.85

// family is rows that are tested together with a share of the false alarms.
type family struct {
	share float64
	rows  []*Row
}

// families are all rows but those of the wall time's tail.
func (c *Comparison) families() []family {
	var walls, deciding, summary []*Row
	for i := range c.Summary {
		switch r := &c.Summary[i]; r.Name {
		case wallP99, wallMax:
		case wall:
			walls = append(walls, r)
		case busyTime, idleTime:
			deciding = append(deciding, r)
		default:
			summary = append(summary, r)
		}
	}
	gpu := append(pointers(c.Kernels), pointers(c.Classes)...)
	for i := range c.Counts {
		gpu = append(gpu, &c.Counts[i].Row)
	}
	return []family{
		{shareWall, walls}, {shareConclusion, deciding}, {shareSummary, summary}, {shareOperations, pointers(c.Operations)},
		{shareIdle, idlePointers(c.Idle)}, {shareWhy, idlePointers(c.IdleWhy)}, {shareGPU, gpu}, {shareAPI, pointers(c.API)},
	}
}

// weigh decides which changes are real and gives the rows their statuses. The rows
// share the false alarms after Holm, with weights: so a long list of kernels does
// not make the wall time less certain. The tail of the wall time has a share of its
// own, and what is rare is only asked where the tail changed, with that share.
func (c *Comparison) weigh() {
	c.spreadsAsMeans()
	c.asOperations()
	var all []*Row
	var p, weight []float64
	for _, f := range c.families() {
		rows := tested(f.rows)
		for _, r := range rows {
			all = append(all, r)
			p = append(p, c.chance(r))
			weight = append(weight, f.share/float64(len(rows)))
		}
	}
	for i, v := range stat.Holm(p, weight) {
		all[i].Adjusted = number(min(1, v/(1-sharePeak-shareTop)))
	}
	all = append(all, c.weighTail()...)
	p = p[:0]
	for _, r := range all {
		p = append(p, c.chance(r))
	}
	for i, q := range stat.BenjaminiHochberg(p) {
		all[i].QValue = number(q)
	}
	c.decide(all)
	for i := range c.Summary {
		if s := &c.Summary[i]; s.Status == New || s.Status == Removed {
			s.Status = ""
		}
	}
}

// decide gives rows their statuses. Small changes, which have none, are taken back where
// something about both runs together says that they may be the machine's: that is
// asked once there are any, as it goes through all steps. In short runs it is asked, too,
// where an interval excludes 0 without evidence: then that is no answer, either, where levels
// explain it, of which intervals know nothing.
func (c *Comparison) decide(rows []*Row) {
	var small, doubtful []*Row
	for _, r := range rows {
		r.decide(c.opt.Alpha, c.opt.Control)
		switch {
		case r.Significant && r.Status == "":
			small = append(small, r)
		case !r.Significant && r.Unknown == "" && r.large() == "" && r.P != nil && *r.P < 1-stat.Level:
			doubtful = append(doubtful, r)
		}
	}
	if len(small) == 0 && (len(doubtful) == 0 || min(c.base.samples.slots, c.target.samples.slots) >= fewOfState) {
		return
	}
	why, sure := c.onlyLarge()
	switch {
	case why == "":
		return
	case sure:
		small = append(small, doubtful...)
	}
	for _, r := range small {
		r.Significant, r.Unknown = false, why
	}
}

// spreadsAsMeans makes quantiles worth no more independent steps than the means of
// the same samples: what lies above a quantile may seem independent where the
// samples wander.
func (c *Comparison) spreadsAsMeans() {
	for mean, names := range map[string][]string{wall: {wallP50, wallP90, wallP99, wallMax}, gap: {gapP50, gapP90}} {
		for _, name := range names {
			if r := c.summary(name); r.P != nil {
				r.effective = min(r.effective, c.summary(mean).effective)
			}
		}
	}
}

// tested returns the rows that have a probability.
func tested(rows []*Row) []*Row {
	var some []*Row
	for _, r := range rows {
		if r.P != nil {
			some = append(some, r)
		}
	}
	return some
}

// chance is the probability that a row counts with: 1 where nothing can be told of
// it, which it says. Such a row keeps its share of the false alarms: where most are
// of that kind the others are likely to be, too.
func (c *Comparison) chance(r *Row) float64 {
	least := float64(leastEffective)
	if r.Name == wallP99 || r.Name == wallMax {
		least = leastOfTail
	}
	few := r.effective < min(least, float64(min(c.base.samples.slots, c.target.samples.slots))/2)
	if few && r.beyond != nil && r.large() != "" {
		r.P, r.CI = &r.beyond.P, &Interval{r.beyond.Lo, r.beyond.Hi}
		return r.beyond.P
	}
	if few {
		worth := "one that is independent"
		if n := int(r.effective); n > 1 {
			worth = fmt.Sprintf("%d independent ones", n)
		}
		r.Unknown = "neighbouring steps are so correlated that all together are worth " + worth
		return 1
	}
	return *r.P
}

// weighTail adjusts the probabilities of the wall time's tail and of what is rare,
// and returns the rows of the tail.
func (c *Comparison) weighTail() []*Row {
	var rows []*Row
	left := 0.0
	for _, one := range []struct {
		name  string
		share float64
	}{{wallMax, sharePeak}, {wallP99, shareTop}} {
		r := c.summary(one.name)
		if r.P == nil {
			continue
		}
		rows = append(rows, r)
		r.Adjusted = number(min(1, c.chance(r)/one.share))
		if *r.Adjusted <= c.opt.Alpha {
			left += one.share
		}
	}
	c.weighRare(left)
	return rows
}

// weighRare decides which changes of what is rare are real, with a share of the
// false alarms that is 0 where the wall time's tail did not change.
func (c *Comparison) weighRare(share float64) {
	p := make([]float64, len(c.Rare))
	for i := range c.Rare {
		if p[i] = math.NaN(); c.Rare[i].P != nil && c.Rare[i].Unknown == "" {
			p[i] = *c.Rare[i].P
		}
	}
	for i, v := range stat.Holm(p, nil) {
		r := &c.Rare[i]
		if math.IsNaN(v) {
			continue
		}
		if r.Adjusted = number(1); share > 0 {
			r.Adjusted = number(min(1, v/share))
		}
		if r.Significant = *r.Adjusted <= c.opt.Alpha; r.Significant {
			r.Status = r.status()
		}
	}
}

// status is what a changed rare operation is called, by its time per step.
func (r *Rare) status() string {
	a, b := r.Baseline.PerStep, r.Target.PerStep
	switch percent := 100 * (b - a) / a; {
	case r.Baseline.Steps == 0:
		return New
	case r.Target.Steps == 0:
		return Removed
	case percent > regressionPercent:
		return Regression
	case percent < improvedPercent:
		return Improved
	}
	return ""
}

// pointers are the rows in place, to be filled in.
func pointers(rows []Row) []*Row {
	p := make([]*Row, len(rows))
	for i := range rows {
		p[i] = &rows[i]
	}
	return p
}

// decide gives a row its status.
func (r *Row) decide(alpha float64, control string) {
	p := r.Adjusted
	if control == Discovery {
		p = r.QValue
	}
	if r.Significant = p != nil && *p <= alpha; r.Significant {
		r.Status = r.large()
	}
}

// large is the status that a row has if its change is real, "" where it is too small for
// one.
func (r *Row) large() string {
	switch {
	case r.Baseline == nil || *r.Baseline == 0 && *r.Target > 0:
		return New
	case r.Target == nil || *r.Target == 0 && *r.Baseline > 0:
		return Removed
	case r.DeltaPercent != nil && *r.DeltaPercent > regressionPercent:
		return Regression
	case r.DeltaPercent != nil && *r.DeltaPercent < improvedPercent:
		return Improved
	}
	return ""
}
