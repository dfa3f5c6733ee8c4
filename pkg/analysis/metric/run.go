package metric

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Run describes the run that the metrics are of.
type Run struct {
	About
	// Method is how steps were isolated, "" if they were not.
	Method string `json:"method,omitempty"`
	// Window is the window of the aggregate, WindowBenchmark or WindowTrace.
	Window string `json:"window"`
	// GPUs is the number of GPUs that the figures cover.
	GPUs int `json:"lanes"`
	// GPUActivity reports whether any GPU was busy in the window.
	GPUActivity bool `json:"gpu_activity"`
	// Ranks has an entry for each rank.
	Ranks []Rank `json:"ranks"`
	// Phases has an entry for each phase that has steps.
	Phases []Phase `json:"phases"`
	// Span is from the earliest start to the latest end of the ranks' benchmark segments, in
	// ns on the clock of the stream. It is null without any, and for parts that were added up,
	// because their clocks may differ.
	Span *[2]int64 `json:"span_ns,omitempty"`
	// Steady describes the steady steps, nil if there are none.
	Steady *Steady `json:"steady,omitempty"`
	Recorded
	// RequestWait is the idle time of each scope during which launching threads wait for
	// requests, in ns over all GPUs: in an OS call that waits, inside a range that fetches
	// requests. It is null if OS calls were not recorded on all ranks, or were left out.
	RequestWait map[string]int64 `json:"request_wait_ns,omitempty"`
	// First is what to begin with, nil if the host does not hold the GPUs back by the default
	// limits, or if that is unknown.
	First *Target `json:"first_target,omitempty"`
	// Collectives describes the collectives, nil if there are none.
	Collectives *Collectives `json:"collectives,omitempty"`
	// Prep is the text in the names of input-preparation ranges, the first one of several; ""
	// if there are none.
	Prep string `json:"prep,omitempty"`
	// Apart are the metrics of the ranks whose steps could not be identified, in their
	// windows. These ranks are not in Result.Rows. It is left out if there are none, or if
	// Window is WindowTrace.
	Apart []Row `json:"apart,omitempty"`
	// Warnings are those of the reports, and of measuring.
	Warnings []string `json:"warnings,omitempty"`
}

// About identifies a run, and what recorded it.
type About struct {
	// Label is the user's name for the run, "" for none.
	Label string `json:"label,omitempty"`
	// Tags are further facts from the user, such as version and commit.
	Tags map[string]string `json:"tags,omitempty"`
	// Time is when the first report began, in ns since 1970, 0 if unknown.
	Time int64 `json:"time_ns,omitempty"`
	// Of identifies the reports that the figures are of, nil in rows of earlier versions.
	Of *event.Provenance `json:"of,omitempty"`
	// Source is what recorded the reports, such as "nsys" or "torch"; "" if unknown, or if they
	// differ.
	Source string `json:"source,omitempty"`
	// Workload is event.Training or event.Diffusion, "" for token generation or unknown.
	Workload string `json:"workload,omitempty"`
	// Platform is event.AMD for AMD's GPUs, else "".
	Platform string `json:"platform,omitempty"`
	// PythonFunctions is the number of recorded calls of Python functions that were not read.
	PythonFunctions int64 `json:"python_functions,omitempty"`
}

// Recorded says what the reports of a run hold, and what they lack.
type Recorded struct {
	// HiddenGraphs is the number of replays with one row for all their kernels.
	HiddenGraphs int64 `json:"hidden_graphs"`
	// Kernels and Launches count the kernels and the kernel-launch calls of the reports. If
	// there are kernels but no launches, API calls were not recorded.
	Kernels  int64 `json:"kernels"`
	Launches int64 `json:"launches"`
	// Markers is the number of forward-step marker ranges of the ranks, 0 if unknown or if
	// steps were found by other ranges. For a selection of steps, it is in proportion to the
	// selected ones.
	Markers int64 `json:"markers,omitempty"`
	// NoSteps is set if steps were looked for and none was found. LostEvents is set if the
	// profiler reported lost CUDA events, StartOnly if the only forward step of a trace is the
	// first after the profiler started.
	NoSteps    bool `json:"no_steps,omitempty"`
	LostEvents bool `json:"lost_events,omitempty"`
	StartOnly  bool `json:"start_only,omitempty"`
}

