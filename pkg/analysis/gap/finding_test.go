package gap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// engine writes a run of one rank, whose host thread launches layer after layer.
type engine struct {
	rows []eventtest.Row
	now  int64
	corr int64
	free int64 // when the GPU is
	slow int64 // what a launch call takes longer
}

func (e *engine) span(name string, class event.Class, work func()) {
	start := e.now
	e.now += 400
	work()
	e.now += 400
	r := eventtest.New(event.NVTX, 0, start, e.now, name)
	r.Thread, r.Class = 1, class
	e.rows = append(e.rows, r)
}

func (e *engine) call(name string, class event.Class, ns int64) *eventtest.Row {
	e.corr++
	r := eventtest.New(event.API, 0, e.now, e.now+ns, name)
	r.Thread, r.Class, r.Correlation = 1, class, e.corr
	e.now += ns
	e.rows = append(e.rows, r)
	return &e.rows[len(e.rows)-1]
}

func (e *engine) kernel(call eventtest.Row, name string, class event.Class, node int64) {
	start := max(call.Start+4_000, e.free+700)
	r := eventtest.New(event.Kernel, 0, start, start+3_000, name)
	r.Device, r.Stream, r.Class, r.GraphNode = 0, 7, class, node
	r.Correlation, r.LaunchStart, r.LaunchEnd, r.LaunchThread = call.Correlation, call.Start, call.End, 1
	e.free = r.End
	e.rows = append(e.rows, r)
}

func (e *engine) launch(name string, class event.Class) {
	e.kernel(*e.call("cudaLaunchKernel", event.Launch, 3_500+e.slow), name, class, -1)
}

// replay replays a graph of some kernels.
func (e *engine) replay(names ...string) {
	call := *e.call("cudaGraphLaunch", event.GraphLaunch, 20_000)
	for i, name := range names {
		e.kernel(call, name, event.GEMM, int64(100+i))
	}
}

func (e *engine) layer() {
	e.launch("nvjet_qkv", event.GEMM)
	e.launch("fmha", event.Attention)
	e.launch("nvjet_o", event.GEMM)
	e.launch("rms_norm", event.Norm)
}

// steps runs steps of generation.
func (e *engine) steps(n int, forward, after func()) {
	for i := range n {
		e.span(fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 4 gen reqs", i), event.StepMarker, forward)
		after()
		e.now = max(e.now, e.free) + 300_000
	}
	eventtest.Sort(e.rows)
}

// report returns what is found.
func (e *engine) report(t *testing.T) *gap.Report {
	t.Helper()
	rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(eventtest.Header(e.rows), e.rows, 512), step.Options{By: "nvtx"}), gap.Options{
		Source: func(s string) string {
			if s == "attention" {
				return "Attention.forward"
			}
			return ""
		},
		Advice: func(cause string) string { return "do less of " + cause },
	})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// has returns the finding with a pattern, nil for none.
func has(rep *gap.Report, pattern string) *gap.Finding {
	for i := range rep.Findings {
		if rep.Findings[i].Pattern == pattern {
			return &rep.Findings[i]
		}
	}
	return nil
}

func nothing() {}

// twin has a second thread do the same with a GPU of its own, a little earlier, without markers.
func (e *engine) twin() {
	for _, r := range slices.Clone(e.rows) {
		if r.Class == event.StepMarker && r.Kind == event.NVTX {
			continue
		}
		r.Start, r.End = r.Start-2_000, r.End-2_000
		if r.Thread = 2; r.Kind != event.NVTX {
			r.Correlation += 1_000_000
		}
		if r.Kind == event.Kernel {
			r.Thread, r.Device, r.LaunchStart, r.LaunchEnd, r.LaunchThread = -1, 1, r.LaunchStart-2_000, r.LaunchEnd-2_000, 2
		}
		e.rows = append(e.rows, r)
	}
	eventtest.Sort(e.rows)
}

