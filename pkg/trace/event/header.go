package event

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Header precedes the rows, so that a stage can decide what to do before the first one.
type Header struct {
	// Stage names the filter that wrote the stream.
	Stage string
	// Reports describes the profilers' reports that the rows come from.
	Reports []Report
	// Isolation is nil until steps were isolated.
	Isolation *Isolation
	// Columns are the columns that the batches have.
	Columns Set
	// Domains are the NVTX domains, the values of column domain.
	Domains []string
	// Stacks are the stacks of host threads, the values of column stack, each once:
	// functions from the root, joined by ";". Metadata do not contain them.
	Stacks []string
	// Extra is metadata that this program does not know and passes on.
	Extra map[string]string
	// Foreign describes the columns that this program does not know, as the input
	// format does; nil if there are none.
	Foreign ForeignFields
}

// Readers are the filters that read reports, by the Source of the reports. Their
// streams have every row of their reports.
var Readers = map[string]string{"nsys": "nsys2arrow", "torch": "torch2arrow", "rocpd": "nsys2arrow"}

// Whole reports whether the rows are all rows of the reports and no others, that is,
// whether a reader wrote the stream.
func (h *Header) Whole() bool {
	return slices.Contains(slices.Collect(maps.Values(Readers)), h.Stage)
}

// Reasons why a report has no context switches.
const (
	SwitchesDenied  = "denied"  // the system did not allow the profiler to see them
	SwitchesDeduced = "deduced" // the profiler deduced them from OS calls; the reader left them out
)

// Workloads other than generating tokens. Their steps have neither phases nor tokens.
const (
	Training  = "training"  // a backward pass or an optimizer was recorded
	Diffusion = "diffusion" // ranges of a diffusion model were recorded, but no markers with numbers of requests
)

// WorkloadOf returns the workload of a run whose names say that it trains or is a
// diffusion model, "" for one that generates tokens or may. steps says that it has
// forward-step markers: these state numbers of requests, which a diffusion model does
// not have.
func WorkloadOf(trains, diffuses, steps bool) string {
	switch {
	case trains:
		return Training
	case diffuses && !steps:
		return Diffusion
	}
	return ""
}

// WorkloadText names a workload and says how it is known, "" if the run generates
// tokens or may.
func WorkloadText(workload string) string {
	switch workload {
	case Training:
		return "this is training: a backward pass or an optimizer was recorded"
	case Diffusion:
		return "this is a diffusion model: its ranges say so, and its steps generate no tokens"
	}
	return ""
}

// EarlyText warns of GPU work that starts before its launch call: the clocks differ.
const EarlyText = "kernels start before the calls that launched them: the clocks of GPU and CPU differ, and causes of idle time and exposed preparation are wrong by as much"

// AMD is a platform. PyTorch's profiler or ROCm's records on it, not Nsight Systems.
const AMD = "amd"

// Report describes one report of a profiler.
type Report struct {
	// File is the base name of the file.
	File string `json:"file"`
	Recorder
	Clock
	// Ranks are the report's ranks, ordered by lowest device and pid.
	Ranks []int32 `json:"ranks"`
	// AllreduceDevices holds for each of Ranks the lowest device that ran a kernel of
	// class allreduce, -1 if none did; nil if the writer did not look.
	AllreduceDevices []int32 `json:"allreduce_devices,omitempty"`
	// RankFacts says more about each of Ranks; nil if the writer did not look.
	RankFacts []RankFacts `json:"rank_facts,omitempty"`
	// LostEvents: the profiler reported that it lost CUDA events. A report that it may
	// have lost some is only a warning.
	LostEvents bool `json:"lost_events,omitempty"`
	// StartOnly: the only forward step is the first after the profiler started. It
	// includes profiler start-up and is no evidence.
	StartOnly bool `json:"start_only,omitempty"`
	// Workload is Training or Diffusion if rows say so. It is "" if the run generates
	// tokens or may, or if the writer did not look.
	Workload string `json:"workload,omitempty"`
	// GroupSizes holds the number of GPUs that run a collective together, by kernel
	// name (the largest, if it varies). World is the number of ranks of the run. nil
	// and 0 if the report does not say.
	GroupSizes map[string]int32 `json:"group_sizes,omitempty"`
	World      int32            `json:"world_size,omitempty"`
	// GPUs are the models of the machine's GPUs, such as "NVIDIA H200", each once; nil
	// if the report does not say.
	GPUs []string `json:"gpus,omitempty"`
	// Platform is AMD for AMD GPUs, "" for all others and if unknown.
	Platform string `json:"platform,omitempty"`
	// PythonFunctions is the number of recorded calls of Python functions that are not
	// among the rows because they were not asked for.
	PythonFunctions int64 `json:"python_functions,omitempty"`
	HostFacts
	Extent
	Choice
	// Warnings says what is wrong with the report, one sentence each.
	Warnings []string `json:"warnings,omitempty"`
	// Notes says what is good to know about the report, one sentence each. Nothing is
	// wrong.
	Notes []string `json:"notes,omitempty"`
}

