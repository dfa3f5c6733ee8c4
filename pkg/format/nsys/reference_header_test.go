package nsys

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// compiledFor matches the simulated collectives whose names say for how many GPUs they are.
var compiledFor = regexp.MustCompile(`(?:allreduce_fusion_kernel\w*|cross_device_reduce\w*)<.*__nv_bfloat16, (\d+)`)

// report returns what the header must say of the rows.
func (w *reference) report() event.Report {
	rep := event.Report{Ranks: []int32{}, AllreduceDevices: []int32{}, Extent: event.Extent{Rows: map[string]int64{}, Classes: map[string]int64{}}}
	for _, c := range []string{"allreduce", "launch", "graph_launch", "step"} {
		rep.Classes[c] = 0
	}
	for k := range w.ranks {
		rep.Ranks, rep.AllreduceDevices = append(rep.Ranks, int32(k)), append(rep.AllreduceDevices, -1)
	}
	for _, r := range append(slices.Clone(w.host), w.gpu...) {
		rep.Rows[event.Kinds[r.kind]]++
		if _, ok := rep.Classes[r.class]; ok {
			rep.Classes[r.class]++
		}
		if r.class == "allreduce" {
			if d := &rep.AllreduceDevices[w.rank(r.process)]; *d < 0 || int64(*d) > *r.device {
				*d = int32(*r.device)
			}
		}
		if r.kind == event.Kernel || r.kind == event.Graph {
			hull(&rep.GPUStart, &rep.GPUEnd, r)
		}
		if r.kind == event.Kernel || r.kind == event.Graph || r.kind == event.Memcpy || r.kind == event.Memset {
			hull(&rep.BusyStart, &rep.BusyEnd, r)
		}
	}
	if len(w.sizes) > 0 {
		rep.GroupSizes = w.sizes
	}
	for k := range w.ranks {
		rep.RankFacts = append(rep.RankFacts, w.facts(k))
	}
	return rep
}

// facts returns what the header must say of a rank.
func (w *reference) facts(rank int) event.RankFacts {
	f := event.RankFacts{Rank: int32(rank)}
	replays, devices := map[int64]bool{}, map[int64]bool{}
	var calls []*referenceRow
	for _, r := range append(slices.Clone(w.host), w.gpu...) {
		if w.rank(r.process) != rank {
			continue
		}
		switch r.kind {
		case event.Kernel:
			f.Kernels++
		case event.Graph:
			f.Graphs++
		}
		switch r.class {
		case "allreduce":
			f.Allreduces++
		case "launch":
			f.Launches++
		case "graph_launch":
			f.GraphLaunches++
		case "step":
			f.Markers++
		}
		if r.kind == event.Kernel || r.kind == event.Graph {
			hull(&f.GPUStart, &f.GPUEnd, r)
			devices[*r.device] = true
		}
		if r.kind == event.Kernel || r.kind == event.Graph || r.kind == event.Memcpy || r.kind == event.Memset {
			hull(&f.BusyStart, &f.BusyEnd, r)
		}
		if r.node != nil && r.corr != nil {
			replays[*r.corr] = true
		}
		if r.kind == event.API && strings.Contains(r.name, "Profiler") {
			calls = append(calls, r)
		}
	}
	f.Replays, f.GPUs = int64(len(replays)), int64(len(devices))
	slices.SortStableFunc(calls, func(a, b *referenceRow) int { return cmp.Compare(a.start, b.start) })
	f.Unrecorded = w.unrecorded(rank, calls)
	return f
}

// unrecorded returns the spans between stops and starts of the profiler in which
// nothing of the rank starts on the GPU.
func (w *reference) unrecorded(rank int, calls []*referenceRow) (spans [][2]int64) {
	for i, stop := range calls {
		if !strings.HasSuffix(stop.name, "Stop") || i > 0 && strings.HasSuffix(calls[i-1].name, "Stop") {
			continue
		}
		for _, start := range calls[i+1:] {
			if !strings.HasSuffix(start.name, "Start") {
				continue
			}
			if start.start > stop.end && !slices.ContainsFunc(w.gpu, func(r *referenceRow) bool {
				return r.kind != event.Sync && w.rank(r.process) == rank && r.start >= stop.end && r.start < start.start
			}) {
				spans = append(spans, [2]int64{stop.end, start.start})
			}
			break
		}
	}
	return spans
}

func hull(start, end **int64, r *referenceRow) {
	if *start == nil {
		*start, *end = new(r.start), new(r.end)
	}
	**start, **end = min(**start, r.start), max(**end, r.end)
}

// domains returns the domains that the header must name.
func (w *reference) domains() []string {
	names := map[string]bool{}
	for n := range w.t.NVTX.All() {
		if name := w.domain(n.Process, n.Domain); name != "" && w.has(nvtxTable, "domainId") && n.Kind == sim.NVTXDomain {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
