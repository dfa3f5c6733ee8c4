package hotspot

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
)

// Options are what the profile does not say.
type Options struct {
	Top    int   // hotspots to return, 0: all that have the least share (package comment)
	Steps  int64 // forward steps that were profiled, 0: from the hits of the outermost function
	Layers int   // layers of the model, 0: not known
	Sum    bool  // profiles are parts of a run and add up; otherwise they are its ranks
}

// Opaque is the sub-kind of a COMPUTE line that calls what was not profiled: whether it is real
// work is not known before that is.
const Opaque = "call"

// Hidden is the call that was not profiled which takes most of the profiled time, nil where
// none takes so much that it is to be profiled before anything else is concluded.
func (r *Report) Hidden() *DrillDown {
	if i := slices.IndexFunc(r.DrillDown, func(d DrillDown) bool { return !d.Profiled && d.Share > opaqueShare }); i >= 0 {
		return &r.DrillDown[i]
	}
	return nil
}

// Report is what Analyze found. Its JSON is that of the command.
type Report struct {
	Profiles  []Profile   `json:"profiles"`   // in the order given
	Functions []Function  `json:"functions"`  // by falling time
	Hotspots  []Hotspot   `json:"hotspots"`   // by falling time, until something weighs them otherwise
	DrillDown []DrillDown `json:"drill_down"` // by falling share of the profiled time

	// ProfileNext is the assignment to TLLM_LINE_PROFILER_FUNCTIONS with which to
	// profile next, "" where nothing is hidden.
	ProfileNext string `json:"profile_next"`

	Steps      int64    `json:"steps"`       // forward steps, 0 not known
	StepsFrom  string   `json:"steps_from"`  // what said so: "option", or a function's name
	ProfiledNs int64    `json:"-"`           // time of the functions that no profiled function calls
	TotalUs    float64  `json:"profiled_us"` // the same in us
	Warnings   []string `json:"warnings"`    // what cannot be trusted, sentences

	ranks    bool        // the profiles are taken for ranks of one run
	profiler string      // the command that profiles, with %s for ProfileNext; "" where that is
	fns      []*function // all of them, the longest first
}

// Merged are the functions of all profiles, as Functions has them, with their lines: each that of the
// profile in which it took longest, or the sum. They must not be changed.
func (r *Report) Merged() []*lineprof.Function {
	all := make([]*lineprof.Function, len(r.fns))
	for i, f := range r.fns {
		all[i] = f.Function
	}
	return all
}

// Profile is one input.
type Profile struct {
	Name      string   `json:"name"`      // base name, "" for standard input
	Format    string   `json:"format"`    // a lineprof.Format
	UnitS     *float64 `json:"unit_s"`    // null where times have no unit of their own
	Functions int      `json:"functions"` // how many
	TotalUs   float64  `json:"total_us"`  // of the functions that no profiled function calls
}

// Function is one function over all profiles.
type Function struct {
	Function string  `json:"function"` // its name as profiled, qualified or not
	File     string  `json:"file"`     // reduced path
	Line     int     `json:"line"`     // the first, 0 not known
	TotalUs  float64 `json:"total_us"` // the largest of any profile, or the sum
	Hits     int64   `json:"hits"`     // entries, 0 not known
	Share    float64 `json:"share"`    // of the profiled time
	Root     bool    `json:"root"`     // no other profiled function calls it

	// PerProfileUs is the total in each profile, in their order; null where it is
	// not in one.
	PerProfileUs []*float64 `json:"per_profile_us"`
}

// Hotspot is one line, or a loop and the lines that make it one.
type Hotspot struct {
	Function string `json:"function"`  // its name as profiled
	File     string `json:"file"`      // reduced path
	Line     int    `json:"line"`      // that has most of a statement's time, or a loop's header
	LastLine int    `json:"last_line"` // the last that belongs to it
	Source   string `json:"-"`         // of Line, without indentation; in reports only

	Cost

	Type       Type       `json:"type"`       // the first of Types
	Sub        string     `json:"sub_kind"`   // "boundary", "enum", Opaque, …; often ""
	Types      []Type     `json:"types"`      // all that apply, doubtful ones last
	Severity   Severity   `json:"severity"`   // of Type
	Confidence Confidence `json:"confidence"` // of Type
	Evidence   []string   `json:"evidence"`   // sentences, the first for Type
	Scope      Scope      `json:"scope"`      // how often it runs

	Exposed

	Options []Option `json:"options"` // what to do, the best first
	Tests   []string `json:"tests"`   // unit tests to run after a change

	within string  // range of the trace that the hotspot's time is in, "" not known
	part   float64 // of that range's time, by the profile
}

