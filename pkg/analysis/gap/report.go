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

// Report is what is known of the idle time of a run. Times in us are not rounded.
// A pointer is nil where there is nothing to say: null is not zero.
type Report struct {
	// Idle, Gaps and Graph are always there.
	Idle  Idle           `json:"idle"`
	Gaps  Gaps           `json:"gaps"`
	Graph CoverageReport `json:"graph"`
	// Pattern is the layer, null where none is found.
	Pattern *layer.Report `json:"pattern"`
	// Workload is event.Training or event.Diffusion, "" for what generates tokens, or may.
	Workload string `json:"workload,omitempty"`
	// Waits is null where the run has no collectives, or nothing is known of waits in them.
	Waits *Waits `json:"waits"`
	// Straggler is null without ranks to compare.
	Straggler *straggler.Report  `json:"straggler"`
	Findings  []findings.Finding `json:"findings"` // those that bring most first
	// Pair is what the first two bring together, null where fewer than two bring anything.
	Pair *findings.Pair `json:"best_pair"`
	// First is what to begin with: the first of Findings, or an operation of the host that brings
	// more (findings.HostWork); null where what bounds the steps is no host thread's.
	First   *findings.Finding `json:"first_target"`
	Handoff report.Handoff    `json:"optimization_handoff"` // for whoever optimises
	// Stacks are the idle time as stacks, and Waits where they are known, in no order in particular,
	// where they were asked for; they add up to both, in ns.
	Stacks []figure.Stack `json:"-"`
	// Series is how the steps went, where that was asked for and there are any.
	Series   *timeline.Series `json:"-"`
	Warnings []string         `json:"warnings"` // what limits the report, a sentence each
	// Quota is what a limit on CPU time did to the threads of a recording without GPU work, which is
	// among Warnings, too; "" where it did nothing or nobody can tell.
	Quota string `json:"-"`

	reason string // why there is nothing to say, "" where there is something
	single bool   // there is one step, which cannot tell what a change brings
}

// Idle is the idle time of all GPUs in the window and what it went to.
type Idle struct {
	TotalUs  float64 `json:"total_us"`  // idle time, over all GPUs
	WindowUs float64 `json:"window_us"` // length of the windows of all GPUs
	// InterStepUs is the part between steps (package idle tells which gaps that
	// are); null without steps.
	InterStepUs *float64 `json:"inter_step_us"`
	GPUs        int      `json:"lanes"`
	Steps       int64    `json:"rank_steps"` // of the benchmark segments; of the whole trace all of its steps
	// Outside is what of the rank that has most of it lies outside of its benchmark segment,
	// null where nothing does, or the window is that of the trace.
	Outside *step.Remainder `json:"outside"`
	// Window is "benchmark" or "trace".
	Window string  `json:"window"`
	Causes []Cause `json:"causes"` // they add up to TotalUs, the largest first
	// Running is what launching threads did on a CPU, null without samples.
	Running *Running `json:"running,omitempty"`
	// Python are the lines of Python at which launching threads were, the longest first;
	// none without samples of Python functions.
	Python []PythonLine `json:"python,omitempty"`
	// Unrecorded is what the recording lacks to say why host threads did not go on, and
	// Record the command that records it, "" where it lacks nothing.
	Unrecorded []idle.Missing `json:"not_recorded"`
	Record     string         `json:"record,omitempty"`
	// PythonFunctions is how many calls of Python functions were recorded and left out, where
	// most of the idle time is in nothing that was read but a step: they may say what the host does.
	PythonFunctions int64 `json:"python_functions_left_out,omitempty"`
	// Meanwhile is who ran while launching threads waited for others, at most three; Placement
	// where launching threads ran. Both are empty where that was not recorded, Placement also where
	// it is not known on which CPUs.
	Meanwhile []Meanwhile `json:"meanwhile"`
	Placement []Placement `json:"placement"`
	Phases    []PhaseIdle `json:"phases"`          // of the steps, empty without phases
	PerStep   []StepIdle  `json:"steps,omitempty"` // where they were asked for
}

// Part is a part of a time. The parts add up to the whole, in ns.
type Part struct {
	Cause     string   `json:"cause"`       // as package idle names it
	Ns        int64    `json:"ns"`          // over all GPUs
	Us        float64  `json:"us"`          // the same
	Share     float64  `json:"share"`       // of the whole
	UsPerStep *float64 `json:"us_per_step"` // per rank-step, null without steps
}

// partOf returns a part of a whole, both in ns.
func partOf(cause string, ns, whole, steps int64) Part {
	return Part{cause, ns, us(ns), ratio(ns, whole), perStep(us(ns), steps)}
}

// compare orders parts, the largest first, of equal ones by name: maps have no order.
func (p Part) compare(o Part) int {
	return cmp.Or(cmp.Compare(o.Ns, p.Ns), strings.Compare(p.Cause, o.Cause))
}