// Target is what to begin with, as found by package gap.
type Target struct {
	Name string  `json:"name"`        // function, range, call, or what threads wait for
	Text string  `json:"text"`        // sentence with figures and what to do
	Us   float64 `json:"us_per_step"` // gain per step
}

// Rank describes a rank.
type Rank struct {
	// Rank is its number in the stream. If parts were added up and another one has the same
	// number, it is the next free one.
	Rank int32 `json:"rank"`
	// Total is its number of steps, CommonSize their most frequent size, and Segments the
	// number of segments. Benchmark is the number of steps in the benchmark segment, null if
	// there is none.
	Total      int64  `json:"total"`
	CommonSize int64  `json:"common_size"`
	Segments   int64  `json:"segments"`
	Benchmark  *int64 `json:"benchmark"`
	// Whole is how many steps of the window have a whole period (step.Step.Whole), null in
	// results of earlier versions.
	Whole *int64 `json:"whole,omitempty"`
	// Outside is what lies outside of the benchmark segment, left out if nothing does.
	Outside *step.Remainder `json:"outside,omitempty"`
	// Apart is set if its steps could not be identified, while other ranks have some.
	Apart bool `json:"apart,omitempty"`
	// GraphLaunches is the number of graph launch calls in the rank's window, Replays the
	// number of replays recorded there.
	GraphLaunches int64 `json:"graph_launches"`
	Replays       int64 `json:"replays"`
	// TraceGraphLaunches and TraceReplays are the same for the rank's whole trace, 0 if
	// unknown.
	TraceGraphLaunches int64 `json:"trace_graph_launches,omitempty"`
	TraceReplays       int64 `json:"trace_replays,omitempty"`
	// GPUs is its number of GPUs, RequestWait its part of Run.RequestWait. Both are left out if
	// it does not wait for requests.
	GPUs        int64            `json:"lanes,omitempty"`
	RequestWait map[string]int64 `json:"request_wait_ns,omitempty"`
	// FollowWait is the idle time of each scope, in ns over its GPUs, in which it waits for the
	// rank that fetches requests. It is blocked on others or in a range that fetches, and goes
	// on soon after that rank, which has a lower number. Null if it does not wait so, and for
	// reports whose clocks may differ.
	FollowWait map[string]int64 `json:"follow_wait_ns,omitempty"`
}

// Phase describes the steps of a phase in the benchmark segments. All counts are over all ranks,
// except Iterations.
type Phase struct {
	Phase string `json:"phase"` // Context or Generation
	// Iterations is the largest number of such steps in any rank.
	Iterations int64 `json:"iterations"`
	// Steps is their number over all ranks.
	Steps int64 `json:"steps"`
	// Replayed is the number of GPU rows in them that graph replays ran, including whole-graph
	// rows.
	Replayed int64 `json:"replayed"`
	// Kernels is the number of kernels in them, replayed ones included; 0 in results of earlier
	// versions.
	Kernels int64 `json:"kernels,omitempty"`
	// P50 and P90 are quantiles of the whole periods of these steps (step.Step.Whole), in ns.
	// They are null if none is whole, and for parts that were added up.
	P50 *float64 `json:"period_p50_ns,omitempty"`
	P90 *float64 `json:"period_p90_ns,omitempty"`
}

// Steady describes the steady steps: those of a rank's benchmark segment without context requests
// and with the most generation requests, or all of them if numbers of requests are unknown.
type Steady struct {
	// Steps is their number over all ranks.
	Steps int64 `json:"steps"`
	// Wall is the mean period of a step in ns.
	Wall float64 `json:"wall_ns"`
	// GapP50 is the median, in ns, of the positive gaps from the end of a step to the end of
	// its period. It is null if there are none, and for parts that were added up.
	GapP50 *float64 `json:"gap_p50_ns"`
	// Kernels is the mean number of kernels per step, replayed ones included; null if
	// whole-graph rows hide kernels.
	Kernels *float64 `json:"kernels"`
}
