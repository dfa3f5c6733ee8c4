package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// tester fills in the rows and decides which changes have evidence.
type tester struct{ *Comparison }

// compareRows makes all rows, each with its own evidence, and controls the false alarms
// over all of them.
func (t *tester) compareRows() {
	figure, gaps := t.figureRow, func(s *side) *stat.Sequence { return &s.gaps }
	walls := func(s *side) *stat.Sequence { return &s.walls }
	t.Operations = t.sectionRows(operations)
	t.Summary = []Row{
		figure(wall), figure(busyTime), figure(idleTime), figure(hostIdle), figure(idleIn), figure(idleOut), figure(duration), figure(gap),
		t.quantileRow(gapP50, 0.5, gaps), t.quantileRow(gapP90, 0.9, gaps), figure(gpuTime),
		t.quantileRow(wallP50, 0.5, walls), t.quantileRow(wallP90, 0.9, walls), t.quantileRow(wallP99, 0.99, walls), t.quantileRow(wallMax, 1, walls),
	}
	if r := t.commonFactor(); r != nil {
		t.Summary = append(t.Summary, *r)
	}
	for _, name := range []string{eagerKernels, graphKernels, graphLaunches} {
		t.Counts = append(t.Counts, CountRow{figure(name)})
	}
	t.Kernels = t.sectionRows(kernels)
	t.Classes = t.sectionRows(classes)
	t.API = t.sectionRows(calls)
	t.Causes = t.idleRows(causeTimes)
	t.Idle = t.idleRows(idleTimes)
	t.compareWhys()
	t.Wait, t.Held = []IdleRow{}, []IdleRow{}
	any := func(there func(s *side) bool) bool { return slices.ContainsFunc(t.sides(), there) }
	if any(func(s *side) bool { return len(s.rows[waitTimes]) > 0 }) {
		t.Wait = t.idleRows(waitTimes)
		t.Held = t.idleRows(heldTimes)
		t.Summary = append(t.Summary, figure(waitTime), figure(workTime), figure(hostHeld), figure(imbalanceTime))
	}
	if any(func(s *side) bool { return s.figures[idleCopies].Mean > 0 }) {
		t.Summary = append(t.Summary, figure(idleCopies))
	}
	t.Rare = t.rareRows()
	t.NoiseFloor = t.Summary[0].Noise
	t.control()
}

// control decides which changes are significant: Benjamini and Hochberg over all rows
// that have a P. One whose Unknown is set is not significant, but keeps its place with a
// p-value of 1.
func (t *tester) control() {
	var all []*Evidence
	for _, r := range t.tested {
		all = append(all, &r.Evidence)
	}
	for r := range each(t.Rare) {
		all = append(all, &r.Evidence)
	}
	all = slices.DeleteFunc(all, func(e *Evidence) bool { return e.P == nil })
	p := make([]float64, len(all))
	for i, e := range all {
		if p[i] = *e.P; e.Unknown != "" {
			p[i] = 1
		}
	}
	for i, q := range stat.BenjaminiHochberg(p) {
		all[i].Adjusted, all[i].QValue = number(q), number(q)
		all[i].Significant = q <= alpha && all[i].Unknown == ""
	}
	for section, r := range t.tested {
		against := r.Relative != nil && *r.Relative**r.Delta < 0 // the operation is slower net of all host work, which is faster, or the other way round
		if r.Significant && !against {
			r.Status = status(r.Baseline, r.Target)
		}
		if section == "summary" && (r.Status == New || r.Status == Removed) {
			r.Status = ""
		}
	}
	for r := range each(t.Rare) {
		if r.Significant {
			r.Status = status(number(r.Baseline.PerStep), number(r.Target.PerStep))
		}
	}
}

// status returns the status of a change from a to b, "" if it is too small for one.
func status(a, b *float64) string {
	switch {
	case a == nil || *a == 0 && b != nil && *b > 0:
		return New
	case b == nil || *b == 0 && *a > 0:
		return Removed
	case 100*(*b-*a) > regressionPercent**a:
		return Regression
	case 100*(*b-*a) < improvedPercent**a:
		return Improved
	}
	return ""
}

