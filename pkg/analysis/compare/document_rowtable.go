package compare

import (
	"encoding/json"

	"github.com/hostbound/hostbound/pkg/trace/table"
)

// The schema of Table.
const (
	Schema        = "diff_rows" // Table.Schema
	SchemaVersion = 1           // Table.Version
)

// Table returns all rows as one table for programs, in the sections summary, counts,
// operations, kernels, kernel_classes, api, idle_causes, idle, idle_why, wait and
// idle_and_wait. Figures are in the unit of the row, us or count, per step; null if
// missing.
func (c *Comparison) Table() *table.Table {
	t := table.New(Schema, SchemaVersion, table.Fields("section text, name text, unit text, "+
		"baseline float, target float, delta float, delta_percent float, ci_low float, ci_high float, "+
		"p_value float, p_adjusted float, q_value float, significant bool, status text, noise_floor float, detectable float, "+
		"baseline_count float, target_count float, baseline_self float, target_self float, baseline_exposed float, target_exposed float, "+
		"gain_ceiling float, likely_rename text, source_function text")...)
	t.Meta["conclusion"] = c.Conclusion
	for section, r := range c.tested {
		unit := "us"
		if section == "counts" {
			unit = "count"
		}
		var low, high *float64
		if r.CI != nil {
			low, high = number(r.CI[0]), number(r.CI[1])
		}
		var self, exposed Part
		if r.Self != nil {
			self, exposed = *r.Self, *r.Exposed
		}
		t.Append(section, r.Name, unit, r.Baseline, r.Target, r.Delta, r.DeltaPercent, low, high,
			r.P, r.Adjusted, r.QValue, r.Significant, r.Status, r.Noise, r.Detectable, r.BaselineCount, r.TargetCount,
			self.Baseline, self.Target, exposed.Baseline, exposed.Target, r.Ceiling, table.OrNull(r.Rename), table.OrNull(r.Source))
	}
	return t
}

// CountJSON is the JSON form of a CountRow: its keys have no unit.
type CountJSON struct {
	Name         string    `json:"name"`          // as Row.Name, and so on
	Baseline     *float64  `json:"baseline"`      // per step
	Target       *float64  `json:"target"`        // per step
	Delta        *float64  `json:"delta"`         // Target - Baseline
	DeltaPercent *float64  `json:"delta_percent"` // Delta in percent of Baseline
	CI           *Interval `json:"ci"`            // of Delta
	P            *float64  `json:"p_value"`       // as Row.P
	Adjusted     *float64  `json:"p_adjusted"`    // as Row.Adjusted
	QValue       *float64  `json:"q_value"`       // as Row.QValue
	Significant  bool      `json:"significant"`   // as Row.Significant
	Status       string    `json:"status"`        // as Row.Status
}

// MarshalJSON writes a CountJSON.
func (r CountRow) MarshalJSON() ([]byte, error) {
	return json.Marshal(CountJSON{r.Name, r.Baseline, r.Target, r.Delta, r.DeltaPercent, r.CI, r.P, r.Adjusted, r.QValue, r.Significant, r.Status})
}
