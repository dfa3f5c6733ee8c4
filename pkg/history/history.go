// Package history says whether the last of a series of runs is worse than those before.
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
// The series of a scope and metric is its value in the last runs, oldest first, the run
// in question last. Whether its mean rose at one of the last places is stat.LastRise:
// there is no fixed threshold, and a rise some nights ago is found better with each
// night. A ratio of steps that have become shorter is worse only where the time that it is of them
// rose, too: the same idle time is a larger part of them. Of the metrics only those are tested that can be worse by themselves (Tested);
// their chances are adjusted for their number by Holm's method, so that a night on which
// nothing changed is called worse with at most the chance Alpha, over all series
// together, where runs are independent and their noise is normal. TestFalseAlarms
// measures it for these, 1 %, for uniform noise, below 2 %, and for heavy tails (Laplace),
// below 5 %. Runs that depend on one another
// (a machine that gets warmer, a load that grows) are a change, and are called one.
package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/table"
)

// Metrics of runs beside the ratios of package metric: quantiles of a step's period.
const (
	StepP50 = "step_p50_us"
	StepP90 = "step_p90_us"
)

// Tested are the metrics of which more is worse, and none of which is another one.
var Tested = []string{metric.GPUIdle, metric.Launch, metric.PrepImpact, StepP50}

// Defaults of Options.
const (
	DefaultLast  = 30
	DefaultAlpha = 0.01
)

// MinRuns is how many runs before it a run is compared with at least.
const MinRuns = 8

// recent is at how many of the last places a change is looked for.
const recent = 10

// timeAlpha is the chance up to which steps have become shorter, and the time that a ratio is of
// them longer: that of a second look, which needs not be as sure.
const timeAlpha = 0.02

// Key names a series.
type Key struct {
	Scope, Metric string // as in the rows
}

// Run is the figures of a run.
type Run struct {
	// Name is what it is called, Time when it was recorded, in ns since 1970, 0 where that
	// is not known.
	Name string
	Time int64
	// Values are its figures that are known.
	Values map[Key]float64
}

// Options say what a run is compared with.
type Options struct {
	Last  int     // runs before it, 0: DefaultLast
	Alpha float64 // chance of a false alarm, 0: DefaultAlpha
}

// Result says whether a run is worse than those before.
type Result struct {
	// Runs is the number of runs that it was compared with.
	Runs int `json:"runs"`
	// Worse tells that some series rose; Unknown says why that is not known, "" where it
	// is.
	Worse   bool   `json:"worse"`
	Unknown string `json:"cannot_tell,omitempty"`
	// Alpha bounds the chance that Worse is a false alarm.
	Alpha float64 `json:"alpha"`
	// Series has an entry for each series that was tested, the surest rise first.
	Series []Series `json:"series"`
}