func TestFindings(t *testing.T) {
	tests := []struct {
		name    string
		forward func(e *engine) func()
		after   func(e *engine) func()
		pattern string
		text    []string
		not     []string
	}{
		{
			"a wait in each layer", func(e *engine) func() {
				return func() {
					for range 12 {
						e.span("attention", event.Range, func() { e.call("cudaStreamSynchronize", event.APISync, 50_000) })
						e.layer()
					}
				}
			}, nil, gap.Hoist, []string{"cudaStreamSynchronize", "once a layer", "12 times per step", "50.0 µs each", "attention"}, []string{gap.Sync, gap.Alloc},
		},
		{
			"a wait in the forward step", func(e *engine) func() {
				return func() {
					e.call("cudaStreamSynchronize", event.APISync, 70_000)
					for range 12 {
						e.layer()
					}
				}
			}, nil, gap.Sync, []string{"cudaStreamSynchronize", "once per step", "70.0 µs"}, []string{gap.Hoist},
		},
		{
			"polls in the forward step", func(e *engine) func() {
				return func() {
					for range 35 {
						e.call("cudaEventQuery", event.Other, 1_000)
						e.now += 1_000 // the interpreter
					}
					for range 12 {
						e.layer()
					}
				}
			}, func(e *engine) func() { return func() { e.now = min(e.now, e.free) - 305_000 } },
			gap.Sync, []string{"cudaEventQuery", "again and again", "once per step", "69.0 µs each"}, []string{gap.Hoist},
		},
		{
			"polls that bring back tokens", func(e *engine) func() {
				return func() {
					for range 12 {
						e.layer()
					}
				}
			}, func(e *engine) func() {
				return func() {
					for e.now < e.free || e.corr%7 != 0 {
						e.call("cudaEventQuery", event.Other, 1_000)
					}
				}
			}, "", nil, []string{gap.Sync, gap.Hoist},
		},
		{
			"a blocking copy in the forward step", func(e *engine) func() {
				return func() {
					e.call("cudaMemcpy", event.Memop, 70_000)
					for range 12 {
						e.layer()
					}
				}
			}, nil, gap.Sync, []string{"cudaMemcpy"}, []string{gap.Hoist},
		},
		{
			"allocation", func(e *engine) func() {
				return func() {
					e.span("attention", event.Range, func() { e.call("cudaMalloc", event.Alloc, 90_000) })
					e.layer()
				}
			}, nil, gap.Alloc, []string{"cudaMalloc", "90.0 µs", "attention"}, nil,
		},
		{
			"eager kernels in generation", func(e *engine) func() {
				e.slow = 6_000
				return func() {
					for range 5 {
						e.layer()
					}
				}
			}, nil, gap.GraphExpand, []string{"kernels per generation step that could be captured", "no graph is replayed", "nvjet_qkv (gemm)"}, []string{gap.Sync, gap.Hoist, gap.Alloc, gap.CustomOp, gap.GraphSplit},
		},
		{
			"a piecewise graph", func(e *engine) func() {
				return func() {
					for range 6 {
						e.replay("nvjet_qkv", "nvjet_x")
						e.span("attention", event.Range, func() {
							e.launch("rms_norm", event.Norm)
							e.launch("fmha", event.Attention)
						})
					}
					e.replay("nvjet_head")
				}
			}, nil, gap.GraphSplit, []string{"6 times per step", "rms_norm, fmha", "attention"}, nil,
		},
		{
			"view chains", func(e *engine) func() {
				return func() {
					for range 4 {
						for _, op := range []string{"aten::view, op_id = 7", "aten::slice, op_id = 8", "aten::transpose, op_id = 9", "aten::to, op_id = 10"} {
							e.span(op, event.Range, func() { e.now += 12_000 })
						}
						e.layer()
					}
				}
			}, nil, gap.CustomOp, []string{"4 chains of tensor views", "4 operations", "51.2 µs each"}, nil,
		},
		{
			"a clean replay", func(e *engine) func() { return func() { e.replay("nvjet_a", "nvjet_b") } },
			func(e *engine) func() { return func() { e.call("cudaEventSynchronize", event.APISync, 50_000) } }, "", nil,
			[]string{gap.Sync, gap.Hoist, gap.Alloc, gap.CustomOp, gap.GraphSplit, gap.GraphExpand, gap.Recapture},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := &engine{now: 1_000_000}
			after := nothing
			if test.after != nil {
				after = test.after(e)
			}
			e.steps(8, test.forward(e), after)
			rep := e.report(t)
			if test.pattern != "" {
				f := has(rep, test.pattern)
				if f == nil {
					t.Fatalf("no %s in %+v", test.pattern, rep.Findings)
				}
				for _, s := range test.text {
					if !strings.Contains(f.Evidence, s) {
						t.Errorf("no %q in %q", s, f.Evidence)
					}
				}
				if strings.Contains(f.Evidence, "attention") && f.Source != "Attention.forward" {
					t.Errorf("source %q of %q", f.Source, f.Evidence)
				}
			}
			for _, not := range test.not {
				if f := has(rep, not); f != nil {
					t.Errorf("%s: %s", not, f.Evidence)
				}
			}
		})
	}
}

