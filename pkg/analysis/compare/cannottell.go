package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// What makes a comparison one in which much cannot be told.
const (
	// fewSteps is the number of steps of a single run below which nothing shows how
	// similar they are: only changes that have a status for their size are believed
	// there.
	fewSteps = 12
	// fewOfState is the number of steps of a single run below which a change of all
	// operations by one factor can be a state of the machine that outlasts the run, where it
	// is far beyond the noise of a step, or a machine that wanders, where steps
	// resemble their neighbours; and below which one row does not show how much they
	// do.
	fewOfState = 100
	// fewTails is the number of steps below which the report says that its tails are
	// not known.
	fewTails = 20
	// unlikeSteps is how many times as many steps one side may have.
	unlikeSteps = 10
	// leastEffective is the least number of independent steps that the correlated
	// ones of a row must be worth, or half of them where that is less: independent steps
	// are not worth their number, either. A run that rises in a straight line seems to be
	// worth between four and five. leastOfTail is the same of the tail, where events are
	// counted and the lowest coefficients say nothing of their number.
	leastEffective = 5
	leastOfTail    = 8
	// The machine may wander in a run of less than fewOfState steps that are worth
	// fewer independent ones than leastSteady, or than steadyShare of their number.
	steadyShare = 0.5
	leastSteady = 14
	// slowChance is how many times as probable as a false alarm may be it is at most
	// that slow changes of the machine explain a change of all operations.
	slowChance = 2
)

// onlyLarge says why changes too small for a status cannot be told, "" where they
// can; and whether that is clear without a change that seems to be real, so that
// intervals are no answer, either. How similar neighbouring steps are is in the intervals.
func (c *Comparison) onlyLarge() (why string, sure bool) {
	if why := c.short(); why != "" {
		return why, true
	}
	a, b := c.base.samples, c.target.samples
	if a.runs > 1 || b.runs > 1 {
		return "", false
	}
	apart, shared := stat.CompareLevels(a.largest(a.each(wallOf)), b.largest(b.each(wallOf)))
	n := min(a.slots, b.slots)
	switch {
	case shared:
		return "the wall time has levels that last many steps, and one run was for a while where the other is", true
	case n >= fewOfState || !c.everywhere():
		return "", false
	case apart:
		return fmt.Sprintf("in %d steps a change of all operations cannot be distinguished from a state of the machine that outlasts the run", n), true
	case c.summary(wall).effective < max(leastSteady, steadyShare*float64(n)), c.wanders():
		return fmt.Sprintf("in %d steps, each similar to the one before, a change of all operations cannot be distinguished from a machine that wanders", n), false
	}
	return "", false
}

// wanders tells whether the wall time's slow changes within the runs are enough to
// explain what it differs by between them.
func (c *Comparison) wanders() bool {
	a, b := c.base.figures[wall].est, c.target.figures[wall].est
	return stat.Slowly(&a, &b) > slowChance*c.opt.Alpha
}

// asOperations bounds what rows are worth by the time-weighted median of the
// operations in short runs: one row shows too little of how similar neighbouring steps
// are, all together show it. Kernels and calls are not asked: they are many, and have
// no part in the host's memory.
func (c *Comparison) asOperations() {
	if c.target == nil {
		return
	}
	a, b := c.base.samples, c.target.samples
	if a.runs > 1 || b.runs > 1 || min(a.slots, b.slots) >= fewOfState {
		return
	}
	rows := tested(pointers(c.Operations))
	slices.SortFunc(rows, func(a, b *Row) int { return cmp.Compare(a.effective, b.effective) })
	all, sum := 0.0, 0.0
	for _, r := range rows {
		all += r.time()
	}
	for _, r := range rows {
		if sum += r.time(); 2*sum > all {
			c.atMost(r.effective)
			return
		}
	}
}

// atMost bounds the number of independent steps that any row is worth.
func (c *Comparison) atMost(effective float64) {
	for _, f := range c.families() {
		for _, r := range f.rows {
			r.effective = min(r.effective, effective)
		}
	}
	for _, name := range []string{wallP99, wallMax} {
		r := c.summary(name)
		r.effective = min(r.effective, effective)
	}
}

// time is what an operation takes outside of nested ones in both runs, us per step.
func (r *Row) time() float64 {
	sum := 0.0
	for _, v := range []*float64{r.Self.Baseline, r.Self.Target} {
		if v != nil {
			sum += *v
		}
	}
	return sum
}

// everywhere tells whether most of the operations' time changed by about the same
// factor, as it does where the machine is in another state; an engine that changes
// does so in places. One operation is a place, however long it takes: where there are
// others, a quarter of their time must have changed so, too. It is false where there are no
// operations to ask.
func (c *Comparison) everywhere() bool {
	before, delta, longest := 0.0, 0.0, 0.0
	each := func(f func(base, delta float64)) {
		for i := range c.Operations {
			if s := c.Operations[i].Self; s.Baseline != nil && s.Target != nil {
				f(*s.Baseline, *s.Delta)
			}
		}
	}
	each(func(b, d float64) { before, delta, longest = before+b, delta+d, max(longest, b) })
	same, one := 0.0, 0.0 // one of the longest, if it changed so
	each(func(b, d float64) {
		if ratio := d * before / (b * delta); ratio > 0.5 && ratio < 2 {
			same += b
			if b == longest {
				one = b
			}
		}
	})
	return before > 0 && 2*same >= before && 4*(same-one) >= before-longest
}

// short says why small changes cannot be told, "" where they can.
func (c *Comparison) short() string {
	a, b := c.base.samples, c.target.samples
	if a.runs > 1 && b.runs > 1 {
		return ""
	}
	for _, s := range []*sampleTable{a, b} {
		if s.runs == 1 && s.slots < fewSteps {
			return fmt.Sprintf("in %d steps a change of this size cannot be distinguished from a state of the machine that outlasts the run", s.slots)
		}
	}
	if n, m := a.slots, b.slots; max(n, m) > unlikeSteps*min(n, m) {
		return fmt.Sprintf("with %d steps against %d a change of this size cannot be distinguished from what the shorter run has missed", n, m)
	}
	return ""
}
