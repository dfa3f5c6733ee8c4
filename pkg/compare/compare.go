package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/hostbound/hostbound/pkg/handoff"
	"github.com/hostbound/hostbound/pkg/stat"
)

// The statuses of a row. One without evidence of a change has none, however large
// its delta.
const (
	New        = "NEW"
	Removed    = "REMOVED"
	Regression = "REGRESSION"
	Improved   = "IMPROVED"
)

// A change of more than so many percent is a regression, of less an improvement.
const (
	regressionPercent = 50
	improvedPercent   = -30
)

// Ways to bound false alarms among the many rows.
const (
	// Family bounds the probability of one false alarm or more in the whole
	// comparison.
	Family = "family"
	// Discovery bounds the expected share of false alarms among those raised.
	Discovery = "discovery"
)

// MatchBatch compares steps of equal numbers of requests with one another.
const MatchBatch = "batch"

// Options says what to compare and when to believe it.
type Options struct {
	// Phase is Steady, Context, Generation or All; "" is Steady, with
	// MatchBatch it is All.
	Phase string
	// Match is "" or MatchBatch.
	Match string
	// Alpha bounds false alarms, 0 is 0.05.
	Alpha float64
	// Control is Family or Discovery; "" is Family.
	Control string
	// Sources tells what functions ranges come from; nil takes those built in.
	Sources *Sources
	// Verdict, where the caller knows one of the run that is to be optimised,
	// goes into the hand-off.
	Verdict *handoff.Handoff
}

// check completes the options.
func (o *Options) check() error {
	if o.Phase == "" {
		if o.Phase = Steady; o.Match == MatchBatch {
			o.Phase = All
		}
	}
	if o.Alpha == 0 {
		o.Alpha = 0.05
	}
	if o.Control == "" {
		o.Control = Family
	}
	if o.Sources == nil {
		o.Sources = DefaultSources()
	}
	switch {
	case !slices.Contains([]string{Steady, Context, Generation, All}, o.Phase):
		return fmt.Errorf("unknown phase %q: it is steady, context, generation or all", o.Phase)
	case o.Match != "" && o.Match != MatchBatch:
		return fmt.Errorf("unknown match %q: it is batch or nothing", o.Match)
	case o.Control != Family && o.Control != Discovery:
		return fmt.Errorf("unknown control %q: it is family or discovery", o.Control)
	case !(o.Alpha > 0 && o.Alpha < 1):
		return fmt.Errorf("alpha %v is not between 0 and 1", o.Alpha)
	}
	return nil
}

// Row is one line of the comparison. Its figures are us a step, of counts a
// number a step. What is not known, or is only on one side, is null.
type Row struct {
	Name         string    `json:"name"`
	Baseline     *float64  `json:"baseline_us"`
	Target       *float64  `json:"target_us"`
	Delta        *float64  `json:"delta_us"`
	DeltaPercent *float64  `json:"delta_percent"`
	CI           *Interval `json:"ci_us"`
	P            *float64  `json:"p_value"`
	// Adjusted is P for the number of rows, QValue the share of false alarms to
	// expect among the rows that have it or less.
	Adjusted    *float64 `json:"p_adjusted"`
	QValue      *float64 `json:"q_value"`
	Significant bool     `json:"significant"`
	Status      string   `json:"status"`
	// CannotTell says why a change cannot be told from chance, however large it is;
	// such a row has no status.
	CannotTell string `json:"cannot_tell,omitempty"`
	// Noise is how far halves of the same run are apart by chance, the larger of
	// both runs; Detectable the least change that would have been found.
	Noise      *float64 `json:"noise_floor_us"`
	Detectable *float64 `json:"detectable_us"`
	// Counts are occurrences a step; nil in the summary.
	BaselineCount *float64 `json:"baseline_count,omitempty"`
	TargetCount   *float64 `json:"target_count,omitempty"`

	// BaselineCI is the interval of Baseline where there is one run only.
	BaselineCI *Interval `json:"baseline_ci_us,omitempty"`

	// For operations only.
	Self    *Part  `json:"self,omitempty"`
	Exposed *Part  `json:"exposed,omitempty"`
	Rename  string `json:"likely_rename,omitempty"`
	// Ceiling is what a step would gain at most if the operation went to zero,
	// in us: what is exposed of it in the run to be optimised.
	Ceiling *float64 `json:"gain_ceiling_us,omitempty"`
	// Source is the function that the range comes from, where known.
	Source string `json:"source_function,omitempty"`

	effective float64 // how many independent steps the samples are worth
}

// Part is a part of an operation's time.
type Part struct {
	Baseline *float64  `json:"baseline_us"`
	Target   *float64  `json:"target_us"`
	Delta    *float64  `json:"delta_us"`
	CI       *Interval `json:"ci_us"`
}

// Comparison is the answer, for one run or two.
type Comparison struct {
	Steady Pair `json:"steady"`
	// Summary has rows for wall, busy, idle, duration, gap and gpu; Counts for
	// kernels and replays a step.
	Summary    []Row      `json:"summary"`
	Counts     []CountRow `json:"counts"`
	Operations []Row      `json:"operations"`
	Kernels    []Row      `json:"kernels"`
	Classes    []Row      `json:"kernel_classes"`
	API        []Row      `json:"api"`
	Idle       []IdleRow  `json:"idle"`
	Rare       []Rare     `json:"rare"`
	// NoiseFloor is that of the wall time.
	NoiseFloor *float64             `json:"noise_floor_us"`
	Phases     map[string]PhasePair `json:"phases"`
	Conclusion string               `json:"conclusion"`
	// Runs is how many runs each side has.
	Runs RunCount `json:"runs"`
	// Comparable is false where the runs cannot be compared: no row has a status
	// then, and the conclusion is not_comparable.
	Comparable  bool            `json:"comparable"`
	Reasons     []string        `json:"not_comparable"`
	Explanation []string        `json:"explanation"`
	Mitigations []string        `json:"mitigations"`
	Renames     []Rename        `json:"renames"`
	Method      Method          `json:"method"`
	Handoff     handoff.Handoff `json:"optimization_handoff"`
	Warnings    []string        `json:"warnings"`

	opt    Options
	base   *side
	target *side
	names  [2]string
}