// The three causes of the language's runtime: the collector, the lock, and a slow
// rank's own work.
func TestSlackAndRuntime(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(20, func() {
		for range 5 {
			e.layer()
		}
	}, func() {
		r := eventtest.New(event.NVTX, 0, e.now, e.now+400_000, "Python GC")
		r.Thread, r.Class = 1, event.GC
		w := eventtest.New(event.NVTX, 0, e.now+400_000, e.now+600_000, "Waiting for GIL")
		w.Thread, w.Class = 1, event.GIL
		h := eventtest.New(event.NVTX, 0, e.now+400_000, e.now+600_000, "Holding GIL")
		h.Thread, h.Class = 2, event.GIL
		e.rows = append(e.rows, r, w, h)
		e.now += 600_000
	})
	rep := e.report(t)
	if has(rep, gap.GCManage) == nil || has(rep, gap.GIL) == nil {
		t.Fatalf("no findings of the runtime in %+v", rep.Findings)
	}
	if text := has(rep, gap.GIL).Evidence; !strings.Contains(text, "; thread 2 (rank 0) holds it 100 % of that time, in code with no range: do less of gil") {
		t.Errorf("the holder: %s", text)
	}
	s := rep.Slack
	if s == nil || s.TrendUs == nil || *s.TrendUs < -0.1 || *s.TrendUs > 0.1 || s.Launches < 19*20 || s.NearZero == 0 || s.MinUs != 0.5 {
		t.Errorf("slack %+v", s)
	}
	if p := rep.Pattern; p == nil || p.Length != 4 || p.Layers == nil || *p.Layers != 5 {
		t.Errorf("pattern %+v", p)
	}
}

// A wait for the whole device that keeps the GPU without work is the first finding, by its
// call and place, and is worth no more than there is idle time.
func TestWaitThatDrains(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(20, func() {
		e.replay("nvjet_a", "nvjet_b", "nvjet_c")
		e.span("sample", event.Range, func() {
			e.call("cudaDeviceSynchronize", event.APISync, max(0, e.free-e.now)+200_000)
			e.now += 300_000
		})
		e.replay("nvjet_d", "nvjet_e")
	}, func() { e.call("cudaEventSynchronize", event.APISync, 30_000) })
	rep := e.report(t)
	if len(rep.Findings) == 0 || rep.Findings[0].Pattern != gap.Sync {
		t.Fatalf("findings %+v, want %s first", rep.Findings, gap.Sync)
	}
	f := rep.Findings[0]
	if f.Site != "cudaDeviceSynchronize" || !strings.HasSuffix(f.Path, "> sample") {
		t.Errorf("at %q in %q: %s", f.Site, f.Path, f.Evidence)
	}
	if idle := rep.Idle.TotalUs / float64(rep.Idle.Steps); f.UsStep < 200 || f.UsStep > idle {
		t.Errorf("worth %v us of %v us", f.UsStep, idle)
	}
	if target := rep.Handoff.FirstTarget; target == nil || *target != "sample" {
		t.Errorf("first target %+v", rep.First)
	}
}

