package event

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Header is what goes ahead of the rows, so that a stage can decide before the
// first one.
type Header struct {
	// Stage names the filter that wrote the stream.
	Stage string
	// Reports describes the profilers' reports that the rows come from.
	Reports []Report
	// Isolation is set once steps were isolated.
	Isolation *Isolation
	// Columns are the columns that the batches have.
	Columns Set
	// Domains are the NVTX domains, the values of column domain.
	Domains []string
	// Stacks are the stacks of host threads, the values of column stack, each once:
	// the functions from the root, joined by ";". No metadata hold them.
	Stacks []string
	// Extra is the metadata that this program does not know, which it passes on.
	Extra map[string]string
	// Foreign describes the columns that this program does not know, in the
	// form of the format that they came in; nil where there are none.
	Foreign ForeignFields
}

// Readers are the filters that make events of reports, by the Source of these. A stream
// of theirs has every row of its reports.
var Readers = map[string]string{"nsys": "nsys2arrow", "torch": "torch2arrow", "rocpd": "nsys2arrow"}

// Whole reports whether the rows are those of the reports, all of them and no others:
// a reader wrote them.
func (h *Header) Whole() bool {
	return slices.Contains(slices.Collect(maps.Values(Readers)), h.Stage)
}

// Why there are no context switches in a report.
const (
	SwitchesDenied  = "denied"  // the system did not let the profiler see them
	SwitchesDeduced = "deduced" // they were made of calls of the system, and left out
)

// What a run does other than generating tokens: there are neither phases of its steps nor tokens.
const (
	Training  = "training"  // a backward pass or an optimizer was recorded
	Diffusion = "diffusion" // steps of a diffusion model were, and no markers with numbers of requests
)

// WorkloadOf is what a run does whose names say that it trains or is of a diffusion model, "" for
// one that generates tokens, or may. Markers of forward steps say numbers of requests, which no
// diffusion model has.
func WorkloadOf(trains, diffuses, steps bool) string {
	switch {
	case trains:
		return Training
	case diffuses && !steps:
		return Diffusion
	}
	return ""
}

// WorkloadText says what a run does and by what that is known, "" for one that generates
// tokens, or may.
func WorkloadText(workload string) string {
	switch workload {
	case Training:
		return "this is training: a backward pass or an optimizer was recorded"
	case Diffusion:
		return "this is a diffusion model: its ranges say so, and its steps generate no tokens"
	}
	return ""
}

// EarlyText warns of GPU work that starts before the call that launched it: clocks differ.
const EarlyText = "kernels start before the calls that launched them: the clocks of GPU and CPU differ, and causes of idle time and exposed preparation are wrong by as much"

// AMD is a platform: what records there is PyTorch's profiler or ROCm's, not Nsight Systems.
const AMD = "amd"

// Report describes one report of a profiler.
type Report struct {
	// File is the base name of the file.
	File string `json:"file"`
	Recorder
	Clock
	// Ranks are the numbers of the report's ranks, by lowest device and pid.
	Ranks []int32 `json:"ranks"`
	// AllreduceDevices holds for each of Ranks the lowest device that ran a
	// kernel of class allreduce, -1 where none did; nil where the writer did
	// not look.
	AllreduceDevices []int32 `json:"allreduce_devices,omitempty"`
	// RankFacts says more of each of Ranks; nil where the writer did not look.
	RankFacts []RankFacts `json:"rank_facts,omitempty"`
	// LostEvents: the profiler said that it lost CUDA events. That it may have
	// lost some is among Warnings only.
	LostEvents bool `json:"lost_events,omitempty"`
	// StartOnly: the only forward step is the first after the profiler started, which
	// includes profiler start-up, and is no evidence.
	StartOnly bool `json:"start_only,omitempty"`
	// Workload is Training or Diffusion, by what its rows are, "" for what generates tokens,
	// or may: no row says otherwise, or the writer did not look.
	Workload string `json:"workload,omitempty"`
	// GroupSizes holds how many GPUs run a collective together, by the name of its kernels (of
	// several the most), and World how many ranks the run had; nil and 0 where the report does
	// not say.
	GroupSizes map[string]int32 `json:"group_sizes,omitempty"`
	World      int32            `json:"world_size,omitempty"`
	// GPUs are the models of the machine's GPUs, such as "NVIDIA H200", each once; nil where
	// the report does not say.
	GPUs []string `json:"gpus,omitempty"`
	// Platform is AMD where the GPUs are AMD's, "" for all others, and where it is not known.
	Platform string `json:"platform,omitempty"`
	// PythonFunctions is how many calls of Python functions were recorded that are not among
	// the rows, because nobody asked for them.
	PythonFunctions int64 `json:"python_functions,omitempty"`
	HostFacts
	Extent
	// Chosen: the rows are a choice of the report's, by time or by step, but
	// the counts are those of the whole report.
	Chosen bool `json:"chosen,omitempty"`
	// ChosenTime is from when to when rows were chosen by time, by their start, with what goes on from
	// before; nil where none was left out for that.
	ChosenTime *[2]int64 `json:"chosen_time_ns,omitempty"`
	// Kinds are the kinds of rows that were not left out, nil where none was; the counts
	// are those of the whole report.
	Kinds []string `json:"kinds,omitempty"`
	// Warnings says what is wrong with the report, a sentence each.
	Warnings []string `json:"warnings,omitempty"`
	// Notes says what is good to know of it and nothing is wrong with, a sentence each.
	Notes []string `json:"notes,omitempty"`
}

