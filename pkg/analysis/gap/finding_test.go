package gap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/step/isolate"
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
	rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(eventtest.Header(e.rows), e.rows, 512), isolate.Options{By: "nvtx"}), gap.Options{
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
// seen is a finding as tests look at it: what is not known is "" or 0.
type seen struct {
	Pattern, Path, Site, Source, Text, Do string
	UsStep                                float64
	Share                                 *float64
}

// seenAs is a finding as tests look at it, nil for none.
func seenAs(f *findings.Finding) *seen {
	if f == nil {
		return nil
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	one := &seen{Pattern: f.Pattern, Path: text(f.Path), Site: text(f.Site), Source: text(f.Source), Text: f.Text, Do: f.Do}
	if f.GainUs != nil {
		one.UsStep = *f.GainUs
	}
	return one
}

// all are the findings of a report.
func all(rep *gap.Report) (list []seen) {
	for i := range rep.Findings {
		list = append(list, *seenAs(&rep.Findings[i]))
	}
	return list
}

// has returns the first finding of a pattern, nil where there is none.
func has(rep *gap.Report, pattern string) *seen {
	for i := range rep.Findings {
		if rep.Findings[i].Pattern == pattern {
			return seenAs(&rep.Findings[i])
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
			}, nil, "HOIST", []string{"cudaStreamSynchronize", "once a layer", "12 times per step", "50.0 µs each", "attention"}, []string{"SYNC", "ALLOC"},
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
			}, "", nil, []string{"SYNC", "HOIST"},
		},
		{
			"allocation", func(e *engine) func() {
				return func() {
					e.span("attention", event.Range, func() { e.call("cudaMalloc", event.Alloc, 90_000) })
					e.layer()
				}
			}, nil, "ALLOC", []string{"cudaMalloc", "90.0 µs", "attention"}, nil,
		},
		{
			"eager kernels in generation", func(e *engine) func() {
				e.slow = 6_000
				return func() {
					for range 5 {
						e.layer()
					}
				}
			}, nil, "GRAPH_EXPAND", []string{"kernels per generation step could be captured", "no graph is replayed", "nvjet_qkv (gemm)"}, []string{"SYNC", "HOIST", "ALLOC", "CUSTOM_OP"},
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
			}, nil, "GRAPH_EXPAND", []string{"outside the graph that is replayed", "rms_norm (norm)"}, nil,
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
			}, nil, "CUSTOM_OP", []string{"Tensor views before launches"}, nil,
		},
		{
			"a clean replay", func(e *engine) func() { return func() { e.replay("nvjet_a", "nvjet_b") } },
			func(e *engine) func() { return func() { e.call("cudaEventSynchronize", event.APISync, 50_000) } }, "", nil,
			[]string{"SYNC", "HOIST", "ALLOC", "CUSTOM_OP", "GRAPH_EXPAND", "RECAPTURE"},
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
					if !strings.Contains(f.Text, s) {
						t.Errorf("no %q in %q", s, f.Text)
					}
				}
				if strings.Contains(f.Text, "attention") && f.Source != "Attention.forward" {
					t.Errorf("source %q of %q", f.Source, f.Text)
				}
			}
			for _, not := range test.not {
				if f := has(rep, not); f != nil {
					t.Errorf("%s: %s", not, f.Text)
				}
			}
		})
	}
}

// The three causes of the language's runtime: the collector, the lock, and a slow
// rank's own work.
func TestRuntime(t *testing.T) {
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
	if has(rep, "GC_MGMT") == nil || has(rep, "GIL_CONTENTION") == nil {
		t.Fatalf("no findings of the runtime in %+v", rep.Findings)
	}
	if text := has(rep, "GIL_CONTENTION").Text; !strings.Contains(text, ". For 100.0 % of that time thread 2 (rank 0) holds it, in code with no range") {
		t.Errorf("the holder: %s", text)
	}
	if p := rep.Pattern; p == nil || p.Length != 4 || p.Layers == nil || *p.Layers != 5 {
		t.Errorf("pattern %+v", p)
	}
}

