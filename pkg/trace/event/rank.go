package event

import (
	"cmp"
	"slices"
)

// RankSpan is when a rank's GPUs were active and when nothing was recorded. Times are
// ns on the clock of the stream.
type RankSpan struct {
	// GPUStart and GPUEnd span the rank's kernels and graph replays over all its GPUs,
	// BusyStart and BusyEnd also copies and memsets; null if it has none.
	GPUStart  *int64 `json:"gpu_start_ns"`
	GPUEnd    *int64 `json:"gpu_end_ns"`
	BusyStart *int64 `json:"busy_start_ns"`
	BusyEnd   *int64 `json:"busy_end_ns"`
	// Unrecorded are the half-open spans in which nothing was recorded, sorted and
	// disjoint. They lie between the profiler's stop and its next start if no GPU row
	// of the rank starts there, and between the parts of a rank.
	Unrecorded [][2]int64 `json:"unrecorded_ns,omitempty"`
}

// RankFacts is what a report says about one of its ranks before the first row.
type RankFacts struct {
	// Rank is the number of the rank.
	Rank int32 `json:"rank"`
	RankSpan
	// Markers counts the forward-step marker ranges of the rank's process, Allreduces
	// its kernels of that class, Launches and GraphLaunches its launch calls.
	Markers       int64 `json:"markers"`
	Allreduces    int64 `json:"allreduces"`
	Launches      int64 `json:"launches"`
	GraphLaunches int64 `json:"graph_launches"`
	// GPUs counts the devices that ran kernels or whole-graph rows; 0 if the writer did
	// not count them.
	GPUs int64 `json:"gpus,omitempty"`
	// Kernels counts the kernels, Graphs the whole-graph rows, and Replays the graph
	// launches with a kernel, copy or memset recorded as a graph node.
	Kernels int64 `json:"kernels"`
	Graphs  int64 `json:"graphs"`
	Replays int64 `json:"replays"`
	// OSCalls, Runs, Samples and Backtraces count what was recorded of the threads of
	// the rank's process: OS library calls, stretches on a CPU, samples, and stacks of
	// calls. They are 0 if nothing was recorded or it was left out.
	OSCalls    int64 `json:"os_calls,omitempty"`
	Runs       int64 `json:"runs,omitempty"`
	Samples    int64 `json:"samples,omitempty"`
	Backtraces int64 `json:"backtraces,omitempty"`
	// GPUNodes are the NUMA nodes of the rank's GPUs, ascending, without duplicates;
	// nil if the node of one of them is unknown, or there are no rows of kind run.
	GPUNodes []int32 `json:"gpu_numa_nodes,omitempty"`
}

// RankFacts returns what is known about a rank over all reports with parts of it. It is
// nil if the stream does not say (version 1) or the rank is unknown. The time between
// two parts counts as unrecorded.
func (h *Header) RankFacts(rank int32) *RankFacts {
	var all *RankFacts
	for i := range h.Reports {
		for k := range h.Reports[i].RankFacts {
			switch f := &h.Reports[i].RankFacts[k]; {
			case f.Rank != rank:
			case all == nil:
				sum := *f
				sum.Unrecorded = slices.Clone(f.Unrecorded)
				all = &sum
			default:
				all.add(f)
			}
		}
	}
	if all != nil {
		all.Unrecorded = joinSpans(all.Unrecorded)
	}
	return all
}

// Records reports whether rows of a kind about host threads were recorded in a rank's
// process, or, if the header does not say for which process, in any process.
func (h *Header) Records(kind Kind, rank int32) bool {
	switch f := h.RankFacts(rank); {
	case f == nil:
		return h.Rows(kind) > 0
	case kind == OS:
		return f.OSCalls > 0
	case kind == Sample:
		return f.Samples > 0
	case kind == Backtrace:
		return f.Backtraces > 0
	default:
		return f.Runs > 0
	}
}

// GPUs returns the largest number of devices that run kernels or graph replays of a
// rank, 0 if the header does not say.
func (h *Header) GPUs(rank int32) int {
	if f := h.RankFacts(rank); f != nil {
		return int(f.GPUs)
	}
	return 0
}

// add adds another part of the rank.
func (f *RankFacts) add(g *RankFacts) {
	f.RankSpan.add(&g.RankSpan)
	f.Markers += g.Markers
	f.Allreduces += g.Allreduces
	f.Launches += g.Launches
	f.GraphLaunches += g.GraphLaunches
	f.GPUs += g.GPUs // an upper bound: a device of both parts counts twice
	f.Kernels += g.Kernels
	f.Graphs += g.Graphs
	f.Replays += g.Replays
	f.OSCalls += g.OSCalls
	f.Runs += g.Runs
	f.Samples += g.Samples
	f.Backtraces += g.Backtraces
	if !slices.Equal(f.GPUNodes, g.GPUNodes) { // a rank cannot be on two machines
		f.GPUNodes = nil
	}
}

