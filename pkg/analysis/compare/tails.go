package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
)

// The rows of the summary about how the step's wall time is spread.
const (
	wallP50 = "wall_p50"
	wallP90 = "wall_p90"
	wallP99 = "wall_p99"
	wallMax = "wall_max"
)

// rareSteps is the share of the steps below which what happens in them is rare.
const rareSteps = 0.1

// maxListed is how many steps a rare event is listed with.
const maxListed = 20

// Rare is an operation that comes in few steps, or takes most of its time in few
// of them: how often, and how long then.
type Rare struct {
	Name     string      `json:"name"`     // of the operation
	Baseline *RareEvents `json:"baseline"` // never null
	Target   *RareEvents `json:"target"`   // null where there is one run only
	// Above is the time in us per step from which on a step counts; 0 for any in
	// which the operation comes.
	Above float64 `json:"above_us"`
	// P is the probability of numbers of steps, or durations, as far apart where
	// nothing differs; P, Adjusted, Status and Unknown are as in Row.
	P           *float64 `json:"p_value"`
	Adjusted    *float64 `json:"p_adjusted"`
	Significant bool     `json:"significant"`
	Status      string   `json:"status"`
	Unknown     string   `json:"cannot_tell,omitempty"`
}

// RareEvents is in how many steps of how many something happened, and what it took
// then.
type RareEvents struct {
	Steps int `json:"steps"` // in which it did, on any rank
	Of    int `json:"of"`    // steps of the longest rank, of repeated runs of all of them
	// Mean is us in such a step; null where there is none. PerStep is us per step.
	Mean    *float64 `json:"us"`
	PerStep float64  `json:"per_step_us"`
	// At lists the first of these steps, by their number within the chosen ones.
	At []int `json:"at"`

	marks stat.Marks
	times []float64
}

// spreadRow compares a quantile of the wall time, or its maximum (p = 1).
func (c *Comparison) spreadRow(name string, p float64) Row {
	r := c.quantileRow(name, p, func(s *side) *stat.Sequence { return &s.walls })
	if p < 0.95 || r.P == nil || c.base.samples.runs > 1 || c.target.samples.runs > 1 {
		return r
	}
	// So far out the shares of samples say nothing: events are counted.
	a, b := c.base.samples, c.target.samples
	compare := a.est.CompareTops
	if p == 1 {
		compare = a.est.ComparePeaks
	}
	d := compare(a.largest(a.each(wallOf)), b.largest(b.each(wallOf)), c.memory())
	r.P, r.Detectable = number(twoSided(d.P, *r.Delta)), nil
	return r
}

// twoSided is the probability p of a difference on either side, where most of the
// share of false alarms is for one that is an increase.
func twoSided(p, delta float64) float64 {
	part := 1 - shareSlower
	if delta > 0 {
		part = shareSlower
	}
	return min(1, p/2/part)
}

// memory is how many steps after a step those are that resemble it, by the wall
// time: 0 where steps are independent, but 1 in runs too short to show that.
func (c *Comparison) memory() int {
	a, b := c.base.figures[wall].est, c.target.figures[wall].est
	d := c.base.samples.est.Compare(&a, &b)
	if !(d.Effective >= 1) {
		return 0
	}
	n, least := min(c.base.samples.slots, c.target.samples.slots), 0
	if n < fewOfState {
		least = 1
	}
	return max(least, int(math.Round(float64(n)/d.Effective))-1)
}

// quantileRow compares quantiles of a figure of each step.
func (c *Comparison) quantileRow(name string, p float64, of func(*side) *stat.Sequence) Row {
	x := of(c.base)
	r := Row{Name: name, Baseline: quantile(x, p)}
	if c.target == nil {
		return r
	}
	y := of(c.target)
	r.Target = quantile(y, p)
	if r.Baseline == nil || r.Target == nil {
		return r
	}
	d := stat.Unknown(math.NaN())
	if c.Comparable && len(c.base.samples.weight) == 1 && len(c.target.samples.weight) == 1 {
		d = c.compareQuantiles(x, y, p)
	}
	d.Delta = *r.Target - *r.Baseline
	c.difference(&r, d)
	return r
}

// compareQuantiles compares quantiles of x and y, in us.
func (c *Comparison) compareQuantiles(x, y *stat.Sequence, p float64) stat.Difference {
	a, b := c.base.samples, c.target.samples
	if a.runs == 1 && b.runs == 1 {
		d := a.est.CompareQuantiles(x, y, p)
		d.Lo, d.Hi = d.Lo*us, d.Hi*us
		return d
	}
	v, w := a.quantileOfRuns(x, p), b.quantileOfRuns(y, p)
	d := a.est.Compare(&v, &w)
	// What is compared is means of the runs' quantiles; what is shown, the
	// quantiles of all steps.
	delta := *quantile(y, p) - *quantile(x, p)
	d.Lo, d.Hi = min(d.Lo, delta), max(d.Hi, delta)
	return d
}

// quantileOfRuns estimates a quantile, in us, from what it is in each run.
func (s *sampleTable) quantileOfRuns(x *stat.Sequence, p float64) stat.Estimate {
	if s.runs == 1 {
		return stat.Constant(*quantile(x, p), s.bins, float64(s.slots))
	}
	return s.perRun(func(run int) float64 {
		one := stat.Sequence{Bins: x.Bins[run : run+1]}
		if q := stat.Quantile(one.Sorted(), p); !math.IsNaN(q) {
			return q * us
		}
		return 0
	})
}