// TestMemory has an asynchronous copy take 400 us in each step: it is a finding unless its memory is pinned.
func TestMemory(t *testing.T) {
	for class, want := range map[event.Class]string{-1: "if the host memory is pageable", event.Pageable: "because the host memory is pageable", event.Pinned: ""} {
		e := &engine{now: 1_000_000}
		e.steps(20, e.layer, func() {
			e.call("cudaMemcpyAsync", event.Memop, 400_000)
			call := &e.rows[len(e.rows)-1]
			r := eventtest.New(event.Memcpy, 0, e.now-10_000, e.now-5_000, "memcpy HtoD")
			call.Correlation = call.Start
			r.Class, r.Device, r.Stream, r.Correlation = class, 0, 7, call.Correlation
			r.LaunchStart, r.LaunchEnd, r.LaunchThread = call.Start, call.End, call.Thread
			e.rows = append(e.rows, r)
			e.call("cudaEventSynchronize", event.APISync, 50_000)
		})
		f := has(e.report(t), "SYNC")
		if (f != nil) != (want != "") || f != nil && !strings.Contains(f.Text, want) {
			t.Errorf("class %d: %+v", class, f)
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
	if f := has(e.report(t), "SYNC"); f != nil {
		t.Errorf("%s", f.Text)
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
		{func(i int) bool { return i%8 == 0 }, 1, "GRAPH_EXPAND", "none of these steps replays a graph"},
		{func(i int) bool { return i%2 == 1 }, 0, "GRAPH_FALLBACK", "20 of 40 generation steps"},
	} {
		e := &engine{now: 1_000, slow: 20_000}
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
		if f := has(rep, test.pattern); f == nil || !strings.Contains(f.Text, test.says) || has(rep, "GRAPH_EXPAND") != nil && has(rep, "GRAPH_FALLBACK") != nil {
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
		if f := has(e.report(t), "JIT"); f == nil || f.UsStep < 295 || f.UsStep > 310 || !strings.Contains(f.Text, "40 calls load code") {
			t.Errorf("%+v", f)
		}
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
		if f := has(e.report(t), "SYNC"); f != nil {
			t.Errorf("watched %v: %s", watched, f.Text)
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
	if f := has(rep, "JIT"); f == nil || all(rep)[0].Pattern != "JIT" || f.UsStep < 3600/30. || f.UsStep > 3800/30. {
		t.Errorf("%+v", rep.Findings)
	}
	if f := has(rep, "GRAPH_EXPAND"); f == nil || f.UsStep > 4*30 { // a layer has four launches
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
			r.Thread, r.Class = 1, event.Load
			e.rows = append(e.rows, r)
			e.now = r.End
		}
		e.now += int64(steps%3/2) * 20_000 // the step after it is longer than most, too
		e.replay("nvjet_a", "nvjet_b", "nvjet_c")
	}, nothing)
	f := has(e.report(t), "JIT")
	if f == nil || !strings.Contains(f.Text, "in 1 rank-steps: step ") || f.UsStep < 990 || f.UsStep > 1010 {
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
		f := has(e.report(t), "JIT")
		switch {
		case !burst && f != nil:
			t.Errorf("eager layers: %s", f.Text)
		case burst && f == nil:
			t.Error("no finding of the burst")
		case burst && !strings.Contains(f.Text, "step 12 of rank 0"):
			t.Error(f.Text)
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
	f := has(rep, "GRAPH_FALLBACK")
	if f == nil {
		t.Fatalf("findings %+v", rep.Findings)
	}
	for _, want := range []string{"10 of 40 generation steps (25.0 %)", "steps 3, 7, 11, 15, 19, 23 and 4 others of rank 0", "with 5 requests"} {
		if !strings.Contains(f.Text, want) {
			t.Errorf("no %q in %q", want, f.Text)
		}
	}
	if f := has(rep, "GRAPH_EXPAND"); f != nil {
		t.Errorf("beside no graph: %s", f.Text)
	}
	e.rows = slices.DeleteFunc(e.rows, func(r eventtest.Row) bool { return r.Kind == event.API })
	if f := has(e.report(t), "GRAPH_FALLBACK"); f == nil || !strings.Contains(f.Text, "10 of 40") {
		t.Errorf("without a record of calls: %+v", f)
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
	f := has(rep, "GRAPH_EXPAND")
	if f == nil || f.UsStep < 400 { // nine of ten lie between two layers
		t.Fatalf("findings %+v", rep.Findings)
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
				src = testrun.Phased(t, src, isolate.Options{By: "nvtx"})
			}
			rep, err := gap.Compute(src, gap.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if f := has(rep, "GRAPH_EXPAND"); (f == nil) != replayed || f != nil && !strings.Contains(f.Text, "nvjet_qkv (gemm)") {
				t.Errorf("marker %q, with a replay %v: %+v", marker, replayed, rep.Findings)
			}
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