// AddGroup notes how many GPUs run the collective of a kernel together.
func (r *Report) AddGroup(kernel string, size int32) {
	if r.GroupSizes == nil {
		r.GroupSizes = map[string]int32{}
	}
	r.GroupSizes[kernel] = max(r.GroupSizes[kernel], size)
}

// Recorder is what recorded a report.
type Recorder struct {
	// Source is what recorded the report, such as "nsys", Version the version of
	// that program and Schema that of the format in which it came; empty where the
	// report does not say.
	Source  string `json:"source,omitempty"`
	Version string `json:"source_version,omitempty"`
	Schema  string `json:"schema,omitempty"`
	// Capture tells how CUDA graphs were recorded: "graph" (whole replays),
	// "node" (the kernels in them), "" (the capture does not say, or had none).
	Capture string `json:"capture,omitempty"`
}

// Clock is what the times of a report count from.
type Clock struct {
	// Origin is the UTC time of the report's time 0 in ns since 1970, 0 where
	// unknown, and Offset what was added to its times.
	Origin int64 `json:"origin_ns,omitempty"`
	Offset int64 `json:"offset_ns"`
}

// HostFacts is what is known of how a report's host was recorded, and of its CPUs.
type HostFacts struct {
	// LostCalls: the profiler said that it may have lost calls of the system's libraries.
	LostCalls bool `json:"lost_os_calls,omitempty"`
	// NoSwitches says why nothing is known of when threads were on a CPU:
	// SwitchesDenied, SwitchesDeduced, or "" where the profiler did not say.
	NoSwitches string `json:"no_switches,omitempty"`
	// Sockets and Nodes are the socket and the NUMA node of each CPU, by its number, -1 for
	// one of which that is not known; nil where the report says it of none, or has no rows of
	// kind run.
	Sockets []int32 `json:"sockets,omitempty"`
	Nodes   []int32 `json:"numa_nodes,omitempty"`
	// Throttled is what a limit on CPU time did while the report was recorded, nil where nobody
	// looked, or there is none.
	Throttled *Throttled `json:"cpu_limit,omitempty"`
}

// Extent is how much a report holds, and its span.
type Extent struct {
	// Rows counts the rows of each kind, Classes those of the classes
	// allreduce, launch, graph_launch and step.
	Rows    map[string]int64 `json:"rows"`
	Classes map[string]int64 `json:"classes"`
	// GPUStart and GPUEnd are the span of the report's kernels and graph
	// replays over all its GPUs; both null where it has none.
	GPUStart *int64 `json:"gpu_start_ns"`
	GPUEnd   *int64 `json:"gpu_end_ns"`
	// BusyStart and BusyEnd are the same with copies and memsets; nil where the
	// writer did not look.
	BusyStart *int64 `json:"busy_start_ns,omitempty"`
	BusyEnd   *int64 `json:"busy_end_ns,omitempty"`
}

// Throttled counts the periods of a limit on CPU time, and those in which it stopped threads.
type Throttled struct {
	Periods int64 `json:"periods"` // while the report was recorded
	Stopped int64 `json:"stopped"` // of Periods
}

// Isolation says how steps were isolated.
type Isolation struct {
	// Method is allreduce, nvtx or graph; none where the header leaves nothing to find
	// steps by, or none were wanted (LeftOut), and the stream has no step rows.
	Method string `json:"method"`
	// Marker is the expression for forward-step markers, "" for the presets.
	Marker string `json:"marker,omitempty"`
	// Gap and SegmentGap are the gaps, in ns, that end a step without markers
	// and a segment.
	Gap        int64 `json:"gap_ns"`
	SegmentGap int64 `json:"segment_gap_ns"`
	// Busy is what counts as GPU activity: "kernels" or "all".
	Busy string `json:"busy"`
	// Chosen: steps were looked for in a choice of a report's rows.
	Chosen bool `json:"chosen,omitempty"`
	// LeftOut: the user asked for the whole trace instead of steps. Rows are as they come
	// from reports, without the columns of steps.
	LeftOut bool `json:"left_out,omitempty"`
}

// LeftOut reports whether the stream has no steps because the user asked for the whole trace.
func (h *Header) LeftOut() bool { return h.Isolation != nil && h.Isolation.LeftOut }

// Error is an error in what a stage was asked to do with a stream, with the
// advice how to do better.
type Error struct {
	Msg    string // what is wrong, one line
	Advice string // what to do about it, one line
}

// Error is the message without its advice.
func (e *Error) Error() string { return e.Msg }

// Hint tells what to do about it.
func (e *Error) Hint() string { return e.Advice }

// Require returns an error where the stream lacks one of the columns.
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

// ClassRows counts the rows of one class over all reports, of those classes
// that reports count.
func (h *Header) ClassRows(class Class) int64 {
	var n int64
	for i := range h.Reports {
		n += h.Reports[i].Classes[Classes[class]]
	}
	return n
}

// NumRanks is the number of ranks over all reports, each counted once.
func (h *Header) NumRanks() int { return len(h.RankNumbers()) }

// Report returns the first report that a rank comes from, nil for an unknown
// rank.
func (h *Header) Report(rank int32) *Report {
	for i := range h.Reports {
		if slices.Contains(h.Reports[i].Ranks, rank) {
			return &h.Reports[i]
		}
	}
	return nil
}

// Warnings are the warnings of all reports, each once, after the names of its files where
// there are several reports.
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

// listed names files out of so many reports: all of them, or the first of them.
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
