package compare

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
)

// suspectShare is the share of the wall time from which on what happens in few
// steps is spoken of, though there is no evidence that it is more than chance.
const suspectShare = 0.05

// grown tells whether something in few steps takes longer beyond the noise.
func (r *Rare) grown() bool { return r.Significant && r.more() > 0 }

// more is by how much it takes longer, us per step.
func (r *Rare) more() float64 {
	if r.Target == nil {
		return 0
	}
	return r.Target.PerStep - r.Baseline.PerStep
}

// String says in how many steps, how long and which.
func (r *Rare) String() string {
	s := fmt.Sprintf("%s in %s", r.Name, r.Target.text())
	if r.Target.Steps > 0 {
		s += " (" + r.Target.which() + ")"
	}
	return s + ", before in " + r.Baseline.text()
}

// text says how often something happens, and how long it takes then.
func (e *RareEvents) text() string {
	if e.Mean == nil {
		return fmt.Sprintf("none of %d steps", e.Of)
	}
	return fmt.Sprintf("%d of %d steps, %s each", e.Steps, e.Of, report.Micros(*e.Mean))
}

// which lists the first steps.
func (e *RareEvents) which() string {
	var parts []string
	for _, k := range e.At[:min(len(e.At), 5)] {
		parts = append(parts, strconv.Itoa(k))
	}
	if e.Steps > len(parts) {
		parts = append(parts, "…")
	}
	return "steps " + strings.Join(parts, ", ")
}

// inFewSteps is what takes longer in few steps, the most first; proven, or else so
// much of the wall time that it must be said although it is not.
func (c *Comparison) inFewSteps(proven bool) (found []*Rare) {
	for i := range c.Rare {
		switch r := &c.Rare[i]; {
		case r.grown() && proven:
			found = append(found, r)
		case !proven && !r.Significant && r.Target != nil && 2*r.Baseline.Steps < r.Target.Steps &&
			c.Steady.Baseline.Wall != nil && r.more() > suspectShare**c.Steady.Baseline.Wall:
			found = append(found, r)
		}
	}
	return found
}

// tailGrown tells whether the slowest steps take longer beyond the noise.
func (c *Comparison) tailGrown() bool {
	return c.summary(wallP99).grown() > 0 || c.summary(wallMax).grown() > 0
}

// tailSuspect tells whether the longest step takes much longer, though that may be
// chance.
func (c *Comparison) tailSuspect() bool {
	r := c.summary(wallMax)
	return !c.tailGrown() && r.P != nil && *r.P <= c.opt.Alpha && *r.Target > 1.5**r.Baseline
}

// explainFew says what happens in few steps.
func (c *Comparison) explainFew() {
	if c.tailGrown() {
		c.say("The slowest steps take longer: P99 %s to %s, the longest %s to %s.",
			micros(c.summary(wallP99).Baseline), micros(c.summary(wallP99).Target),
			micros(c.summary(wallMax).Baseline), micros(c.summary(wallMax).Target))
	}
	if c.tailSuspect() {
		c.say("The longest step takes %s, before %s: too few steps are as long to rule out chance.",
			micros(c.summary(wallMax).Target), micros(c.summary(wallMax).Baseline))
	}
	for _, r := range c.inFewSteps(true) {
		c.say("In few steps: %s.", r)
	}
	for _, r := range c.inFewSteps(false) {
		c.say("In few steps, too few to rule out chance: %s; that is %s per step, %s of the wall time before.",
			r, change(r.more()), report.Percent(r.more() / *c.Steady.Baseline.Wall))
	}
}

// unchanged is the conclusion where nothing grew in the mean, or nothing can be told of the
// wall time.
func (c *Comparison) unchanged() string {
	switch w := c.summary(wall); {
	case w.Unknown != "":
		return "unknown: cannot tell whether a step takes longer or shorter"
	case w.Significant && *w.Delta < 0:
		return fmt.Sprintf("none, a step takes %s less", report.Micros(-*w.Delta))
	case c.summary(wallP50).grown() > 0:
		return fmt.Sprintf("unknown: the median step takes %s longer, of the mean there is no evidence", report.Micros(*c.summary(wallP50).Delta))
	}
	return conclusionText[None]
}

// minPart is the share of the wall time before from which the growth of a part of a step is
// in the headline.
const minPart = 0.01

// grownPart names what made GPUs idle longer beyond the noise where the step as a whole does
// not take longer, "" where it is little or the step takes less: a cause, else an operation.
func (c *Comparison) grownPart() string {
	if w := c.summary(wall); w.Significant || c.Steady.Baseline.Wall == nil {
		return ""
	}
	least := minPart * *c.Steady.Baseline.Wall
	if grown := c.grownCauses(); len(grown) > 0 && grown[0].delta >= least {
		return fmt.Sprintf("%s (%s of idle time per step)", grown[0].title(), change(grown[0].delta))
	}
	for i := range c.Operations {
		r := &c.Operations[i]
		if r.grown() > 0 && r.Rename == "" && r.Exposed != nil && r.Exposed.Delta != nil && *r.Exposed.Delta >= least && c.ownWork(r) {
			return fmt.Sprintf("%s (%s of idle time per step)", r.Name, change(*r.Exposed.Delta))
		}
	}
	return ""
}

// mayBeAll tells whether the mean wall time may have grown, too, though that may be chance among
// so many comparisons.
func (c *Comparison) mayBeAll() bool {
	w := c.summary(wall)
	return w.CI != nil && w.CI[0] > 0
}

// fewHeadline is the conclusion where nothing changed in the mean.
func (c *Comparison) fewHeadline() string {
	proven, suspects, part := c.inFewSteps(true), c.inFewSteps(false), c.grownPart()
	switch {
	case len(proven) > 0:
		return "in few steps: " + proven[0].Name + " in " + proven[0].Target.text()
	case c.tailGrown() && c.mayBeAll():
		headline := fmt.Sprintf("unknown: the slowest steps take longer, the longest %s, before %s, and perhaps all do",
			micros(c.summary(wallMax).Target), micros(c.summary(wallMax).Baseline))
		if part != "" {
			headline += ": see " + part
		}
		return headline
	case c.tailGrown() && len(suspects) > 0:
		return fmt.Sprintf("in the slowest steps only: see %s in %s", suspects[0].Name, suspects[0].Target.text())
	case c.tailGrown():
		return fmt.Sprintf("in the slowest steps only: the longest takes %s, before %s",
			micros(c.summary(wallMax).Target), micros(c.summary(wallMax).Baseline))
	case part != "":
		return c.unchanged() + ", but see " + part
	case len(suspects) > 0:
		return fmt.Sprintf("%s, but see %s in %s: too few to be sure", c.unchanged(), suspects[0].Name, suspects[0].Target.text())
	case c.tailSuspect():
		return fmt.Sprintf("%s, but see the longest step, of %s: too few are as long to be sure", c.unchanged(), micros(c.summary(wallMax).Target))
	}
	return c.unchanged()
}

// evidence says whether a change of what is rare is real, as that of a Row does.
func (r *Rare) evidence() string { return evidence(r.P, r.Unknown, r.Significant, r.Status) }
