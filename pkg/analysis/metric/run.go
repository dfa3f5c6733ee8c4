package metric

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Run is what else is known of the run.
type Run struct {
	About
	// Method is how steps were isolated, "" where they were not.
	Method string `json:"method,omitempty"`
	// Window is the window of the aggregate.
	Window string `json:"window"`
	// GPUs is the number of GPUs that the figures are of.
	GPUs int `json:"lanes"`
	// GPUActivity reports whether one was busy in the window.
	GPUActivity bool `json:"gpu_activity"`
	// Ranks has an entry for each rank.
	Ranks []Rank `json:"ranks"`
	// Phases has an entry for each phase that has steps.
	Phases []Phase `json:"phases"`
	// Span is from the earliest start to the latest end of the ranks' benchmark
	// segments, ns on the clock of the stream; null without any, and of parts that
	// were added up, whose clocks may differ.
	Span *[2]int64 `json:"span_ns,omitempty"`
	// Steady describes the steady steps, nil where there are none.
	Steady *Steady `json:"steady,omitempty"`
	Recorded
	// RequestWait is the idle time of each scope during which launching threads wait for
	// requests, in ns over all GPUs: in a call of the system that waits, inside a range
	// that fetches requests. Null where calls of the system were not recorded on all ranks,
	// or were left out.
	RequestWait map[string]int64 `json:"request_wait_ns,omitempty"`
	// First is what to begin with, nil where the host does not hold the GPUs back by the limits
	// that are the default, or nothing is known.
	First *Target `json:"first_target,omitempty"`
	// Collectives is what is known of the collectives, nil where there are none.
	Collectives *Collectives `json:"collectives,omitempty"`
	// Prep is the text in the names of the ranges of input preparation, of
	// several the first; "" where there are none.
	Prep string `json:"prep,omitempty"`
	// Apart are the metrics of the ranks whose steps could not be identified, in their
	// windows, which are not in the rows; left out where there are none, or the window is
	// that of the trace.
	Apart []Row `json:"apart,omitempty"`
	// Warnings are those of the reports.
	Warnings []string `json:"warnings,omitempty"`
}

// About is what a run is called, and what recorded it.
type About struct {
	// Label is what the run is called, "" for nothing.
	Label string `json:"label,omitempty"`
	// Tags are what else the user says of it, such as version and commit.
	Tags map[string]string `json:"tags,omitempty"`
	// Time is when the first report began, in ns since 1970, 0 where that is not known.
	Time int64 `json:"time_ns,omitempty"`
	// Of says of what reports the figures are, nil in rows of a version that did not know it.
	Of *event.Provenance `json:"of,omitempty"`
	// Source is what recorded the reports, such as "nsys" or "torch", "" where the header
	// does not say or they differ.
	Source string `json:"source,omitempty"`
	// Workload is event.Training or event.Diffusion, "" for what generates tokens, or may.
	Workload string `json:"workload,omitempty"`
	// Platform is event.AMD where the GPUs are AMD's, "" otherwise.
	Platform string `json:"platform,omitempty"`
	// PythonFunctions is how many calls of Python functions were recorded and left out.
	PythonFunctions int64 `json:"python_functions,omitempty"`
}

// Recorded is what the reports of a run hold, and lack.
type Recorded struct {
	// HiddenGraphs is how many replays have one row for all their kernels.
	HiddenGraphs int64 `json:"hidden_graphs"`
	// Kernels and Launches count the kernels and the kernel-launch calls of the
	// reports; kernels without any launch were recorded without the API calls.
	Kernels  int64 `json:"kernels"`
	Launches int64 `json:"launches"`
	// Markers is the number of forward-step marker ranges of the ranks, 0 where
	// the reports do not say or other ranges were asked for. Of a choice of steps it is
	// the share of them that the chosen steps have of all.
	Markers int64 `json:"markers,omitempty"`
	// NoSteps tells that steps were looked for and none found; LostEvents that
	// the profiler said that it lost CUDA events; StartOnly that a trace has no forward
	// step but the first after the profiler started.
	NoSteps    bool `json:"no_steps,omitempty"`
	LostEvents bool `json:"lost_events,omitempty"`
	StartOnly  bool `json:"start_only,omitempty"`
}

