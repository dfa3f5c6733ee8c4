package compare

import (
	"bytes"
	"fmt"
	"slices"
)

// writeIdle writes the idle time by cause and site. Sites of little are left out.
func (c *Comparison) writeIdle(b *bytes.Buffer) {
	rows := slices.DeleteFunc(slices.Clone(c.Idle), func(r IdleRow) bool { return !c.worthSaying(&r) })
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Idle time by cause (%s steps)\n\n", c.opt.Phase)
	head := []string{"us per step", "time", "between steps", "95 % interval"}
	if c.target != nil {
		head = []string{"us per step", "baseline", "target", "delta", "%", "95 % interval", "between steps", "evidence"}
	}
	g := grid{head}
	for i := range min(len(rows), maxRows) {
		r := &rows[i]
		line := c.cells(&r.Row, clean(r.title()))
		last := line[len(line)-1]
		g = append(g, append(line[:len(line)-1:len(line)-1], part(r.InterStep), last))
	}
	g.write(b)
	if n := len(c.Idle) - min(len(rows), maxRows); n > 0 {
		fmt.Fprintf(b, "\n%d more causes and sites in --format json.\n", n)
	}
}

// worthSaying tells whether a row has, or changed by, a hundredth of the idle time.
func (c *Comparison) worthSaying(r *IdleRow) bool {
	large := func(v *float64, f *Figures) bool { return v != nil && f != nil && f.Idle != nil && *v >= *f.Idle/100 }
	return large(r.Baseline, c.Steady.Baseline) || large(r.Target, c.Steady.Target)
}
