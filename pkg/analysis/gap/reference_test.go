package gap_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// small makes small random traces, whose times are single nanoseconds, so that a
// reference can look at each instant.
type small struct {
	rng  *rand.Rand
	rows []eventtest.Row
	span int64
}

func randomRows(seed uint64) (*event.Header, []eventtest.Row) {
	s := &small{rng: rand.New(rand.NewPCG(seed, 11))}
	for rank := range int32(1 + s.rng.IntN(3)) {
		s.span = 50 + s.rng.Int64N(600)
		for range s.rng.IntN(40) {
			s.gpu(rank)
		}
		for range s.rng.IntN(40) {
			s.call(rank)
		}
		for range s.rng.IntN(40) {
			s.nvtx(rank)
		}
		for range s.rng.IntN(12) {
			s.marker(rank)
		}
	}
	eventtest.Sort(s.rows)
	return eventtest.Header(s.rows), s.rows
}

// at is a time in one of the bursts between the gaps.
func (s *small) at() int64 {
	t := s.rng.Int64N(s.span)
	if s.span > 200 && t%200 > 130 {
		t -= 100
	}
	return t + 1
}

func (s *small) length() int64 { return []int64{0, 1, 2, 5, 9, 30}[s.rng.IntN(6)] }

func (s *small) thread() int64 { return 1 + s.rng.Int64N(3) }

func (s *small) gpu(rank int32) {
	call := eventtest.New(event.API, rank, s.at(), 0, "cudaLaunchKernel")
	call.End, call.Thread, call.Class = call.Start+s.length(), s.thread(), event.Launch
	call.Correlation = int64(len(s.rows))
	n, node, kind := 1, int64(-1), event.Kernel
	switch s.rng.IntN(6) {
	case 0, 1:
		call.Class, call.Name = event.GraphLaunch, "cudaGraphLaunch"
		n, node = s.rng.IntN(6), 3
	case 2:
		call.Class, call.Name, kind = event.Memop, "cudaMemcpyAsync", event.Memcpy
	case 3:
		if s.rng.IntN(3) == 0 {
			call.Class, call.Name, kind = event.GraphLaunch, "cudaGraphLaunch", event.Graph
		}
	}
	if s.rng.IntN(12) > 0 {
		s.rows = append(s.rows, call)
	}
	at := call.Start - 2
	device := rank%2 + int32(s.rng.IntN(2))
	for range n {
		at += s.rng.Int64N(20)
		r := eventtest.New(kind, rank, max(1, at), max(1, at)+s.length(), fmt.Sprint("k", s.rng.IntN(4)))
		at = r.End
		r.Device, r.Stream, r.Correlation, r.GraphNode = device, 7+s.rng.Int64N(2), call.Correlation, node
		if kind == event.Kernel {
			r.Class = []event.Class{event.GEMM, event.Allreduce, event.Attention, event.Norm}[s.rng.IntN(4)]
		}
		if s.rng.IntN(12) > 0 {
			r.LaunchStart, r.LaunchEnd, r.LaunchThread = call.Start, call.End, call.Thread
		}
		if s.rng.IntN(40) == 0 {
			r.LaunchThread = 99
		}
		s.rows = append(s.rows, r)
	}
}

func (s *small) call(rank int32) {
	r := eventtest.New(event.API, rank, s.at(), 0, "cudaFoo")
	r.End, r.Thread = r.Start+s.length(), s.thread()
	r.Class = []event.Class{event.APISync, event.Memop, event.Alloc, event.Other, -1}[s.rng.IntN(5)]
	s.rows = append(s.rows, r)
}

func (s *small) nvtx(rank int32) {
	r := eventtest.New(event.NVTX, rank, s.at(), 0, "")
	r.End, r.Thread, r.Class = r.Start+2*s.length(), s.thread(), event.Range
	switch s.rng.IntN(8) {
	case 0:
		r.Name, r.Class = "Waiting for GIL", event.GIL
	case 1:
		r.Name, r.Class = "Holding GIL", event.GIL
	case 2:
		r.Name, r.Class = "Python GC", event.GC
	case 3:
		r.Name, r.Class = "_prepare_inputs", event.Prep
	default:
		r.Name = fmt.Sprintf("%c %d", 'a'+s.rng.IntN(3), s.rng.IntN(20))
	}
	s.rows = append(s.rows, r)
}