// Cause is a part of idle time.
type Cause struct {
	Part
	// Path are the ranges around most of it, the outermost first, and Source is the
	// function that the range stands for; of ranges only.
	Path   string `json:"path,omitempty"`
	Source string `json:"source,omitempty"`
	// Why divides what host threads are the cause of by why they did not go on (package
	// hoststate), the largest first: all of it, of untraced the part whose launching call
	// is known. Empty for causes on the GPU, and of single steps.
	Why []Why `json:"why"`
	// Holders are who held the interpreter lock, of the cause gil; they add up to it, the
	// largest first.
	Holders []Holder `json:"holders,omitempty"`
	// Sites are where it arose, the largest first; they add up to it. Causes that
	// have no site have none, nor have those of single steps.
	Sites []Site `json:"sites"`
}

// cause returns a cause by its name, nil where there is none.
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
	// Samples counts the samples of the CPU in it, and Families divides it by them, the
	// largest first; of what is on a CPU, where enough is known.
	Samples  int64    `json:"samples,omitempty"`
	Families []Family `json:"families,omitempty"`
}

// Holder is a thread that held the interpreter lock while another one waited for it.
type Holder struct {
	Rank   *int32 `json:"rank"`   // whose thread it is, null where nobody knows
	Thread *int64 `json:"thread"` // thread id, null where nobody knows who it is
	// Doing is what it was in: a call of CUDA, or a range, by the name of a cause and its
	// site; Path the ranges around it, the outermost first, and Why why it did not go on.
	Doing string  `json:"doing"`
	Path  string  `json:"path"`
	Why   string  `json:"why"`
	Ns    int64   `json:"ns"` // over all GPUs
	Us    float64 `json:"us"` // the same

	waits int64 // of Ns, in which it waits for the GPU or for others
	of    who
}

// Site is where a cause of idle time arose.
type Site struct {
	// Site is the name of the call, of graph and queued that of the kernel that
	// ended the gap, of ranges the innermost one.
	Site string `json:"site"`
	// Path are the ranges that the call was made in, the outermost first; "" for
	// none.
	Path   string  `json:"path"`
	Ns     int64   `json:"ns"`               // over all GPUs
	Us     float64 `json:"us"`               // the same
	Source string  `json:"source,omitempty"` // the function that the innermost known range stands for
}

// PhaseIdle is the idle time in the periods of the steps of a phase.
type PhaseIdle struct {
	Phase    string  `json:"phase"`      // one of event.Phases
	TotalUs  float64 `json:"total_us"`   // over all GPUs
	WindowUs float64 `json:"window_us"`  // the periods of all GPUs
	Steps    int64   `json:"rank_steps"` // 1 or more
	Causes   []Cause `json:"causes"`     // they add up to TotalUs, the largest first
}

// StepIdle is the idle time in the period of a step.
type StepIdle struct {
	Rank     int32   `json:"rank"`      // number of the rank
	Step     int     `json:"step"`      // number in its rank, from 0
	Phase    string  `json:"phase"`     // one of event.Phases
	TotalUs  float64 `json:"total_us"`  // over the rank's GPUs
	WindowUs float64 `json:"window_us"` // the period times the GPUs
	Causes   []Cause `json:"causes"`    // they add up to TotalUs, the largest first
}

// Gaps are the gaps between activities of a stream.
type Gaps struct {
	Buckets []Bucket `json:"buckets"` // all nine, the shortest first
	Top     []TopGap `json:"top"`     // the longest first
	// Dominant says what gaps of the bucket with most time come from as a rule, "" without gaps:
	// a guess by their length, which the causes of idle time may contradict.
	Dominant string `json:"dominant"`
}

// Bucket is the gaps of some lengths.
type Bucket struct {
	LowerUs float64  `json:"lower_us"` // the shortest gap, included
	UpperUs *float64 `json:"upper_us"` // the longest, not included; null for the last bucket
	Count   int64    `json:"count"`    // of gaps
	Ns      int64    `json:"ns"`       // sum of the gaps
	TotalUs float64  `json:"total_us"` // the same
	Share   float64  `json:"share"`    // of the time of all gaps, 0 to 1
	Source  string   `json:"source"`   // where such gaps come from as a rule
}

// TopGap is one of the longest gaps.
type TopGap struct {
	GapUs    float64 `json:"gap_us"`   // its length
	Previous string  `json:"previous"` // kernel that ends before it
	Next     string  `json:"next"`     // kernel that ends it
	Rank     int32   `json:"rank"`     // number of the rank
	Device   int32   `json:"device"`   // CUDA device number
	Stream   int64   `json:"stream"`   // CUDA stream
	Step     *int32  `json:"step"`     // the step that was open at its end, null for none
	StartNs  int64   `json:"start_ns"` // on the stream's clock
	// Call launched Next, in Range, the innermost of the ranges of Path; "" each where
	// that is not known.
	Call  string `json:"call"`
	Range string `json:"range"`
	Path  string `json:"path"`
	// IdleUs is the part in which nothing else ran on the device either, and Causes
	// what the thread that launched next did in the last stretch of it.
	IdleUs float64     `json:"idle_us"`
	Causes []CausePart `json:"causes"`
}

// CausePart is a part of one gap.
type CausePart struct {
	Cause string  `json:"cause"` // as package idle names it
	Us    float64 `json:"us"`    // of the gap
}