// What a wait costs is not over with the first small kernel after it: the launches that
// follow are late, too, until the thread waits again for what it launched last.
func TestWaitBeforeSmallKernels(t *testing.T) {
	long := strings.Split(strings.Repeat("gemm ", 400), " ")[:400]
	for _, c := range []struct {
		name   string
		older  bool // the wait for tokens is for those of the step before
		lo, hi float64
	}{{"tokens of the step before", true, 250, 340}, {"tokens of this step", false, 0, 40}} {
		e := &engine{}
		for i := range 20 { // the host runs ahead, but for the waits
			e.span(fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 4 gen reqs", i), event.StepMarker, func() {
				e.call("cudaDeviceSynchronize", event.APISync, max(4_000, e.free-e.now+2_000))
				e.launch("index", event.Elementwise)
				e.launch("index", event.Elementwise)
				if !c.older {
					e.call("cudaStreamSynchronize", event.APISync, max(4_000, e.free-e.now+2_000))
				}
				e.now += 300_000
				e.replay(long...)
			})
			e.call("cudaEventSynchronize", event.APISync, 5_000)
		}
		eventtest.Sort(e.rows)
		var got float64
		for _, f := range e.report(t).Findings {
			if f.Site == "cudaDeviceSynchronize" {
				got = f.UsStep
			}
		}
		if got < c.lo || got > c.hi {
			t.Errorf("%s: the wait is worth %.1f us per step, want %v to %v", c.name, got, c.lo, c.hi)
		}
	}
}

// Of two waits with the same call the one that brings tokens back is not the one that prepares
// inputs; and what a wait is worth goes on behind a small kernel, up to where the thread waits again.
func TestTwoWaits(t *testing.T) {
	long := strings.Split(strings.Repeat("gemm ", 400), " ")[:400]
	for _, c := range []struct {
		name, call, path string // the wait that can be left out
		lo, hi           float64
	}{{"inputs", "cudaStreamSynchronize", "_prepare_inputs", 0, 20}, {"before sampling", "cudaDeviceSynchronize", "", 250, 330}} {
		e := &engine{}
		wait := func(call string) { e.call(call, event.APISync, max(4_000, e.free-e.now+2_000)) }
		e.steps(20, func() { e.replay(long...) }, func() {
			if c.path == "" {
				wait(c.call)
			}
			e.launch("argmax", event.Sampling)
			e.now += 300_000
			e.span("_update_requests", event.Range, func() { wait("cudaStreamSynchronize") })
			e.span("_prepare_inputs", event.Prep, func() {
				if e.now += 100_000; c.path != "" {
					wait(c.call)
				}
			})
		})
		got := map[string]float64{}
		for _, f := range e.report(t).Findings {
			got[f.Site+f.Path] += f.UsStep
		}
		if us := got[c.call+c.path]; us < c.lo || us > c.hi || got["cudaStreamSynchronize_update_requests"] > 0 {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// With a thread for each of two GPUs tokens come back twice per step of the process.
func TestTokensOfTwoGPUs(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 100)...) }, func() {
		e.span("_update_requests", event.Range, func() { e.call("cudaEventSynchronize", event.APISync, e.free-e.now+4_000) })
	})
	e.twin()
	if f := has(e.report(t), gap.Sync); f != nil {
		t.Errorf("%s", f.Evidence)
	}
}

// Generation steps of which none replays a graph are no fallback where context steps replay one; of
// those of which every other one does the eager ones are.
func TestGraphsOfContextSteps(t *testing.T) {
	for _, test := range []struct {
		replays       func(i int) bool
		ctx           int
		pattern, says string
	}{
		{func(i int) bool { return i%8 == 0 }, 1, gap.GraphExpand, "none of these steps replays a graph"},
		{func(i int) bool { return i%2 == 1 }, 0, gap.GraphFallback, "20 of 40 generation steps"},
	} {
		e := &engine{now: 1_000, slow: 5_000}
		for i := range 40 {
			ctx := 0
			if test.replays(i) {
				ctx = test.ctx
			}
			e.span(fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, 4 gen reqs", i, ctx), event.StepMarker, func() {
				if test.replays(i) {
					e.replay(slices.Repeat([]string{"gemm"}, 40)...)
					return
				}
				for range 10 {
					e.layer()
				}
			})
			e.now = max(e.now, e.free) + 300_000
		}
		eventtest.Sort(e.rows)
		e.rows = slices.DeleteFunc(e.rows, func(r eventtest.Row) bool { return test.ctx == 0 && r.Class == event.GraphLaunch })
		rep := e.report(t)
		if f := has(rep, test.pattern); f == nil || !strings.Contains(f.Evidence, test.says) || has(rep, gap.GraphExpand) != nil && has(rep, gap.GraphFallback) != nil {
			t.Errorf("%+v", rep.Findings)
		}
	}
}