// Series is the test of a scope and metric.
type Series struct {
	Scope  string `json:"scope"`  // one of metric.Scopes
	Metric string `json:"metric"` // one of Tested
	// Value is that of the run, Before and After the means of the runs before and since the
	// most likely place of a rise, which is the run named Since, Runs of them ago.
	Value  float64 `json:"value"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Since  string  `json:"since"`
	Runs   int     `json:"runs_since"`
	// P is the chance of as large a rise where nothing changed, Adjusted the same over all
	// series together; Worse tells that Adjusted is at most Alpha.
	P        float64 `json:"p_value"`
	Adjusted float64 `json:"p_adjusted"`
	Worse    bool    `json:"worse"`
}

// Examine says whether a run is worse than those before it.
func Examine(before []Run, run Run, opt Options) *Result {
	opt.Last, opt.Alpha = cmp.Or(opt.Last, DefaultLast), cmp.Or(opt.Alpha, DefaultAlpha)
	before = before[max(0, len(before)-opt.Last):]
	res := &Result{Runs: len(before), Alpha: opt.Alpha, Series: []Series{}}
	var p []float64
	for _, scope := range metric.Scopes {
		for _, name := range Tested {
			if s, ok := examine(before, run, Key{scope, name}); ok {
				res.Series, p = append(res.Series, s), append(p, s.P)
			}
		}
	}
	if len(res.Series) == 0 {
		res.Unknown = fmt.Sprintf("fewer than %d of the last %d runs have the same metrics", MinRuns, len(before))
		if len(before) < MinRuns {
			res.Unknown = fmt.Sprintf("%s before it, and it takes %d", report.Counted(len(before), "run"), MinRuns)
		}
		return res
	}
	for i, adjusted := range stat.Holm(p, nil) {
		s := &res.Series[i]
		s.Adjusted, s.Worse = adjusted, adjusted <= opt.Alpha
		res.Worse = res.Worse || s.Worse
	}
	slices.SortStableFunc(res.Series, func(a, b Series) int { return cmp.Compare(a.P, b.P) })
	return res
}

// examine tests one series, false where there are too few runs that have it.
func examine(before []Run, run Run, key Key) (s Series, ok bool) {
	value, ok := run.Values[key]
	if !ok {
		return s, false
	}
	var x, times, lengths []float64 // the values, how long that is in each step, less the steps
	var names []string
	for _, r := range append(slices.Clone(before), run) {
		v, ok := r.Values[key]
		if !ok {
			continue
		}
		x, names = append(x, v), append(names, r.Name)
		if step, ok := r.step(key.Scope); ok {
			times, lengths = append(times, v*step), append(lengths, -step)
		}
	}
	if len(x) <= MinRuns {
		return s, false
	}
	since, p := stat.LastRise(x, min(recent, len(x)/2))
	s = Series{Scope: key.Scope, Metric: key.Metric, Value: value, Before: stat.Mean(x), After: value, P: p}
	if key.Metric != StepP50 && len(times) == len(x) {
		_, shorter := stat.LastRise(lengths, min(recent, len(x)/2))
		if _, longer := stat.LastRise(times, min(recent, len(x)/2)); shorter <= timeAlpha && longer > timeAlpha {
			s.P = 1
		}
	}
	if p < 1 {
		s.Before, s.After, s.Since, s.Runs = stat.Mean(x[:since]), stat.Mean(x[since:]), names[since], len(x)-since
	}
	return s, true
}

// step is how long a step of a scope lasts, of the aggregate one of the generation, or else of
// the context steps.
func (r *Run) step(scope string) (us float64, ok bool) {
	if scope != metric.Aggregate {
		us, ok = r.Values[Key{scope, StepP50}]
		return us, ok
	}
	if us, ok = r.step(metric.Generation); ok {
		return us, ok
	}
	return r.step(metric.Context)
}

// Of returns the figures of a run that was measured.
func Of(name string, res *metric.Result) Run {
	r := Run{Name: name, Time: res.Time, Values: map[Key]float64{}}
	for _, row := range figures(res) {
		if row.value != nil {
			r.Values[Key{row.scope, row.metric}] = *row.value
		}
	}
	return r
}

// Read returns the runs that rows are of, in the order of their times, those without one
// first, else of the rows.
func Read(t *table.Table) ([]Run, error) {
	if err := t.Check(table.Fields("run text, scope text, metric text, value float")...); err != nil {
		return nil, fmt.Errorf("no history of runs: %w", err)
	}
	var runs []Run
	at := map[string]int{}
	for i := range t.Len() {
		time, _ := t.Int(i, "time_ns")
		name := t.Text(i, "run")
		id := fmt.Sprint(time, " ", name)
		k, known := at[id]
		if !known {
			k = len(runs)
			at[id] = k
			runs = append(runs, Run{Name: name, Time: time, Values: map[Key]float64{}})
		}
		if v, ok := t.Float(i, "value"); ok {
			runs[k].Values[Key{t.Text(i, "scope"), t.Text(i, "metric")}] = v
		}
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(a.Time, b.Time) })
	return runs, nil
}

// Before returns the runs that came before a run: none that is the run itself, under
// whatever name, nor, where times are known, one that is later.
func Before(runs []Run, run Run) []Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r Run) bool {
		return r.Time == run.Time && maps.Equal(r.Values, run.Values) || run.Time != 0 && r.Time > run.Time
	})
}
