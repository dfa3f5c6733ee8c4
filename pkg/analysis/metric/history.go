// History says whether the last of a series of runs is worse than those before.
//
// # The rows
//
// A run has a row for each scope and metric: what it is called (run, label), what it is
// of (version, commit, further tags as JSON), when it was recorded (time_ns, UTC since
// 1970), and the figure: value, its interval over the run's steps (low, high), and the
// times that it is made of (numerator_ns, denominator_ns). Beside the ratios of package
// metric there are step_p50_us and step_p90_us of each phase. What is not known is null.
//
// # The test
//
// A series is the figure of a scope in the last runs, oldest first, the run in question
// last. The time per step is tested as its logarithm; a ratio as the time that it is of
// each step, in shares of the usual step, so that a ratio of steps that became shorter is
// not worse for it. Whether the level of the run in question lies more than the least rise
// above that before, since a step or a slow drift at any of the last places, is
// stat.LastRise: a prediction interval by Student's t for the night of the change, found
// better with each night. The noise from start to start is that of the runs themselves,
// and no fixed threshold.
//
// Half of the chance Alpha is for the time per step, the rest for all other series, by
// Holm's method with weights: a night on which nothing changed is called worse with at most that chance,
// where runs are independent and their noise is normal. Because a rise counts only beyond
// the least one, it is much less where runs vary by less than that: scripts/accuracy has the
// figures (section nights). Runs that depend on one another (a machine that gets warmer, a
// load that grows) are a change, and are called one.
//
// A change that is meant to stay is acknowledged by naming the run that it began with
// (Options.Accept): a level begins there. Earlier runs then say how much runs vary, not what
// the level is, so that the next night is tested at once.

package metric

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Metrics of runs beside the ratios of package metric: quantiles of a step's period.
const (
	StepP50 = "step_p50_us" // the median, us
	StepP90 = "step_p90_us" // the 90th percentile, us
)

// Tested are the metrics of which more is worse, and none of which is another one.
var Tested = []string{GPUIdle, Launch, PrepImpact, StepP50}

// Key names a series.
type Key struct {
	Scope, Metric string // as in the rows
}

// HistoryRun is the figures of a run.
type HistoryRun struct {
	// Name is what it is called, Time when it was recorded, in ns since 1970, 0 where that
	// is not known.
	Name string
	Time int64
	// Values are its figures that are known.
	Values map[Key]float64
	row    int // the first of a table that it was read from
}

// HistoryOptions say what a run is compared with.
type HistoryOptions struct {
	Last  int     // runs before it, 0: DefaultLast
	Alpha float64 // chance of a false alarm, 0: DefaultAlpha
	Least float64 // least rise, as a share of a step, 0: DefaultLeast
	// Accept has the names of runs with which a level began that is the new normal.
	Accept []string
}

// HistoryResult says whether a run is worse than those before.
type HistoryResult struct {
	// Runs is the number of runs that it was compared with.
	Runs int `json:"runs"`
	// Worse tells that some series rose; Unknown says why that is not known, "" where it
	// is.
	Worse   bool   `json:"worse"`
	Unknown string `json:"cannot_tell,omitempty"`
	// Alpha bounds the chance that Worse is a false alarm.
	Alpha float64 `json:"alpha"`
	// Least is the least rise that counts, as a share of a step.
	Least float64 `json:"least_rise"`
	// Series has an entry for each series that was tested, the surest rise first.
	Series []Series `json:"series"`
}

