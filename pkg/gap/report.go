package gap

import (
	"github.com/hostbound/hostbound/pkg/coverage"
	"github.com/hostbound/hostbound/pkg/handoff"
	"github.com/hostbound/hostbound/pkg/pattern"
	"github.com/hostbound/hostbound/pkg/slack"
	"github.com/hostbound/hostbound/pkg/straggler"
)

// Report is what is known of the idle time of a run. Times in us are not rounded.
// A pointer is nil where there is nothing to say: null is not zero.
type Report struct {
	Idle      Idle              `json:"idle"`
	Gaps      Gaps              `json:"gaps"`
	Graph     coverage.Report   `json:"graph"`
	Pattern   *pattern.Report   `json:"pattern"`
	Straggler *straggler.Report `json:"straggler"`
	Slack     *slack.Report     `json:"slack"`
	Findings  []Finding         `json:"findings"`
	Handoff   handoff.Handoff   `json:"optimization_handoff"`
	Warnings  []string          `json:"warnings"`
}

// Idle is the idle time of all lanes in the window and what it went to.
type Idle struct {
	TotalUs  float64 `json:"total_us"`
	WindowUs float64 `json:"window_us"` // length of the windows of all lanes
	// InterStepUs is the part between steps (package idle tells which gaps that
	// are); null without steps.
	InterStepUs *float64 `json:"inter_step_us"`
	Lanes       int      `json:"lanes"`
	Steps       int64    `json:"rank_steps"` // of the benchmark segments
	// Window is "benchmark" or "trace".
	Window  string      `json:"window"`
	Causes  []Cause     `json:"causes"`
	Phases  []PhaseIdle `json:"phases"`
	PerStep []StepIdle  `json:"steps,omitempty"`
}

// Cause is a part of idle time. The parts add up to the whole, in ns.
type Cause struct {
	Cause     string   `json:"cause"`
	Ns        int64    `json:"ns"`          // over all lanes
	Us        float64  `json:"us"`          // the same
	Share     float64  `json:"share"`       // of the idle time
	UsPerStep *float64 `json:"us_per_step"` // per rank-step, null without steps
	// Path are the ranges around most of it, the outermost first, and Source is the
	// function that the range stands for; of ranges only.
	Path   string `json:"path,omitempty"`
	Source string `json:"source,omitempty"`
	// Sites are where it arose, the largest first; they add up to it. Causes that
	// have no site have none, nor have those of single steps.
	Sites []Site `json:"sites"`
}

// Site is where a cause of idle time arose.
type Site struct {
	// Site is the name of the call, of graph and queued that of the kernel that
	// ended the gap, of ranges the innermost one.
	Site string `json:"site"`
	// Path are the ranges that the call was made in, the outermost first; "" for
	// none.
	Path   string  `json:"path"`
	Ns     int64   `json:"ns"`
	Us     float64 `json:"us"`
	Source string  `json:"source,omitempty"` // the function that the innermost known range stands for
}

// PhaseIdle is the idle time in the periods of the steps of a phase.
type PhaseIdle struct {
	Phase    string  `json:"phase"`
	TotalUs  float64 `json:"total_us"`
	WindowUs float64 `json:"window_us"`
	Steps    int64   `json:"rank_steps"`
	Causes   []Cause `json:"causes"`
}

// StepIdle is the idle time in the period of a step.
type StepIdle struct {
	Rank     int32   `json:"rank"`
	Step     int     `json:"step"`
	Phase    string  `json:"phase"`
	TotalUs  float64 `json:"total_us"`
	WindowUs float64 `json:"window_us"`
	Causes   []Cause `json:"causes"`
}

// Gaps are the gaps between activities of a stream.
type Gaps struct {
	Buckets []Bucket `json:"buckets"`
	Top     []TopGap `json:"top"`
	// Dominant says what most of the gap time is in, "" without gaps.
	Dominant string `json:"dominant"`
}

// Bucket is the gaps of some lengths.
type Bucket struct {
	LowerUs float64  `json:"lower_us"`
	UpperUs *float64 `json:"upper_us"`
	Count   int64    `json:"count"`
	Ns      int64    `json:"ns"`
	TotalUs float64  `json:"total_us"`
	Share   float64  `json:"share"`
	Source  string   `json:"source"`
}

// TopGap is one of the longest gaps.
type TopGap struct {
	GapUs    float64 `json:"gap_us"`
	Previous string  `json:"previous"`
	Next     string  `json:"next"`
	Rank     int32   `json:"rank"`
	Device   int32   `json:"device"`
	Stream   int64   `json:"stream"`
	Step     *int32  `json:"step"`
	StartNs  int64   `json:"start_ns"`
	Call     string  `json:"call"`
	Range    string  `json:"range"`
	Path     string  `json:"path"`
	// IdleUs is the part in which nothing else ran on the device either, and Causes
	// what the thread that launched next did in the last stretch of it.
	IdleUs float64     `json:"idle_us"`
	Causes []CausePart `json:"causes"`
}

// CausePart is a part of one gap.
type CausePart struct {
	Cause string  `json:"cause"`
	Us    float64 `json:"us"`
}

// Finding is something to do, and why.
type Finding struct {
	Pattern  string `json:"pattern"`
	Evidence string `json:"evidence"`
	// UsStep is the idle time that it is worth, in us per rank-step, or in the trace
	// where there are no steps; of a straggler, what the other ranks wait for it. 0
	// where that is not known.
	UsStep float64 `json:"us_per_step"`
	// Share is the share of all idle time, null where the worth is none.
	Share *float64 `json:"share"`
	// Site is the call or operation that it is about, Path the ranges around that, the
	// outermost first, Source the function that the innermost known range stands for.
	Site   string `json:"site,omitempty"`
	Path   string `json:"path,omitempty"`
	Source string `json:"source,omitempty"`
}
