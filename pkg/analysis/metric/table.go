package metric

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Schema and Version identify tables of metrics. A row is a metric of a scope:
//
//	scope            aggregate, context or generation
//	metric           one of Names
//	numerator_ns     ns
//	denominator_ns   ns
//	applicable       false if the scope has nothing that the metric is about
//	value            the ratio, null if not applicable
//	low, high        its 95 % interval over the steps of the scope, null if there
//	                 are fewer than MinSteps or if parts were added up
//
// The metadata holds a Run as JSON, under the key MetaRun.
const (
	Schema  = "metrics"
	Version = 2
	MetaRun = "run"
)

var fields = table.Fields("scope text, metric text, numerator_ns int, denominator_ns int, applicable bool, value float, low float, high float")

// Table returns the result as a table, without Samples.
func (res *Result) Table() *table.Table {
	t := table.New(Schema, Version, fields...)
	for i := range res.Rows {
		r := &res.Rows[i]
		var value, low, high any
		if v := r.Value(); !math.IsNaN(v) {
			value = v
		}
		if r.Interval != nil {
			low, high = r.Interval.Low, r.Interval.High
		}
		t.Append(r.Scope, r.Metric, r.Numerator, r.Denominator, r.Applicable, value, low, high)
	}
	run, err := json.Marshal(&res.Run)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	t.Meta[MetaRun] = string(run)
	return t
}

// FromTable returns the result that a table holds. A table of another schema or version, or with
// missing columns or nulls, is an error.
func FromTable(t *table.Table) (*Result, error) {
	if t.Schema != Schema || t.Version != Version {
		return nil, fmt.Errorf("not a table of metrics, version %d, but of %s, version %d", Version, t.Schema, t.Version)
	}
	if err := t.Check(fields...); err != nil {
		return nil, err
	}
	res := &Result{}
	if err := json.Unmarshal([]byte(t.Meta[MetaRun]), &res.Run); err != nil {
		return nil, fmt.Errorf("table of metrics: metadata %s: %w", MetaRun, err)
	}
	for i := range t.Len() {
		r := Row{Scope: t.Text(i, "scope"), Metric: t.Text(i, "metric")}
		numerator, ok1 := t.Int(i, "numerator_ns")
		denominator, ok2 := t.Int(i, "denominator_ns")
		applicable, ok3 := t.Bool(i, "applicable")
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("table of metrics: row %d has nulls", i)
		}
		r.Numerator, r.Denominator, r.Applicable = numerator, denominator, applicable
		low, ok1 := t.Float(i, "low")
		high, ok2 := t.Float(i, "high")
		if ok1 && ok2 {
			r.Interval = &Interval{low, high}
		}
		res.Rows = append(res.Rows, r)
	}
	return res, nil
}
