package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
)

// Limits are the thresholds of a scope, as ratios. A metric is over the limit if it exceeds its
// threshold, or for GPUUtilization if it is below.
type Limits struct{ PerMetric[float64] }

// Thresholds are the limits of all scopes.
type Thresholds struct {
	Aggregate  Limits `json:"aggregate"`  // for the benchmark windows, or whole traces
	Context    Limits `json:"context"`    // for the context steps
	Generation Limits `json:"generation"` // for the generation steps
}

// Defaults returns the thresholds of TensorRT-LLM's own analysis:
//
//	                            aggregate  context  generation
//	gpu_idle_ratio              > 0.30     > 0.30   > 0.15
//	launch_overhead_ratio       > 0.10     > 0.10   > 0.10
//	host_prep_exposed_ratio     > 0.50     > 0.50   > 0.50
//	host_prep_perf_impact       > 0.05     > 0.05   > 0.05
//	host_prep_idle_attribution  > 0.50     > 0.50   > 0.50
//	gpu_utilization             < 0.60     < 0.60   < 0.80
//	nccl_ratio (a caveat)       > 0.20     > 0.20   > 0.20
func Defaults() Thresholds {
	l := Limits{PerMetric[float64]{Voting[float64]{
		GPUIdle: 0.30, Launch: 0.10, PrepExposed: 0.50, PrepImpact: 0.05, PrepAttribution: 0.50, GPUUtilization: 0.60,
	}, 0.20}}
	t := Thresholds{l, l, l}
	t.Generation.GPUIdle, t.Generation.GPUUtilization = 0.15, 0.80
	return t
}

// Manual returns a text table of the metrics with a threshold: name, meaning, default.
func Manual() string {
	var b strings.Builder
	d := Defaults()
	for m := range numVotes + 1 {
		limit := d.Aggregate.text(m)
		if g := d.Generation.text(m); g != limit {
			limit += ", generation " + g
		}
		fmt.Fprintf(&b, "  %-26s  %-45s  %s\n", metric.Names[m], metric.Meanings[m], limit)
	}
	return strings.TrimRight(b.String(), "\n")
}

// ncclCaveat is the name of nccl_ratio's limit in TensorRT-LLM's own analysis.
const ncclCaveat = "nccl_ratio_caveat"

// Limit returns the threshold of the metric with the given name, nil if it has none. The
// pointer is into l.
func (l *Limits) Limit(name string) *float64 {
	for m := range numVotes + 1 {
		if metric.Names[m] == name || m == nccl && name == ncclCaveat {
			return l.at(m)
		}
	}
	return nil
}

// over reports whether a value of metric m is over the limit.
func (l *Limits) over(m int, value float64) bool {
	if m == gpuUtilization {
		return value < *l.at(m)
	}
	return value > *l.at(m)
}

// maxDocument is the maximum length of a JSON document, in bytes.
const maxDocument = 1 << 20

// Read sets the thresholds that a JSON document names and leaves the others. The document has
// the form
//
//	{"aggregate": {"gpu_idle_ratio": 0.3}, "generation": {"gpu_idle_ratio": 0.15}}
//
// Unknown or repeated names and values outside of 0 to 1 are errors. After an error t is
// unchanged.
func (t *Thresholds) Read(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return err
	}
	if len(text) > maxDocument {
		return errors.New("thresholds: more than 1 MiB")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var given map[string]map[string]*float64
	if err := d.Decode(&given); err != nil {
		return fmt.Errorf("thresholds: %w", err)
	}
	if err := checkNames(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("thresholds: something follows the JSON document")
	}
	read := *t
	for scope, limits := range given {
		if err := read.set(scope, limits); err != nil {
			return err
		}
	}
	if err := read.Check(); err != nil {
		return err
	}
	*t = read
	return nil
}

// set sets the thresholds of a scope by name.
func (t *Thresholds) set(scope string, limits map[string]*float64) error {
	l := t.Scope(scope)
	if l == nil {
		return fmt.Errorf("thresholds: unknown scope %q", scope)
	}
	if limits[ncclCaveat] != nil && limits[metric.NCCL] != nil {
		return fmt.Errorf("thresholds: %s is given twice, also as %s", metric.NCCL, ncclCaveat)
	}
	for name, value := range limits {
		limit := l.Limit(name)
		if limit == nil || value == nil {
			return fmt.Errorf("thresholds: %s has no metric %q, or it has no value", scope, name)
		}
		*limit = *value
	}
	return nil
}

// checkNames returns an error if a name occurs twice in an object of the next JSON value, which
// must be valid.
func checkNames(d *json.Decoder) error {
	if open, _ := d.Token(); open != json.Delim('{') {
		return nil
	}
	seen := map[json.Token]bool{}
	for d.More() {
		name, _ := d.Token()
		if seen[name] {
			return fmt.Errorf("thresholds: %v is given twice", name)
		}
		seen[name] = true
		if err := checkNames(d); err != nil {
			return err
		}
	}
	d.Token() // the closing brace
	return nil
}

// Check returns an error if a threshold is not between 0 and 1. All metrics are ratios; a larger
// threshold was probably meant as percent.
func (t *Thresholds) Check() error {
	for _, scope := range metric.Scopes {
		for m := range numVotes + 1 {
			if v := *t.Scope(scope).at(m); math.IsNaN(v) || v < 0 || v > 1 {
				return fmt.Errorf("thresholds: %s of %s is %v, want a share between 0 and 1", metric.Names[m], scope, v)
			}
		}
	}
	return nil
}

// Scope returns the limits of one of metric.Scopes, nil for any other name.
func (t *Thresholds) Scope(name string) *Limits {
	switch name {
	case metric.Aggregate:
		return &t.Aggregate
	case metric.Context:
		return &t.Context
	case metric.Generation:
		return &t.Generation
	}
	return nil
}

// WithThreshold returns the names of the metrics with a threshold.
func WithThreshold() []string { return metric.Names[:numVotes+1] }
