package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

const ms = int64(1_000_000)

// stalled writes a run of 40 steps of 10 ms, of which the GPU works 9, with a stall before step
// 20 that the given rows show.
func stalled(t *testing.T, kind string, stall int64) (path string) {
	t.Helper()
	run := &sim.Trace{GPUs: []sim.GPU{{Name: "H100"}}, Capture: sim.Capture{GraphMode: "Node"}}
	process := run.AddProcess(sim.Process{PID: 100})
	kernel, launch := run.KernelName("gemm", "gemm"), run.String("cudaGraphLaunch_v10000")
	mark := func(start, end int64, text string) {
		run.NVTX.Add(sim.NVTXEvent{Start: start, End: end, Text: run.String(text), Process: process, TID: 1, Kind: sim.NVTXPushPop})
	}
	if kind == "cpu" || kind == "poll" {
		run.Switches.Add(sim.Switch{At: 1, Process: process, TID: 1, CPU: 2, In: true})
	}
	run.OSCalls.Add(sim.OSCall{Start: 10, End: 20, Name: run.String("open64"), Process: process, TID: 1})
	now := ms
	mark(0, 1000*ms+stall, "serve") // around everything: says nothing
	for k := range 40 {
		if k == 20 {
			switch from, to := now+2000, now+stall-2000; kind {
			case "range":
				mark(from, to, "update_requests")
			case "call":
				run.Calls.Add(sim.Call{Start: from, End: to, Name: run.String("cudaMalloc_v3020"), Corr: 9999, Process: process, TID: 1})
			case "lock", "file", "wait", "poll":
				name := map[string]string{"lock": "pthread_mutex_lock", "file": "fsync", "wait": "epoll_wait", "poll": "epoll_wait"}[kind]
				run.OSCalls.Add(sim.OSCall{Start: from, End: to, Name: run.String(name), Process: process, TID: 1})
			}
			now += stall
		}
		mark(now, now+9*ms, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 4 gen reqs", k))
		run.Calls.Add(sim.Call{Start: now + 100_000, End: now + 120_000, Name: launch, Corr: uint32(k + 1), Process: process, TID: 1})
		run.Kernels.Add(sim.Kernel{Work: sim.Work{Start: now + 130_000, End: now + 9*ms, Node: 7, Corr: uint32(k + 1), Stream: 7, Process: process}, Name: kernel, Graph: 1})
		now += 10 * ms
	}
	path = filepath.Join(t.TempDir(), "run.sqlite")
	if err := run.WriteSQLite(path, sim.Options{Schema: sim.Schema3_25_0}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestStalls has a stall of each kind that a recording shows found in the benchmark segment,
// with its size, and one of which nothing was recorded, or a wait outside of ranges, said to lie
// outside of it; by file and by pipe.
func TestStalls(t *testing.T) {
	t.Parallel()
	for k, kind := range []string{"range", "call", "lock", "file", "cpu", "wait", "poll", "nothing"} {
		for s, stall := range []int64{95 * ms, 120 * ms, 20 * ms, 1000 * ms, 5000 * ms} {
			for b, by := range []string{"nvtx", "graph"} {
				if !cases.Turn(k+2*s+b, 4) { // of each kind, size and way some
					continue
				}
				t.Run(fmt.Sprint(kind, "/", stall/ms, "ms/", by), func(t *testing.T) { checkStall(t, kind, stall, by) })
			}
		}
	}
}

// shows is the cause, or the why of it, that has a stall of each kind; "" for any.
// Where that has what lies between other steps, too, usual is how much, us a step.
var shows = map[string]struct {
	cause, why string
	usual      float64
}{
	"range": {cause: "host:update_requests"}, "call": {cause: "alloc"}, "lock": {why: "in:lock"}, "file": {why: "in:file"},
	"wait": {why: "in:io"}, "poll": {why: "os:epoll_wait"},
	"cpu": {cause: "host:serve", why: "running", usual: 1000}, "nothing": {cause: "host:serve", usual: 1000},
}

func checkStall(t *testing.T, kind string, stall int64, by string) {
	path := stalled(t, kind, stall)
	inside := stall < 100*ms || !slices.Contains([]string{"wait", "poll", "nothing"}, kind)
	var gaps struct {
		Idle struct {
			TotalUs  float64 `json:"total_us"`
			WindowUs float64 `json:"window_us"`
			Outside  *struct {
				PauseUs float64 `json:"pause_us"`
			}
			Causes []struct {
				Cause string
				Us    float64
				Why   []struct {
					Why string
					Us  float64
				}
			}
		}
		First *struct{ Pattern string } `json:"first_target"`
	}
	if err := json.Unmarshal(must(t, nil, "gaps", "--by", by, path, "--format", "json"), &gaps); err != nil {
		t.Fatal(err)
	}
	steps, usual, size := 40.0, 1130.0, float64(stall)/1e3
	near := func(us float64) bool { return math.Abs(us-size) <= 0.05*size }
	if !inside {
		if o := gaps.Idle.Outside; o == nil || !near(o.PauseUs) {
			t.Errorf("outside of the window: %+v, want a pause of %.0f us", o, size)
		}
		steps, stall = 20, 0
	} else {
		found := -shows[kind].usual * (steps - 1)
		for _, c := range gaps.Idle.Causes {
			for _, w := range c.Why {
				if shown := shows[kind]; (shown.cause == "" || c.Cause == shown.cause) && (shown.why == "" || strings.Contains(w.Why, shown.why)) {
					found += w.Us
				}
			}
		}
		if !near(found) {
			t.Errorf("%.0f us by %+v, want %.0f: %+v", found, shows[kind], size, gaps.Idle.Causes)
		}
		if gaps.First == nil {
			t.Error("no first target")
		}
	}
	if want := float64(stall)/1e3 + (steps-1)*usual; math.Abs(gaps.Idle.TotalUs-want) > 0.05*want {
		t.Errorf("%.0f us idle, want %.0f", gaps.Idle.TotalUs, want)
	}
	text := string(must(t, nil, "verdict", "--by", by, path))
	piped := string(must(t, must(t, nil, "nsys2arrow", path), "verdict", "--by", by))
	if cut := func(s string) string { return strings.SplitN(s, "##", 2)[0] }; cut(text) != cut(piped) {
		t.Errorf("by file:\n%s\nby pipe:\n%s", cut(text), cut(piped))
	}
	outside := strings.Contains(text, "20 of 40 steps")
	if idle := gaps.Idle.TotalUs / gaps.Idle.WindowUs; idle > 0.4 && strings.HasPrefix(text, "# NO") {
		t.Errorf("NO, and the GPU is idle %.0f %% of the segment", 100*idle)
	}
	if outside == inside {
		t.Errorf("inside %t, and the headline is\n%s", inside, strings.SplitN(text, "##", 2)[0])
	}
}

// TestFewSteps has no verdict on fewer than five whole steps, and figures all the same.
func TestFewSteps(t *testing.T) {
	for steps, want := range map[int]string{1: "INCONCLUSIVE", 4: "INCONCLUSIVE", 6: "NO", 30: "NO"} {
		path := testrun.Simulate(t, func() sim.Config {
			c := sim.Default()
			c.Ranks, c.Warmup, c.Steps, c.KernelScale, c.ContextEvery = 1, 0, steps, 40, 0
			return c
		}(), false)[0]
		var out struct {
			Verdict string
			Metrics struct {
				Idle *float64 `json:"gpu_idle_ratio"`
			} `json:"aggregate_metrics"`
			Warnings []string
		}
		if err := json.Unmarshal(must(t, nil, "verdict", "--by", "nvtx", path, "--format", "json"), &out); err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(out.Warnings, func(w string) bool { return strings.Contains(w, "too few for a verdict") })
		if out.Verdict != want || out.Metrics.Idle == nil || said != (want == "INCONCLUSIVE") {
			t.Errorf("%d steps: %s, warnings %q", steps, out.Verdict, out.Warnings)
		}
	}
}
