package eventtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Unit is the unit of time in random traces, in ns. Most events start at a multiple of
// it, so that many start together.
const Unit = 20_000

// generator makes the rows of a random trace.
type generator struct {
	rng  *rand.Rand
	rows []Row
	span int64 // length of the trace, in units
}

// Random returns a random trace: a few ranks with several devices and threads, kernels,
// both kinds of graph replays, copies, launches, nested and overlapping forward-step
// markers, input preparation, and gaps. GPU work is launched before it starts; apart from
// that, nothing need be plausible. The same seed gives the same trace.
func Random(seed uint64) (*event.Header, []Row) {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 7))}
	ranks := 1 + g.rng.IntN(3)
	for rank := range ranks {
		g.rank(int32(rank))
	}
	if g.rng.IntN(3) == 0 {
		for range g.rng.IntN(10) {
			r := New(event.API, -1, g.time(), 0, "cudaFree")
			r.End, r.Thread, r.Class = r.Start+g.length(), 9, event.Other
			g.rows = append(g.rows, r)
		}
	}
	Sort(g.rows)
	return Header(g.rows), g.rows
}

// time returns a time, in ns, in one of the bursts between the gaps.
func (g *generator) time() int64 {
	at := g.rng.Int64N(g.span)
	if g.span > 60 && at%60 > 35 {
		at -= 25 // a gap
	}
	return (at + 1) * Unit
}

// length returns a duration in ns, often 0 or a multiple of Unit, so that ends coincide
// with starts.
func (g *generator) length() int64 {
	switch g.rng.IntN(6) {
	case 0:
		return 0
	case 1:
		return g.rng.Int64N(5 * Unit)
	case 2:
		return g.rng.Int64N(12) * Unit
	}
	return g.rng.Int64N(3) * Unit
}

// rank adds the rows of a rank, unsorted.
func (g *generator) rank(rank int32) {
	g.span = 20 + g.rng.Int64N(200)
	kernels, markers := g.rng.IntN(80), g.rng.IntN(20)
	for range kernels {
		g.gpu(rank)
	}
	for i := range markers {
		g.marker(rank, i)
	}
	names := []string{"_prepare_inputs", "x prepare_inputs y", "_prepare_tp_inputs", "_sample_async"}
	names = names[g.rng.IntN(len(names)):]
	for range g.rng.IntN(15) {
		r := New(event.NVTX, rank, g.time(), 0, names[g.rng.IntN(len(names))])
		r.End, r.Thread, r.Class = r.Start+g.length(), g.thread(), event.Prep
		if r.Name == "_sample_async" {
			r.Class = event.Range
		}
		g.rows = append(g.rows, r)
	}
}

// thread returns one of two thread ids.
func (g *generator) thread() int64 { return 1 + g.rng.Int64N(2) }

// gpu adds a call and the GPU rows that it launches.
func (g *generator) gpu(rank int32) {
	call := New(event.API, rank, g.time()+7, 0, "cudaLaunchKernel")
	call.End, call.Thread, call.Class = call.Start+1+g.length(), g.thread(), event.Launch
	call.Correlation = int64(len(g.rows))
	n, node, kind := 1, int64(-1), event.Kernel
	switch g.rng.IntN(8) {
	case 0, 1:
		call.Class, call.Name = event.GraphLaunch, "cudaGraphLaunch"
		n, node = g.rng.IntN(5), 3
		if g.rng.IntN(10) == 0 {
			kind, n, node = event.Graph, 1, -1
		}
	case 2:
		call.Class, call.Name, kind = event.Memop, "cudaMemcpyAsync", event.Memcpy
	}
	if g.rng.IntN(12) > 0 {
		g.rows = append(g.rows, call)
	}
	at := call.Start
	for range n {
		at += 1 + g.rng.Int64N(4)*Unit
		if g.rng.IntN(2) == 0 {
			at = (at/Unit + 1) * Unit
		}
		r := New(kind, rank, at, at+g.length(), "gemm_kernel")
		r.Device, r.Stream, r.Correlation, r.GraphNode = int32(g.rng.IntN(2))+rank%2, 7, call.Correlation, node
		if g.rng.IntN(15) > 0 {
			r.LaunchStart, r.LaunchEnd, r.LaunchThread = call.Start, call.End, call.Thread
		}
		g.classify(&r)
		g.rows = append(g.rows, r)
	}
}

