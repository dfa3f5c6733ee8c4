package gap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/analysis/layer"
	"github.com/hostbound/hostbound/pkg/analysis/straggler"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/step"
)

// Report is the report on the idle time of a run. Times in us are not rounded. A nil pointer
// (null) means unknown or not applicable, not zero.
type Report struct {
	// Idle, Gaps and Graph are always present.
	Idle  Idle           `json:"idle"`
	Gaps  Gaps           `json:"gaps"`
	Graph CoverageReport `json:"graph"`
	// Pattern is the layer, null if none was found.
	Pattern *layer.Report `json:"pattern"`
	// Workload is event.Training or event.Diffusion, "" for token generation or unknown.
	Workload string `json:"workload,omitempty"`
	// Waits is null if the run has no collectives, or the waits in them are unknown.
	Waits *Waits `json:"waits"`
	// Straggler is null without ranks to compare.
	Straggler *straggler.Report `json:"straggler"`
	findings.Result
	Handoff report.Handoff `json:"optimization_handoff"` // input of the optimization step
	// Stacks, with Options.Stacks, are the idle time and, if known, Waits as stacks. They add up
	// to both, in ns, and are in no particular order.
	Stacks []figure.Stack `json:"-"`
	// Series, with Options.Series, is how the steps went; nil without steps.
	Series   *timeline.Series `json:"-"`
	Warnings []string         `json:"warnings"` // limits of the report, a sentence each
	// Quota says how a CPU quota stopped threads in a recording without GPU work, and is also
	// one of Warnings. It is "" if no quota did, or if that is unknown.
	Quota string `json:"-"`

	reason string // why there is nothing to report, else ""
}

// Idle is the idle time of all GPUs in the window, and its causes.
type Idle struct {
	TotalUs  float64 `json:"total_us"`  // idle time, over all GPUs
	WindowUs float64 `json:"window_us"` // length of the windows of all GPUs
	// InterStepUs is the part between steps, as defined by package idle; null without
	// steps.
	InterStepUs *float64 `json:"inter_step_us"`
	GPUs        int      `json:"lanes"`
	Steps       int64    `json:"rank_steps"` // of the benchmark segments, or all steps if Window is "trace"
	// Outside is what lies outside of the benchmark segment, for the rank with the most of it.
	// It is null if nothing does, or if Window is "trace".
	Outside *step.Remainder `json:"outside"`
	// Window is "benchmark" or "trace".
	Window string  `json:"window"`
	Causes []Cause `json:"causes"` // they add up to TotalUs, the largest first
	// Running is what launching threads ran on a CPU, null without CPU samples.
	Running *Running `json:"running,omitempty"`
	// Python are the lines of Python that launching threads were on, those with the most idle
	// time first; empty without enough samples of Python functions.
	Python []PythonLine `json:"python,omitempty"`
	// Unrecorded is what the recording lacks to tell why host threads were stalled. Record is
	// the command that records it, "" if nothing is missing or the profiler cannot record it.
	Unrecorded []idle.Missing `json:"not_recorded"`
	Record     string         `json:"record,omitempty"`
	// PythonFunctions is the number of recorded calls of Python functions that were not read.
	// It is set only if the largest cause is a mere step or code without a range: the calls may
	// then tell what the host does.
	PythonFunctions int64 `json:"python_functions_left_out,omitempty"`
	// Meanwhile are at most three threads that ran while launching threads waited for others.
	// Placement is where launching threads ran. Both are empty if that was not recorded, and
	// Placement also if the CPUs are unknown.
	Meanwhile []Meanwhile `json:"meanwhile"`
	Placement []Placement `json:"placement"`
	Phases    []PhaseIdle `json:"phases"`          // empty without phases
	PerStep   []StepIdle  `json:"steps,omitempty"` // with Options.PerStep
}

// Part is a part of a time. The parts add up to the whole, in ns.
type Part struct {
	Cause     string   `json:"cause"`       // as package idle names it
	Ns        int64    `json:"ns"`          // over all GPUs
	Us        float64  `json:"us"`          // the same
	Share     float64  `json:"share"`       // of the whole
	UsPerStep *float64 `json:"us_per_step"` // per rank-step, null without steps
}

// partOf returns the part of a whole; ns and whole are in ns.
func partOf(cause string, ns, whole, steps int64) Part {
	return Part{cause, ns, us(ns), ratio(ns, whole), perStep(us(ns), steps)}
}

// compare orders parts by size, the largest first, then by name, because maps have no order.
func (p Part) compare(o Part) int {
	return cmp.Or(cmp.Compare(o.Ns, p.Ns), strings.Compare(p.Cause, o.Cause))
}

// Cause is a part of idle time.
type Cause struct {
	Part
	// Path are the ranges of its largest site, the outermost first, and Source is the function
	// that the innermost known one stands for. Both are "" unless the cause is a range.
	Path   string `json:"path,omitempty"`
	Source string `json:"source,omitempty"`
	// Why divides host causes by why the thread was stalled (hoststate.go of package idle), the
	// largest first. The parts add up to the cause or, for untraced, to the part whose launching
	// call is known. Empty for causes on the GPU, and for single steps.
	Why []Why `json:"why"`
	// Holders, for the cause gil only, are the holders of the interpreter lock, the largest
	// first; they add up to the cause.
	Holders []Holder `json:"holders,omitempty"`
	// Sites are where it arose, the largest first; they add up to it. Empty for causes without
	// sites, and for single steps.
	Sites []Site `json:"sites"`
}