// Series is the test of a scope and metric.
type Series struct {
	Scope  string `json:"scope"`  // one of metric.Scopes
	Metric string `json:"metric"` // one of Tested
	// Value is that of the run, Before and After the means of the runs before and since the
	// surest place of a rise, which is the run named Since, Runs of them ago; of a drift After
	// is Value.
	Value  float64 `json:"value"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Since  string  `json:"since"`
	Runs   int     `json:"runs_since"`
	// Drift tells that it rose with each run since then, and not at once.
	Drift bool `json:"drift"`
	// Rise is by how much the run's level lies above that before, as a share of a step.
	Rise float64 `json:"rise"`
	// P is the chance of as sure a rise where nothing rose by more than Least, Adjusted the
	// same over all series together; Worse tells that Adjusted is at most Alpha.
	P        float64 `json:"p_value"`
	Adjusted float64 `json:"p_adjusted"`
	Worse    bool    `json:"worse"`
}

// Examine says whether a run is worse than those before it.
func Examine(before []HistoryRun, run HistoryRun, opt HistoryOptions) *HistoryResult {
	opt.Last, opt.Alpha, opt.Least = cmp.Or(opt.Last, DefaultLast), cmp.Or(opt.Alpha, DefaultAlpha), cmp.Or(opt.Least, DefaultLeast)
	before = before[max(0, len(before)-opt.Last):]
	res := &HistoryResult{Runs: len(before), Alpha: opt.Alpha, Least: opt.Least, Series: []Series{}}
	runs := append(slices.Clone(before), run)
	for _, scope := range Scopes {
		for _, name := range Tested {
			if s, ok := examine(runs, Key{scope, name}, &opt); ok {
				res.Series = append(res.Series, s)
			}
		}
	}
	if len(res.Series) == 0 {
		res.Unknown = res.tooFew(run, &opt)
		return res
	}
	res.adjust()
	slices.SortStableFunc(res.Series, func(a, b Series) int { return cmp.Compare(a.Adjusted, b.Adjusted) })
	return res
}

// tooFew says why no series was tested.
func (res *HistoryResult) tooFew(run HistoryRun, opt *HistoryOptions) string {
	switch {
	case run.Name != "" && slices.Contains(opt.Accept, run.Name):
		return "this run begins the accepted level, and no run came before it"
	case res.Runs < MinRuns:
		return fmt.Sprintf("not enough history: %s, %d needed", report.Counted(res.Runs, "run"), MinRuns)
	}
	return fmt.Sprintf("fewer than %d of the last %d runs have the same metrics", MinRuns, res.Runs)
}

// adjust makes the chances of the series those of all together. The time per step has
// stepShare of Alpha to itself.
func (res *HistoryResult) adjust() {
	p, weight := make([]float64, len(res.Series)), make([]float64, len(res.Series))
	step := -1
	for i, s := range res.Series {
		p[i], weight[i] = s.P, 1
		if s.Metric == StepP50 && (step < 0 || s.Scope == Generation) {
			step = i
		}
	}
	if others := len(p) - 1; step >= 0 && others > 0 {
		weight[step] = float64(others) * stepShare / (1 - stepShare)
	}
	for i, adjusted := range stat.Holm(p, weight) {
		s := &res.Series[i]
		s.Adjusted, s.Worse = adjusted, adjusted <= res.Alpha
		res.Worse = res.Worse || s.Worse
	}
}

// examine tests one series of runs, the last of which is in question; false where there are
// too few that have it.
func examine(runs []HistoryRun, key Key, opt *HistoryOptions) (s Series, ok bool) {
	last := &runs[len(runs)-1]
	if _, ok := last.Values[key]; !ok {
		return s, false
	}
	var values, steps []float64
	var names []string
	var levels []int
	begins := false // a level that was accepted begins with the next run that has the metric
	for i := range runs {
		r := &runs[i]
		begins = begins || r.Name != "" && slices.Contains(opt.Accept, r.Name)
		v, ok := r.Values[key]
		if !ok {
			continue
		}
		if begins && len(values) > 0 {
			levels = append(levels, len(values))
		}
		begins = false
		values, names = append(values, v), append(names, r.Name)
		if step, ok := r.step(key.Scope); ok {
			steps = append(steps, step)
		}
	}
	rise, ok := stat.LastRise(scaled(values, steps, key.Metric), levels, opt.Least)
	if !ok {
		return s, false
	}
	s = Series{Scope: key.Scope, Metric: key.Metric, Value: last.Values[key], Rise: rise.By, P: rise.P}
	if key.Metric == StepP50 {
		s.Rise = math.Expm1(rise.By)
	}
	s.Since, s.Runs, s.Drift = names[rise.Since], len(values)-rise.Since, rise.Slope
	s.Before, s.After = stat.Mean(values[rise.From:rise.Since]), stat.Mean(values[rise.Since:])
	if rise.Slope {
		s.After = s.Value
	}
	return s, true
}

// scaled returns what is tested of a series: the logarithm of a time, a ratio as the time
// that it is of each step, in shares of the usual step where all are known.
func scaled(values, steps []float64, name string) []float64 {
	x := slices.Clone(values)
	for i, v := range values {
		switch {
		case name == StepP50:
			x[i] = math.Log(v)
		case len(steps) == len(values):
			x[i] = v * steps[i] / stat.Mean(steps)
		}
	}
	return x
}

// step is how long a step of a scope lasts, of the aggregate one of the generation, or else of
// the context steps.
func (r *HistoryRun) step(scope string) (us float64, ok bool) {
	if scope != Aggregate {
		us, ok = r.Values[Key{scope, StepP50}]
		return us, ok
	}
	if us, ok = r.step(Generation); ok {
		return us, ok
	}
	return r.step(Context)
}

// Of returns the figures of a run that was measured.
func Of(name string, res *Result) HistoryRun {
	r := HistoryRun{Name: name, Time: res.Time, Values: map[Key]float64{}}
	for _, row := range runFigures(res) {
		if row.value != nil {
			r.Values[Key{row.scope, row.metric}] = *row.value
		}
	}
	return r
}

// Read returns the runs that rows are of, in the order of their times, those without one
// first, else of the rows.
func Read(t *table.Table) ([]HistoryRun, error) {
	if err := t.Check(table.Fields("run text, scope text, metric text, value float")...); err != nil {
		return nil, fmt.Errorf("no history of runs: %w", err)
	}
	var runs []HistoryRun
	at := map[string]int{}
	for i := range t.Len() {
		time, _ := t.Int(i, "time_ns")
		name := t.Text(i, "run")
		id := fmt.Sprint(time, " ", name)
		k, known := at[id]
		if !known {
			k, at[id] = len(runs), len(runs)
			runs = append(runs, HistoryRun{Name: name, Time: time, Values: map[Key]float64{}, row: i})
		}
		if v, ok := t.Float(i, "value"); ok {
			runs[k].Values[Key{t.Text(i, "scope"), t.Text(i, "metric")}] = v
		}
	}
	slices.SortStableFunc(runs, func(a, b HistoryRun) int { return cmp.Compare(a.Time, b.Time) })
	return runs, nil
}

// Before returns the runs that came before a run: none that is the run itself, under
// whatever name, nor, where times are known, one that is later.
func Before(runs []HistoryRun, run HistoryRun) []HistoryRun {
	return slices.DeleteFunc(slices.Clone(runs), func(r HistoryRun) bool {
		return run.same(r) || run.Time != 0 && r.Time > run.Time
	})
}

// same reports whether two are one run, under whatever name.
func (r *HistoryRun) same(other HistoryRun) bool {
	return r.Time == other.Time && maps.Equal(r.Values, other.Values)
}
