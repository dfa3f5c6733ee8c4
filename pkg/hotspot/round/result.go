package round

// Verdict is the outcome of a round.
type Verdict string

const (
	Baseline      Verdict = "baseline"       // the first round
	Improved      Verdict = "improved"       // faster beyond the noise
	NoChange      Verdict = "no change"      // within the noise
	Regressed     Verdict = "regressed"      // slower beyond the noise
	NotComparable Verdict = "not comparable" // no outermost function, traces or benchmark in common
)

// Result is the outcome of all rounds. Its JSON is the command's.
type Result struct {
	Rounds   []Round  `json:"rounds"`  // in order, baseline first
	Stop     Stop     `json:"stop"`    // whether to go on
	Summary  Summary  `json:"summary"` // of all rounds
	Warnings []string `json:"-"`       // what makes rounds hard to compare; the command merges them
	Last     int      `json:"-"`       // index of the last kept round
}

// Round is one round.
type Round struct {
	Name      string   `json:"name"`        // name of its profile
	Against   *string  `json:"against"`     // the round it is compared with; null for the baseline
	TotalUs   float64  `json:"total_us"`    // profiled time of all outermost functions
	Steps     int64    `json:"steps"`       // 0 if unknown
	UsPerStep *float64 `json:"us_per_step"` // null if steps are unknown

	Changed

	Target *Change `json:"target"` // the line or function to be improved; null if unknown
	// Prediction is the predicted gain of Target; null if none was made before the
	// change.
	Prediction *Prediction `json:"prediction"`

	Functions []Change       `json:"functions"` // the largest changes, at most ten; empty for the baseline
	Lines     []Change       `json:"lines"`     // the same for lines, in functions of both rounds
	Benchmark []MetricChange `json:"benchmark"` // the round's own; null if it was not measured
	// BenchAgainst is the round whose benchmark it is compared with: the last kept one
	// that has one; null if there is none.
	BenchAgainst *string         `json:"benchmark_against"`
	Decisive     *MetricDecision `json:"decided_by"` // null for the baseline, and if nothing can be compared

	Verdict  Verdict   `json:"verdict"`   // on the round's change
	Reason   string    `json:"reason"`    // reason for Verdict, as text; "" for the baseline
	RollBack bool      `json:"roll_back"` // it regressed, or its tests failed
	Pitfalls []Pitfall `json:"pitfalls"`  // known patterns in a round rolled back or reverted; never null
	Note     *Note     `json:"note"`      // the user's note; null if there is none

	kept bool
	gain *float64 // gain as a share of throughput or profiled time; nil if unknown
}

// Changed is how a round's time differs from that of the round it is compared with.
type Changed struct {
	// ChangePct is the change of profiled time in percent, per step if PerStep is set;
	// null for the baseline, and if nothing can be compared.
	ChangePct *float64 `json:"change_pct"`
	ChangeUs  *float64 `json:"change_us"` // the same in us, per step if PerStep is set
	PerStep   bool     `json:"per_step"`  // changes are per step, not totals
}

// Change is how the time of a function or line changed between two rounds. Times are in
// us, per step if the round's PerStep is set.
type Change struct {
	Function string   `json:"function"`       // last part of its name
	File     string   `json:"file"`           // base name
	Line     int      `json:"line"`           // in the later round, in the earlier one if it is removed or a target; 0 for functions
	Source   string   `json:"-"`              // "" for functions
	Type     string   `json:"type,omitempty"` // type of the hotspot that the line belongs to
	Status   string   `json:"status"`         // "", NEW, REMOVED
	BeforeUs *float64 `json:"before_us"`      // null if NEW
	AfterUs  *float64 `json:"after_us"`       // null if REMOVED
	DeltaUs  float64  `json:"delta_us"`       // after less before, with missing ones as 0

	// PerHitUs are the times per hit before and after, null if it did not run.
	PerHitUs [2]*float64 `json:"per_hit_us"`
}

// MetricChange is a figure of a round's benchmark.
type MetricChange struct {
	Metric   Metric      `json:"metric"`   // its name includes the unit
	Mean     float64     `json:"mean"`     // over runs, in the unit of Metric
	Runs     int         `json:"runs"`     // at least 1
	Interval *[2]float64 `json:"interval"` // 95 % interval of the mean; null with one run
	// ChangePct is the change since Round.BenchAgainst, and ChangeCI its 95 % interval;
	// null without a benchmark there. ChangeCI is also null with one run on each side.
	ChangePct *float64    `json:"change_pct"`
	ChangeCI  *[2]float64 `json:"change_interval_pct"` // in percent of the mean before
}

