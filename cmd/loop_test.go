package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// shaped is what a toy engine is called by the names of a real one.
type shaped struct {
	engine, module, class, first, second, step, last, marker string
}

var shapes = []shaped{
	{"vllm", "vllm.v1.worker.gpu_model_runner", "GPUModelRunner", "_prepare_inputs", "_update_states", "execute_model", "_bookkeeping_sync",
		"execute_context_0(0)_generation_256(256)"},
	{"sglang", "sglang.srt.managers.scheduler", "Scheduler", "process_input_requests", "get_next_batch_to_run", "run_batch", "process_batch_result",
		"step[DECODE bs=256]"},
	{"trtllm", "tensorrt_llm._torch.pyexecutor.py_executor", "PyExecutor", "_fetch_and_activate_new_requests", "_prepare_and_schedule_batch", "_forward_step", "_update_requests",
		"[Executor] _forward_step 7: 0 ctx reqs, 256 gen reqs"},
}

// write writes the engine below a folder, and returns the worker's file.
func (s *shaped) write(t *testing.T, dir string) string {
	t.Helper()
	toy := filepath.Join(root, "testdata", "toy")
	worker := strings.NewReplacer("CLASS", s.class, "FIRST", s.first, "SECOND", s.second, "STEP", s.step, "LAST", s.last, "MARKER", s.marker).
		Replace(string(readFile(t, filepath.Join(toy, "worker.py"))))
	file := strings.ReplaceAll(s.module, ".", "/") + ".py"
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{file: worker}
	for _, name := range []string{"frontend.py", "changes.py"} {
		files[name] = string(readFile(t, filepath.Join(toy, name)))
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// TestLoop goes from the first call to a proven gain on an engine of two processes, under the
// real line_profiler: the three wastes are found in the order of what they bring, and each
// change brings what was predicted for its line.
func TestLoop(t *testing.T) {
	cases.All(t)
	const python = "/usr/bin/python3" // Debian's, which has its package line_profiler
	if exec.Command(python, "-c", "import line_profiler").Run() != nil {
		t.Skip("no line_profiler in " + python + ": apt-get install python3-line-profiler")
	}
	for i := range shapes {
		s := &shapes[i]
		t.Run(s.engine, func(t *testing.T) {
			// Others on the machine lengthen lines of the profile, and steps by what they take of
			// the caches: a run in which they did so too much is made again. Where the same change
			// does not bring the same twice, nothing can be said of predictions.
			var came [3][]float64 // of the rounds
			for attempt := 1; attempt <= 3; attempt++ {
				off, us := s.loop(t, python)
				if len(off) == 0 {
					return
				}
				t.Logf("attempt %d: %q", attempt, off)
				for i := range came {
					came[i] = append(came[i], us[i])
				}
			}
			for i, us := range came {
				if least, most := slices.Min(us), slices.Max(us); most > 1.1*least {
					t.Skipf("this machine does not hold still: the same change of round %d brings %.0f to %.0f us", i+1, least, most)
				}
			}
			t.Error("the predictions are off three times")
		})
	}
}

// loop runs the loop, and returns what is off, and what the changes brought, us a step. A
// prediction is off where all of the 95 % interval of what came, or without one that itself, is
// over 20 % away from it.
func (s *shaped) loop(t *testing.T, python string) (off []string, came [3]float64) {
	t.Helper()
	o := newOptimizer(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(o.dir, "tracediff")); err != nil {
		t.Fatal(err)
	}
	file := s.write(t, o.dir)
	o.env = append(o.env, strings.TrimSpace(string(must(t, nil, "hotspots", "--targets", s.engine))))
	engine := python + " frontend.py " + s.module
	out := o.must(t, "--profile", python+" "+filepath.Join(root, "scripts", "profile_lines.py")+` -f "$HOSTBOUND_LINES" -o "$HOSTBOUND_LINES_PATH" -- env TOY_STEPS=120 `+engine,
		"--trace", `TOY_STEPS=120 TOY_TRACE="$TRACE_FILE" `+engine, "--test", engine,
		"--change", python+" changes.py worker "+file+" ${ROUND#round}")

	// the first analysis has the three wastes, those that bring most first
	var first, end struct {
		Hotspots []struct {
			Type, Function string
			Gain           *float64 `json:"gain_us_per_step"`
		}
		Rounds []struct {
			Verdict    string
			Prediction *struct {
				By     string
				Us     float64     `json:"predicted_us"`
				Came   *float64    `json:"came_us"`
				CameCI *[2]float64 `json:"came_ci_us"`
			}
		}
		Summary json.RawMessage
	}
	if err := json.Unmarshal([]byte(o.read(t, "round0_baseline.analysis.json")), &first); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, h := range first.Hotspots {
		if h.Type != "COMPUTE" && h.Gain != nil {
			order = append(order, h.Function[strings.LastIndexByte(h.Function, '.')+1:])
		}
	}
	if got, want := strings.Join(order, " "), s.first+" "+s.second+" "+s.last; got != want {
		off = append(off, fmt.Sprintf("the wastes are found in the order %s, not %s", got, want))
	}
	answer(t, &end, "hotspots", o.work)
	if len(end.Rounds) != 4 {
		t.Fatalf("%d rounds:\n%s", len(end.Rounds), out)
	}
	for i, r := range end.Rounds[1:] {
		p := r.Prediction
		if p == nil || p.By != "whatif" || p.Came == nil {
			t.Fatalf("round %d: %+v\n%s", i+1, r, out)
		}
		if came[i] = *p.Came; p.CameCI == nil { // of too few independent steps
			p.CameCI = &[2]float64{*p.Came, *p.Came}
		}
		said := fmt.Sprintf("round %d: %s, predicted %.0f us, came %.0f us, %.0f to %.0f", i+1, r.Verdict, p.Us, *p.Came, p.CameCI[0], p.CameCI[1])
		if t.Log(said); r.Verdict != "improved" || p.CameCI[1] < 0.8*p.Us || p.CameCI[0] > 1.2*p.Us {
			off = append(off, said)
		}
	}
	if strings.Count(out, "\noptimize: PREDICTED round") != 3 {
		t.Errorf("predictions are not said:\n%s", out)
	}
	// and all of them together are proven
	last, err := filepath.Glob(filepath.Join(o.work, "round3_*.trace"))
	if err != nil || len(last) != 1 {
		t.Fatal("no trace of the last round", last)
	}
	var diff struct{ Direction string }
	answer(t, &diff, "diff", filepath.Join(o.work, "round0_baseline.trace"), last[0])
	if diff.Direction != "faster" {
		off = append(off, "the end is "+diff.Direction+" than the beginning")
	}
	return off, came
}

// TestOptimizeDouble: without a trace the benchmark with twice the batch says what it can.
func TestOptimizeDouble(t *testing.T) {
	t.Parallel()
	cases.Whole(t)
	for _, c := range []struct{ tpot, runs, want string }{
		{"11", "3", "most of a step does not depend on the batch"},
		{"19", "3", "most of a step grows with the batch"},
		{"15", "3", "%): cannot tell"},
		{"11", "1", "cannot tell from single runs"},
	} {
		o := newOptimizer(t)
		o.write(t, "slow.sh", canned("_schedule", "5", "state = pickle.dumps(self.requests)"))
		bench := `echo x >>runs; echo "{\"mean_tpot_ms\": %s.0$(($(wc -l <runs) %% 3))}" >$BENCH_FILE`
		out := o.must(t, "--profile", ". ./slow.sh", "--test", "true", "--bench-runs", c.runs, "--bench", fmt.Sprintf(bench, "10"), "--double", fmt.Sprintf(bench, c.tpot))
		if !strings.Contains(out, c.want) {
			t.Errorf("TPOT %s of 10, %s runs: no %q in\n%s", c.tpot, c.runs, c.want, out)
		}
	}
}

// TestHotspotsTrace: a trace as evidence says the same of idle time as gaps does of it, and what
// lines bring; what is no trace is refused with a hint.
func TestHotspotsTrace(t *testing.T) {
	run := generate(t, "--ranks", "1", "--steps", "40", "--warmup", "0")
	profile := filepath.Join(t.TempDir(), "profile.txt")
	text := strings.Replace(canned("PyTorchModelEngine._prepare_inputs", "5", "state = pickle.dumps(self.requests)"), `cat >"$TLLM_LINE_PROFILER_PATH" <<'END'`+"\n", "", 1)
	if err := os.WriteFile(profile, []byte(strings.TrimSuffix(text, "END\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	type hot struct {
		Hotspots []struct {
			Exposed *float64 `json:"exposed_us_per_step"`
			Gain    *float64 `json:"gain_us_per_step"`
		}
	}
	var direct, piped hot
	answer(t, &direct, "hotspots", profile, "--evidence", run)
	if err := json.Unmarshal(must(t, must(t, nil, "gaps", run, "--format", "json"), "hotspots", profile, "--evidence", "-", "--format", "json"), &piped); err != nil {
		t.Fatal(err)
	}
	d, p := direct.Hotspots[0], piped.Hotspots[0]
	if d.Exposed == nil || p.Exposed == nil || *d.Exposed != *p.Exposed || p.Gain != nil || d.Gain == nil || *d.Gain <= 0 {
		t.Errorf("of the trace %+v, of the pipe %+v", d, p)
	}
	// all of the range is the line's: the gain is that of whatif without the range
	var whatif struct {
		Scenarios []struct {
			Gain float64 `json:"gain_us"`
		}
	}
	answer(t, &whatif, "whatif", run, "--report", "--range", "_prepare_inputs=0")
	near(t, "gain", *d.Gain, whatif.Scenarios[0].Gain)
	// without steps nothing is replayed, and the rest is said all the same
	whole := filepath.Join(t.TempDir(), "whole.arrows")
	must(t, nil, "isolate", "--by", "none", run, "-o", whole)
	var rest hot
	answer(t, &rest, "hotspots", profile, "--evidence", whole)
	if len(rest.Hotspots) == 0 || rest.Hotspots[0].Gain != nil {
		t.Errorf("of a trace without steps: %+v", rest)
	}
	for _, evidence := range []string{profile, run + ",nothing.sqlite"} {
		if r := call(t, nil, "hotspots", profile, "--evidence", evidence); r.status != 2 || !strings.Contains(r.stderr, "hint: ") {
			t.Errorf("evidence %s: status %d, %s", evidence, r.status, r.stderr)
		}
	}
}

// TestHotspotsStacks: a trace with stacks of Python is a profile of functions, each with its own
// time, thread by thread.
func TestHotspotsStacks(t *testing.T) {
	span := func(cat, name string, tid int, ts, dur float64) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%v,"dur":%v,"args":{}}`, cat, name, tid, ts, dur)
	}
	text := `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"H100"}],"traceEvents":[` + strings.Join([]string{
		span("python_function", "vllm/engine.py(10): step", 1, 0, 1000),
		span("python_function", "vllm/engine.py(20): schedule", 1, 100, 300),
		span("python_function", "<built-in method dumps of module object at 0x7f>", 1, 150, 200),
		span("python_function", "vllm/engine.py(20): schedule", 1, 500, 100),
		span("python_function", "vllm/server.py(5): poll", 2, 200, 400),
		`{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":2000,"dur":5,"args":{"device":0,"stream":7,"correlation":1}}`,
		`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1990,"dur":5,"args":{"correlation":1}}`,
	}, ",") + "]}"
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, h := range hotspotsJSON(t, nil, path).Hotspots {
		got[h.Function] = h.TimeUs
	}
	want := map[string]float64{"step": 600, "schedule": 200, "<built-in method dumps of module object>": 200, "poll": 400}
	for name, us := range want {
		near(t, name, got[name], us)
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	if r := call(t, nil, "hotspots", startupTrace(t)); r.status != 2 || !strings.Contains(r.stderr, "with_stack=True") {
		t.Errorf("a trace without stacks: status %d, %s", r.status, r.stderr)
	}
}