// Where all steps load code none idles more than others: the finding is of the calls, in all steps.
func TestLoadsInEachStep(t *testing.T) {
	for _, noise := range []int64{0, 1_000} {
		e := &engine{now: 1_000}
		e.steps(40, func() {
			e.call("cuModuleLoadData", event.Other, 300_000+e.now%7*noise)
			e.layer()
		}, nothing)
		if f := has(e.report(t), gap.JIT); f == nil || f.UsStep < 295 || f.UsStep > 310 || !strings.Contains(f.Evidence, "in 40 of 40 rank-steps") || !strings.Contains(f.Evidence, "in these calls, 30") {
			t.Errorf("%+v", f)
		}
	}
}

// One thread that drives two GPUs and waits twice per step waits once too often.
func TestWaitsOfOneThread(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 100)...) }, func() {
		for range 2 {
			e.span("sample", event.Range, func() { e.call("cudaStreamSynchronize", event.APISync, max(0, e.free-e.now)+50_000) })
		}
	})
	for i := range e.rows {
		if r := &e.rows[i]; r.Kind == event.Kernel && r.GraphNode >= 150 {
			r.Device = 1
		}
	}
	if f := has(e.report(t), gap.Sync); f == nil || !strings.Contains(f.Evidence, "1.90 times per step") {
		t.Errorf("%+v", f)
	}
}

// What opens a gap is worth the rest of it: no other wait is worth the same time.
func TestWaitsInARow(t *testing.T) {
	long, e := slices.Repeat([]string{"gemm"}, 400), &engine{}
	wait := func(call string) { e.call(call, event.APISync, max(4_000, e.free-e.now+2_000)) }
	e.steps(20, func() { e.replay(long...) }, func() {
		e.span("first", event.Range, func() { wait("cudaDeviceSynchronize") })
		e.replay(long...)
		wait("cudaDeviceSynchronize")
		e.now += 300_000
		wait("cudaStreamSynchronize")
	})
	got := map[string]float64{}
	for _, f := range e.report(t).Findings {
		got[f.Site+f.Path] += f.UsStep
	}
	if us := got["cudaDeviceSynchronizefirst"]; us > 50 || got["cudaDeviceSynchronize"] < 250 {
		t.Errorf("%v", got)
	}
}

// What is freed after a wait for the GPU is the allocator's time and not the wait's, too.
func TestWaitBeforeFree(t *testing.T) {
	e, long := &engine{now: 1_000_000}, slices.Repeat([]string{"nvjet"}, 400)
	e.steps(20, func() {
		e.replay(long...)
		e.call("cudaDeviceSynchronize", event.APISync, e.free-e.now+100_000)
		e.call("cudaFree", event.Alloc, 900_000)
	}, func() { e.call("cudaEventSynchronize", event.APISync, 3_000) })
	sum, rep := 0.0, e.report(t)
	for _, f := range rep.Findings {
		sum += f.UsStep
	}
	if has(rep, gap.Sync) == nil || has(rep, gap.Alloc) == nil || sum > rep.Idle.TotalUs/float64(rep.Idle.Steps) {
		t.Errorf("worth %v us of %v: %+v", sum, rep.Idle.TotalUs/float64(rep.Idle.Steps), rep.Findings)
	}
}

// A watchdog that polls in each step is not how tokens come back: the copy that brings them
// is no finding, as it is none without the watchdog.
func TestWatchdog(t *testing.T) {
	for _, watched := range []bool{false, true} {
		e := &engine{now: 1_000_000}
		e.steps(20, func() { e.replay("nvjet_a", "nvjet_b", "nvjet_c") }, func() {
			at := e.now
			for range 4 {
				if poll := e.call("cudaEventQuery", event.Other, 1_000); watched {
					poll.Thread = 9
				} else {
					e.rows = e.rows[:len(e.rows)-1]
				}
			}
			e.now = at
			e.call("cudaMemcpy", event.Memop, max(0, e.free-e.now)+100_000)
		})
		if f := has(e.report(t), gap.Sync); f != nil {
			t.Errorf("watched %v: %s", watched, f.Evidence)
		}
	}
}

