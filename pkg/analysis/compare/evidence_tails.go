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

// Rare is an operation that occurs in few steps, or takes most of its time in few: how
// often, and how long it then takes.
type Rare struct {
	Name     string      `json:"name"`     // of the operation
	Baseline *RareEvents `json:"baseline"` // never null
	Target   *RareEvents `json:"target"`   // null if there is only one run
	// Above is the time, us per step, above which a step counts; 0 if any step with the
	// operation does.
	Above    float64 `json:"above_us"`
	Evidence         // of the number of steps
}

// RareEvents counts the steps in which something happened, and how long it took.
type RareEvents struct {
	Steps int `json:"steps"` // in which it happened, on any rank
	Of    int `json:"of"`    // steps of the longest rank, summed over repeated runs
	// Mean is us in such a step; null if there is none. PerStep is us per step.
	Mean    *float64 `json:"us"`
	PerStep float64  `json:"per_step_us"`
	// At lists the first of these steps, by index among the chosen ones.
	At []int `json:"at"`

	marks stat.Marks
}

// quantileRow compares the p-quantile of a figure of each step; p = 1 is the maximum.
func (t *tester) quantileRow(name string, p float64, of func(*side) *stat.Sequence) Row {
	x := of(t.base)
	v := t.base.samples.quantile(x, p)
	r := Row{Name: name, Baseline: number(v.Mean)}
	if t.target == nil {
		return r
	}
	y := of(t.target)
	w := t.target.samples.quantile(y, p)
	if r.Target = number(w.Mean); r.Baseline == nil || r.Target == nil {
		return r
	}
	d := stat.Unknown(*r.Target - *r.Baseline)
	switch {
	case !t.Comparable:
	case len(t.base.run.repeats)+len(t.target.run.repeats) > 2:
		d = stat.Compare(&v, &w)
	default:
		d = t.compareQuantiles(x, y, p)
		d.Delta, d.Lo, d.Hi = d.Delta*us, d.Lo*us, d.Hi*us
	}
	t.difference(&r, d)
	if p < tailQuantile && r.P != nil && r.Unknown == "" && math.IsInf(d.Lo, -1) && math.IsInf(d.Hi, 1) {
		r.Unknown = "too few steps lie beyond this quantile to bound it"
	}
	return r
}

// compareQuantiles compares quantiles of single runs, in ns. Far quantiles have too few
// samples beyond them: there, steps are counted.
func (t *tester) compareQuantiles(x, y *stat.Sequence, p float64) stat.Difference {
	a, b := t.base.samples, t.target.samples
	d := a.est.CompareQuantiles(x, y, p)
	if p < tailQuantile {
		return d
	}
	wallA, wallB := t.base.figures[wall], t.target.figures[wall]
	together := int(math.Round(max(wallA.Steps/wallA.Effective(), wallB.Steps/wallB.Effective())))
	v, w := a.largest(a.each(wallOf)), b.largest(b.each(wallOf))
	tail := stat.CompareTops(v, w, p, together)
	d.P, d.Effective = tail.P, tail.Effective
	return d
}

// quantile estimates the p-quantile of x, which is in ns, in us, from its value in each
// run.
func (s *sampleTable) quantile(x *stat.Sequence, p float64) stat.Estimate {
	if s.runs == 1 {
		return s.ofRuns([]float64{stat.Quantile(x.Sorted(), p) * us})
	}
	var each []float64
	for _, bin := range x.Bins {
		each = append(each, stat.Quantile(slices.Sorted(slices.Values(bin)), p)*us)
	}
	return s.ofRuns(each)
}

// rareRows compares what happens in few steps.
func (t *tester) rareRows() []Rare {
	names := map[string]bool{}
	for _, s := range t.sides() {
		for name, one := range s.rows[operations] {
			if one.rare {
				names[name] = true
			}
		}
	}
	rows := []Rare{}
	for name := range names {
		rows = append(rows, t.rareRow(name))
	}
	slices.SortFunc(rows, func(a, b Rare) int { // what changed most first
		return cmp.Or(cmp.Compare(math.Abs(b.more()), math.Abs(a.more())), strings.Compare(a.Name, b.Name))
	})
	return rows
}

