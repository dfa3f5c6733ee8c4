package compare

import (
	"github.com/hostbound/hostbound/pkg/report"
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
	// CI holds the true Delta with a probability of stat.Level, whatever the other
	// rows; null where there are too few samples.
	CI *Interval `json:"ci_us"`
	// P is the probability of a Delta as large where nothing differs, of this row
	// alone.
	P *float64 `json:"p_value"`
	// Adjusted is P for the number of rows, QValue the share of false alarms to
	// expect among the rows that have it or less.
	Adjusted *float64 `json:"p_adjusted"`
	QValue   *float64 `json:"q_value"`
	// Significant tells that the change is beyond the noise; Status is New, Removed,
	// Regression, Improved, or "" where it is not or the change is smaller.
	Significant bool   `json:"significant"`
	Status      string `json:"status"`
	// Unknown says why a change cannot be told from chance, however large it is;
	// such a row has no status.
	Unknown string `json:"cannot_tell,omitempty"`
	// Noise is how far halves of the same run are apart by chance, the larger of
	// both runs; Detectable the least change that would have been found.
	Noise      *float64 `json:"noise_floor_us"`
	Detectable *float64 `json:"detectable_us"`
	// BaselineCount and TargetCount are occurrences per rank-step; nil in the summary.
	BaselineCount *float64 `json:"baseline_count,omitempty"`
	TargetCount   *float64 `json:"target_count,omitempty"`

	// BaselineCI is the interval of Baseline where there is one run only.
	BaselineCI *Interval `json:"baseline_ci_us,omitempty"`

	// Self is the part outside of nested ranges, Exposed the part during which GPUs
	// were idle, on average over them; nil but for operations.
	Self    *Part `json:"self,omitempty"`
	Exposed *Part `json:"exposed,omitempty"`
	// Rename names the operations that this one seems to have become, or to have
	// been, "" where there are none.
	Rename string `json:"likely_rename,omitempty"`
	// Ceiling is what a step would gain at most if the operation went to zero,
	// in us: what is exposed of it in the run to be optimised.
	Ceiling *float64 `json:"gain_ceiling_us,omitempty"`
	// Source is the function that the range comes from, where known.
	Source string `json:"source_function,omitempty"`

	// net is what is left of the change where other rows took the place of this one, or it
	// that of others; nil where none did.
	net *float64

	effective float64 // how many independent steps the samples are worth
	// beyond is the change of rows that no change of level inside either run explains, nil
	// for others.
	beyond *stat.Difference
}

// Part is a part of the time of a row, with the unit and nulls of that.
type Part struct {
	Baseline *float64  `json:"baseline_us"` // mean over the compared steps
	Target   *float64  `json:"target_us"`   // the same of the other side
	Delta    *float64  `json:"delta_us"`    // target less baseline
	CI       *Interval `json:"ci_us"`       // of Delta; not tested, and part of no decision
}

// Comparison is the answer, for one run or two.
type Comparison struct {
	// Labels are what the baseline and the target are called: what the user says, else
	// their files; "" for no target.
	Labels [2]string `json:"labels"`
	// Steady are the means of both sides over the steps of the chosen phase.
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
	// IdleWhy divides the idle time by cause and why instead; it has rows where that was
	// asked for.
	IdleWhy []IdleRow `json:"idle_why,omitempty"`
	Rare    []Rare    `json:"rare"`
	// NoiseFloor is that of the wall time.
	NoiseFloor *float64             `json:"noise_floor_us"`
	Phases     map[string]PhasePair `json:"phases"`
	// Direction is Same where the interval of the wall time lies within 1 % of it, else
	// Slower or Faster where it excludes 0, else Unclear; null of one run.
	Direction  *string `json:"direction"`
	Conclusion string  `json:"conclusion"`
	// Runs is how many runs each side has.
	Runs RunCount `json:"runs"`
	// Comparable is false where the runs cannot be compared: no row has a status
	// then, and the conclusion is not_comparable.
	Comparable  bool           `json:"comparable"`
	Reasons     []string       `json:"not_comparable"`
	Explanation []string       `json:"explanation"`
	Mitigations []string       `json:"mitigations"`
	Renames     []Rename       `json:"renames"`
	Method      Method         `json:"method"`
	Handoff     report.Handoff `json:"optimization_handoff"`
	Warnings    []string       `json:"warnings"`

	opt    Options
	base   *side
	target *side
}

// Method says how the comparison was made.
type Method struct {
	Phase   string  `json:"phase"`          // Steady, Context, Generation or All
	Match   string  `json:"match"`          // "" or MatchBatch
	Level   float64 `json:"interval_level"` // of all intervals
	Alpha   float64 `json:"alpha"`          // the bound on false alarms
	Control string  `json:"control"`        // Family or Discovery: what of them it bounds
	// Scope names the steps that all figures are of; Duration and Gap say what
	// these two are measured between, InterStep what idle time is between steps.
	Scope     string `json:"scope"`
	Duration  string `json:"duration"`
	Gap       string `json:"gap"`
	InterStep string `json:"idle_inter_step"`
}
