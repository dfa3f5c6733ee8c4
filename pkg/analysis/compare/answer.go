package compare

import (
	"encoding/json"
	"iter"

	"github.com/hostbound/hostbound/pkg/report"
)

// The statuses of a row. One without evidence of a change has none, however large
// its delta.
const (
	New        = "NEW"        // it is in no step of the baseline
	Removed    = "REMOVED"    // it is in no step of the target
	Regression = "REGRESSION" // it takes longer
	Improved   = "IMPROVED"   // it takes less long
)

// Conclusions: what made steps slower, or faster.
const (
	HostInterStep = "host_inter_step" // idle time between steps
	HostInStep    = "host_in_step"    // idle time within steps
	GPU           = "gpu"
	Imbalance     = "imbalance"      // waits for a rank with more GPU work
	Unclear       = "unclear"        // the step changed, and the parts cannot be told apart; also a direction
	None          = "none"           // neither side is longer
	NotComparable = "not_comparable" // the sides did other work
)

// Directions.
const (
	Slower = "slower" // the target's steps are longer
	Faster = "faster" // they are shorter
	Same   = "same"   // they differ by less than 1 %
)

// Interval bounds what a figure may be. A bound of which nothing is known is
// infinite, and null in JSON.
type Interval [2]float64

// MarshalJSON writes the bounds.
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]*float64{number(i[0]), number(i[1])})
}

// Row is one line of the comparison. Its figures are us per rank-step, of counts a
// number per rank-step. What is not known, or is only on one side, is null; of one
// run alone all that compares is.
type Row struct {
	// Name is the figure's, or the name of the range (digits folded), kernel, class or
	// call that the row adds up.
	Name     string   `json:"name"`
	Baseline *float64 `json:"baseline_us"` // mean over the compared steps
	Target   *float64 `json:"target_us"`   // the same of the other side
	Delta    *float64 `json:"delta_us"`    // target less baseline, a missing side as 0
	// DeltaPercent is Delta in percent of Baseline, null where that is 0 or missing.
	DeltaPercent *float64 `json:"delta_percent"`
	Evidence
	// Relative is by how much the operation's own time changed beside all host work, in
	// percent; P is of that. Null where P is of Delta.
	Relative *float64 `json:"relative_percent,omitempty"`
	// BaselineCount and TargetCount are occurrences per rank-step; nil in the summary.
	BaselineCount *float64 `json:"baseline_count,omitempty"`
	TargetCount   *float64 `json:"target_count,omitempty"`

	// BaselineCI is the interval of Baseline where there is one run only.
	BaselineCI *Interval `json:"baseline_ci_us,omitempty"`

	// Self is the part outside of nested ranges, Exposed the part during which GPUs
	// were idle, on average over them; nil but for operations.
	Self    *Part `json:"self,omitempty"`
	Exposed *Part `json:"exposed,omitempty"`
	// Rename is what the baseline seems to call the operation, "" where it has the same name.
	Rename string `json:"likely_rename,omitempty"`
	// Ceiling is what a step would gain at most if the operation went to zero,
	// in us: what is exposed of it in the run to be optimised.
	Ceiling *float64 `json:"gain_ceiling_us,omitempty"`
	// Source is the function that the range comes from, where known.
	Source string `json:"source_function,omitempty"`
}

// Evidence is what is known of a change.
type Evidence struct {
	// CI holds the true Delta with a probability of stat.Level, whatever the other
	// rows; null where there are too few samples.
	CI *Interval `json:"ci_us"`
	// P is the probability of a change as large where nothing differs, of this row alone;
	// Adjusted and QValue the share of false alarms to expect among the rows that have it or less.
	P        *float64 `json:"p_value"`
	Adjusted *float64 `json:"p_adjusted"`
	QValue   *float64 `json:"q_value"`
	// Significant tells that the change is beyond the noise; Status is New, Removed,
	// Regression, Improved, or "" where it is not or the change is smaller.
	Significant bool   `json:"significant"`
	Status      string `json:"status"`
	// Unknown says why a change cannot be told from chance, however large it is;
	// such a row has figures and no status.
	Unknown string `json:"cannot_tell,omitempty"`
	// Noise is how far halves of the same run are apart by chance, of several runs two of
	// them, the larger of both sides; Detectable the least change that would have been found.
	Noise      *float64 `json:"noise_floor_us"`
	Detectable *float64 `json:"detectable_us"`

	effective float64 // how many independent steps the samples are worth
}

// Part is a part of the time of a row, with the unit and nulls of that.
type Part struct {
	Baseline *float64  `json:"baseline_us"` // mean over the compared steps
	Target   *float64  `json:"target_us"`   // the same of the other side
	Delta    *float64  `json:"delta_us"`    // target less baseline
	CI       *Interval `json:"ci_us"`       // of Delta; not tested, and part of no decision
}

