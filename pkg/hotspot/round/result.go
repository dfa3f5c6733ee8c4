package round

// Verdict is what a round came to.
type Verdict string

const (
	Baseline      Verdict = "baseline"       // the first round
	Improved      Verdict = "improved"       // shorter beyond the noise
	NoChange      Verdict = "no change"      // within the noise
	Regressed     Verdict = "regressed"      // longer beyond the noise
	NotComparable Verdict = "not comparable" // no function and no benchmark that both have
)

// Result is what all rounds came to. Its JSON is that of the command.
type Result struct {
	Rounds   []Round  `json:"rounds"`  // in their order, the baseline first
	Stop     Stop     `json:"stop"`    // whether to go on
	Summary  Summary  `json:"summary"` // of all rounds
	Warnings []string `json:"-"`       // what makes rounds hard to compare; the command merges them
	Last     int      `json:"-"`       // index of the last round that was kept
}

// Round is one round.
type Round struct {
	Name      string   `json:"name"`        // as its profile is called
	Against   *string  `json:"against"`     // the round it is compared with; null for the baseline
	TotalUs   float64  `json:"total_us"`    // profiled time, of all outermost functions
	Steps     int64    `json:"steps"`       // 0 not known
	UsPerStep *float64 `json:"us_per_step"` // null where steps are not known

	Changed

	Target *Change `json:"target"` // the line or function to be improved; null where nothing says which
	// Prediction is what Target was to bring; null where nothing said so before the change.
	Prediction *Prediction `json:"prediction"`

	Functions []Change       `json:"functions"` // the largest changes, at most ten; empty for the baseline
	Lines     []Change       `json:"lines"`     // the same of lines, in functions that both rounds have
	Benchmark []MetricChange `json:"benchmark"` // of the round itself; null where it was not measured
	// BenchAgainst is the round whose benchmark is the other side: the last kept one that
	// has one; null where none has.
	BenchAgainst *string         `json:"benchmark_against"`
	Decisive     *MetricDecision `json:"decided_by"` // null for the baseline, and where nothing can be compared

	Verdict  Verdict   `json:"verdict"`   // on its change
	Reason   string    `json:"reason"`    // what Verdict rests on, as text; "" for the baseline
	RollBack bool      `json:"roll_back"` // it regressed, or its tests failed
	Pitfalls []Pitfall `json:"pitfalls"`  // what a regression looks like
	Note     *Note     `json:"note"`      // what people say of it; null without notes

	kept bool
	gain *float64 // what it gained, as a share: of throughput, or of profile time
}

// Changed is how a round's time differs from that of the round it is compared with.
type Changed struct {
	// ChangePct is how much the profiled time changed, per step where PerStep is set;
	// null for the baseline, and where nothing can be compared.
	ChangePct *float64 `json:"change_pct"`
	ChangeUs  *float64 `json:"change_us"` // the same in us, per step where PerStep is set
	PerStep   bool     `json:"per_step"`  // the figures of changes are per step, not totals
}

// Change is how the time of a function or line changed between two rounds. Times are in
// us, per step where the round's PerStep is set.
type Change struct {
	Function string   `json:"function"`       // the last part of its name
	File     string   `json:"file"`           // base name
	Line     int      `json:"line"`           // in the later round, in the earlier where it is gone or a target; 0 for functions
	Source   string   `json:"-"`              // "" for functions
	Type     string   `json:"type,omitempty"` // of the hotspot that it is the line of
	Status   string   `json:"status"`         // "", NEW, REMOVED
	BeforeUs *float64 `json:"before_us"`      // null where it is NEW
	AfterUs  *float64 `json:"after_us"`       // null where it is REMOVED
	DeltaUs  float64  `json:"delta_us"`       // after less before, missing ones as 0

	// PerHitUs are the times per hit before and after, null where it did not run.
	PerHitUs [2]*float64 `json:"per_hit_us"`
}

// MetricChange is a figure of a round's benchmark.
type MetricChange struct {
	Metric   Metric      `json:"metric"`   // its name says the unit
	Mean     float64     `json:"mean"`     // over runs, in the unit that Metric names
	Runs     int         `json:"runs"`     // at least 1
	Interval *[2]float64 `json:"interval"` // 95 % of the mean; null with one run
	// ChangePct is the change against Round.BenchAgainst, and of it the 95 % interval;
	// null without a benchmark there, or with one run on each side.
	ChangePct *float64    `json:"change_pct"`
	ChangeCI  *[2]float64 `json:"change_interval_pct"` // likewise, in percent of the mean before
}

