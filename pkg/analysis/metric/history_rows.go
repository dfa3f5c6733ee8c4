package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// RunsSchema and RunsVersion identify tables of runs.
const (
	RunsSchema  = "runs"
	RunsVersion = 1
)

var runsFields = table.Fields("run text, label text, version text, commit text, tags text, time_ns int, " +
	"scope text, metric text, value float, low float, high float, numerator_ns int, denominator_ns int")

// figure is a figure of a run; unknown values are nil.
type figure struct {
	scope, metric          string
	value, low, high       *float64
	numerator, denominator *int64
}

// runFigures returns the figures of a run: all metrics, and the quantiles of each phase.
func runFigures(res *Result) (all []figure) {
	for i := range res.Rows {
		r := &res.Rows[i]
		f := figure{scope: r.Scope, metric: r.Metric, numerator: &r.Numerator, denominator: &r.Denominator}
		if v := r.Value(); !math.IsNaN(v) {
			f.value = &v
		}
		if r.Interval != nil {
			f.low, f.high = &r.Interval.Low, &r.Interval.High
		}
		all = append(all, f)
	}
	for i := range res.Phases {
		p := &res.Phases[i]
		for _, q := range []struct {
			name string
			ns   *float64
		}{{StepP50, p.P50}, {StepP90, p.P90}} {
			if q.ns != nil {
				all = append(all, figure{scope: p.Phase, metric: q.name, value: new(*q.ns / 1e3)})
			}
		}
	}
	return all
}

// New returns an empty table of runs.
func New() *table.Table { return table.New(RunsSchema, RunsVersion, runsFields...) }

// Extend appends the rows of old to t. It fails if old lacks columns of runs.
func Extend(t, old *table.Table) error {
	if err := old.Check(runsFields...); err != nil {
		return err
	}
	row := make([]any, len(runsFields))
	for i := range old.Len() {
		for k := range runsFields {
			row[k] = old.Value(i, runsFields[k].Name)
		}
		t.Append(row...)
	}
	return nil
}

// Add appends the runs of more that t does not have yet. For those that it has, with the same
// time and figures, it returns the name in more and the name in t. If another run in t has the
// same name, a number is added to the name, because a name stands for one run.
func Add(t, more *table.Table) (known [][2]string, err error) {
	old, err := Read(t)
	if err != nil {
		return nil, err
	}
	runs, err := Read(more)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // by name in more: the name in t, "" if the run is there already
	for _, r := range runs {
		if k := slices.IndexFunc(old, r.same); k >= 0 {
			known, names[r.Name] = append(known, [2]string{r.Name, old[k].Name}), ""
			continue
		}
		name := r.Name
		for k := 2; slices.ContainsFunc(old, func(o HistoryRun) bool { return o.Name == name }); k++ {
			name = fmt.Sprintf("%s #%d", r.Name, k)
		}
		names[r.Name] = name
	}
	row := make([]any, len(runsFields))
	for i := range more.Len() {
		name := names[more.Text(i, "run")]
		if name == "" {
			continue
		}
		for k := range runsFields {
			row[k] = more.Value(i, runsFields[k].Name)
		}
		row[0] = name
		t.Append(row...)
	}
	return known, nil
}

// Append adds the rows of a run to t.
func Append(t *table.Table, name string, res *Result) {
	others := map[string]string{}
	for key, value := range res.Tags {
		if key != "version" && key != "commit" {
			others[key] = value
		}
	}
	tags := ""
	if len(others) > 0 {
		b, _ := json.Marshal(others) // a map of strings never fails
		tags = string(b)
	}
	var time any
	if res.Time != 0 {
		time = res.Time
	}
	for _, f := range runFigures(res) {
		t.Append(name, table.OrNull(res.Label), table.OrNull(res.Tags["version"]), table.OrNull(res.Tags["commit"]), table.OrNull(tags), time,
			f.scope, f.metric, f.value, f.low, f.high, f.numerator, f.denominator)
	}
}