// A step in which a graph is captured is said to, and what it launches into the graph is not
// taken for kernels beside one.
func TestCapturedStep(t *testing.T) {
	e, steps := &engine{slow: 20_000}, 0
	e.steps(30, func() {
		if steps++; steps == 10 {
			for range 400 {
				e.call("cudaLaunchKernel", event.Launch, 4_000)
			}
			e.call("cudaGraphInstantiate", event.Other, 2_000_000)
		}
		e.replay("nvjet_a", "nvjet_b", "nvjet_c")
		e.now = max(e.now, e.free)
		e.layer()
	}, nothing)
	rep := e.report(t)
	if f := has(rep, gap.JIT); f == nil || rep.Findings[0].Pattern != gap.JIT || f.UsStep < 3600/30. || f.UsStep > 3800/30. {
		t.Errorf("%+v", rep.Findings)
	}
	if f := has(rep, gap.GraphExpand); f == nil || f.UsStep > 4*24 { // a layer has four launches
		t.Errorf("%+v", f)
	}
}

// The step in which the driver compiles is named alone where only it is longer.
func TestCompiledStep(t *testing.T) {
	e := &engine{}
	steps := 0
	e.steps(30, func() {
		if steps++; steps == 10 {
			r := eventtest.New(event.Overhead, 0, e.now, e.now+30_000_000, "Driver Compiler")
			r.Thread = 1
			e.rows = append(e.rows, r)
			e.now = r.End
		}
		e.now += int64(steps%3/2) * 20_000 // the step after it is longer than most, too
		e.replay("nvjet_a", "nvjet_b", "nvjet_c")
	}, nothing)
	f := has(e.report(t), gap.JIT)
	if f == nil || !strings.Contains(f.Evidence, "in 1 of 30 rank-steps (step ") || f.UsStep < 990 || f.UsStep > 1010 {
		t.Errorf("%+v", f)
	}
}

// Kernels that are tried out in one step show that code is compiled there, also where no
// call says so; a step that runs its forward pass eagerly does not.
func TestBurst(t *testing.T) {
	for _, burst := range []bool{true, false} {
		e := &engine{now: 1_000_000}
		n := 0
		e.steps(30, func() {
			n++
			switch {
			case n == 13 && burst:
				e.now += 20_000_000
				for range 600 {
					e.launch("vectorized_elementwise_kernel", event.Elementwise)
				}
			case n == 13:
				for range 200 {
					e.layer()
				}
			}
			e.replay("nvjet_a", "nvjet_b", "nvjet_c")
		}, func() { e.call("cudaEventSynchronize", event.APISync, 30_000) })
		f := has(e.report(t), gap.JIT)
		switch {
		case !burst && f != nil:
			t.Errorf("eager layers: %s", f.Evidence)
		case burst && f == nil:
			t.Error("no finding of the burst")
		case burst && (!strings.Contains(f.Evidence, "step 12)") || !strings.Contains(f.Evidence, "600 kernels")):
			t.Error(f.Evidence)
		}
	}
}

