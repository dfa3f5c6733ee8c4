package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// compareRows makes all rows.
func (c *Comparison) compareRows() {
	figure, gaps := c.figureRow, func(s *side) *stat.Sequence { return &s.gaps }
	c.Summary = []Row{
		figure(wall), figure(busyTime), figure(idleTime), figure(idleIn), figure(idleOut), figure(duration), figure(gap),
		c.quantileRow(gapP50, 0.5, gaps), c.quantileRow(gapP90, 0.9, gaps), figure(gpuTime),
		c.spreadRow(wallP50, 0.5), c.spreadRow(wallP90, 0.9), c.spreadRow(wallP99, 0.99), c.spreadRow(wallMax, 1),
	}
	for _, name := range []string{eagerKernels, graphKernels, graphLaunches} {
		c.Counts = append(c.Counts, CountRow{c.figureRow(name)})
	}
	c.Operations = c.sectionRows(operations)
	c.Kernels = c.sectionRows(kernels)
	c.Classes = c.sectionRows(classes)
	c.API = c.sectionRows(calls)
	c.Idle = c.idleRows(idleTimes)
	c.compareWhys()
	c.Rare = c.rareRows()
	c.NoiseFloor = c.Summary[0].Noise
}

// figureRow compares a figure of the summary or a count.
func (c *Comparison) figureRow(name string) Row {
	r := Row{Name: name}
	base := c.base.figures[name]
	var target *value
	if c.target != nil {
		target = new(c.target.figures[name])
	}
	c.fill(&r, &base, target)
	return r
}

// sectionRows compares the rows of a section, the largest change first.
func (c *Comparison) sectionRows(section int) []Row {
	rows := []Row{}
	for name, base := range c.base.rows[section] {
		var target *item
		if c.target != nil {
			target = c.target.rows[section][name]
		}
		rows = append(rows, c.row(section, name, base, target))
	}
	if c.target != nil {
		for name, target := range c.target.rows[section] {
			if c.base.rows[section][name] == nil {
				rows = append(rows, c.row(section, name, nil, target))
			}
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// size is what rows are sorted by.
func (r *Row) size() float64 {
	switch {
	case r.Delta != nil:
		return math.Abs(*r.Delta)
	case r.Baseline != nil:
		return *r.Baseline
	}
	return 0
}

// row compares an item, one side of which may be missing.
func (c *Comparison) row(section int, name string, base, target *item) Row {
	r := Row{Name: name}
	pick := func(of func(*item) *value) (a, b *value) {
		if base != nil {
			a = of(base)
		}
		if target != nil {
			b = of(target)
		}
		return a, b
	}
	a, b := pick(func(i *item) *value { return &i.value })
	c.fill(&r, a, b)
	if base != nil {
		r.BaselineCount = &base.count
	}
	if target != nil {
		r.TargetCount = &target.count
	}
	if section >= idleTimes {
		r.Self, r.Exposed = c.part(pick(inter)), c.part(pick(inStep))
	}
	if section != operations {
		return r
	}
	r.Self = c.part(pick(func(i *item) *value { return &i.self }))
	r.Exposed = c.part(pick(func(i *item) *value { return &i.exposed }))
	switch {
	case target != nil:
		r.Ceiling = &target.exposed.mean
	case c.target == nil:
		r.Ceiling = &base.exposed.mean
	}
	r.Source = c.opt.Sources.Function(name)
	return r
}

// part compares a part of an operation.
func (c *Comparison) part(base, target *value) *Part {
	var r Row
	c.fill(&r, base, target)
	return &Part{r.Baseline, r.Target, r.Delta, r.CI}
}

// fill compares two values, of which the missing one is 0.
func (c *Comparison) fill(r *Row, base, target *value) {
	r.Baseline, r.Target = known(base), known(target)
	r.Noise = floor(base, target)
	if c.target == nil {
		exactly := stat.Constant(0, base.est.N, base.est.Steps)
		if d := c.base.samples.est.Compare(&exactly, &base.est); !math.IsNaN(d.Lo) {
			r.BaselineCI = &Interval{d.Lo, d.Hi}
		}
		return
	}
	if base == nil {
		base = c.base.nothing()
	}
	if target == nil {
		target = c.target.nothing()
	}
	delta := target.mean - base.mean
	if math.IsNaN(delta) {
		return
	}
	d := stat.Unknown(delta)
	if c.Comparable {
		d = c.base.samples.est.Compare(&base.est, &target.est)
	}
	c.difference(r, d)
	if d, ok := stat.Beyond(&base.est, &target.est); ok && c.Comparable {
		r.beyond = &d
	}
}

// nothing is the value of a row that a run does not have.
func (s *side) nothing() *value {
	clear(s.samples.u)
	v := &value{}
	v.est, v.floor = s.samples.uncertain(0)
	return v
}

// difference fills in what is known of a change.
func (c *Comparison) difference(r *Row, d stat.Difference) {
	r.Delta = number(d.Delta)
	if r.P = number(d.P); r.P != nil {
		r.CI = &Interval{d.Lo, d.Hi}
	}
	r.Detectable = number(d.Detectable(0.01))
	r.effective = d.Effective
	r.percent()
}

// percent fills in the change in percent.
func (r *Row) percent() {
	if r.Baseline != nil && r.Delta != nil && *r.Baseline != 0 {
		r.DeltaPercent = number(100 * *r.Delta / *r.Baseline)
	}
}

// number returns a pointer to v, nil where it is none.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// known is the mean of a value, nil where there is none.
func known(v *value) *float64 {
	if v == nil {
		return nil
	}
	return number(v.mean)
}

// floor is the larger noise floor of two values.
func floor(a, b *value) *float64 {
	most := math.NaN()
	for _, v := range []*value{a, b} {
		if v != nil && !(v.floor <= most) {
			most = v.floor
		}
	}
	return number(most)
}

// CountRow is a row whose figures are counts.
type CountRow struct{ Row }
