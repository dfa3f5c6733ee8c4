package hotspot

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
)

// Options are settings that the profile does not contain.
type Options struct {
	Steps  int64 // forward steps profiled, 0: derived from hits
	Layers int   // layers of the model, 0 if unknown
	Sum    bool  // profiles are parts of a run and add up; otherwise they are its ranks
}

// Opaque is the sub-kind of a COMPUTE line with an unprofiled call: whether that is
// real work is unknown until it is profiled.
const Opaque = "call"

// Hidden returns the unprofiled call with most of the profiled time, nil if none takes
// so much that it must be profiled before anything else is concluded.
func (r *Report) Hidden() *DrillDown {
	if i := slices.IndexFunc(r.DrillDown, func(d DrillDown) bool { return !d.Profiled && d.Share > opaqueShare }); i >= 0 {
		return &r.DrillDown[i]
	}
	return nil
}

// Report is the result of Analyze. Its JSON is the command's.
type Report struct {
	Profiles  []Profile   `json:"profiles"`   // in the order given
	Functions []Function  `json:"functions"`  // longest first
	Hotspots  []Hotspot   `json:"hotspots"`   // longest first, until weighed
	DrillDown []DrillDown `json:"drill_down"` // largest share of the profiled time first

	// ProfileNext is the environment assignment with which to profile next, such as
	// TLLM_LINE_PROFILER_FUNCTIONS=…, "" if nothing is hidden.
	ProfileNext string `json:"profile_next"`

	Steps      int64    `json:"steps"`       // forward steps, 0 if unknown
	StepsFrom  string   `json:"steps_from"`  // source of Steps: "option", or a function's name
	ProfiledNs int64    `json:"-"`           // ns that no line of another profiled function explains
	TotalUs    float64  `json:"profiled_us"` // the same in us
	Warnings   []string `json:"warnings"`    // what cannot be trusted, as sentences

	ranks    bool        // the profiles are ranks of one run
	profiler string      // the command that profiles, with %s for ProfileNext; "" if that is
	fns      []*function // all functions, longest first
}

// Merged returns the functions of all profiles with their lines, in the order of
// Functions: each from the profile with its longest time, or the sum. They must not be
// changed.
func (r *Report) Merged() []*lineprof.Function {
	all := make([]*lineprof.Function, len(r.fns))
	for i, f := range r.fns {
		all[i] = f.Function
	}
	return all
}

// Profile describes one input.
type Profile struct {
	Name      string   `json:"name"`      // base name, "" for standard input
	Format    string   `json:"format"`    // a lineprof.Format
	UnitS     *float64 `json:"unit_s"`    // null if times have no unit
	Functions int      `json:"functions"` // number of functions
	TotalUs   float64  `json:"total_us"`  // us that no line of another profiled function explains
}

// Function is one function over all profiles.
type Function struct {
	Function string  `json:"function"` // as profiled, qualified or not
	File     string  `json:"file"`     // reduced path
	Line     int     `json:"line"`     // first line, 0 if unknown
	TotalUs  float64 `json:"total_us"` // the largest of any profile, or the sum
	Hits     int64   `json:"hits"`     // entries, 0 if unknown
	Share    float64 `json:"share"`    // of the profiled time
	Root     bool    `json:"root"`     // no other profiled function calls it

	// PerProfileUs is the total in each profile, in order; null if it is missing there.
	PerProfileUs []*float64 `json:"per_profile_us"`
}

// Hotspot is one line, or a loop with the lines that belong to it.
type Hotspot struct {
	Function string `json:"function"`  // as profiled
	File     string `json:"file"`      // reduced path
	Line     int    `json:"line"`      // line with most of a statement's time, or a loop's header
	LastLine int    `json:"last_line"` // last line that belongs to it
	Source   string `json:"-"`         // the statement's first line, without indentation; in reports only

	Cost

	Type       Type       `json:"type"`       // the first of Types
	Sub        string     `json:"sub_kind"`   // "boundary", "enum", Opaque, …; often ""
	Types      []Type     `json:"types"`      // all that apply, doubtful ones last
	Severity   Severity   `json:"severity"`   // of Type
	Confidence Confidence `json:"confidence"` // of Type
	Evidence   []string   `json:"evidence"`   // sentences, the first for Type
	Scope      Scope      `json:"scope"`      // how often it runs

	Exposed

	Options []Option `json:"options"` // what to do, best first
	Tests   []string `json:"tests"`   // unit tests to run after a change

	within string  // range of the trace that contains the hotspot's time, "" if unknown
	part   float64 // share of that range's time, by the profile
}