// Generation steps without a graph are counted, listed, and told by their requests.
func TestFallback(t *testing.T) {
	e := &engine{now: 1_000_000, slow: 3_000}
	for i := range 40 {
		gen := 4
		if i%4 == 3 {
			gen = 5
		}
		e.span(fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, %d gen reqs", i, gen), event.StepMarker, func() {
			if gen == 4 {
				e.replay("nvjet_a", "nvjet_b", "nvjet_c")
				return
			}
			for range 8 {
				e.layer()
			}
		})
		e.now = max(e.now, e.free) + 30_000
	}
	eventtest.Sort(e.rows)
	rep := e.report(t)
	f := has(rep, gap.GraphFallback)
	if f == nil {
		t.Fatalf("findings %+v", rep.Findings)
	}
	for _, want := range []string{"10 of 40 generation steps (25 %)", fmt.Sprintf("idle %s longer", report.Micros(4*f.UsStep)), "steps 3, 7, 11, 15, 19, 23 and 4 others of rank 0", "with 5 requests"} {
		if !strings.Contains(f.Evidence, want) {
			t.Errorf("no %q in %q", want, f.Evidence)
		}
	}
	if f := has(rep, gap.GraphExpand); f != nil {
		t.Errorf("beside no graph: %s", f.Evidence)
	}
	e.rows = slices.DeleteFunc(e.rows, func(r eventtest.Row) bool { return r.Kind == event.API })
	if f := has(e.report(t), gap.GraphFallback); f == nil || !strings.Contains(f.Evidence, "10 of 40") {
		t.Errorf("without a record of calls: %+v", f)
	}
}

// An eager step is one whose host launches no graph, also where the replay of the step
// before runs in its period, with more kernels than it has.
func TestFallbackAfterReplay(t *testing.T) {
	e := &engine{now: 1_000_000, slow: 3_000}
	graph := slices.Repeat([]string{"nvjet_a", "vectorized_elementwise_kernel"}, 100)
	for i := range 40 {
		e.span(fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 4 gen reqs", i), event.StepMarker, func() {
			if i%4 != 3 {
				e.replay(graph...)
				return
			}
			for range 20 {
				e.layer()
			}
		})
		e.now = max(e.now, e.free-400_000) // ahead of the GPU
	}
	eventtest.Sort(e.rows)
	rep := e.report(t)
	if f := has(rep, gap.GraphFallback); f == nil || !strings.Contains(f.Evidence, "9 of 39 generation steps") && !strings.Contains(f.Evidence, "10 of 40 generation steps") {
		t.Errorf("findings %+v", rep.Findings)
	}
	if f := has(rep, gap.GraphExpand); f != nil {
		t.Errorf("beside no graph: %s", f.Evidence)
	}
}

// Where nothing is replayed a graph would save what the host makes the GPU wait between the
// kernels of a forward pass: more than the idle time in the calls that launch them.
func TestExpandIsWorthTheForwardPass(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(30, func() {
		for range 10 {
			e.span("attention", event.Range, e.layer)
			e.now += 50_000 // the interpreter
		}
	}, nothing)
	rep := e.report(t)
	f := has(rep, gap.GraphExpand)
	if f == nil || f.UsStep < 400 || f.UsStep > 500 { // nine of ten lie between two layers
		t.Fatalf("findings %+v", rep.Findings)
	}
	if strings.Contains(f.Path, "attention") || !strings.Contains(f.Path, "_forward_step") { // it is of the whole pass
		t.Errorf("in %q", f.Path)
	}
}

// The time between two forward passes is none of it, also where the last kernels of one run
// after the next marker has begun, as of a GPU that is behind.
func TestExpandBehind(t *testing.T) {
	for _, by := range []string{"nvtx", "allreduce"} {
		e := &engine{now: 1_000_000}
		for i := range 30 {
			e.span(fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 4 gen reqs", i), event.StepMarker, func() {
				e.now += 1_000_000 // reads a batch
				for range 5 {
					e.layer()
					e.now += 50_000
					e.launch("cross_device_reduce_1stage", event.Allreduce)
				}
				e.free += 200_000 // a long kernel
				e.layer()
			})
		}
		eventtest.Sort(e.rows)
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(eventtest.Header(e.rows), e.rows, 512), step.Options{By: by}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := has(rep, gap.GraphExpand); f == nil || f.UsStep < 150 || f.UsStep > 300 { // of 1300 us
			t.Errorf("by %s: %+v", by, rep.Findings)
		}
	}
}