// CountRow is a row whose figures are counts.
type CountRow struct{ Row }

// Rows are all figures that were compared.
type Rows struct {
	// Summary has rows for wall, busy, idle, duration, gap and gpu, and where ranks wait for one
	// another for wait, work, host_bound and imbalance; Counts for
	// kernels and replays a step.
	Summary    []Row      `json:"summary"`
	Counts     []CountRow `json:"counts"`
	Operations []Row      `json:"operations"`     // host ranges, by name
	Kernels    []Row      `json:"kernels"`        // by name
	Classes    []Row      `json:"kernel_classes"` // kernels by class
	API        []Row      `json:"api"`            // CUDA calls, by name
	// Causes is the idle time by cause, Idle by cause and site, IdleWhy by cause and why,
	// where that was asked for: each adds up to the idle time of a step.
	Causes  []IdleRow `json:"idle_causes"`
	Idle    []IdleRow `json:"idle"`
	IdleWhy []IdleRow `json:"idle_why,omitempty"`
	Rare    []Rare    `json:"rare"` // what happens in few steps
	// Wait is the time that GPUs wait in collectives for a late rank, by cause of what that
	// rank did; Held is idle time and these waits together, by cause. Busy time is work and
	// waits; both lists are empty where nobody waits.
	Wait []IdleRow `json:"wait"`
	Held []IdleRow `json:"idle_and_wait"`
}

// Answer is what follows from the rows.
type Answer struct {
	// Direction is Same where the interval of the wall time lies within 1 % of it, else
	// Slower or Faster where it excludes 0, else Unclear; null of one run.
	Direction  *string `json:"direction"`
	Conclusion string  `json:"conclusion"` // one of the conclusions, HostInterStep and so on
	// Comparable is false where the runs cannot be compared: no row has a status
	// then, and the conclusion is not_comparable.
	Comparable bool     `json:"comparable"`
	Reasons    []string `json:"not_comparable"` // why not, a sentence each
	// OtherModel says that the sides run other models or builds, and how that shows; "" where
	// they do not.
	OtherModel  string         `json:"other_model,omitempty"`
	Explanation []string       `json:"explanation"`          // a sentence each, the largest part first
	Mitigations []string       `json:"mitigations"`          // what to do, a sentence each
	Handoff     report.Handoff `json:"optimization_handoff"` // for whoever optimises
	Warnings    []string       `json:"warnings"`             // a sentence each
	// Renames and Phases are empty: a version of the form loses no key. A row says what it is likely
	// to be renamed from, and Options.Phase compares the steps of a phase.
	Renames []struct{}          `json:"renames"`
	Phases  map[string]struct{} `json:"phases"`
}

// Comparison is the answer, for one run or two.
type Comparison struct {
	// Labels are what the baseline and the target are called: what the user says, else
	// their files; "" for no target.
	Labels [2]string `json:"labels"`
	// Steady are the means of both sides over the steps of the chosen phase.
	Steady Pair `json:"steady"`
	Rows
	// NoiseFloor is that of the wall time.
	NoiseFloor *float64 `json:"noise_floor_us"`
	// Runs is how many runs each side has.
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
	// Scope names the steps that all figures are of; Duration and Gap say what
	// these two are measured between, InterStep what idle time is between steps.
	Scope     string `json:"scope"`
	Duration  string `json:"duration"`
	Gap       string `json:"gap"`
	InterStep string `json:"idle_inter_step"`
}

// summary returns a row of the summary by name; one of nothing where it is left out.
func (r *Rows) summary(name string) *Row {
	for i := range r.Summary {
		if r.Summary[i].Name == name {
			return &r.Summary[i]
		}
	}
	return &Row{Name: name}
}

// tested are all rows, with the names of their sections, in the order of the report.
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

// each goes through rows where they are.
func each[T any](rows []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}

// row is the row itself, also of what it is a part of.
func (r *Row) row() *Row { return r }

// rowsOf are the rows of a section.
func rowsOf[T any, P interface {
	*T
	row() *Row
}](all []T) (rows []*Row) {
	for one := range each(all) {
		rows = append(rows, P(one).row())
	}
	return rows
}

// moved is by how much a row has changed beyond the noise, 0 where it has not.
func (r *Row) moved() float64 {
	if !r.Significant {
		return 0
	}
	return r.delta()
}

// grown is by how much a row has grown beyond the noise, 0 where it has not.
func (r *Row) grown() float64 { return max(0, r.moved()) }

// delta is the change of a row, 0 where it is not known.
func (r *Row) delta() float64 {
	if r.Delta == nil {
		return 0
	}
	return *r.Delta
}