// cause returns a cause by name, nil if there is none.
func (i *Idle) cause(name string) *Cause {
	k := slices.IndexFunc(i.Causes, func(c Cause) bool { return c.Cause == name })
	if k < 0 {
		return nil
	}
	return &i.Causes[k]
}

// Why is a part of a cause of idle time.
type Why struct {
	Why string  `json:"why"` // as package idle names it (hoststate.go)
	Ns  int64   `json:"ns"`  // over all GPUs
	Us  float64 `json:"us"`  // the same
	// Samples counts the CPU samples in it, and Families are its shares by these, the largest
	// first. Empty for time off the CPU; Families also with too few samples.
	Samples  int64    `json:"samples,omitempty"`
	Families []Family `json:"families,omitempty"`
}

// Holder is a thread that held the interpreter lock while a launching thread waited for it.
type Holder struct {
	Rank   *int32 `json:"rank"`   // of the thread, null if unknown
	Thread *int64 `json:"thread"` // thread id, null if unknown
	// Doing is what it was in, a CUDA call or a range: the name of a cause, then that of the
	// site. Path are the ranges around it, the outermost first. Why is why it was stalled.
	Doing string  `json:"doing"`
	Path  string  `json:"path"`
	Why   string  `json:"why"`
	Ns    int64   `json:"ns"` // over all GPUs
	Us    float64 `json:"us"` // the same

	waits int64 // part of Ns in which it waits for the GPU or for others
	of    who
}

// Site is where a cause of idle time arose.
type Site struct {
	// Site is the name of the call; for graph and queued, that of the kernel that ended the
	// gap; for ranges, that of the innermost one.
	Site string `json:"site"`
	// Path are the ranges around the call, the outermost first; "" for none.
	Path   string  `json:"path"`
	Ns     int64   `json:"ns"`               // over all GPUs
	Us     float64 `json:"us"`               // the same
	Source string  `json:"source,omitempty"` // function that the innermost known range stands for
}

// PhaseIdle is the idle time in the periods of the steps of a phase.
type PhaseIdle struct {
	Phase    string  `json:"phase"`      // one of event.Phases
	TotalUs  float64 `json:"total_us"`   // over all GPUs
	WindowUs float64 `json:"window_us"`  // periods of the steps, over all GPUs
	Steps    int64   `json:"rank_steps"` // 1 or more
	Causes   []Cause `json:"causes"`     // they add up to TotalUs, the largest first
}

// StepIdle is the idle time in the period of one step.
type StepIdle struct {
	Rank     int32   `json:"rank"`      // number of the rank
	Step     int     `json:"step"`      // number in its rank, from 0
	Phase    string  `json:"phase"`     // one of event.Phases
	TotalUs  float64 `json:"total_us"`  // over the rank's GPUs
	WindowUs float64 `json:"window_us"` // period times the number of the rank's GPUs
	Causes   []Cause `json:"causes"`    // they add up to TotalUs, the largest first
}

// Gaps are the gaps between the activities of each stream.
type Gaps struct {
	Buckets []Bucket `json:"buckets"` // all nine, the shortest first
	Top     []TopGap `json:"top"`     // the longest first
	// Dominant says where gaps of the bucket with the most time typically come from, "" without
	// gaps. It is a guess from their length, and the causes of idle time may contradict it.
	Dominant string `json:"dominant"`
}

// Bucket sums up the gaps whose length is in some range.
type Bucket struct {
	LowerUs float64  `json:"lower_us"` // lower bound, inclusive
	UpperUs *float64 `json:"upper_us"` // upper bound, exclusive; null for the last bucket
	Count   int64    `json:"count"`    // number of gaps
	Ns      int64    `json:"ns"`       // sum of the gaps
	TotalUs float64  `json:"total_us"` // the same
	Share   float64  `json:"share"`    // of the time of all gaps, 0 to 1
	Source  string   `json:"source"`   // where such gaps typically come from
}

// TopGap is one of the longest gaps.
type TopGap struct {
	GapUs    float64 `json:"gap_us"`   // its length
	Previous string  `json:"previous"` // kernel that ends before it
	Next     string  `json:"next"`     // kernel that ends it
	Rank     int32   `json:"rank"`     // number of the rank
	Device   int32   `json:"device"`   // CUDA device number
	Stream   int64   `json:"stream"`   // CUDA stream
	Step     *int32  `json:"step"`     // step that was open at its end, null for none
	StartNs  int64   `json:"start_ns"` // when it begins, ns on the clock of the event stream
	// Call is the API call that launched Next, Path the ranges around it, and Range the
	// innermost of these. Each is "" if unknown.
	Call  string `json:"call"`
	Range string `json:"range"`
	Path  string `json:"path"`
	// IdleUs is the part in which the whole device was idle. Causes divide the last idle
	// stretch of it by what the thread that launched Next was doing.
	IdleUs float64     `json:"idle_us"`
	Causes []CausePart `json:"causes"`
}

// CausePart is a part of one gap.
type CausePart struct {
	Cause string  `json:"cause"` // as package idle names it
	Us    float64 `json:"us"`    // of that idle stretch
}