func (s *small) marker(rank int32) {
	r := eventtest.New(event.NVTX, rank, s.at(), 0, fmt.Sprintf("_forward_step: %d ctx reqs, %d gen reqs", s.rng.IntN(2), s.rng.IntN(3)))
	r.End, r.Thread, r.Class = r.Start+3*s.length(), 1, event.StepMarker
	s.rows = append(s.rows, r)
}

// figures are those that the reference computes.
type figures struct {
	causes   map[string]int64 // by scope and cause
	count    [9]int64
	total    [9]int64
	top      []string
	kernels  int64
	replayed int64
	eager    map[string]int64
}

// referenceOf computes the figures instant by instant. The rows of a stream of one
// rank are in its order.
func referenceOf(h *event.Header, rows []eventtest.Row, opt gap.Options) *figures {
	f := &figures{causes: map[string]int64{}, eager: map[string]int64{}}
	if !slices.ContainsFunc(rows, func(r eventtest.Row) bool { return r.Kind == event.Step }) {
		opt.Window = gap.WindowTrace // there is no other
	}
	byRank := map[int32][]eventtest.Row{}
	for _, r := range rows {
		if r.Rank >= 0 {
			byRank[r.Rank] = append(byRank[r.Rank], r)
		}
	}
	var tops []referenceGap
	for rank, rows := range byRank {
		start, end, ok := referenceWindow(h, rank, rows, opt)
		if !ok {
			continue
		}
		tops = append(tops, f.rank(rows, start, end, opt)...)
	}
	slices.SortFunc(tops, func(a, b referenceGap) int {
		return cmp.Or(cmp.Compare(b.gap, a.gap), cmp.Compare(a.start, b.start), cmp.Compare(a.rank, b.rank), cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream))
	})
	for _, g := range tops {
		f.top = append(f.top, fmt.Sprint(g.gap, g.rank, g.device, g.stream, g.names))
	}
	return f
}

type referenceGap struct {
	gap, start   int64
	rank, device int32
	stream       int64
	names        string
}

// referenceWindow returns the window of a rank.
func referenceWindow(h *event.Header, rank int32, rows []eventtest.Row, opt gap.Options) (start, end int64, ok bool) {
	if h.Isolation == nil || opt.Window == gap.WindowTrace {
		rep := h.Report(rank)
		from, to := rep.GPUStart, rep.GPUEnd
		if opt.BusyAll {
			from, to = rep.BusyStart, rep.BusyEnd
		}
		if from == nil {
			return 0, 0, false
		}
		return *from, *to, true
	}
	for _, r := range rows {
		if r.Kind == event.Window {
			return r.Start, r.End, true
		}
	}
	return 0, 0, false
}

