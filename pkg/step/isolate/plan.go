package isolate

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Columns returns the columns that finding the steps of a stream needs.
func Columns(h *event.Header, opt Options) event.Set {
	method, _, _ := choose(h, &opt) // New returns the error
	return columns(method) | event.HostCols
}

// Launched returns the class of the kernels whose launch calls are needed to find steps,
// false if those of all GPU rows are.
func Launched(h *event.Header, opt Options) (event.Class, bool) {
	method, _, _ := choose(h, &opt)
	return event.Allreduce, method == step.Allreduce && !structured(h, &opt)
}

// HostClasses returns the classes of API calls and NVTX ranges that are needed to find
// steps. It returns false if all are: where steps are identified by structure, rows of
// any class may be evidence.
func HostClasses(h *event.Header, opt Options) (event.ClassSet, bool) {
	method, _, _ := choose(h, &opt)
	few := method == step.NVTX || method == step.Allreduce && !structured(h, &opt)
	return event.ClassesOf(event.Launch, event.GraphLaunch, event.APISync, event.StepMarker), few && opt.Marker == ""
}

// MayBeUnclear reports whether steps may turn out, at the end of the rows, not to be
// identifiable. That is so if they are identified by structure, here or in an earlier
// isolate.
func MayBeUnclear(h *event.Header, opt Options) bool {
	if h.Isolation != nil {
		return h.Isolation.Method == step.Allreduce
	}
	method, _, _ := choose(h, &opt)
	return method == step.Allreduce && structured(h, &opt)
}

// structured reports whether the steps of some rank may have to be identified by
// structure.
func structured(h *event.Header, opt *Options) bool {
	if opt.Gap > 0 {
		return false
	}
	if opt.Marker != "" {
		return true
	}
	for _, id := range h.RankNumbers() {
		if f := h.RankFacts(id); f == nil || f.Markers == 0 || f.Allreduces == 0 {
			return true
		}
	}
	return false
}

// unrecorded returns the number of graph launches, and of those whose replay was not
// recorded.
func unrecorded(h *event.Header) (launches, lost int64) {
	for _, id := range h.RankNumbers() {
		if f := h.RankFacts(id); f != nil {
			launches += f.GraphLaunches
			lost += max(0, f.GraphLaunches-f.Replays-f.Graphs)
		}
	}
	return launches, lost
}

// columns returns the columns that a method needs.
func columns(method string) event.Set {
	const always event.Set = 1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd | 1<<event.ColRank |
		1<<event.ColDevice | 1<<event.ColThread | 1<<event.ColName | 1<<event.ColClass
	switch method {
	case step.Graph:
		return always | 1<<event.ColLaunchStart | 1<<event.ColCorrelation | 1<<event.ColGraphNode
	case step.Allreduce:
		return always | 1<<event.ColLaunchStart
	}
	return always
}

// choose returns the method for a stream, by its header, and why: a phrase to follow
// "using", "" if the method was given.
func choose(h *event.Header, opt *Options) (method, why string, err error) {
	switch opt.By {
	case step.Allreduce:
		if n := h.Rows(event.Graph); n > 0 {
			return "", "", &event.Error{
				Msg:    "graph replays recorded as a whole hide the all-reduce kernels, which can then not be used to find steps",
				Advice: "use --by nvtx, or profile again with --cuda-graph-trace=node",
			}
		}
		return step.Allreduce, "", nil
	case step.NVTX, step.Graph:
		return opt.By, "", nil
	case step.Auto, "":
	default:
		return "", "", &event.Error{Msg: "unknown method " + opt.By, Advice: "--by takes auto, allreduce, nvtx or graph"}
	}
	reduces, graphs := h.ClassRows(event.Allreduce), h.Rows(event.Graph)
	custom := opt.Marker != "" && h.Rows(event.NVTX) > 0
	launches, lost := unrecorded(h)
	because := "graph replays recorded as a whole hide all-reduce kernels"
	if reduces == 0 {
		because = "there are no all-reduce kernels"
	}
	marked := custom || h.ClassRows(event.StepMarker) > 0
	switch {
	case reduces > 0 && graphs == 0 && marked && lost > 0 && stat.MostOf(lost, launches):
		return step.NVTX, fmt.Sprintf("forward-step markers to find steps (--by nvtx): the replays of %d of %d graph launches were not recorded, "+
			"so steps may have no all-reduce kernels", lost, launches), nil
	case reduces > 0 && graphs == 0:
		return step.Allreduce, "all-reduce kernels to find steps (--by allreduce)", nil
	case custom:
		return step.NVTX, "the ranges of --marker to find steps (--by nvtx)", nil
	case h.ClassRows(event.StepMarker) > 0:
		return step.NVTX, "forward-step markers to find steps (--by nvtx): " + because, nil
	case h.ClassRows(event.GraphLaunch) > 1 && h.StartOnly():
		return "", "", &step.NotFound{
			Msg:    "could not find inference steps: the graphs are pieces of the only forward step, the first after the profiler started",
			Advice: "record several steps, or take each replay for one with --by graph",
		}
	case h.ClassRows(event.GraphLaunch) > 0:
		return step.Graph, "graph launches to find steps (--by graph): " + because + ", and no forward-step markers", nil
	}
	none := &step.NotFound{
		Msg:    "could not find inference steps: no all-reduce kernels, no forward-step markers, no graph launches",
		Advice: "profile with -t cuda,nvtx and the engine's own ranges on (TensorRT-LLM's always are), or name yours with --marker",
	}
	switch h.Source() {
	case "torch":
		none.Advice = "call the profiler's step() after each iteration, or put record_function around it and name that range with --marker"
	case "rocpd":
		none.Advice = "put a roctx range around each step and name it with --marker"
	}
	return "", "", none
}

