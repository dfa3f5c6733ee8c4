package event

import (
	"cmp"
	"slices"
)

// RankFacts is what a report says of one of its ranks before the first row.
// Times are ns on the clock of the stream.
type RankFacts struct {
	// Rank is the number of the rank.
	Rank int32 `json:"rank"`
	// GPUStart and GPUEnd are the span of the rank's kernels and graph replays
	// over all its devices; BusyStart and BusyEnd the same with copies and
	// memsets. Null where the report has none.
	GPUStart  *int64 `json:"gpu_start_ns"`
	GPUEnd    *int64 `json:"gpu_end_ns"`
	BusyStart *int64 `json:"busy_start_ns"`
	BusyEnd   *int64 `json:"busy_end_ns"`
	// Unrecorded are the half-open spans between the process's stopping the
	// profiler and its next starting it, in order and apart from one another,
	// of those in which no GPU row of the rank starts.
	Unrecorded [][2]int64 `json:"unrecorded_ns,omitempty"`
	// Markers counts the forward-step marker ranges, Allreduces the kernels of
	// that class, Launches and GraphLaunches the calls, all of the rank's
	// process.
	Markers       int64 `json:"markers"`
	Allreduces    int64 `json:"allreduces"`
	Launches      int64 `json:"launches"`
	GraphLaunches int64 `json:"graph_launches"`
	// Kernels counts the kernels, Graphs the whole-graph rows, and Replays the
	// graph launches of which a kernel, copy or memset was recorded as a node.
	Kernels int64 `json:"kernels"`
	Graphs  int64 `json:"graphs"`
	Replays int64 `json:"replays"`
}

// facts calls fn for what the reports say of a rank, in their order.
func (h *Header) facts(rank int32, fn func(*RankFacts)) {
	for i := range h.Reports {
		for k := range h.Reports[i].RankFacts {
			if f := &h.Reports[i].RankFacts[k]; f.Rank == rank {
				fn(f)
			}
		}
	}
}

// RankFacts returns what is known of a rank over all reports that have parts of
// it, nil where the stream does not say (it is of version 1, or the rank is
// unknown). The time between two parts is not recorded.
func (h *Header) RankFacts(rank int32) *RankFacts {
	var all *RankFacts
	h.facts(rank, func(f *RankFacts) {
		if all == nil {
			sum := *f
			sum.Unrecorded = slices.Clone(f.Unrecorded)
			all = &sum
			return
		}
		all.add(f)
	})
	if all != nil {
		all.Unrecorded = joinSpans(all.Unrecorded)
	}
	return all
}

// add adds a later part of the rank.
func (f *RankFacts) add(g *RankFacts) {
	if f.BusyEnd != nil && g.BusyStart != nil && *f.BusyEnd < *g.BusyStart {
		f.Unrecorded = append(f.Unrecorded, [2]int64{*f.BusyEnd, *g.BusyStart})
	}
	f.Unrecorded = append(f.Unrecorded, g.Unrecorded...)
	f.GPUStart, f.GPUEnd = hull(f.GPUStart, f.GPUEnd, g.GPUStart, g.GPUEnd)
	f.BusyStart, f.BusyEnd = hull(f.BusyStart, f.BusyEnd, g.BusyStart, g.BusyEnd)
	f.Markers += g.Markers
	f.Allreduces += g.Allreduces
	f.Launches += g.Launches
	f.GraphLaunches += g.GraphLaunches
	f.Kernels += g.Kernels
	f.Graphs += g.Graphs
	f.Replays += g.Replays
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

// GPUSpan returns the span of a rank's GPU activity in ns, with copies and
// memsets where busyAll; ok is false where the rank has none. Of a stream of
// version 1 it is the span of the rank's report.
func (h *Header) GPUSpan(rank int32, busyAll bool) (start, end int64, ok bool) {
	var s, e *int64
	if f := h.RankFacts(rank); f != nil {
		if s, e = f.GPUStart, f.GPUEnd; busyAll {
			s, e = f.BusyStart, f.BusyEnd
		}
	} else if r := h.Report(rank); r != nil {
		if s, e = r.GPUStart, r.GPUEnd; busyAll && r.BusyStart != nil && r.BusyEnd != nil {
			s, e = r.BusyStart, r.BusyEnd
		}
	}
	if s == nil || e == nil {
		return 0, 0, false
	}
	return *s, *e, true
}

// Unrecorded returns the half-open spans, in ns and in order, of which it is
// known that they were not recorded of a rank.
func (h *Header) Unrecorded(rank int32) [][2]int64 {
	if f := h.RankFacts(rank); f != nil {
		return f.Unrecorded
	}
	return nil
}

// LostEvents tells whether the profiler said of any report that it lost CUDA
// events.
func (h *Header) LostEvents() bool {
	return slices.ContainsFunc(h.Reports, func(r Report) bool { return r.LostEvents })
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