// rank adds up one rank.
func (f *figures) rank(rows []eventtest.Row, start, end int64, opt gap.Options) (tops []referenceGap) {
	busy := func(r *eventtest.Row) bool {
		gpu := r.Kind == event.Kernel || r.Kind == event.Graph || opt.BusyAll && (r.Kind == event.Memcpy || r.Kind == event.Memset)
		return gpu && r.End > r.Start
	}
	gpus := map[int32][]*eventtest.Row{}
	streams := map[[2]int64][]*eventtest.Row{}
	for i := range rows {
		r := &rows[i]
		if busy(r) {
			gpus[r.Device] = append(gpus[r.Device], r)
			key := [2]int64{int64(r.Device), r.Stream}
			streams[key] = append(streams[key], r)
		}
		if r.Kind == event.Kernel && start <= r.Start && r.Start < end {
			f.kernels++
			if r.GraphNode >= 0 {
				f.replayed++
			} else {
				f.eager[r.Name]++
			}
		}
	}
	for _, gpu := range gpus {
		for t := start; t < end; t++ {
			if cause := instant(rows, gpu, t, end); cause != "" {
				f.causes["all "+cause]++
			}
		}
		for _, w := range rows {
			for t := w.Start; w.Kind == event.Window && t < w.End; t++ {
				n, phase := stepAt(rows, t)
				if cause := instant(rows, gpu, t, w.End); cause != "" && n >= 0 {
					f.causes[event.Phases[phase]+" "+cause]++
					f.causes[fmt.Sprintf("step %d %d %s", rows[0].Rank, n, cause)]++
				}
			}
		}
	}
	for key, rows := range streams {
		slices.SortStableFunc(rows, func(a, b *eventtest.Row) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
		for i := 1; i < len(rows); i++ {
			a, b := rows[i-1], rows[i]
			if g := b.Start - a.End; g > 0 && a.End >= start && b.Start <= end {
				limits := []int64{1e3, 5e3, 1e4, 5e4, 1e5, 5e5, 1e6, 5e6}
				k, _ := slices.BinarySearch(limits, g+1)
				f.count[k]++
				f.total[k] += g
				tops = append(tops, referenceGap{g, a.End, a.Rank, a.Device, key[1], a.Name + " " + b.Name})
			}
		}
	}
	return tops
}

// stepAt returns the step in whose period t lies and its phase, -1 and -1 where it
// is in none that counts.
func stepAt(rows []eventtest.Row, t int64) (int, int32) {
	segment := int64(-1)
	for _, r := range rows {
		if r.Kind == event.Window {
			segment = r.Segment
		}
	}
	var steps []eventtest.Row
	for _, r := range rows {
		if r.Kind == event.Step {
			steps = append(steps, r)
		}
	}
	for i, s := range steps {
		if segment >= 0 && s.Segment != segment {
			continue
		}
		end := int64(0)
		for _, o := range steps {
			if o.Segment == s.Segment {
				end = max(end, o.End)
			}
		}
		if i+1 < len(steps) && steps[i+1].Segment == s.Segment {
			end = steps[i+1].Start
		}
		if s.Start <= t && t < end {
			return i, int32(s.Phase)
		}
	}
	return -1, -1
}

// instant returns why a GPU is idle at t, "" where it is busy.
func instant(rows []eventtest.Row, gpu []*eventtest.Row, t, end int64) string {
	before, next, busy := eventtest.Around(gpu, t)
	switch {
	case busy:
		return ""
	case next == nil || next.Start >= end:
		return "tail"
	case eventtest.OneReplay(before, next):
		return "graph"
	case next.LaunchStart < 0:
		return "untraced"
	case t >= next.LaunchEnd:
		return "queued"
	}
	cause, by := eventtest.Doing(rows, next.LaunchThread, t)
	if cause == "host" {
		cause += ":" + fold(by.Name)
	}
	return cause
}

func fold(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r < '0' || r > '9' {
			b.WriteRune(r)
		} else if i == 0 || s[i-1] < '0' || s[i-1] > '9' {
			b.WriteByte('#')
		}
	}
	return b.String()
}

// figuresOf brings a report into the form of the reference's.
func figuresOf(rep *gap.Report) *figures {
	f := &figures{causes: map[string]int64{}, eager: map[string]int64{}, kernels: rep.Graph.Kernels, replayed: rep.Graph.Replayed}
	add := func(scope string, causes []gap.Cause) {
		for _, c := range causes {
			f.causes[scope+" "+c.Cause] += c.Ns
		}
	}
	add("all", rep.Idle.Causes)
	for _, p := range rep.Idle.Phases {
		add(p.Phase, p.Causes)
	}
	for _, s := range rep.Idle.PerStep {
		add(fmt.Sprintf("step %d %d", s.Rank, s.Step), s.Causes)
	}
	for i, b := range rep.Gaps.Buckets {
		f.count[i], f.total[i] = b.Count, b.Ns
	}
	for _, g := range rep.Gaps.Top {
		f.top = append(f.top, fmt.Sprint(int64(g.GapUs*1000+0.5), g.Rank, g.Device, g.Stream, g.Previous+" "+g.Next))
	}
	for _, e := range rep.Graph.Eager {
		f.eager[e.Name] += e.Count
	}
	return f
}