// classify gives a kernel a class and a name, which need not agree. Some rows are NCCL's
// by name only.
func (g *generator) classify(r *Row) {
	if r.Kind != event.Kernel {
		r.Name = event.Kinds[r.Kind]
		return
	}
	switch g.rng.IntN(5) {
	case 0, 1:
		r.Class, r.Name = event.Allreduce, "allreduce_fusion_kernel"
	case 2:
		r.Class, r.Name = event.Comm, "ncclDevKernel_AllGather"
	case 3:
		r.Class, r.Name = event.Other, "my_NcCl"
	default:
		r.Class = event.GEMM
	}
}

// marker adds a forward-step marker, and sometimes a second one that overlaps it.
func (g *generator) marker(rank int32, i int) {
	names := []string{
		fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, %d gen reqs", i/2, g.rng.IntN(2), g.rng.IntN(3)),
		fmt.Sprintf("_forward_step: %d ctx reqs, %d gen reqs", g.rng.IntN(2), g.rng.IntN(3)),
		"step[WHAT bs=3]",
	}
	r := New(event.NVTX, rank, g.time(), 0, names[g.rng.IntN(len(names))])
	r.End, r.Thread, r.Class = r.Start+g.length(), g.thread(), event.StepMarker
	g.rows = append(g.rows, r)
	if g.rng.IntN(4) == 0 {
		r.Start += g.rng.Int64N(8) * Unit
		r.End = r.Start + g.length()
		g.rows = append(g.rows, r)
	}
}

// Sort sorts rows as in a stream, rows without a rank first.
func Sort(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		switch {
		case a.Rank != b.Rank:
			return int(a.Rank - b.Rank)
		case a.Start != b.Start:
			return int(a.Start - b.Start)
		}
		return int((b.End - b.Start) - (a.End - a.Start))
	})
}

// Header returns the header that a reader would make for the rows. Rank 0 is in the first
// report, all other ranks in the second.
func Header(rows []Row) *event.Header {
	h := &event.Header{Stage: "nsys2arrow", Columns: event.BaseCols}
	for i := range rows {
		r := &rows[i]
		n := max(0, min(1, int(r.Rank)))
		for len(h.Reports) <= n {
			h.Reports = append(h.Reports, event.Report{
				File: fmt.Sprint("r", len(h.Reports), ".sqlite"), Extent: event.Extent{Rows: map[string]int64{}, Classes: map[string]int64{}},
			})
		}
		if r.Kind == event.Run {
			h.Columns |= event.HostCols
		}
		if r.Kind == event.Sample || r.Kind == event.Backtrace {
			h.Columns |= event.StackCols
		}
		for len(h.Stacks) <= int(r.Stack) {
			h.Stacks = append(h.Stacks, fmt.Sprint("main;f", len(h.Stacks)))
		}
		count(&h.Reports[n], r)
	}
	return h
}

// count counts a row in the header of its report, as readers do.
func count(rep *event.Report, r *Row) {
	rep.Rows[event.Kinds[r.Kind]]++
	if r.Class >= 0 {
		rep.Classes[event.Classes[r.Class]]++
	}
	if r.Rank < 0 {
		return
	}
	k := slices.Index(rep.Ranks, r.Rank)
	if k < 0 {
		k = len(rep.Ranks)
		rep.Ranks = append(rep.Ranks, r.Rank)
		rep.AllreduceDevices = append(rep.AllreduceDevices, -1)
	}
	if d := &rep.AllreduceDevices[k]; r.Kind == event.Kernel && r.Class == event.Allreduce && (*d < 0 || r.Device < *d) {
		*d = r.Device
	}
	if r.End <= r.Start {
		return
	}
	switch r.Kind {
	case event.Kernel, event.Graph:
		widen(&rep.GPUStart, &rep.GPUEnd, r.Start, r.End)
		widen(&rep.BusyStart, &rep.BusyEnd, r.Start, r.End)
	case event.Memcpy, event.Memset:
		widen(&rep.BusyStart, &rep.BusyEnd, r.Start, r.End)
	}
}

// widen extends a span to cover another one.
func widen(from, to **int64, start, end int64) {
	if *from == nil {
		*from, *to = new(int64), new(int64)
		**from, **to = start, end
	}
	**from, **to = min(**from, start), max(**to, end)
}

// OneReport merges the reports of a header into the first, whose times it keeps.
func OneReport(h *event.Header) {
	one := &h.Reports[0]
	for _, other := range h.Reports[1:] {
		for kind, n := range other.Rows {
			one.Rows[kind] += n
		}
		for class, n := range other.Classes {
			one.Classes[class] += n
		}
		one.Ranks = append(one.Ranks, other.Ranks...)
		one.AllreduceDevices = append(one.AllreduceDevices, other.AllreduceDevices...)
		one.RankFacts = append(one.RankFacts, other.RankFacts...)
	}
	h.Reports = h.Reports[:1]
}
