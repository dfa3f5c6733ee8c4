package compare

import (
	"encoding/json"
	"iter"

	"github.com/hostbound/hostbound/pkg/report"
)

// Statuses of a row. A row without evidence of a change has none, however large its
// delta.
const (
	New        = "NEW"        // it occurs in no step of the baseline
	Removed    = "REMOVED"    // it occurs in no step of the target
	Regression = "REGRESSION" // it takes over 50 % longer
	Improved   = "IMPROVED"   // it takes over 30 % less
)

// Conclusions: what made steps slower or faster.
const (
	HostInterStep = "host_inter_step" // idle time between steps
	HostInStep    = "host_in_step"    // idle time within steps
	GPU           = "gpu"
	Imbalance     = "imbalance"      // waits for a rank with more GPU work
	Unclear       = "unclear"        // the step changed, and no side is known to have changed more; also a direction
	None          = "none"           // the step did not change
	NotComparable = "not_comparable" // the sides did different work
)

// Directions.
const (
	Slower = "slower" // the target's steps are longer
	Faster = "faster" // they are shorter
	Same   = "same"   // they differ by less than 1 %
)

// Interval is the bounds of a figure. An unknown bound is infinite, and null in JSON.
type Interval [2]float64

// MarshalJSON writes the bounds as an array of two, null for an infinite one.
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]*float64{number(i[0]), number(i[1])})
}

// Row is one line of the comparison. Figures are in us per rank-step, or for counts, a
// number per rank-step. What is unknown, or exists on one side only, is null. For one
// run alone everything that compares is null.
type Row struct {
	// Name is the name of the figure, or of the range (digits folded), kernel, class or
	// call.
	Name     string   `json:"name"`
	Baseline *float64 `json:"baseline_us"` // mean over the compared steps
	Target   *float64 `json:"target_us"`   // the same for the other side
	Delta    *float64 `json:"delta_us"`    // Target - Baseline, with 0 for a missing side
	// DeltaPercent is Delta in percent of Baseline, null if that is 0 or missing.
	DeltaPercent *float64 `json:"delta_percent"`
	Evidence
	// Relative is the change of the operation's time in percent, net of the change of
	// all host work. P is then the p-value of Relative; if Relative is null, that of
	// Delta.
	Relative *float64 `json:"relative_percent,omitempty"`
	// BaselineCount and TargetCount are occurrences per rank-step; null in the summary.
	BaselineCount *float64 `json:"baseline_count,omitempty"`
	TargetCount   *float64 `json:"target_count,omitempty"`

	// BaselineCI is the interval of Baseline if there is only one run.
	BaselineCI *Interval `json:"baseline_ci_us,omitempty"`

	// Self is the part outside nested ranges, Exposed the part during which GPUs were
	// idle, averaged over GPUs. Both are null except for operations.
	Self    *Part `json:"self,omitempty"`
	Exposed *Part `json:"exposed,omitempty"`
	// Rename is the likely name of the operation in the baseline, "" if it has the same
	// name.
	Rename string `json:"likely_rename,omitempty"`
	// Ceiling is the most that a step can gain if the operation went to zero, us. It is
	// the exposed part in the target, or if there is only one run, in that.
	Ceiling *float64 `json:"gain_ceiling_us,omitempty"`
	// Source is the function that the range comes from, "" if unknown.
	Source string `json:"source_function,omitempty"`
}

// Evidence is what is known about a change.
type Evidence struct {
	// CI contains the true Delta with probability stat.Level, regardless of other rows;
	// null if there are too few samples.
	CI *Interval `json:"ci_us"`
	// P is the p-value of this row alone. Adjusted and QValue are the share of false
	// alarms to expect among the rows with this value or less.
	P        *float64 `json:"p_value"`
	Adjusted *float64 `json:"p_adjusted"`
	QValue   *float64 `json:"q_value"`
	// Significant says that the change is beyond the noise. Status is New, Removed,
	// Regression, Improved, or "" if the change is not significant or is smaller.
	Significant bool   `json:"significant"`
	Status      string `json:"status"`
	// Unknown says why a change cannot be told from chance, however large it is, "" if
	// it can. A row with Unknown has figures but no status.
	Unknown string `json:"cannot_tell,omitempty"`
	// Noise is how far apart halves of the same run are by chance, or of several runs,
	// two of them; the larger of both sides. Detectable is the least change that would
	// have been found.
	Noise      *float64 `json:"noise_floor_us"`
	Detectable *float64 `json:"detectable_us"`

	effective float64 // number of independent steps that the samples are worth
}

// Part is a part of the time of a row, with the same unit and nulls.
type Part struct {
	Baseline *float64  `json:"baseline_us"` // mean over the compared steps
	Target   *float64  `json:"target_us"`   // the same for the other side
	Delta    *float64  `json:"delta_us"`    // Target - Baseline
	CI       *Interval `json:"ci_us"`       // of Delta; not tested, and not used in any decision
}

// CountRow is a row whose figures are counts.
type CountRow struct{ Row }