// diffFigures compares figures.
func diffFigures(got, want *figures) string {
	for _, m := range [2][2]map[string]int64{{got.causes, want.causes}, {got.eager, want.eager}} {
		for name, ns := range m[0] {
			if ns != m[1][name] {
				return fmt.Sprintf("%s: %d, want %d", name, ns, m[1][name])
			}
		}
		for name, ns := range m[1] {
			if ns != m[0][name] {
				return fmt.Sprintf("%s: %d, want %d", name, m[0][name], ns)
			}
		}
	}
	switch {
	case got.count != want.count || got.total != want.total:
		return fmt.Sprintf("gaps %v %v, want %v %v", got.count, got.total, want.count, want.total)
	case !slices.Equal(got.top, want.top[:min(len(want.top), len(got.top))]) || len(got.top) != min(len(want.top), 5):
		return fmt.Sprintf("top gaps %v, want %v", got.top, want.top)
	case got.kernels != want.kernels || got.replayed != want.replayed:
		return fmt.Sprintf("%d of %d kernels replayed, want %d of %d", got.replayed, got.kernels, want.replayed, want.kernels)
	}
	return ""
}

// smallSteps finds the steps of small traces.
func smallSteps(t *testing.T, h *event.Header, rows []eventtest.Row, by string, all bool) (*event.Header, []eventtest.Row) {
	t.Helper()
	return testrun.PhasedRows(t, h, rows, isolate.Options{By: by, Gap: 15, SegmentGap: 40, BusyAll: all})
}

func TestAgainstReference(t *testing.T) {
	seeds := uint64(500)
	if os.Getenv("HOSTBOUND_ALL") == "" {
		seeds = 100
	}
	seen := map[string]int{}
	for seed := range seeds {
		h, rows := randomRows(seed)
		if len(h.Reports) == 0 {
			continue
		}
		for i := range h.Reports {
			delete(h.Reports[i].Rows, "graph")
		}
		opt := gap.Options{BusyAll: seed%4 == 0, Top: 5, PerStep: true}
		if seed%5 == 0 {
			opt.Window = gap.WindowTrace
		}
		tagged, isolated := smallSteps(t, h, rows, step.Methods[1+seed%3], opt.BusyAll)
		for _, in := range []struct {
			h    *event.Header
			rows []eventtest.Row
		}{{tagged, isolated}, {h, rows}} {
			want := referenceOf(in.h, in.rows, opt)
			for _, batch := range eventtest.BatchSizes(seed / 3) {
				rep, err := gap.Compute(eventtest.Source(in.h, in.rows, batch), opt)
				if err != nil {
					t.Fatal(err)
				}
				if d := diffFigures(figuresOf(rep), want); d != "" {
					t.Fatalf("seed %d, steps %v, batches of %d: %s", seed, in.h.Isolation != nil, batch, d)
				}
				checkSums(t, rep)
			}
			for name := range want.causes {
				seen[name[strings.LastIndexByte(name, ' ')+1:]]++
			}
		}
	}
	for _, cause := range []string{"graph", "queued", "launch", "sync", "memop", "alloc", "api", "gil", "gc", "untraced", "tail", "host:_prepare_inputs"} {
		if seen[cause] < 20 {
			t.Errorf("%s occurs %d times: the traces show too little", cause, seen[cause])
		}
	}
}

// checkSums checks that parts add up to the whole, in ns.
func checkSums(t *testing.T, rep *gap.Report) {
	t.Helper()
	sum := int64(0)
	for _, c := range rep.Idle.Causes {
		sum += c.Ns
	}
	if float64(sum)/1e3 != rep.Idle.TotalUs {
		t.Errorf("causes add up to %d ns, idle time is %v us", sum, rep.Idle.TotalUs)
	}
	if rep.Idle.TotalUs > rep.Idle.WindowUs {
		t.Errorf("idle %v of %v us", rep.Idle.TotalUs, rep.Idle.WindowUs)
	}
}