// Method says how the comparison was made.
type Method struct {
	Phase   string  `json:"phase"`
	Match   string  `json:"match"`
	Level   float64 `json:"interval_level"`
	Alpha   float64 `json:"alpha"`
	Control string  `json:"control"`
	// Scope names the steps that all figures are of; Duration and Gap say what
	// these two are measured between, InterStep what idle time is between steps.
	Scope     string `json:"scope"`
	Duration  string `json:"duration"`
	Gap       string `json:"gap"`
	InterStep string `json:"idle_inter_step"`
}

// Compare compares two runs, or breaks one down where target is nil. An error is
// about the options.
func Compare(baseline, target *Run, opt Options) (*Comparison, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	c := &Comparison{
		opt: opt, Comparable: true, Phases: map[string]PhasePair{}, Conclusion: None,
		Reasons: []string{}, Explanation: []string{}, Mitigations: []string{}, Renames: []Rename{}, Warnings: []string{},
		Method: Method{
			Phase: opt.Phase, Match: opt.Match, Level: stat.Level, Alpha: opt.Alpha, Control: opt.Control, Scope: opt.Phase + " steps",
			Duration: bounds[baseline.Method][0], Gap: bounds[baseline.Method][1],
			InterStep: baseline.betweenSteps(),
		},
	}
	c.measure(baseline, target)
	c.examine()
	c.compareRows()
	c.weigh()
	c.comparePhases()
	c.renames()
	c.conclude()
	c.handoff()
	return c, nil
}

// measure takes the figures of both runs over the steps that the options say.
func (c *Comparison) measure(baseline, target *Run) {
	c.names[0] = baseline.Name
	steps := baseline.phase(c.opt.Phase)
	if target == nil {
		c.Runs = RunCount{Baseline: baseline.repeats}
		c.base = measure(steps, nil)
		c.Steady = Pair{Baseline: c.base.pair()}
		return
	}
	c.names[1] = target.Name
	c.Runs = RunCount{baseline.repeats, target.repeats}
	others := target.phase(c.opt.Phase)
	var w weights
	if c.opt.Match == MatchBatch {
		w = c.match(&steps, &others)
	}
	var both sync.WaitGroup
	both.Go(func() { c.base = measure(steps, w) })
	c.target = measure(others, w)
	both.Wait()
	c.Steady = Pair{c.base.pair(), c.target.pair()}
}

// match returns the weights of the batches that both sides have.
func (c *Comparison) match(a, b *choice) weights {
	w := weights{}
	x, y := a.batches(), b.batches()
	total := 0
	for batch, n := range x {
		if m := y[batch]; n >= 2 && m >= 2 && batch.ctx != unknown {
			w[batch] = float64(n + m)
			total += n + m
		}
	}
	for batch := range w {
		w[batch] /= float64(total)
	}
	if all := a.whole + b.whole; len(w) > 0 && 10*total < 9*all {
		c.warn("%.0f %% of the steps have numbers of requests that are rare on the other side, and are left out", 100-100*float64(total)/float64(all))
	}
	return w
}

func (c *Comparison) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// compareRows makes all rows.
func (c *Comparison) compareRows() {
	for _, name := range []string{wall, busyTime, idleTime, idleIn, idleOut, duration, gap, gapP50, gapP90, gpuTime, wallP50, wallP90, wallP99, wallMax} {
		c.Summary = append(c.Summary, c.summaryRow(name))
	}
	for _, name := range []string{eagerKernels, graphKernels, graphLaunches} {
		c.Counts = append(c.Counts, CountRow{c.figureRow(name)})
	}
	c.Operations = c.sectionRows(operations)
	c.Kernels = c.sectionRows(kernels)
	c.Classes = c.sectionRows(classes)
	c.API = c.sectionRows(calls)
	c.Idle = c.idleRows()
	c.Rare = c.rareRows()
	c.NoiseFloor = c.Summary[0].Noise
}

func (c *Comparison) summaryRow(name string) Row {
	switch name {
	case gapP50:
		return c.quantileRow(name, 0.5, gapsOf)
	case gapP90:
		return c.quantileRow(name, 0.9, gapsOf)
	case wallP50:
		return c.spreadRow(name, 0.5)
	case wallP90:
		return c.spreadRow(name, 0.9)
	case wallP99:
		return c.spreadRow(name, 0.99)
	case wallMax:
		return c.spreadRow(name, 1)
	}
	return c.figureRow(name)
}

// figureRow compares a figure of the summary or a count.
func (c *Comparison) figureRow(name string) Row {
	r := Row{Name: name}
	base := c.base.figures[name]
	if c.target == nil {
		c.fill(&r, &base, nil)
		return r
	}
	target := c.target.figures[name]
	c.fill(&r, &base, &target)
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
	if section == idleTimes {
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
		if d := c.base.sheet.est.Compare(&exactly, &base.est); !math.IsNaN(d.Lo) {
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
		d = c.base.sheet.est.Compare(&base.est, &target.est)
	}
	c.difference(r, d)
}

// nothing is the value of a row that a run does not have.
func (s *side) nothing() *value {
	clear(s.sheet.u)
	v := &value{}
	v.est, v.floor = s.sheet.uncertain(0)
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