// planOf returns the plan of a rank, and a remark about it, "" for none. In a run with
// all-reduce kernels, a rank without them is a stage of a pipeline. Its steps are its
// marker ranges, or else its graph replays, or else it has none.
func (it *Isolator) planOf(id int32) (*plan, string) {
	f := it.header.RankFacts(id)
	if it.plan.method != step.Allreduce || f == nil || f.Allreduces > 0 {
		return &it.plan, ""
	}
	method, how := step.Graph, "its graph replays"
	switch {
	case f.Markers > 0 || it.plan.custom:
		method, how = step.NVTX, "its forward-step markers"
	case f.Replays+f.Graphs == 0:
		return &it.plan, ""
	}
	p := it.plan.of(method)
	return &p, fmt.Sprintf("rank %d has no all-reduce kernels: its steps are found by %s", id, how)
}

// plan is the method and the options, prepared for the loop over rows.
type plan struct {
	method          string
	gap, segmentGap int64       // ns, with defaults applied
	marker          *marker.Set // what forward-step markers look like
	gapsAlone       bool        // gaps end an allreduce step even in a rank without markers
	custom          bool        // marker is the user's: the stream's classes do not reflect it
	warn            func(string)

	busy uint32 // a bit for each kind that counts as GPU activity
	// want has, by kind, a bit for each class to stop at, ^0 for all rows.
	want [event.MaxKinds]uint32
}

// newPlan returns the plan of a method for all ranks. It fails if the marker expression
// is invalid.
func newPlan(method string, opt *Options) (plan, error) {
	p := plan{
		method: method, gap: opt.Gap, segmentGap: opt.SegmentGap, marker: marker.Presets, warn: opt.Warn,
		busy: 1<<event.Kernel | 1<<event.Graph, gapsAlone: opt.Gap > 0,
	}
	if p.gap <= 0 {
		p.gap = step.DefaultGap
	}
	if opt.BusyAll {
		p.busy |= 1<<event.Memcpy | 1<<event.Memset
	}
	p.want[event.NVTX] = 1 << event.StepMarker
	if opt.Marker != "" {
		p.custom = true
		var err error
		if p.marker, err = marker.Compile(opt.Marker); err != nil {
			return plan{}, &event.Error{Msg: err.Error(), Advice: "--marker takes a regular expression with the groups step, ctx and gen"}
		}
		p.want[event.NVTX] = ^uint32(0)
	}
	return p.of(method), nil
}

// of returns the plan with another method.
func (p plan) of(method string) plan {
	p.method = method
	p.want[event.Kernel] = 0
	switch method {
	case step.Allreduce:
		p.want[event.Kernel] = 1 << event.Allreduce
	case step.Graph:
		for _, kind := range event.GPUKinds {
			if p.busy>>uint32(kind)&1 != 0 {
				p.want[kind] = ^uint32(0)
			}
		}
	}
	return p
}
