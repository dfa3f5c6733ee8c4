package step

import "github.com/hostbound/hostbound/pkg/stat"

// Cursor finds steps by time. Steps are read block by block: it is for times that come nearly in
// order.
type Cursor struct {
	// Step is the number of a step, and Start and Until are its bounds; Before is when the one
	// before it ends. Past the last one, Step is how many there are, and Start and Until say nothing.
	Step                 int
	Before, Start, Until int64

	steps *Steps
}

// NewCursor returns a cursor at the first of some steps, of which there is one at least.
func NewCursor(steps *Steps) Cursor {
	c := Cursor{steps: steps}
	c.Load(0)
	return c
}

// Load goes to step k, or past the last one.
func (c *Cursor) Load(k int) {
	if c.Step = k; k >= c.steps.Len() {
		c.Before = c.Until
		return
	}
	s := c.steps.At(k)
	c.Start, c.Until = s.Start, s.Until
	if c.Before = c.Start; k > 0 {
		c.Before = c.steps.At(k - 1).Until
	}
}

// Over calls f with the steps in whose periods some of a span lies, and how much, and goes to the
// last of them.
func (c *Cursor) Over(s stat.Span, f func(step int, ns int64)) {
	for c.Find(s.From); c.Step < c.steps.Len() && c.Start < s.To; c.Load(c.Step + 1) {
		if ns := s.Clip(stat.Span{From: c.Start, To: c.Until}).Len(); ns > 0 {
			f(c.Step, ns)
		}
		if c.Until >= s.To {
			return
		}
	}
}

// Find goes to the first step that ends after t, or past the last one.
func (c *Cursor) Find(t int64) {
	for c.Step > 0 && c.Before > t {
		c.Load(c.Step - 1)
	}
	for c.Step < c.steps.Len() && c.Until <= t {
		c.Load(c.Step + 1)
	}
}
