package compare

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
)

// step returns the sentence about the change of the step.
func (c *Comparison) step() string {
	f := &c.finding
	delta := change(f.wall.delta())
	switch {
	case f.changed && f.sign > 0:
		return fmt.Sprintf("Slower by %s. Root cause: %s", c.amount(), c.causeText())
	case f.changed:
		return fmt.Sprintf("Faster by %s. Cause: %s", c.amount(), c.causeText())
	case f.wall.Unknown != "":
		return fmt.Sprintf("Cannot tell whether a step takes longer or shorter (%s): %s", delta, f.wall.Unknown)
	case *c.Direction == Same:
		return fmt.Sprintf("Same step time, within %s (%s)", report.Percent(sameShare), delta)
	}
	said := fmt.Sprintf("No significant change in step time (%s)", delta)
	if *c.Direction != Unclear { // shown by its own interval, but not significant among all rows
		said += fmt.Sprintf(", though its own 95 %% interval is %s: more runs would tell", interval(f.wall.CI))
	}
	return said
}

// beside returns what to add if the step did not change, "" for nothing. That is what
// happens more often, a slower tail, or the idle time or operation that grew.
func (c *Comparison) beside() string {
	if said := c.fewSteps(); len(said) > 0 {
		return said[0]
	}
	for _, r := range slices.Concat(rowsOf(c.Causes), rowsOf(c.Operations)) {
		if c.worthALine(r.grown()) {
			return fmt.Sprintf("but %s %s", causeTitle(r.Name), change(r.grown()))
		}
	}
	return ""
}

// slowerTail returns the row of the slowest steps if they take longer, else nil.
func (c *Comparison) slowerTail() *Row {
	for _, name := range []string{wallMax, wallP99} {
		if r := c.summary(name); r.grown() > 0 {
			return r
		}
	}
	return nil
}

// headline returns the answer in one line.
func (c *Comparison) headline() string {
	switch {
	case c.target == nil && c.base.samples.n == 0:
		return "No figures: " + c.Reasons[0]
	case c.target == nil:
		return "Where a step's time goes: " + c.Labels[0]
	case !c.Comparable:
		return "Not comparable: " + c.Reasons[0]
	}
	said := ""
	if c.OtherModel != "" {
		said = "Caution, " + c.OtherModel + ". "
	}
	said += c.step()
	if c.apart() {
		said += fmt.Sprintf("; the mean changed by %s", change(c.summary(wall).delta()))
	}
	if more := c.beside(); more != "" && !c.finding.changed {
		said += "; " + more
	}
	return said
}

// worthALine reports whether a change is more than what counts as the same wall time.
func (c *Comparison) worthALine(us float64) bool {
	return c.Steady.Baseline.Wall != nil && us > sameShare**c.Steady.Baseline.Wall
}

// amount returns by how much a step changed.
func (c *Comparison) amount() string {
	r := c.finding.wall
	s := fmt.Sprintf("%s per step (%s", report.Micros(r.delta()*c.finding.sign), report.Change(*r.DeltaPercent/100))
	if r.Name == wallP50 {
		s += ", by the median"
	}
	return s + ")"
}

// causeText returns the conclusion with what explains most of it.
func (c *Comparison) causeText() string {
	text := conclusionText[c.Conclusion].slower
	if c.finding.sign < 0 {
		text = conclusionText[c.Conclusion].faster
	}
	if g := c.mainWhy(); g != nil && c.finding.sign > 0 {
		return fmt.Sprintf("%s: %s (%s)", text, g.whyTitle(), change(g.grown()))
	}
	for k, n := range c.finding.named[:min(2, len(c.finding.named))] {
		text += fmt.Sprintf("%s%s (%s)", []string{": ", ", "}[k], n.title, change(n.row.delta()))
	}
	if f := &c.finding; len(f.named) > 0 && f.explained < explains {
		text += fmt.Sprintf("; that is %s of it", report.Percent(f.explained))
	}
	return text
}
