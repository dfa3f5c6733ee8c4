// History says whether the last of a series of runs is worse than those before.
//
// # The rows
//
// A run has a row for each scope and metric. It holds the run's name (run, label), its origin
// (version, commit, further tags as JSON), and when it was recorded (time_ns, UTC since 1970).
// The figure is value, with its interval over the run's steps (low, high) and the times that
// it is the ratio of (numerator_ns, denominator_ns). Metrics are the ratios of package metric,
// and step_p50_us and step_p90_us of each phase. Unknown values are null.
//
// # The test
//
// A series is one metric of one scope in the last runs, oldest first, with the run in
// question last. The time per step is tested as its logarithm. A ratio is tested as its time
// per step, relative to the mean step: it is not worse if only the steps became shorter.
//
// stat.LastRise tests whether the level of the run in question exceeds the earlier level by
// more than the least rise. The rise may be a jump or a slow drift that began at any of the
// last runs. It uses a prediction interval by Student's t for the night of the change, and
// detects a change better with each further night. The noise from start to start is that of
// the runs themselves, not a fixed threshold.
//
// Three quarters of the chance Alpha are for the time per step, the rest for all other series,
// by Holm's method with weights. If runs are independent and their noise is normal, a night on
// which nothing changed is called worse with at most that chance. The chance is much lower if
// runs vary by less than the least rise (scripts/accuracy, section nights). Runs that depend
// on one another (a machine that gets warmer, a load that grows) count as a change.
//
// To accept a change that is meant to stay, name the run that it began with
// (HistoryOptions.Accept): a new level begins there. Earlier runs then only tell how much runs
// vary, so that the next night can be tested at once.

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

// Metrics of runs other than ratios: quantiles of the step period.
const (
	StepP50 = "step_p50_us" // the median, us
	StepP90 = "step_p90_us" // the 90th percentile, us
)

// Tested are the metrics that are tested: higher is worse, and none repeats another one.
var Tested = []string{GPUIdle, Launch, PrepImpact, StepP50}

// Key names a series.
type Key struct {
	Scope, Metric string // as in the rows
}

// HistoryRun holds the figures of a run.
type HistoryRun struct {
	// Name is the name of the run. Time is when it was recorded, in ns since 1970, 0 if unknown.
	Name string
	Time int64
	// Values are its known figures.
	Values map[Key]float64
	row    int // first row in the table that it was read from
}

// HistoryOptions says what a run is compared with, and how.
type HistoryOptions struct {
	Last  int     // number of runs before it, 0 for DefaultLast
	Alpha float64 // chance of a false alarm, 0 for DefaultAlpha
	Least float64 // least rise, as a share of a step, 0 for DefaultLeast
	// Accept names runs with which an accepted new level began.
	Accept []string
}

// HistoryResult says whether a run is worse than those before.
type HistoryResult struct {
	// Runs is the number of runs that it was compared with.
	Runs int `json:"runs"`
	// Worse is set if some series rose. Unknown says why that cannot be told, "" if it can.
	Worse   bool   `json:"worse"`
	Unknown string `json:"cannot_tell,omitempty"`
	// Alpha bounds the chance that Worse is a false alarm.
	Alpha float64 `json:"alpha"`
	// Least is the least rise that counts, as a share of a step.
	Least float64 `json:"least_rise"`
	// Series has an entry for each tested series, the most certain rise first.
	Series []Series `json:"series"`
}

// Series is the test of a scope and metric.
type Series struct {
	Scope  string `json:"scope"`  // one of metric.Scopes
	Metric string `json:"metric"` // one of Tested
	// Value is that of the run in question. Since is the run at which a rise is most certain,
	// and Runs the number of runs from it on. Before and After are the means of the runs before
	// and from it on; for a drift, After is Value.
	Value  float64 `json:"value"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Since  string  `json:"since"`
	Runs   int     `json:"runs_since"`
	// Drift is set if it rose with each run since then, not at once.
	Drift bool `json:"drift"`
	// Rise is by how much the run's level exceeds the level before, as a share of a step.
	Rise float64 `json:"rise"`
	// P is the chance of a rise this certain if nothing rose by more than Least. Adjusted is the
	// same over all series together. Worse is set if Adjusted is at most Alpha.
	P        float64 `json:"p_value"`
	Adjusted float64 `json:"p_adjusted"`
	Worse    bool    `json:"worse"`
}

// Examine tests whether a run is worse than those before it, which are in order, oldest first.
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

// adjust sets Adjusted and Worse, over all series together. The time per step gets stepShare
// of Alpha.
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

// examine tests one series of runs; the last run is the one in question. ok is false if too
// few runs have the metric.
func examine(runs []HistoryRun, key Key, opt *HistoryOptions) (s Series, ok bool) {
	last := &runs[len(runs)-1]
	if _, ok := last.Values[key]; !ok {
		return s, false
	}
	var values, steps []float64
	var names []string
	var levels []int
	begins := false // an accepted level begins with the next run that has the metric
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

// scaled returns the values that are tested: the logarithm of a time; a ratio as time per step,
// relative to the mean step, if all step times are known.
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

// step returns the median step of a scope, in us. For the aggregate it is that of the generation
// steps, else of the context steps.
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

// Of returns the figures of a measured run.
func Of(name string, res *Result) HistoryRun {
	r := HistoryRun{Name: name, Time: res.Time, Values: map[Key]float64{}}
	for _, row := range runFigures(res) {
		if row.value != nil {
			r.Values[Key{row.scope, row.metric}] = *row.value
		}
	}
	return r
}

// Read returns the runs in a table of rows, ordered by time, those without a time first, and
// then by row.
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

// Before returns the runs that came before a run. It leaves out the run itself, under any name,
// and runs that are later, if times are known.
func Before(runs []HistoryRun, run HistoryRun) []HistoryRun {
	return slices.DeleteFunc(slices.Clone(runs), func(r HistoryRun) bool {
		return run.same(r) || run.Time != 0 && r.Time > run.Time
	})
}

// same reports whether two are the same run, under any name.
func (r *HistoryRun) same(other HistoryRun) bool {
	return r.Time == other.Time && maps.Equal(r.Values, other.Values)
}