// MetricDecision says by what the verdict was decided.
type MetricDecision struct {
	By        string  `json:"by"`         // a metric, "trace" or "profile"
	ChangePct float64 `json:"change_pct"` // positive: more of it
}

// Stop says whether to go on.
type Stop struct {
	Reason *string `json:"reason"` // the first rule that holds; null: go on
	Rules  []Rule  `json:"rules"`  // all of them, whether they hold or not
}

// Rule is a reason to stop.
type Rule struct {
	Rule   string `json:"rule"`   // its name
	Holds  bool   `json:"holds"`  // false, too, where it cannot be told
	Detail string `json:"detail"` // the figures that it rests on, as text
}

// Summary is what there is to report at the end: the number of rounds, and six lists.
// None of these is null.
type Summary struct {
	Rounds          int             `json:"rounds"`             // after the baseline
	Improved        int             `json:"improved"`           // of these
	Cumulative      *Cumulative     `json:"cumulative"`         // null with the baseline alone, or where nothing can be compared
	Benchmark       []BenchmarkLine `json:"benchmark"`          // of the metrics that both ends have
	Changes         []Made          `json:"changes"`            // those that were kept, by rounds
	Failed          []Attempt       `json:"failed_attempts"`    // those that were not
	Remaining       []Remaining     `json:"remaining_hotspots"` // of the last kept round, the largest first
	Recommendations []string        `json:"recommendations"`    // sentences, the most urgent first
}

// Cumulative is the improvement from the baseline to the last round that was kept. Times
// are of the outermost functions that both have.
type Cumulative struct {
	From      string  `json:"from"`       // the baseline's name
	To        string  `json:"to"`         // the last kept round's
	BeforeUs  float64 `json:"before_us"`  // per step where PerStep is set
	AfterUs   float64 `json:"after_us"`   // likewise
	ChangeUs  float64 `json:"change_us"`  // likewise; negative: faster
	ChangePct float64 `json:"change_pct"` // negative: faster
	PerStep   bool    `json:"per_step"`   // times are per step, not totals
}

// BenchmarkLine is a figure at the baseline and at the end, in the unit that its metric
// names.
type BenchmarkLine struct {
	Metric    Metric      `json:"metric"`              // its name says the unit
	Baseline  float64     `json:"baseline"`            // mean over its runs
	Final     float64     `json:"final"`               // mean over the runs of Round
	ChangePct float64     `json:"change_pct"`          // positive: more of it
	ChangeCI  *[2]float64 `json:"change_interval_pct"` // null with one run on each side
	Round     string      `json:"round"`               // the last kept one that has the metric
}

// Made is a change that was kept.
type Made struct {
	Round     string   `json:"round"`      // that kept it
	Change    string   `json:"change"`     // "" where no notes say
	File      string   `json:"file"`       // "" not known
	Line      int      `json:"line"`       // in the round before; 0 not known
	Type      string   `json:"type"`       // of waste; "" not known
	ChangePct *float64 `json:"change_pct"` // of profiled time, as Round.ChangePct
}

// Attempt is a change that did not pay.
type Attempt struct {
	Round  string `json:"round"`  // in which it was tried
	Change string `json:"change"` // "" where no notes say
	Type   string `json:"type"`   // of waste that it was to remove; "" not known
	Reason string `json:"reason"` // why it was taken back
}

// Remaining is a hotspot of the last round that was kept, other than real work.
type Remaining struct {
	Function  string   `json:"function"`    // as its profile names it
	File      string   `json:"file"`        // reduced path
	Line      int      `json:"line"`        // the first of the hotspot
	Type      string   `json:"type"`        // of waste
	TimeUs    float64  `json:"time_us"`     // of all its steps
	UsPerStep *float64 `json:"us_per_step"` // null where steps are not known
	Share     float64  `json:"share"`       // of the profiled time, 0 to 1
	Source    string   `json:"-"`           // of Line; in reports only
}
