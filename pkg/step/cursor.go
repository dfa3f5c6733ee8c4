package step

import "github.com/hostbound/hostbound/pkg/stat"

// Cursor finds steps by time. Steps are read block by block, so times should come nearly
// in order.
type Cursor struct {
	// Step is the index of the current step, Start and Until are the bounds of its
	// period, and Before is the end of the step before it. After the last step, Step is
	// the number of steps, and Start and Until are stale. Times are in ns.
	Step                 int
	Before, Start, Until int64

	steps *Steps
}

// NewCursor returns a cursor at the first step. There must be at least one.
func NewCursor(steps *Steps) Cursor {
	c := Cursor{steps: steps}
	c.Load(0)
	return c
}

// Load moves to step k, or past the last one.
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

// Over calls f with each step whose period overlaps the span, and the length of the
// overlap in ns. It leaves the cursor at the last of them.
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

// Find moves to the first step whose period ends after t, or past the last one.
func (c *Cursor) Find(t int64) {
	for c.Step > 0 && c.Before > t {
		c.Load(c.Step - 1)
	}
	for c.Step < c.steps.Len() && c.Until <= t {
		c.Load(c.Step + 1)
	}
}