// Cost is what a hotspot takes.
type Cost struct {
	Hits            int64    `json:"hits"`              // of Line, as the profiler counts: a with statement twice
	TimeUs          float64  `json:"time_us"`           // less what profiled functions take that it calls
	PerHitUs        float64  `json:"per_hit_us"`        // TimeUs for each of Hits, 0 without
	UsPerStep       *float64 `json:"us_per_step"`       // null where steps are not known
	Share           float64  `json:"share"`             // of the profiled time
	ShareOfFunction float64  `json:"share_of_function"` // of its function's total
}

// Exposed is what a trace says of a hotspot.
type Exposed struct {
	ExposedUsPerStep *float64 `json:"exposed_us_per_step"` // of a trace; null without
	// GainUsPerStep is what a step would be shorter without the hotspot's time, by replaying a
	// trace, and GainCIUs its 95 % interval; null where no trace was given, or has no range of
	// the function or its callers.
	GainUsPerStep *float64    `json:"gain_us_per_step"`
	GainCIUs      *[2]float64 `json:"gain_ci_us"`
}

// Option is one thing to do about a hotspot.
type Option struct {
	Option      string      `json:"option"`              // in a few words
	Description string      `json:"description"`         // in a sentence or two
	SavingsUs   *[2]float64 `json:"savings_us_per_step"` // least and most; null where steps are not known
	SavingsPct  [2]float64  `json:"savings_pct"`         // of the profiled time
	SavingsOf   [2]float64  `json:"savings_of_hotspot"`  // of the hotspot's time, 0 to 1
	Risk        Risk        `json:"risk"`                // none: same results, local change
	Complexity  string      `json:"complexity"`          // low, medium, high
	Source      string      `json:"source"`              // where the figures are from
}

// DrillDown is a line that hides where its function's time goes: more than 0.8 of that, or a call
// of more than 0.05 of the profiled time that nothing else is known of.
type DrillDown struct {
	Function        string  `json:"function"`          // that the line is in, as profiled
	File            string  `json:"file"`              // reduced path
	Line            int     `json:"line"`              // that has most of the statement's time
	ShareOfFunction float64 `json:"share_of_function"` // of its function's total
	Share           float64 `json:"share"`             // of the profiled time, less what profiled functions take unless Profiled
	Callee          string  `json:"callee"`            // as the line has it
	Target          *string `json:"target"`            // full name to profile; null where it cannot be resolved
	Profiled        bool    `json:"profiled"`          // it is in the profile: go on there
	Note            string  `json:"note"`              // why there is no target, or what it rests on
}

type (
	Type       string // of waste, as in data/types.toml
	Severity   string // critical, high, medium, low
	Confidence string // high, medium, low
	Risk       string // none, low, medium, high

	Scope string // how often a line runs: see the constants
)

const (
	Sync          Type = "SYNC"           // waits for the GPU, or copies from it
	HostSync      Type = "HOST_SYNC"      // waits for the GPU once per layer
	CustomOp      Type = "CUSTOM_OP"      // small tensor operations in a row, which one fused one would do
	GraphBreak    Type = "GRAPH_BREAK"    // cannot be captured in a CUDA graph, or splits one
	Alloc         Type = "ALLOC"          // makes a tensor, array or container each time
	Hoist         Type = "HOIST"          // computes the same in each iteration or layer
	PyLoop        Type = "PYLOOP"         // loops in Python over many items
	RedundantIter Type = "REDUNDANT_ITER" // goes over what the function goes over elsewhere
	DeadWork      Type = "DEAD_WORK"      // builds what is rarely used
	Container     Type = "CONTAINER"      // works on dictionaries, lists, attributes and keys
	FuncCall      Type = "FUNCALL"        // calls what does next to nothing
	Comm          Type = "COMM"           // communicates between ranks from Python
	GIL           Type = "GIL"            // waits for another thread
	Serialize     Type = "SERIALIZE"      // turns objects into bytes, or back
	GC            Type = "GC"             // runs or steers the garbage collector
	Compute       Type = "COMPUTE"        // real work: no waste
)
