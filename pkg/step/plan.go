package step

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/marker"
)

// Columns returns the columns of a stream that finding its steps takes.
func Columns(h *event.Header, opt Options) event.Set {
	method, _, _ := choose(h, &opt) // New says what is wrong with it
	return columns(method)
}

// columns returns the columns that a method takes.
func columns(method string) event.Set {
	const always event.Set = 1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd | 1<<event.ColRank |
		1<<event.ColDevice | 1<<event.ColThread | 1<<event.ColName | 1<<event.ColClass
	switch method {
	case Allreduce:
		return always | 1<<event.ColLaunchStart
	case Graph:
		return always | 1<<event.ColLaunchStart | 1<<event.ColLaunchThread
	}
	return always
}

// choose returns the method to take, by what the header says of the stream, and
// why.
func choose(h *event.Header, opt *Options) (method, why string, err error) {
	switch opt.By {
	case Allreduce:
		if n := h.Rows(event.Graph); n > 0 {
			return "", "", &event.Error{
				Msg:    "all-reduce kernels are hidden inside whole-graph rows, steps cannot be told by them",
				Advice: "use --by nvtx, or profile again with --cuda-graph-trace=node",
			}
		}
		return Allreduce, "", nil
	case NVTX, Graph:
		return opt.By, "", nil
	case Auto, "":
	default:
		return "", "", &event.Error{Msg: "unknown method " + opt.By, Advice: "--by takes auto, allreduce, nvtx or graph"}
	}
	reduces, graphs := h.ClassRows(event.Allreduce), h.Rows(event.Graph)
	custom := opt.Marker != "" && h.Rows(event.NVTX) > 0
	switch {
	case reduces > 0 && graphs == 0:
		return Allreduce, "there are all-reduce kernels, and no whole-graph rows that hide any", nil
	case custom:
		return NVTX, because(reduces) + ", and --marker is given", nil
	case h.ClassRows(event.StepMarker) > 0:
		return NVTX, because(reduces) + ", and there are forward-step markers", nil
	case h.ClassRows(event.GraphLaunch) > 0:
		return Graph, because(reduces) + ", there are no forward-step markers, but graph launches", nil
	}
	return "", "", &event.Error{
		Msg: "nothing to tell steps by: no all-reduce kernels, no forward-step markers, no graph launches",
		Advice: "profile with -t cuda,nvtx and the engine's own ranges on (TensorRT-LLM has them always, " +
			"vLLM with a profiler configured), name yours with --marker, or measure the whole trace with verdict --by none",
	}
}

// because says why steps are not told by all-reduce kernels.
func because(reduces int64) string {
	if reduces == 0 {
		return "there are no all-reduce kernels"
	}
	return "whole-graph rows hide all-reduce kernels"
}

// plan is what the method and the options come to for the loop over rows.
type plan struct {
	method          string
	gap, segmentGap int64
	marker          *marker.Set
	log             func(string)

	// busy has the bit of each kind that counts as GPU activity; gpu of each
	// that runs on the GPU.
	busy, gpu uint32
	// want has for each kind the bits of the classes to stop at.
	want [16]uint32
}

func newPlan(method string, opt *Options) (plan, error) {
	p := plan{
		method: method, gap: opt.Gap, segmentGap: opt.SegmentGap, marker: marker.Presets, log: opt.Log,
		busy: 1<<event.Kernel | 1<<event.Graph,
		gpu:  1<<event.Kernel | 1<<event.Graph | 1<<event.Memcpy | 1<<event.Memset,
	}
	if opt.BusyAll {
		p.busy = p.gpu
	}
	p.want[event.NVTX] = 1 << event.StepMarker
	if opt.Marker != "" { // the stream's classes know the presets only
		var err error
		if p.marker, err = marker.Compile(opt.Marker); err != nil {
			return plan{}, &event.Error{Msg: err.Error(), Advice: "--marker takes a regular expression with the groups step, ctx and gen"}
		}
		p.want[event.NVTX] = ^uint32(0)
	}
	switch method {
	case Allreduce:
		p.want[event.Kernel] = 1 << event.Allreduce
	case Graph:
		p.want[event.API] = 1 << event.GraphLaunch
	}
	return p, nil
}
