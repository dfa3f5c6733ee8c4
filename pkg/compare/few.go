package compare

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
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
	return fmt.Sprintf("%d of %d steps, %s us each", e.Steps, e.Of, spell(*e.Mean))
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
		c.say("The slowest steps take longer: P99 %s to %s us, the longest %s to %s us.",
			spellNull(c.summary(wallP99).Baseline), spellNull(c.summary(wallP99).Target),
			spellNull(c.summary(wallMax).Baseline), spellNull(c.summary(wallMax).Target))
	}
	if c.tailSuspect() {
		c.say("The longest step takes %s us, before %s us: too few are like it to tell that from chance.",
			spell(*c.summary(wallMax).Target), spell(*c.summary(wallMax).Baseline))
	}
	for _, r := range c.inFewSteps(true) {
		c.say("In few steps: %s.", r)
	}
	for _, r := range c.inFewSteps(false) {
		c.say("In few steps, and too few to tell it from chance: %s; that is %s us per step, %.0f %% of the wall time before.",
			r, signed(r.more()), 100*r.more() / *c.Steady.Baseline.Wall)
	}
}

// fewHeadline is the conclusion where nothing changed in the mean.
func (c *Comparison) fewHeadline() string {
	switch proven, suspects := c.inFewSteps(true), c.inFewSteps(false); {
	case len(proven) > 0:
		return "in few steps: " + clean(proven[0].Name) + " in " + proven[0].Target.text()
	case c.tailGrown() && len(suspects) > 0:
		return fmt.Sprintf("in the slowest steps only: look at %s in %s", clean(suspects[0].Name), suspects[0].Target.text())
	case c.tailGrown():
		return fmt.Sprintf("in the slowest steps only: the longest takes %s us, before %s us",
			spellNull(c.summary(wallMax).Target), spellNull(c.summary(wallMax).Baseline))
	case len(suspects) > 0:
		return fmt.Sprintf("%s, but look at %s in %s: too few to tell", conclusionWords[None], clean(suspects[0].Name), suspects[0].Target.text())
	case c.tailSuspect():
		return fmt.Sprintf("%s, but look at the longest step, of %s us: too few are like it to tell", conclusionWords[None], spell(*c.summary(wallMax).Target))
	}
	return conclusionWords[None]
}

// writeFew writes what happens in few steps.
func (c *Comparison) writeFew(b *bytes.Buffer) {
	if len(c.Rare) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## In few steps\n\n")
	head := []string{"operation", "baseline", "target", "which steps", "evidence"}
	if c.target == nil {
		head = []string{"operation", "steps", "which"}
	}
	g := grid{head}
	for i := range min(len(c.Rare), maxRows) {
		switch r := &c.Rare[i]; {
		case c.target == nil:
			g = append(g, []string{clean(r.Name), r.Baseline.text(), r.Baseline.which()})
		default:
			g = append(g, []string{clean(r.Name), r.Baseline.text(), r.Target.text(), r.Target.which(), r.evidence()})
		}
	}
	g.write(b)
}

// evidence says whether a change of what is rare is real.
func (r *Rare) evidence() string {
	switch {
	case r.CannotTell != "" || r.P == nil:
		return "?"
	case !r.Significant:
		return "~"
	case r.Status != "":
		return r.Status
	}
	return "changed"
}