// rareRow compares one operation.
func (t *tester) rareRow(name string) Rare {
	r := Rare{Name: name}
	x := t.base.times(name)
	var y []float64
	if t.target != nil {
		y = t.target.times(name)
	}
	r.Above, _ = heaviest(slices.Concat(x, y))
	r.Baseline = events(x, r.Above)
	if t.target == nil {
		return r
	}
	r.Target = events(y, r.Above)
	if !t.Comparable {
		return r
	}
	d := stat.Unknown(0)
	if a, b := t.base.samples, t.target.samples; a.runs > 1 || b.runs > 1 {
		v, w := a.rate(r.Baseline.marks), b.rate(r.Target.marks)
		d = stat.Compare(&v, &w)
	} else {
		d = stat.CompareEvents(r.Baseline.marks, r.Target.marks, a.est.Together(r.Baseline.marks, r.Target.marks))
	}
	r.P, r.effective = number(d.P), d.Effective
	t.tell(&r.Evidence)
	return r
}

// times returns the time of an operation in each slot, us, on the rank with the longest.
func (s *side) times(name string) []float64 {
	t := newTimes(s.samples.n)
	s.sum(t, s.keys[operations][name])
	for p := range t.total {
		t.total[p] *= us
	}
	return s.samples.largest(t.total)
}

// heaviest returns the time above which a step is one of those with most of an
// operation's time, 0 if any step with the operation counts. times is by slot. rare
// reports whether these steps are few.
func heaviest(times []float64) (above float64, rare bool) {
	there := slices.DeleteFunc(slices.Clone(times), func(v float64) bool { return v <= 0 })
	least := few * float64(len(times))
	if float64(len(there)) < least {
		return 0, len(there) > 0
	}
	slices.Sort(there)
	sum, part := 0.0, 0.0
	for _, v := range slices.Backward(there) {
		sum += v
	}
	for k, v := range slices.Backward(there) {
		if part += v; part > explains*sum {
			return math.Nextafter(v, 0), float64(len(there)-k) < least
		}
	}
	return 0, false
}

// events counts the steps in which something took longer than above.
func events(x []float64, above float64) *RareEvents {
	e := &RareEvents{Of: len(x), At: []int{}, marks: make(stat.Marks, len(x))}
	sum := 0.0
	for t, v := range x {
		if v > above {
			e.marks[t] = true
			e.Steps++
			sum += v
			if len(e.At) < maxRows {
				e.At = append(e.At, t)
			}
		}
	}
	e.Mean, e.PerStep = number(sum/float64(e.Steps)), sum/float64(max(1, e.Of))
	return e
}

// rate estimates the share of marked steps from its value in each run.
func (s *sampleTable) rate(m stat.Marks) stat.Estimate {
	share, of := make([]float64, s.runs), make([]float64, s.runs)
	for t, yes := range m {
		of[s.runOf[t]]++
		if yes {
			share[s.runOf[t]]++
		}
	}
	for run := range share {
		share[run] /= max(1, of[run])
	}
	return s.ofRuns(share)
}

// more returns by how much it takes longer, us per step.
func (r *Rare) more() float64 {
	if r.Target == nil {
		return r.Baseline.PerStep
	}
	return r.Target.PerStep - r.Baseline.PerStep
}

// grown reports whether it takes longer beyond the noise.
func (r *Rare) grown() bool { return r.Significant && r.more() > 0 }

// String says in how many steps it happens and how long it takes, on both sides.
func (r *Rare) String() string {
	return fmt.Sprintf("%s in %s, before in %s", r.Name, r.Target.text(), r.Baseline.text())
}

// text says how often it happens and how long it takes.
func (e *RareEvents) text() string {
	if e.Mean == nil {
		return fmt.Sprintf("none of %d steps", e.Of)
	}
	return fmt.Sprintf("%d of %d steps, %s each", e.Steps, e.Of, report.Micros(*e.Mean))
}

// which lists the first steps.
func (e *RareEvents) which() string {
	first := strings.Trim(fmt.Sprint(e.At[:min(len(e.At), maxSaid)]), "[]")
	if e.Steps > maxSaid {
		first += " …"
	}
	return "steps " + first
}
