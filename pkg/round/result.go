package round

// Verdict is what a round came to.
type Verdict string

const (
	Baseline      Verdict = "baseline"
	Improved      Verdict = "improved"
	NoChange      Verdict = "no change"
	Regressed     Verdict = "regressed"
	NotComparable Verdict = "not comparable"
)

// Result is what all rounds came to. Its JSON is that of the command.
type Result struct {
	Rounds   []Round  `json:"rounds"`
	Stop     Stop     `json:"stop"`
	Summary  Summary  `json:"summary"`
	Warnings []string `json:"-"`
	Last     int      `json:"-"` // index of the last round that was kept
}

// Round is one round.
type Round struct {
	Name      string   `json:"name"`
	Against   *string  `json:"against"`     // the round it is compared with; null for the baseline
	TotalUs   float64  `json:"total_us"`    // profiled time, of all outermost functions
	Steps     int64    `json:"steps"`       // 0 not known
	UsPerStep *float64 `json:"us_per_step"` // null where steps are not known

	// ChangePct is how much the profiled time changed, per step where PerStep is set;
	// null for the baseline, and where nothing can be compared.
	ChangePct *float64 `json:"change_pct"`
	ChangeUs  *float64 `json:"change_us"` // the same in us, per step where PerStep is set
	PerStep   bool     `json:"per_step"`

	Target    *Change         `json:"target"` // the line or function to be improved; null where nothing says which
	Functions []Change        `json:"functions"`
	Lines     []Change        `json:"lines"`
	Benchmark []MetricChange  `json:"benchmark"` // of the round itself; null where it was not measured
	Decisive  *MetricDecision `json:"decided_by"`

	Verdict  Verdict   `json:"verdict"`
	Reason   string    `json:"reason"`
	RollBack bool      `json:"roll_back"`
	Pitfalls []Pitfall `json:"pitfalls"` // what a regression looks like
	Note     *Note     `json:"note"`

	kept bool
	gain *float64 // what it gained, as a share: of throughput, or of profile time
}

// Change is how the time of a function or line changed between two rounds.
type Change struct {
	Function string   `json:"function"`
	File     string   `json:"file"`
	Line     int      `json:"line"`           // in the later round, or in the earlier where it is gone; 0 for functions
	Source   string   `json:"-"`              // "" for functions
	Type     string   `json:"type,omitempty"` // of the hotspot that it is the line of
	Status   string   `json:"status"`         // "", NEW, REMOVED
	BeforeUs *float64 `json:"before_us"`      // per step where the round's PerStep is set
	AfterUs  *float64 `json:"after_us"`
	DeltaUs  float64  `json:"delta_us"`

	// PerHitUs are the times per hit before and after, null where it did not run.
	PerHitUs [2]*float64 `json:"per_hit_us"`
}

// MetricChange is a figure of a round's benchmark.
type MetricChange struct {
	Metric   Metric      `json:"metric"`
	Mean     float64     `json:"mean"`
	Runs     int         `json:"runs"`
	Interval *[2]float64 `json:"interval"` // 95 % of the mean; null with one run
	// ChangePct is the change against the round that it is compared with, and of it
	// the 95 % interval; null without a benchmark there, or with one run on each side.
	ChangePct *float64    `json:"change_pct"`
	ChangeCI  *[2]float64 `json:"change_interval_pct"`
}

// MetricDecision says by what the verdict was decided.
type MetricDecision struct {
	By        string  `json:"by"`         // a metric, or "profile"
	ChangePct float64 `json:"change_pct"` // positive: more of it
}

// Stop says whether to go on.
type Stop struct {
	Reason *string `json:"reason"` // the first rule that holds; null: go on
	Rules  []Rule  `json:"rules"`
}

// Rule is a reason to stop.
type Rule struct {
	Rule   string `json:"rule"`
	Holds  bool   `json:"holds"`
	Detail string `json:"detail"`
}

// Summary is what there is to report at the end.
type Summary struct {
	Rounds          int             `json:"rounds"` // after the baseline
	Improved        int             `json:"improved"`
	Cumulative      *Cumulative     `json:"cumulative"` // null with the baseline alone
	Benchmark       []BenchmarkLine `json:"benchmark"`
	Changes         []Made          `json:"changes"`
	Failed          []Attempt       `json:"failed_attempts"`
	Remaining       []Remaining     `json:"remaining_hotspots"`
	Recommendations []string        `json:"recommendations"`
}

// Cumulative is the improvement from the baseline to the last round that was kept.
type Cumulative struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	BeforeUs  float64 `json:"before_us"` // per step where PerStep is set
	AfterUs   float64 `json:"after_us"`
	ChangeUs  float64 `json:"change_us"`
	ChangePct float64 `json:"change_pct"`
	PerStep   bool    `json:"per_step"`
}

// BenchmarkLine is a figure at the baseline and at the end.
type BenchmarkLine struct {
	Metric    Metric      `json:"metric"`
	Baseline  float64     `json:"baseline"`
	Final     float64     `json:"final"`
	ChangePct float64     `json:"change_pct"`
	ChangeCI  *[2]float64 `json:"change_interval_pct"` // null with one run on each side
	Round     string      `json:"round"`               // whose Final is
}

// Made is a change that was kept.
type Made struct {
	Round     string   `json:"round"`
	Change    string   `json:"change"` // "" where no notes say
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Type      string   `json:"type"`
	ChangePct *float64 `json:"change_pct"`
}

// Attempt is a change that did not pay.
type Attempt struct {
	Round  string `json:"round"`
	Change string `json:"change"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// Remaining is a hotspot of the last round that was kept.
type Remaining struct {
	Function  string   `json:"function"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Type      string   `json:"type"`
	TimeUs    float64  `json:"time_us"`
	UsPerStep *float64 `json:"us_per_step"`
	Share     float64  `json:"share"`
	Source    string   `json:"-"`
}