// AddGroup records how many GPUs run the collective of a kernel together.
func (r *Report) AddGroup(kernel string, size int32) {
	if r.GroupSizes == nil {
		r.GroupSizes = map[string]int32{}
	}
	r.GroupSizes[kernel] = max(r.GroupSizes[kernel], size)
}

// Choice is what part of a report the rows are. The counts are those of the whole report.
type Choice struct {
	// Chosen: the rows are a selection from the report by time or step.
	Chosen bool `json:"chosen,omitempty"`
	// ChosenTime is the half-open time range, in ns, in which the chosen rows start;
	// rows that started before and go on are included. nil if no row was left out by
	// time.
	ChosenTime *[2]int64 `json:"chosen_time_ns,omitempty"`
	// ChosenSteps: rows were left out by step, so the spans of GPU activity are unknown.
	ChosenSteps bool `json:"chosen_steps,omitempty"`
	// Kinds are the kinds of rows that were kept, nil if no kind was left out.
	Kinds []string `json:"kinds,omitempty"`
}

// Recorder is what recorded a report.
type Recorder struct {
	// Source is what recorded the report, such as "nsys", Version the version of that
	// program and Schema that of the file format; empty if the report does not say.
	Source  string `json:"source,omitempty"`
	Version string `json:"source_version,omitempty"`
	Schema  string `json:"schema,omitempty"`
	// Capture says how CUDA graphs were recorded: "graph" (whole replays), "node" (the
	// kernels in them), "" (unknown, or there were none).
	Capture string `json:"capture,omitempty"`
}

// Clock is the clock that the times of a report are on.
type Clock struct {
	// Origin is the UTC time of the report's time 0 in ns since 1970, 0 if unknown.
	// Offset, in ns, was added to its times.
	Origin int64 `json:"origin_ns,omitempty"`
	Offset int64 `json:"offset_ns"`
}

// HostFacts is what is known about a report's host and its CPUs, and how they were
// recorded.
type HostFacts struct {
	// LostCalls: the profiler reported that it may have lost OS library calls.
	LostCalls bool `json:"lost_os_calls,omitempty"`
	// NoSwitches says why it is unknown when threads were on a CPU: SwitchesDenied,
	// SwitchesDeduced, or "" if the profiler did not say.
	NoSwitches string `json:"no_switches,omitempty"`
	// Sockets and Nodes are the socket and the NUMA node of each CPU, by CPU number, -1
	// if unknown. They are nil if the report does not say, or has no rows of kind run.
	Sockets []int32 `json:"sockets,omitempty"`
	Nodes   []int32 `json:"numa_nodes,omitempty"`
	// Throttled is what a limit on CPU time did while the report was recorded; nil if
	// there is none or it was not recorded.
	Throttled *Throttled `json:"cpu_limit,omitempty"`
}

// Extent says how much a report holds, and its time span.
type Extent struct {
	// Rows counts the rows of each kind, Classes those of the classes allreduce,
	// launch, graph_launch and step.
	Rows    map[string]int64 `json:"rows"`
	Classes map[string]int64 `json:"classes"`
	// GPUStart and GPUEnd span the report's kernels and graph replays over all its
	// GPUs, in ns; both null if it has none.
	GPUStart *int64 `json:"gpu_start_ns"`
	GPUEnd   *int64 `json:"gpu_end_ns"`
	// BusyStart and BusyEnd also cover copies and memsets; nil if the writer did not
	// look.
	BusyStart *int64 `json:"busy_start_ns,omitempty"`
	BusyEnd   *int64 `json:"busy_end_ns,omitempty"`
}