// Target is what to begin with, as package gap found it.
type Target struct {
	Name string  `json:"name"`        // a function, a range, a call, or what threads wait for
	Text string  `json:"text"`        // a sentence for people, with figures and what to do
	Us   float64 `json:"us_per_step"` // the idle time that it is worth
}

// Rank describes a rank.
type Rank struct {
	// Rank is its number in the stream; of parts that were added up, the next free
	// one where another part has it, too.
	Rank int32 `json:"rank"`
	// Total is its number of steps, CommonSize their most frequent size,
	// Segments the number of segments, and Benchmark how many steps the
	// benchmark segment has, null where there is none.
	Total      int64  `json:"total"`
	CommonSize int64  `json:"common_size"`
	Segments   int64  `json:"segments"`
	Benchmark  *int64 `json:"benchmark"`
	// Whole is how many steps of the window have a whole period (step.Step.Whole); null of
	// results that do not say.
	Whole *int64 `json:"whole,omitempty"`
	// Outside is what lies outside of the benchmark segment, left out where nothing does.
	Outside *step.Remainder `json:"outside,omitempty"`
	// Apart tells that it has steps that could not be identified, where others have some.
	Apart bool `json:"apart,omitempty"`
	// GraphLaunches is the number of graph launch calls in the rank's window,
	// Replays that of the replays recorded there.
	GraphLaunches int64 `json:"graph_launches"`
	Replays       int64 `json:"replays"`
	// TraceGraphLaunches and TraceReplays are the same of the rank's whole trace;
	// 0 where the reports do not say.
	TraceGraphLaunches int64 `json:"trace_graph_launches,omitempty"`
	TraceReplays       int64 `json:"trace_replays,omitempty"`
	// GPUs is how many GPUs it has, RequestWait its part of that of the run, by scope; both
	// are left out where it waits for none.
	GPUs        int64            `json:"lanes,omitempty"`
	RequestWait map[string]int64 `json:"request_wait_ns,omitempty"`
	// FollowWait is the idle time of each scope, ns over its GPUs, in which it waits for the
	// rank that fetches requests for it: in any range, blocked until others do something, or
	// in one that fetches, whatever it does there, and it goes on soon after that rank has,
	// which has a lower number. Null where it waits for none, and of reports whose clocks may differ.
	FollowWait map[string]int64 `json:"follow_wait_ns,omitempty"`
}

// Phase describes the steps of a phase in the benchmark segments.
type Phase struct {
	Phase string `json:"phase"` // Context or Generation
	// Iterations is the largest number of such steps in any one rank.
	Iterations int64 `json:"iterations"`
	// Steps is their number over all ranks.
	Steps int64 `json:"steps"`
	// Replayed is the number of GPU rows in them that graph replays ran, whole
	// replays among them.
	Replayed int64 `json:"replayed"`
	// Kernels is the number of kernels in them, replayed ones included; 0 of results that
	// do not say.
	Kernels int64 `json:"kernels,omitempty"`
	// P50 and P90 are quantiles of the periods of these steps in ns, of those that are
	// whole (step.Step.Whole); null where none is, and of parts that were added up.
	P50 *float64 `json:"period_p50_ns,omitempty"`
	P90 *float64 `json:"period_p90_ns,omitempty"`
}

// Steady describes the steady steps: of the steps of a rank's benchmark segment
// without context requests those with the most generation requests, or all of
// them where numbers of requests are not known.
type Steady struct {
	// Steps is their number over all ranks.
	Steps int64 `json:"steps"`
	// Wall is the mean period of a step in ns.
	Wall float64 `json:"wall_ns"`
	// GapP50 is the median, in ns, of what is positive of the time between the end of
	// a step and the end of its period; null where nothing is, and of parts that were
	// added up.
	GapP50 *float64 `json:"gap_p50_ns"`
	// Kernels is the mean number of kernels in a step, replayed ones included;
	// null where replays hide theirs.
	Kernels *float64 `json:"kernels"`
}