// Cost is the time of a hotspot.
type Cost struct {
	Hits            int64    `json:"hits"`              // of Line, as the profiler counts: twice for a with statement
	TimeUs          float64  `json:"time_us"`           // without the profiled functions that it calls
	PerHitUs        float64  `json:"per_hit_us"`        // TimeUs divided by Hits, 0 if there are none
	UsPerStep       *float64 `json:"us_per_step"`       // null if steps are unknown
	Share           float64  `json:"share"`             // of the profiled time
	ShareOfFunction float64  `json:"share_of_function"` // of its function's total
}

// Exposed is what a trace says about a hotspot.
type Exposed struct {
	ExposedUsPerStep *float64 `json:"exposed_us_per_step"` // GPU wait for it, 0 if hidden; null without a trace or a range for it
	// GainUsPerStep is how much shorter a step would be without the hotspot's time, by
	// replaying a trace; GainCIUs is its 95 % interval. null if no trace was given, or
	// it has no range of the function or its callers.
	GainUsPerStep *float64    `json:"gain_us_per_step"`
	GainCIUs      *[2]float64 `json:"gain_ci_us"`
}

// Option is one thing to do about a hotspot.
type Option struct {
	Option      string      `json:"option"`              // a few words
	Description string      `json:"description"`         // a sentence or two
	SavingsUs   *[2]float64 `json:"savings_us_per_step"` // least and most; null if steps are unknown
	SavingsPct  [2]float64  `json:"savings_pct"`         // of the profiled time
	SavingsOf   [2]float64  `json:"savings_of_hotspot"`  // of the hotspot's time, 0 to 1
	Risk        Risk        `json:"risk"`                // none: same results, local change
	Complexity  string      `json:"complexity"`          // low, medium or high
	Source      string      `json:"source"`              // where the figures are from
}

// DrillDown is a line that hides where its function's time goes: it has more than 0.8
// of that, or is an unknown call with more than 0.05 of the profiled time.
type DrillDown struct {
	Function        string  `json:"function"`          // function of the line, as profiled
	File            string  `json:"file"`              // reduced path
	Line            int     `json:"line"`              // line with most of the statement's time
	ShareOfFunction float64 `json:"share_of_function"` // of its function's total
	Share           float64 `json:"share"`             // of the profiled time; without profiled callees unless Profiled
	Callee          string  `json:"callee"`            // as in the line
	Target          *string `json:"target"`            // full name to profile; null if it cannot be resolved, or Profiled
	Profiled        bool    `json:"profiled"`          // it is in the profile: continue there
	Note            string  `json:"note"`              // why there is no target, or what it rests on
}

type (
	Type       string // type of waste, as in data/types.toml
	Severity   string // critical, high, medium, low
	Confidence string // high, medium, low
	Risk       string // none, low, medium, high

	Scope string // how often a line runs: see the constants
)

const (
	Sync          Type = "SYNC"           // waits for the GPU, or copies from it
	HostSync      Type = "HOST_SYNC"      // waits for the GPU once per layer
	CustomOp      Type = "CUSTOM_OP"      // small tensor operations in a row that a fused one could replace
	GraphBreak    Type = "GRAPH_BREAK"    // cannot be captured in a CUDA graph, or splits one
	Alloc         Type = "ALLOC"          // makes a tensor, array or container each time
	Hoist         Type = "HOIST"          // computes the same in each iteration or layer
	PyLoop        Type = "PYLOOP"         // loops in Python over many items
	RedundantIter Type = "REDUNDANT_ITER" // iterates over what the function iterates over elsewhere
	DeadWork      Type = "DEAD_WORK"      // builds what is rarely used
	Container     Type = "CONTAINER"      // works on dictionaries, lists, attributes and keys
	FuncCall      Type = "FUNCALL"        // calls something that does next to nothing
	Comm          Type = "COMM"           // communicates between ranks from Python
	GIL           Type = "GIL"            // waits for another thread
	Serialize     Type = "SERIALIZE"      // serialises objects, or deserialises
	GC            Type = "GC"             // runs or controls the garbage collector
	Compute       Type = "COMPUTE"        // real work, not waste
)