// Rows are all figures compared.
type Rows struct {
	// Summary has wall, busy and idle time, duration, gap, gpu, their parts and
	// quantiles, and all host work. If ranks wait for one another it also has wait,
	// work, host_bound and imbalance. Counts has kernels and replays per step.
	Summary    []Row      `json:"summary"`
	Counts     []CountRow `json:"counts"`
	Operations []Row      `json:"operations"`     // host ranges, by name
	Kernels    []Row      `json:"kernels"`        // by name
	Classes    []Row      `json:"kernel_classes"` // kernels by class
	API        []Row      `json:"api"`            // CUDA calls, by name
	// Causes is the idle time by cause, Idle by cause and site, IdleWhy by cause and why
	// if requested. Each adds up to the idle time of a step.
	Causes  []IdleRow `json:"idle_causes"`
	Idle    []IdleRow `json:"idle"`
	IdleWhy []IdleRow `json:"idle_why,omitempty"`
	Rare    []Rare    `json:"rare"` // what happens in few steps
	// Wait is the time that GPUs wait in collectives for a late rank, by cause: what
	// that rank did. Held is idle time and these waits together, by cause. Busy time is
	// work plus waits. Both lists are empty if no rank waits.
	Wait []IdleRow `json:"wait"`
	Held []IdleRow `json:"idle_and_wait"`
}

// Answer is the conclusion from the rows.
type Answer struct {
	// Direction is Same if the interval of the wall time lies within 1 % of it, Slower
	// or Faster if the interval excludes 0, else Unclear. It is null for one run.
	Direction  *string `json:"direction"`
	Conclusion string  `json:"conclusion"` // one of the conclusions, HostInterStep and so on
	// Comparable is false if the runs cannot be compared. Then no row has a status, and
	// the conclusion is not_comparable.
	Comparable bool     `json:"comparable"`
	Reasons    []string `json:"not_comparable"` // why not, a sentence each
	// OtherModel says that the sides run different models or builds, and how that shows;
	// "" if they do not.
	OtherModel  string         `json:"other_model,omitempty"`
	Explanation []string       `json:"explanation"`          // a sentence each, the largest part first
	Mitigations []string       `json:"mitigations"`          // what to do, a sentence each
	Handoff     report.Handoff `json:"optimization_handoff"` // for whoever optimises
	Warnings    []string       `json:"warnings"`             // a sentence each
	// Renames and Phases are always empty: keys of a published version are not removed.
	// See Row.Rename and Options.Phase instead.
	Renames []struct{}          `json:"renames"`
	Phases  map[string]struct{} `json:"phases"`
}

// Comparison is the answer, for one run or two.
type Comparison struct {
	// Labels are the names of the baseline and the target: given by the user, else their
	// files; "" for no target.
	Labels [2]string `json:"labels"`
	// Steady is the means of both sides over the steps of the chosen phase.
	Steady Pair `json:"steady"`
	Rows
	// NoiseFloor is the Noise of the wall time.
	NoiseFloor *float64 `json:"noise_floor_us"`
	// Runs is the number of runs on each side.
	Runs   RunCount `json:"runs"`
	Method Method   `json:"method"` // how they were compared
	Answer

	opt     Options
	base    *side
	target  *side
	finding finding
}

// Method says how the comparison was made.
type Method struct {
	Phase   string  `json:"phase"`          // Steady, Context, Generation or All
	Match   string  `json:"match"`          // "" or MatchBatch
	Level   float64 `json:"interval_level"` // of all intervals
	Alpha   float64 `json:"alpha"`          // the bound on false alarms
	Control string  `json:"control"`        // what Alpha bounds: the share of false alarms among all that are raised
	// Scope names the steps that all figures cover. Duration and Gap say between which
	// points these are measured, InterStep what counts as idle time between steps.
	Scope     string `json:"scope"`
	Duration  string `json:"duration"`
	Gap       string `json:"gap"`
	InterStep string `json:"idle_inter_step"`
}

// summary returns a row of the summary by name, an empty row if it is missing.
func (r *Rows) summary(name string) *Row {
	for i := range r.Summary {
		if r.Summary[i].Name == name {
			return &r.Summary[i]
		}
	}
	return &Row{Name: name}
}

// tested iterates over all rows, with the names of their sections, in report order.
func (r *Rows) tested(yield func(section string, row *Row) bool) {
	for _, s := range []struct {
		name string
		rows []*Row
	}{
		{"summary", rowsOf(r.Summary)}, {"counts", rowsOf(r.Counts)}, {"operations", rowsOf(r.Operations)},
		{"kernels", rowsOf(r.Kernels)}, {"kernel_classes", rowsOf(r.Classes)}, {"api", rowsOf(r.API)},
		{"idle_causes", rowsOf(r.Causes)}, {"idle", rowsOf(r.Idle)}, {"idle_why", rowsOf(r.IdleWhy)},
		{"wait", rowsOf(r.Wait)}, {"idle_and_wait", rowsOf(r.Held)},
	} {
		for _, row := range s.rows {
			if !yield(s.name, row) {
				return
			}
		}
	}
}

// each iterates over pointers to the elements.
func each[T any](rows []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}

// row returns the row itself; types that embed a Row inherit it.
func (r *Row) row() *Row { return r }

// rowsOf returns pointers to the rows of a section.
func rowsOf[T any, P interface {
	*T
	row() *Row
}](all []T) (rows []*Row) {
	for one := range each(all) {
		rows = append(rows, P(one).row())
	}
	return rows
}

// moved returns the change of a row if it is significant, else 0.
func (r *Row) moved() float64 {
	if !r.Significant {
		return 0
	}
	return r.delta()
}

// grown returns the growth of a row if it is significant, else 0.
func (r *Row) grown() float64 { return max(0, r.moved()) }

// delta returns the change of a row, 0 if it is unknown.
func (r *Row) delta() float64 {
	if r.Delta == nil {
		return 0
	}
	return *r.Delta
}