// It is that as well where steps begin with an all-reduce kernel, in the middle of a forward pass, so
// that the time between two passes lies within a step; with markers and without, and of each
// of two GPUs that a process has a thread for.
func TestExpandByAllreduce(t *testing.T) {
	for n := range 4 {
		marked, gpus := n%2 == 0, 1+n/2
		e := &engine{now: 1_000_000}
		e.steps(30, func() {
			for range 10 {
				e.layer()
				e.launch("cross_device_reduce_1stage", event.Allreduce)
				e.now += 50_000
			}
		}, func() {
			e.launch("argmax_kernel", event.Sampling)
			e.call("cudaStreamSynchronize", event.APISync, max(0, e.free-e.now)+5_000)
		})
		if !marked {
			e.rows = slices.DeleteFunc(e.rows, func(r eventtest.Row) bool { return r.Kind == event.NVTX })
		}
		if gpus == 2 {
			e.twin()
		}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(eventtest.Header(e.rows), e.rows, 512), step.Options{By: "allreduce"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := has(rep, gap.GraphExpand); f == nil || f.UsStep < 400*float64(gpus) || f.UsStep > 500*float64(gpus) {
			t.Errorf("markers %v, %d GPUs: findings %+v", marked, gpus, rep.Findings)
		}
	}
}

// Where phases or steps are not known a run that replays nothing is told so, and one with
// a replay is not.
func TestExpandWithoutPhases(t *testing.T) {
	for _, marker := range []string{"", "ProfilerStep#7"} {
		for _, replayed := range []bool{false, true} {
			e := &engine{now: 1_000_000, slow: 10_000}
			for range 30 {
				step := func() {
					for range 10 {
						e.layer()
					}
					if replayed {
						e.replay("nvjet_moe")
					}
				}
				if marker != "" {
					e.span(marker, event.StepMarker, step)
				} else {
					step()
				}
				e.now = max(e.now, e.free) + 300_000
			}
			eventtest.Sort(e.rows)
			src := eventtest.Source(eventtest.Header(e.rows), e.rows, 512)
			if marker != "" {
				src = testrun.Phased(t, src, step.Options{By: "nvtx"})
			}
			rep, err := gap.Compute(src, gap.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f := has(rep, gap.GraphExpand); (f == nil) != replayed || f != nil && !strings.Contains(f.Evidence, "nvjet_qkv (gemm)") {
				t.Errorf("marker %q, with a replay %v: %+v", marker, replayed, rep.Findings)
			}
		}
	}
}

// Copies that block their calls are found, and those that are queued are not.
func TestPageableCopies(t *testing.T) {
	for _, ns := range []int64{60_000, 4_000} {
		e := &engine{now: 1_000_000}
		e.steps(20, func() {
			for range 12 {
				e.call("cudaMemcpyAsync", event.Memop, ns)
				e.layer()
			}
		}, nothing)
		f := has(e.report(t), gap.Sync)
		switch {
		case ns < 20_000 && f != nil:
			t.Errorf("copies of %d ns: %s", ns, f.Evidence)
		case ns > 20_000 && (f == nil || !strings.Contains(f.Evidence, "once a layer") || !strings.Contains(f.Evidence, "as those of pageable host memory do")):
			t.Errorf("copies of %d ns: %+v", ns, f)
		}
	}
}

// A replay that leaves no GPU idle has no share of the idle time.
func TestNoIdleTime(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.replay("nvjet_a")
	for _, w := range e.report(t).Warnings {
		if strings.Contains(w, "NaN") {
			t.Error(w)
		}
	}
}

// Where more comes after a wait than it took, that is said to be worth as much as it took.
func TestWaitIsWorthItsCalls(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(30, func() {
		e.layer()
		e.call("cudaDeviceSynchronize", event.APISync, 40_000)
		e.now += 200_000
		e.layer()
	}, nothing)
	f := has(e.report(t), gap.Sync)
	if f == nil || f.UsStep > 40.1 || !strings.Contains(f.Evidence, "at most, as long as the calls take") {
		t.Errorf("%+v", f)
	}
}

// No finding is worth more than all idle time, also where the trace's window ends before the
// steps do.
func TestWorthIsOfTheIdleTime(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(1, e.layer, nothing)
	rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(eventtest.Header(e.rows), e.rows, 512), step.Options{By: "nvtx"}), gap.Options{Window: gap.WindowTrace})
	if err != nil {
		t.Fatal(err)
	}
	if f := has(rep, gap.GraphExpand); f == nil || *f.Share > 1 {
		t.Errorf("findings %+v", rep.Findings)
	}
}