// figureRow compares a figure of the summary, or a count.
func (t *tester) figureRow(name string) Row {
	r := Row{Name: name}
	base := t.base.figures[name]
	var target *stat.Estimate
	if t.target != nil {
		target = new(t.target.figures[name])
	}
	t.fill(&r, &base, target)
	return r
}

// sectionRows compares the rows of a section, the largest change first.
func (t *tester) sectionRows(section int) []Row {
	rows := []Row{}
	base, others := t.base.rows[section], map[string]*item{}
	if t.target != nil {
		others = t.target.rows[section]
	}
	for name, one := range base {
		rows = append(rows, t.row(section, name, one, others[name]))
	}
	for name, one := range others {
		if base[name] == nil {
			rows = append(rows, t.row(section, name, nil, one))
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// size is the sort key of rows.
func (r *Row) size() float64 {
	if r.Delta == nil && r.Baseline != nil {
		return *r.Baseline
	}
	return math.Abs(r.delta())
}

// row compares an item; one side may be nil.
func (t *tester) row(section int, name string, base, target *item) Row {
	r := Row{Name: name}
	t.fill(&r, base.part(whole), target.part(whole))
	if base != nil {
		r.BaselineCount = &base.count
	}
	if target != nil {
		r.TargetCount = &target.count
	}
	if section != operations && !isIdle(section) {
		return r
	}
	// For idle time these are its parts between and within steps.
	r.Self, r.Exposed = t.part(base.part(self), target.part(self)), t.part(base.part(exposed), target.part(exposed))
	if section != operations {
		return r
	}
	r.Ceiling = r.Exposed.Target
	if t.target == nil {
		r.Ceiling = r.Exposed.Baseline
	}
	r.Source = t.opt.Sources.Function(name)
	for was, now := range t.base.now {
		if now == name {
			r.Rename = was
		}
	}
	return r
}

// part compares a part of a row; one side may be nil.
func (t *tester) part(base, target *stat.Estimate) *Part {
	var r Row
	t.fill(&r, base, target)
	return &Part{r.Baseline, r.Target, r.Delta, r.CI}
}

// fill compares two values; a nil one counts as 0.
func (t *tester) fill(r *Row, base, target *stat.Estimate) {
	r.Baseline, r.Target = known(base), known(target)
	for _, v := range []*stat.Estimate{base, target} {
		if v != nil && v.Known() && (r.Noise == nil || *r.Noise < v.Apart()) {
			r.Noise = number(v.Apart())
		}
	}
	if t.target == nil {
		if half := base.Half(); base.Known() {
			r.BaselineCI = &Interval{base.Mean - half, base.Mean + half}
		}
		return
	}
	if base == nil {
		base = t.base.samples.nothing()
	}
	if target == nil {
		target = t.target.samples.nothing()
	}
	d := stat.Unknown(target.Mean - base.Mean)
	if t.Comparable {
		d = stat.Compare(base, target)
	}
	t.difference(r, d)
}

// difference fills in what is known of a change.
func (t *tester) difference(r *Row, d stat.Difference) {
	if r.Delta = number(d.Delta); r.Delta == nil {
		return
	}
	if r.P = number(d.P); r.P != nil {
		r.CI = &Interval{d.Lo, d.Hi}
	}
	r.Detectable = number(d.Detectable(alpha / 5))
	r.effective = d.Effective
	if r.Baseline != nil && *r.Baseline != 0 {
		r.DeltaPercent = number(100 * *r.Delta / *r.Baseline)
	}
	t.tell(&r.Evidence)
}

// tell says why a row is not testable, judged by its own steps. With several runs on
// both sides it is.
func (t *tester) tell(e *Evidence) {
	a, b := t.base.samples, t.target.samples
	if e.P == nil || a.runs > 1 && b.runs > 1 {
		return
	}
	switch n := min(a.slots, b.slots); {
	case n < fewSteps:
		e.Unknown = fmt.Sprintf("%d steps are too few", n)
	case e.effective < fewEffective:
		e.Unknown = fmt.Sprintf("neighbouring steps are so correlated that %d of them are worth %.0f independent ones; three runs per side would tell", n, e.effective)
	}
}

// number returns a pointer to v, nil if v is NaN or infinite.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// known returns the mean of an estimate, nil if there is none.
func known(v *stat.Estimate) *float64 {
	if v == nil {
		return nil
	}
	return number(v.Mean)
}
