package event

import (
	"cmp"
	"slices"
)

// RankSpan is when a rank's GPUs were active and when it was not recorded. Times
// are ns on the clock of the stream.
type RankSpan struct {
	// GPUStart and GPUEnd are the span of the rank's kernels and graph replays
	// over all its GPUs, BusyStart and BusyEnd the same with copies and
	// memsets; null where it has none.
	GPUStart  *int64 `json:"gpu_start_ns"`
	GPUEnd    *int64 `json:"gpu_end_ns"`
	BusyStart *int64 `json:"busy_start_ns"`
	BusyEnd   *int64 `json:"busy_end_ns"`
	// Unrecorded are the half-open spans in which nothing was recorded, in order
	// and apart: between the profiler's stop and its next start where no GPU row
	// of the rank starts, and between the parts of a rank.
	Unrecorded [][2]int64 `json:"unrecorded_ns,omitempty"`
}

// RankFacts is what a report says of one of its ranks before the first row.
type RankFacts struct {
	// Rank is the number of the rank.
	Rank int32 `json:"rank"`
	RankSpan
	// Markers counts the forward-step marker ranges, Allreduces the kernels of
	// that class, Launches and GraphLaunches the calls, all of the rank's
	// process.
	Markers       int64 `json:"markers"`
	Allreduces    int64 `json:"allreduces"`
	Launches      int64 `json:"launches"`
	GraphLaunches int64 `json:"graph_launches"`
	// GPUs counts the devices that ran kernels or whole-graph rows; 0 where the writer did not
	// count them.
	GPUs int64 `json:"gpus,omitempty"`
	// Kernels counts the kernels, Graphs the whole-graph rows, and Replays the
	// graph launches of which a kernel, copy or memset was recorded as a node.
	Kernels int64 `json:"kernels"`
	Graphs  int64 `json:"graphs"`
	Replays int64 `json:"replays"`
	// OSCalls, Runs, Samples and Backtraces count what was recorded of the threads of the
	// rank's process: calls of the system's libraries, stretches on a CPU, samples, stacks
	// of calls. 0 where nothing was, or was left out.
	OSCalls    int64 `json:"os_calls,omitempty"`
	Runs       int64 `json:"runs,omitempty"`
	Samples    int64 `json:"samples,omitempty"`
	Backtraces int64 `json:"backtraces,omitempty"`
	// GPUNodes are the NUMA nodes that the rank's GPUs are in, each once, ascending; nil
	// where that is not known of one of them, or there are no rows of kind run.
	GPUNodes []int32 `json:"gpu_numa_nodes,omitempty"`
}

// RankFacts returns what is known of a rank over all reports that have parts of
// it, nil where the stream does not say (it is of version 1, or the rank is
// unknown). The time between two parts was not recorded.
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

// Records reports whether rows of a kind about host threads were recorded in the
// process of a rank; where the header does not say of which process, in any.
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

// GPUs is how many devices at most run kernels or graph replays of a rank, 0 where the header
// does not say.
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
	f.GPUs += g.GPUs // those of both parts twice: no more than that
	f.Kernels += g.Kernels
	f.Graphs += g.Graphs
	f.Replays += g.Replays
	f.OSCalls += g.OSCalls
	f.Runs += g.Runs
	f.Samples += g.Samples
	f.Backtraces += g.Backtraces
	if !slices.Equal(f.GPUNodes, g.GPUNodes) { // it cannot be on two machines
		f.GPUNodes = nil
	}
}

// Span is the span of a rank over all reports that have parts of it. Where they
// do not say it for each rank it is that of the rank's report.
func (h *Header) Span(rank int32) RankSpan {
	if f := h.RankFacts(rank); f != nil {
		return f.RankSpan
	}
	if r := h.Report(rank); r != nil {
		return RankSpan{GPUStart: r.GPUStart, GPUEnd: r.GPUEnd, BusyStart: r.BusyStart, BusyEnd: r.BusyEnd}
	}
	return RankSpan{}
}

// add adds the span of another part of the rank, and the time between the two.
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

// hull returns the span that covers two, either of which may be missing.
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

// joinSpans sorts spans and joins those that touch.
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

// LostEvents reports whether the profiler said of any report that it lost CUDA
// events.
func (h *Header) LostEvents() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool { return r.LostEvents })
}

// StartOnly reports whether of any report the only forward step is no evidence.
func (h *Header) StartOnly() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool { return r.StartOnly })
}

// Workload is what the run does other than generating tokens, by any of its reports: Training,
// else Diffusion, else "".
func (h *Header) Workload() string {
	for _, w := range []string{Training, Diffusion} {
		if slices.ContainsFunc(h.Reports, func(r Report) bool { return r.Workload == w }) {
			return w
		}
	}
	return ""
}

// Platform is AMD where any report is of AMD's GPUs, else "".
func (h *Header) Platform() string {
	if slices.ContainsFunc(h.Reports, func(r Report) bool { return r.Platform == AMD }) {
		return AMD
	}
	return ""
}

// PythonFunctions is how many calls of Python functions were recorded that are not among the
// rows, over all reports.
func (h *Header) PythonFunctions() (n int64) {
	for i := range h.Reports {
		n += h.Reports[i].PythonFunctions
	}
	return n
}

// Source is what recorded the reports, "" where that differs or is not known.
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

// RankNumbers returns the numbers of all ranks, ascending, each once.
func (h *Header) RankNumbers() []int32 {
	var all []int32
	for i := range h.Reports {
		all = append(all, h.Reports[i].Ranks...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Shift adds to the times of the report and of its ranks.
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