// MetricDecision says what decided the verdict.
type MetricDecision struct {
	By        string  `json:"by"`         // a metric, "trace" or "profile"
	ChangePct float64 `json:"change_pct"` // positive: more of it
}

// Stop says whether to go on.
type Stop struct {
	Reason *string `json:"reason"` // the first rule that holds; null: go on
	Rules  []Rule  `json:"rules"`  // all rules, whether they hold or not
}

// Rule is a reason to stop.
type Rule struct {
	Rule   string `json:"rule"`   // its name
	Holds  bool   `json:"holds"`  // also false if it is unknown
	Detail string `json:"detail"` // the figures behind it, as text
}

// Summary is the final report on all rounds.
type Summary struct {
	Rounds          int             `json:"rounds"`             // after the baseline
	Improved        int             `json:"improved"`           // those that improved and were kept
	Cumulative      *Cumulative     `json:"cumulative"`         // null with the baseline alone, or if nothing can be compared
	Benchmark       []BenchmarkLine `json:"benchmark"`          // metrics of both the baseline and a later kept round; never null
	Changes         []Made          `json:"changes"`            // changes that were kept, by round; never null
	Failed          []Attempt       `json:"failed_attempts"`    // changes that were not; never null
	Remaining       []Remaining     `json:"remaining_hotspots"` // of the last kept round, in the order of its report; never null
	Recommendations []string        `json:"recommendations"`    // sentences, most urgent first; null if there are none
}

// Cumulative is the improvement from the baseline to the last kept round. Times are of
// the outermost functions that both have.
type Cumulative struct {
	From      string  `json:"from"`       // the baseline's name
	To        string  `json:"to"`         // the last kept round's name
	BeforeUs  float64 `json:"before_us"`  // per step if PerStep is set
	AfterUs   float64 `json:"after_us"`   // per step if PerStep is set
	ChangeUs  float64 `json:"change_us"`  // per step if PerStep is set; negative: faster
	ChangePct float64 `json:"change_pct"` // negative: faster
	PerStep   bool    `json:"per_step"`   // times are per step, not totals
}

// BenchmarkLine is a figure at the baseline and at the end, in the unit of its metric.
type BenchmarkLine struct {
	Metric    Metric      `json:"metric"`              // its name includes the unit
	Baseline  float64     `json:"baseline"`            // mean over its runs
	Final     float64     `json:"final"`               // mean over the runs of Round
	ChangePct float64     `json:"change_pct"`          // positive: more of it
	ChangeCI  *[2]float64 `json:"change_interval_pct"` // null with one run on each side
	Round     string      `json:"round"`               // the last kept round that has the metric
}

// Made is a change that was kept.
type Made struct {
	Round     string   `json:"round"`      // round that made it
	Change    string   `json:"change"`     // "" if there is no note
	File      string   `json:"file"`       // "" if unknown
	Line      int      `json:"line"`       // in the round before; 0 if unknown
	Type      string   `json:"type"`       // type of waste; "" if unknown
	ChangePct *float64 `json:"change_pct"` // of profiled time, as in Round.ChangePct
}

// Attempt is a change that did not pay.
type Attempt struct {
	Round  string `json:"round"`  // in which it was tried
	Change string `json:"change"` // "" if there is no note
	Type   string `json:"type"`   // type of waste that it was to remove; "" if unknown
	Reason string `json:"reason"` // why it was reverted
}

// Remaining is a hotspot of the last kept round, other than real work.
type Remaining struct {
	Function  string   `json:"function"`    // as in the profile
	File      string   `json:"file"`        // reduced path
	Line      int      `json:"line"`        // first line of the hotspot
	Type      string   `json:"type"`        // type of waste
	TimeUs    float64  `json:"time_us"`     // over all steps
	UsPerStep *float64 `json:"us_per_step"` // null if steps are unknown
	Share     float64  `json:"share"`       // of the profiled time, 0 to 1
	Source    string   `json:"-"`           // of Line; in reports only
}