// Span returns the span of a rank over all reports with parts of it. If they do not say
// it per rank, it is the span of the rank's report.
func (h *Header) Span(rank int32) RankSpan {
	if f := h.RankFacts(rank); f != nil {
		return f.RankSpan
	}
	if r := h.Report(rank); r != nil {
		return RankSpan{GPUStart: r.GPUStart, GPUEnd: r.GPUEnd, BusyStart: r.BusyStart, BusyEnd: r.BusyEnd}
	}
	return RankSpan{}
}

// add adds the span of another part of the rank, and marks the time between both
// unrecorded.
func (s *RankSpan) add(o *RankSpan) {
	s.Unrecorded = append(s.Unrecorded, o.Unrecorded...)
	for _, pair := range [][2]*RankSpan{{s, o}, {o, s}} {
		if end, start := pair[0].BusyEnd, pair[1].BusyStart; end != nil && start != nil && *end < *start {
			s.Unrecorded = append(s.Unrecorded, [2]int64{*end, *start})
		}
	}
	s.GPUStart, s.GPUEnd = hull(s.GPUStart, s.GPUEnd, o.GPUStart, o.GPUEnd)
	s.BusyStart, s.BusyEnd = hull(s.BusyStart, s.BusyEnd, o.BusyStart, o.BusyEnd)
}

// hull returns the span that covers both spans, either of which may be missing.
func hull(start, end, start2, end2 *int64) (*int64, *int64) {
	if start == nil || end == nil {
		return start2, end2
	}
	if start2 == nil || end2 == nil {
		return start, end
	}
	s, e := min(*start, *start2), max(*end, *end2)
	return &s, &e
}

// joinSpans sorts spans and joins those that overlap or touch, in place.
func joinSpans(spans [][2]int64) [][2]int64 {
	slices.SortFunc(spans, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && s[0] <= joined[n-1][1] {
			joined[n-1][1] = max(joined[n-1][1], s[1])
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// LostEvents reports whether the profiler lost CUDA events in any report.
func (h *Header) LostEvents() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool { return r.LostEvents })
}

// StartOnly reports whether Report.StartOnly is set in any report.
func (h *Header) StartOnly() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool { return r.StartOnly })
}

// Workload returns Training if any report is of training, else Diffusion if any is,
// else "".
func (h *Header) Workload() string {
	for _, w := range []string{Training, Diffusion} {
		if slices.ContainsFunc(h.Reports, func(r Report) bool { return r.Workload == w }) {
			return w
		}
	}
	return ""
}

// Platform returns AMD if any report is of AMD's GPUs, else "".
func (h *Header) Platform() string {
	if slices.ContainsFunc(h.Reports, func(r Report) bool { return r.Platform == AMD }) {
		return AMD
	}
	return ""
}

// PythonFunctions returns the number of recorded calls of Python functions that are not
// among the rows, over all reports.
func (h *Header) PythonFunctions() (n int64) {
	for i := range h.Reports {
		n += h.Reports[i].PythonFunctions
	}
	return n
}

// Source returns what recorded the reports, "" if that differs or is unknown.
func (h *Header) Source() string {
	for i := range h.Reports {
		if h.Reports[i].Source != h.Reports[0].Source {
			return ""
		}
	}
	if len(h.Reports) == 0 {
		return ""
	}
	return h.Reports[0].Source
}

// RankNumbers returns the numbers of all ranks, ascending, without duplicates.
func (h *Header) RankNumbers() []int32 {
	var all []int32
	for i := range h.Reports {
		all = append(all, h.Reports[i].Ranks...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Shift adds offset, in ns, to the times of the report and of its ranks.
func (r *Report) Shift(offset int64) {
	times := []*int64{r.GPUStart, r.GPUEnd, r.BusyStart, r.BusyEnd}
	for k := range r.RankFacts {
		f := &r.RankFacts[k]
		times = append(times, f.GPUStart, f.GPUEnd, f.BusyStart, f.BusyEnd)
		for i := range f.Unrecorded {
			times = append(times, &f.Unrecorded[i][0], &f.Unrecorded[i][1])
		}
	}
	for _, t := range times {
		if t != nil {
			*t += offset
		}
	}
}