// Throttled counts the periods of a limit on CPU time, and those in which threads were
// stopped.
type Throttled struct {
	Periods int64 `json:"periods"` // while the report was recorded
	Stopped int64 `json:"stopped"` // out of Periods
}

// Isolation says how steps were isolated.
type Isolation struct {
	// Method is allreduce, nvtx or graph. It is none, and the stream has no step rows,
	// if the header shows nothing to find steps by or none were wanted (LeftOut).
	Method string `json:"method"`
	// Marker is the regular expression for forward-step markers, "" for the presets.
	Marker string `json:"marker,omitempty"`
	// Gap and SegmentGap are the gaps, in ns, that end a step without markers and a
	// segment.
	Gap        int64 `json:"gap_ns"`
	SegmentGap int64 `json:"segment_gap_ns"`
	// Busy is what counts as GPU activity: "kernels" or "all".
	Busy string `json:"busy"`
	// Chosen: steps were isolated in a selection of a report's rows.
	Chosen bool `json:"chosen,omitempty"`
	// LeftOut: the user asked for the whole trace instead of steps. Rows are as in the
	// reports, without the columns of steps.
	LeftOut bool `json:"left_out,omitempty"`
}

// LeftOut reports whether the stream has no steps because the user asked for the whole trace.
func (h *Header) LeftOut() bool { return h.Isolation != nil && h.Isolation.LeftOut }

// Error is a request that a stage cannot fulfil on this stream, with advice.
type Error struct {
	Msg    string // what is wrong, one line
	Advice string // what to do about it, one line
}

// Error is the message without its advice.
func (e *Error) Error() string { return e.Msg }

// Hint returns the advice.
func (e *Error) Hint() string { return e.Advice }

// Require returns an error if the stream lacks one of the columns.
func (h *Header) Require(columns Set) error {
	for c := range NumCols {
		if columns.Has(c) && !h.Columns.Has(c) {
			return &Error{"the stream has no column " + Fields[c].Name, "read a stream or checkpoint that nsys2arrow, isolate or phase wrote"}
		}
	}
	return nil
}

// Rows counts the rows of one kind over all reports.
func (h *Header) Rows(kind Kind) int64 {
	var n int64
	for i := range h.Reports {
		n += h.Reports[i].Rows[Kinds[kind]]
	}
	return n
}

// ClassRows counts the rows of one class over all reports. The class must be one that
// reports count (Extent.Classes).
func (h *Header) ClassRows(class Class) int64 {
	var n int64
	for i := range h.Reports {
		n += h.Reports[i].Classes[Classes[class]]
	}
	return n
}

// NumRanks returns the number of different ranks in all reports.
func (h *Header) NumRanks() int { return len(h.RankNumbers()) }

// Report returns the first report with rows of a rank, nil for an unknown rank.
func (h *Header) Report(rank int32) *Report {
	for i := range h.Reports {
		if slices.Contains(h.Reports[i].Ranks, rank) {
			return &h.Reports[i]
		}
	}
	return nil
}

// Warnings returns the warnings of all reports, each once. If there are several
// reports, each warning begins with the names of its files.
func (h *Header) Warnings() []string {
	var all []string
	files := map[string][]string{}
	for i := range h.Reports {
		for k, w := range h.Reports[i].Warnings {
			if slices.Contains(h.Reports[i].Warnings[:k], w) {
				continue
			}
			if files[w] == nil {
				all = append(all, w)
			}
			files[w] = append(files[w], h.Reports[i].File)
		}
	}
	if len(h.Reports) > 1 {
		for i, w := range all {
			all[i] = listed(files[w], len(h.Reports)) + ": " + w
		}
	}
	return all
}

// listed returns the names of files as text, shortened if they are many or all of the
// reports.
func listed(files []string, reports int) string {
	const most = 3
	switch n := len(files); {
	case n == reports:
		return "all reports"
	case n > most:
		return fmt.Sprintf("%s and %d others", strings.Join(files[:most-1], ", "), n-most+1)
	}
	return strings.Join(files, ", ")
}