// rareRows compares what happens in few steps.
func (c *Comparison) rareRows() []Rare {
	names := map[string]bool{}
	for _, s := range c.sides() {
		for name, one := range s.rows[operations] {
			if one.rare {
				names[name] = true
			}
		}
	}
	rows := []Rare{}
	for name := range names {
		rows = append(rows, c.rareRow(name))
	}
	slices.SortFunc(rows, func(a, b Rare) int { // what changed most first
		return cmp.Or(cmp.Compare(b.size(), a.size()), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// size is what rare operations are sorted by, us per step.
func (r *Rare) size() float64 {
	of := func(e *RareEvents) float64 {
		if e == nil {
			return 0
		}
		return e.PerStep
	}
	return math.Abs(of(r.Target) - of(r.Baseline))
}

// rareRow compares one operation.
func (c *Comparison) rareRow(name string) Rare {
	r := Rare{Name: name}
	x := c.base.times(name)
	var y []float64
	if c.target != nil {
		y = c.target.times(name)
	}
	r.Above = heavy(x, y)
	r.Baseline = events(x, r.Above)
	if c.target == nil {
		return r
	}
	r.Target = events(y, r.Above)
	if c.Comparable {
		c.compareEvents(&r)
	}
	return r
}

// times is what an operation took in each slot on the rank on which it took
// longest, in us.
func (s *side) times(name string) []float64 {
	total := make([]float64, s.samples.n)
	if id, ok := s.run.names[operations].ids[name]; ok {
		s.each(operations, int(id), func(p int32, e entry) { total[p] += float64(e.ns) * us })
	}
	return s.samples.largest(total)
}

// heavy is the time from which on a step is one of the few that have most of an
// operation's time, 0 where any step in which it comes is.
func heavy(x, y []float64) float64 {
	var all []float64
	for _, of := range [][]float64{x, y} {
		for _, v := range of {
			if v > 0 {
				all = append(all, v)
			}
		}
	}
	if float64(len(all)) < rareSteps*float64(len(x)+len(y)) {
		return 0
	}
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, half := 0.0, 0.0
	for _, v := range all {
		sum += v
	}
	for _, v := range all {
		if half += v; 2*half > sum {
			return math.Nextafter(v, 0)
		}
	}
	return 0
}

// events is what happened in the steps in which something took longer than above.
func events(x []float64, above float64) *RareEvents {
	e := &RareEvents{Of: len(x), At: []int{}, marks: make(stat.Marks, len(x))}
	sum := 0.0
	for t, v := range x {
		if v > above {
			e.marks[t] = true
			e.times = append(e.times, v)
			sum += v
			if len(e.At) < maxListed {
				e.At = append(e.At, t)
			}
		}
	}
	e.Steps = len(e.times)
	e.Mean, e.PerStep = number(sum/float64(e.Steps)), sum/float64(max(1, e.Of))
	return e
}

// compareEvents says whether events come more often or take longer.
func (c *Comparison) compareEvents(r *Rare) {
	a, b := r.Baseline, r.Target
	if x, y := c.base.samples, c.target.samples; x.runs > 1 || y.runs > 1 {
		v, w := x.rateOfRuns(a.marks), y.rateOfRuns(b.marks)
		r.P = number(x.est.Compare(&v, &w).P)
		return
	}
	often := c.base.samples.est.CompareEvents(a.marks, b.marks)
	p := twoSided(often.P, often.Delta) / shareOften
	if long := stat.RankSum(a.times, b.times); !math.IsNaN(long) {
		p = min(p, long/(1-shareOften))
	}
	r.P = number(min(1, p))
	if n := a.Steps + b.Steps; n > 0 && twoSided(stat.LeastOfEvents(n, a.Of, b.Of), 1)/shareOften > c.opt.Alpha*sharePeak {
		r.Unknown = fmt.Sprintf("%s in %d steps", report.Counted(n, "event"), a.Of+b.Of)
	}
}

// rateOfRuns estimates the share of marked steps, of several runs.
func (s *sampleTable) rateOfRuns(m stat.Marks) stat.Estimate {
	share := func(run int32) float64 {
		n, of := 0.0, 0.0
		for t, yes := range m {
			if run < 0 || s.runOf[t] == run {
				of++
				if yes {
					n++
				}
			}
		}
		return n / max(1, of)
	}
	if s.runs == 1 {
		return stat.Constant(share(-1), s.bins, float64(s.slots))
	}
	return s.perRun(func(run int) float64 { return share(int32(run)) })
}

// fewAtMost tells whether most of an operation's time lies in few steps, or it
// comes in few. Of times, by slot, nothing is left.
func fewAtMost(times []float64) bool {
	all, there, sum := len(times), times[:0], 0.0
	for _, v := range times {
		if v > 0 {
			there = append(there, v)
			sum += v
		}
	}
	few := rareSteps * float64(all)
	if float64(len(there)) < few {
		return len(there) > 0
	}
	slices.Sort(there)
	half := 0.0
	for n := range there {
		if float64(n+1) >= few {
			return false
		}
		if half += there[len(there)-1-n]; 2*half > sum {
			return true
		}
	}
	return false
}
