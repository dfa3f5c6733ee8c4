package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestWhatifRandom has other filters take what is written of odd traces, whatever is different.
func TestWhatifRandom(t *testing.T) {
	for seed := range cases.Few(9, 9, 60) {
		path := generate(t, "--random", strconv.Itoa(seed))
		moved := call(t, nil, "whatif", "--gpu", "0.1", "--host", "3", path)
		if moved.status == 2 { // it has no steps
			continue
		}
		if r := call(t, []byte(moved.stdout), "metrics", "--format", "csv"); r.status != 0 {
			t.Errorf("random trace %d: %s", seed, r.stderr)
		}
	}
}

// TestWhatifNothing replays traces without a change: every row stays as it was, from a file
// and in the pipe, at the least memory, too.
func TestWhatifNothing(t *testing.T) {
	t.Parallel()
	traces := []string{
		"../testdata/llama_tp2.sqlite", "../testdata/v1/run.arrows", "../testdata/h100/torch.json.gz", "../testdata/h100/eager_third.json.gz",
		generate(t, "--mode", "graph", "--steps", "10"), generate(t, "--mode", "eager", "--markers", "vllm", "--steps", "10", "--ranks", "1"),
	}
	recorded := []string{"sleep", "lock", "gil", "neighbour", "clean"}
	for _, name := range recorded[:cases.Few(1, 2, len(recorded))] {
		traces = append(traces, inflated(t, name))
	}
	for seed := range cases.Few(2, 3, 20) {
		traces = append(traces, generate(t, "--random", strconv.Itoa(seed)))
	}
	texts, _ := filepath.Glob("../testdata/traces/*.trace")
	for _, text := range texts[:cases.Few(3, 8, len(texts))] {
		traces = append(traces, generate(t, "--text", text))
	}
	for _, env := range []string{"HOSTBOUND_TRACES", "HOSTBOUND_KINETO"} {
		for _, pattern := range []string{"*.json.gz", "*/*.sqlite"} {
			given, _ := filepath.Glob(filepath.Join(os.Getenv(env), pattern))
			if os.Getenv(env) != "" && os.Getenv("HOSTBOUND_ALL") != "" {
				traces = append(traces, given...)
			}
		}
	}
	for _, trace := range traces {
		t.Run(filepath.Base(trace), func(t *testing.T) {
			t.Parallel()
			checkUnmoved(t, trace)
		})
	}
}

// checkUnmoved compares what whatif makes of a trace without a change with what phase does.
func checkUnmoved(t *testing.T, trace string) {
	t.Helper()
	var by []string
	want := call(t, nil, "phase", trace, "--format", "csv")
	if want.status != 0 {
		by = []string{"--by", "none"}
		if want = call(t, nil, "isolate", trace, "--by", "none", "--format", "csv"); want.status != 0 {
			return
		}
	}
	same := func(how, got string) {
		if got != want.stdout {
			t.Errorf("%s, %s: rows have moved: %s", trace, how, firstDifference(want.stdout, got))
		}
	}
	for _, memory := range []string{"64M", "100M", "2G"} {
		same("file, "+memory, string(must(t, nil, "whatif", append(by, trace, "--format", "csv", "--memory", memory)...)))
	}
	if by == nil {
		phased := must(t, nil, "phase", trace)
		same("pipe", string(must(t, phased, "whatif", "--format", "csv")))
		file := filepath.Join(t.TempDir(), "phased.arrows")
		if err := os.WriteFile(file, phased, 0o600); err != nil {
			t.Fatal(err)
		}
		same("file of phased rows", string(must(t, nil, "whatif", file, "--format", "csv")))
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + " is " + b[i]
		}
	}
	return "other rows"
}

// meanStep returns the mean distance between the starts of steps, in us, of rows as CSV.
func meanStep(t *testing.T, csv []byte) float64 {
	t.Helper()
	var first, last float64
	n := -1.0
	for _, line := range bytes.Split(csv, []byte("\n")) {
		if f := strings.Split(string(line), ","); f[0] == "step" {
			at, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			if last = at; n < 0 {
				first = at
			}
			n++
		}
	}
	return (last - first) / n / 1e3
}

// TestWhatifRecorded takes stalls out of programs that ran on a real GPU, and compares what
// is left with what the programs say that a step takes but for its stall.
func TestWhatifRecorded(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/h100/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth map[string]map[string]struct{ Ns, Times float64 }
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		calls []string
		most  float64
	}{
		{"sleep", []string{"clock_nanosleep"}, 0.05}, {"lock", []string{"sem_wait"}, 0.05}, {"poll", []string{"read"}, 0.15},
		{"fsync", []string{"open64", "write", "fsync", "close"}, 0.15}, // its stall opens, writes and syncs
	} {
		args := []string{inflated(t, c.name), "--waits", "keep", "--format", "csv"}
		for _, call := range c.calls {
			args = append(args, "--call", call+"=0")
		}
		got := meanStep(t, must(t, nil, "whatif", args...))
		is := truth[c.name]
		want := (is["step"].Ns - is[c.name].Ns) / is["step"].Times / 1e3
		if math.Abs(got/want-1) > c.most {
			t.Errorf("%s without its stall: a step takes %.0f us, the program says %.0f", c.name, got, want)
		}
		if testing.Verbose() {
			t.Logf("%s: %.0f us, %.0f in truth", c.name, got, want)
		}
	}
	clean := inflated(t, "clean")
	now := meanStep(t, must(t, nil, "phase", clean, "--format", "csv"))
	if got := meanStep(t, must(t, nil, "whatif", clean, "--host", "0.5", "--format", "csv")); got/now < 0.99 || got > now {
		t.Errorf("clean: %.0f us, with a host twice as fast %.0f", now, got)
	}
	if got := meanStep(t, must(t, nil, "whatif", clean, "--gpu", "0.5", "--format", "csv")); got/now < 0.5 || got/now > 0.55 {
		t.Errorf("clean: %.0f us, with a GPU twice as fast %.0f", now, got)
	}
}

// TestWhatifReport has the report say what the filter's rows do, and the bounds be below.
func TestWhatifReport(t *testing.T) {
	t.Parallel()
	type report struct {
		Schema    string
		StepUs    float64 `json:"step_us"`
		Bounds    struct{ GPUUs, HostUs *float64 }
		Scenarios []struct {
			Change string
			StepUs float64     `json:"step_us"`
			CIUs   *[2]float64 `json:"ci_us"`
			GainUs float64     `json:"gain_us"`
		}
		Warnings []string
	}
	predict := func(args ...string) (r report) {
		out := must(t, nil, "whatif", append(args, "--format", "json")...)
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	trace := inflated(t, "lock")
	one := predict(trace, "--host", "0.5")
	rows := filepath.Join(t.TempDir(), "moved.arrows")
	must(t, nil, "whatif", trace, "--host", "0.5", "-o", rows)
	moved := windowStep(t, rows)
	if len(one.Scenarios) != 1 || math.Abs(one.Scenarios[0].StepUs-moved) > 0.01 {
		t.Errorf("the report says %+v, the rows %.1f us", one.Scenarios, moved)
	}
	all := predict(trace)
	if all.Schema != "whatif/1" || all.StepUs != one.StepUs || len(all.Scenarios) < 10 {
		t.Fatalf("%+v", all)
	}
	for _, s := range all.Scenarios {
		if math.Abs(all.StepUs-s.StepUs-s.GainUs) > 1e-6 || s.CIUs == nil || s.CIUs[0] > s.GainUs || s.CIUs[1] < s.GainUs {
			t.Errorf("%+v of a step of %.1f us", s, all.StepUs)
		}
		if s.Change == "host twice as fast" && s.StepUs != one.Scenarios[0].StepUs {
			t.Errorf("%.1f us in a table, %.1f alone", s.StepUs, one.Scenarios[0].StepUs)
		}
	}
	const nothing = "nothing in the trace matches this change: --"
	for change, why := range map[string]string{
		"--host=fast": "not a factor", "--range=_prepare_input=0": nothing, "--range=cudaGraphLaunch=0": nothing, "--kernel=*no_such*=0": nothing,
		"--kernel=cudaGraphLaunch=0": nothing, "--call=_prepare_inputs=0": nothing, "--no-wait=cudaEventSynchronize@nowhere": nothing,
		"--no-wait=cudaEventSynchronize@_prepare_inputs": nothing, "--why=blocked:lock=0": nothing, "--why=load=0": nothing, "--cpu-quota=none": nothing,
	} {
		if r := call(t, nil, "whatif", "../testdata/llama_tp2.sqlite", change); r.status != 2 || !strings.Contains(r.stderr, why) {
			t.Errorf("%s: %d: %s", change, r.status, r.stderr)
		}
	}
	const still = "--no-wait 'cudaGraphLaunch' changes no step" // which has no wait
	if r := predict(trace, "--no-wait", "cudaGraphLaunch"); !strings.Contains(strings.Join(r.Warnings, "|"), still) || r.Scenarios[0].GainUs != 0 {
		t.Errorf("%q", r.Warnings)
	}
	if r := call(t, nil, "whatif", trace, "--no-wait", "cudaGraphLaunch", "-o", rows); r.status != 0 || !strings.Contains(r.stderr, still) {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
}

// TestWhatifStill: where a wait for another thread takes the place of what a change takes away, the warning says
// what a step takes if it does not.
func TestWhatifStill(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("schema 3.25.0\ngpu 0 H100\nprocess 100 name=python3\n")
	for k := range 12 {
		at := func(us int) string { return fmt.Sprintf("%dus", 1000+400*k+us) }
		fmt.Fprintf(&text, "range %s %s \"_forward_step %d: 0 ctx reqs, 4 gen reqs\"\nrange %s %s _prepare_inputs\n", at(0), at(399), k, at(0), at(60))
		fmt.Fprintf(&text, "range %s %s \"Holding GIL\" tid=101\nrange %s %s \"Waiting for GIL\"\n", at(55), at(207), at(60), at(210))
		fmt.Fprintf(&text, "api %s %s cudaLaunchKernel_v7000 corr=%d\nkernel %s %s gemm_kernel corr=%d\n", at(212), at(216), 2*k+1, at(218), at(380), 2*k+1)
		fmt.Fprintf(&text, "api %s %s cudaDeviceSynchronize_v3020 corr=%d\n", at(217), at(383), 2*k+2)
	}
	path := filepath.Join(t.TempDir(), "lock.trace")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := string(must(t, nil, "whatif", generate(t, "--text", path), "--report", "--range", "_prepare_inputs=0"))
	if !strings.Contains(out, "waits for other threads take its place; taken the other way (--waits), a step takes 340 µs") {
		t.Error(out)
	}
}

// windowStep is what a step takes by gaps: the window by its steps, us.
func windowStep(t *testing.T, path string) float64 {
	t.Helper()
	var is struct {
		Idle struct {
			Window float64 `json:"window_us"`
			Steps  float64 `json:"rank_steps"`
		}
	}
	if err := json.Unmarshal(must(t, nil, "gaps", "--format", "json", path), &is); err != nil {
		t.Fatal(err)
	}
	return is.Idle.Window / is.Idle.Steps
}

// Where all steps have context requests, these are the ones that are answered for.
func TestWhatifContextAlone(t *testing.T) {
	trace := generate(t, "--steps", "12", "--warmup", "0", "--set", `{"ContextEvery":1}`)
	if r := call(t, nil, "whatif", trace, "--report"); r.status != 0 || !strings.Contains(r.stdout, "would save") {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
}

// TestOneBase has findings be rows of whatif's table: what gaps begins with brings, with its interval,
// what whatif says of the same change, to the ns, and a step takes the same in both.
func TestOneBase(t *testing.T) {
	type answer struct {
		GainUs float64     `json:"gain_us"`
		CIUs   *[2]float64 `json:"ci_us"`
	}
	for _, c := range []struct{ path, pattern, change string }{
		{"../testdata/llama_tp2.sqlite", "HOST_WORK", "--range=_prepare_inputs=0"},
		{inflated(t, "sleep"), "SLEEP", "--call=clock_nanosleep=0"},
	} {
		var gaps struct {
			First struct {
				Pattern string
				answer
			} `json:"first_target"`
		}
		var whatif struct {
			StepUs    float64 `json:"step_us"`
			Scenarios []answer
		}
		if err := json.Unmarshal(must(t, nil, "gaps", "--format", "json", c.path), &gaps); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(must(t, nil, "whatif", "--format", "json", "--report", c.change, c.path), &whatif); err != nil {
			t.Fatal(err)
		}
		a, b := gaps.First.answer, whatif.Scenarios[0]
		if gaps.First.Pattern != c.pattern || math.Abs(a.GainUs-b.GainUs) > 1e-6 || a.CIUs == nil || b.CIUs == nil || math.Abs(a.CIUs[0]-b.CIUs[0]) > 1e-6 || math.Abs(a.CIUs[1]-b.CIUs[1]) > 1e-6 {
			t.Errorf("%s: gaps says %+v %v, whatif %+v %v", c.path, gaps.First, a.CIUs, b, b.CIUs)
		}
		if step := windowStep(t, c.path); math.Abs(step-whatif.StepUs) > 1e-6 {
			t.Errorf("%s: a step takes %g us by gaps, %g by whatif", c.path, step, whatif.StepUs)
		}
	}
}

// TestTableOfFindings has whatif's table hold what gaps finds, with what gaps says that it brings.
func TestTableOfFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, first string
	}{
		{inflated(t, "sleep"), "SLEEP"},
		{generate(t, "--ranks", "1", "--set", `{"Faults":[{"Kind":"sync","At":"_sample_async","Rank":-1}]}`), "SYNC"},
		{generate(t, "--set", `{"SlowRank":1,"Slow":600}`), "COORDINATOR"},
		{generate(t, "--mode", "eager"), "GRAPH_EXPAND"},
	} {
		var gaps struct {
			Findings []struct {
				Pattern string
				GainUs  *float64    `json:"gain_us"`
				CIUs    *[2]float64 `json:"ci_us"`
			}
		}
		var whatif struct {
			StepUs    float64 `json:"step_us"`
			Scenarios []struct {
				Change  string
				GainUs  float64     `json:"gain_us"`
				CIUs    *[2]float64 `json:"ci_us"`
				OlderUs *float64    `json:"older_us"`
			}
		}
		if err := json.Unmarshal(must(t, nil, "gaps", "--format", "json", c.path), &gaps); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(must(t, nil, "whatif", "--format", "json", "--report", c.path), &whatif); err != nil {
			t.Fatal(err)
		}
		n, first := 0, ""
		for _, row := range whatif.Scenarios {
			pattern, ok := strings.CutPrefix(row.Change, "treating ")
			if !ok {
				continue
			}
			for n < len(gaps.Findings) && gaps.Findings[n].GainUs == nil {
				n++
			}
			if n == len(gaps.Findings) {
				t.Fatalf("%s: a row %s too many", c.path, row.Change)
			}
			f := gaps.Findings[n]
			n++
			pattern, _, _ = strings.Cut(pattern, " ")
			first = cmp.Or(first, pattern)
			gain := row.GainUs
			if row.OlderUs != nil {
				gain = whatif.StepUs - *row.OlderUs
			}
			if pattern != f.Pattern || math.Abs(gain-*f.GainUs) > 1e-6 || row.OlderUs == nil && math.Abs(row.CIUs[0]-f.CIUs[0])+math.Abs(row.CIUs[1]-f.CIUs[1]) > 1e-6 {
				t.Errorf("%s: %s brings %g %v in the table, %s %g %v by gaps", c.path, row.Change, gain, row.CIUs, f.Pattern, *f.GainUs, f.CIUs)
			}
		}
		if first != c.first || n < len(gaps.Findings) && gaps.Findings[n].GainUs != nil {
			t.Errorf("%s: the table has %d findings, the first %s, of %+v", c.path, n, first, gaps.Findings)
		}
	}
}

// TestWhatifPairs predicts what runs of the same seed are without what was planted in them.
func TestWhatifPairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		common        []string
		with, without []string
		change        []string
	}{
		{"a slow operation", nil, []string{"--host", "_prepare_inputs=1600"}, nil, []string{"--range", "_prepare_inputs=0.5"}},
		{"ahead of the GPU", nil, []string{"--host", "_prepare_inputs=1600", "--set", `{"Engine":{"Ahead":2}}`}, []string{"--set", `{"Engine":{"Ahead":2}}`}, []string{"--range", "_prepare_inputs=0.5"}},
		{"eager", []string{"--mode", "eager"}, []string{"--host", "_prepare_inputs=1600"}, nil, []string{"--range", "_prepare_inputs=0.5"}},
		{"whole graphs", []string{"--mode", "graph", "--ranks", "1"}, []string{"--host", "_prepare_inputs=1600"}, nil, []string{"--range", "_prepare_inputs=0.5"}},
		{"a slow GPU", nil, []string{"--set", `{"KernelScale":4}`}, []string{"--set", `{"KernelScale":2}`}, []string{"--gpu", "0.5"}},
		{"a full queue", []string{"--mode", "eager", "--ranks", "1"}, []string{"--set", `{"KernelScale":3,"Engine":{"QueueDepth":200}}`}, []string{"--set", `{"KernelScale":1.5,"Engine":{"QueueDepth":200}}`}, []string{"--gpu", "0.5"}},
		{"a synchronise", []string{"--ranks", "1"}, []string{"--set", `{"Faults":[{"Kind":"sync","At":"_sample_async","Rank":-1}]}`}, nil, []string{"--no-wait", "cudaDeviceSynchronize"}},
		{"a synchronise, step ahead", []string{"--ranks", "1"}, []string{"--set", `{"Overlap":true,"KernelScale":5,"Faults":[{"Kind":"sync","At":"_sample_async","Rank":-1}]}`}, []string{"--set", `{"Overlap":true,"KernelScale":5}`}, []string{"--no-wait", "cudaDeviceSynchronize"}},
		{"memory from the system", nil, []string{"--set", `{"Faults":[{"Kind":"alloc","Rank":-1,"US":600}]}`}, nil, []string{"--call", "cudaMalloc=0", "--call", "cudaFree=0"}},
		{"launches", []string{"--mode", "eager", "--ranks", "1"}, []string{"--set", `{"LaunchCost":7}`}, nil, []string{"--call", "cu*LaunchKernel*=0.5"}},
	} {
		base := append([]string{"--seed", "3", "--steps", "60"}, c.common...)
		type answer struct {
			StepUs    float64 `json:"step_us"`
			EventAge  *[2]int `json:"event_age"`
			Scenarios []struct {
				StepUs  float64  `json:"step_us"`
				OlderUs *float64 `json:"older_us"`
			}
		}
		predict := func(trace []string, change ...string) (a answer) {
			if err := json.Unmarshal(must(t, nil, "whatif", append(change, generate(t, append(base, trace...)...), "--format", "json")...), &a); err != nil {
				t.Fatal(err)
			}
			return a
		}
		said, truth := predict(c.with, c.change...), predict(c.without, "--host", "1")
		got := said.Scenarios[0].StepUs
		if other := said.Scenarios[0].OlderUs; other != nil && math.Abs(*other-truth.StepUs) < math.Abs(got-truth.StepUs) {
			got = *other // nothing in the run says which
		}
		if err := got/truth.StepUs - 1; math.Abs(err) > 0.02 || said.StepUs < truth.StepUs {
			t.Errorf("%s: a step of %.0f us is said to take %.0f, and takes %.0f", c.name, said.StepUs, got, truth.StepUs)
		}
	}
}

// TestWhatifRunsAhead moves a run whose host waits for nothing: what is left of its steps between
// ranges is not what they take, which the rows' warnings say.
func TestWhatifRunsAhead(t *testing.T) {
	var rows []string
	add := func(cat, name string, tid int, ts, dur float64, correlation int) {
		rows = append(rows, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%.1f,"dur":%.1f,"args":{"device":0,"stream":7,"correlation":%d}}`, cat, name, tid, ts, dur, correlation))
	}
	for k := range 800 {
		ts := 10*float64(k) + 70*float64(k/20)
		if k%20 == 0 {
			add("user_annotation", "execute_context_0(0)_generation_8(8)", 9, ts-50, 255, 0)
		}
		add("cuda_runtime", "cudaLaunchKernel", 9, ts, 4, k+1)
		add("kernel", "gemm", 7, ts+6, 6, k+1)
	}
	path := filepath.Join(t.TempDir(), "ahead.json")
	if err := os.WriteFile(path, []byte(`{"traceEvents":[`+strings.Join(rows, ",")+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		host string
		says bool
	}{{"0.8", false}, {"0.2", true}} {
		moved := call(t, nil, "whatif", "--host", test.host, path)
		r := call(t, []byte(moved.stdout), "verdict", "--format", "json")
		if says := strings.Contains(r.stdout, "further ahead of its GPU"); r.status != 0 || says != test.says {
			t.Errorf("--host %s: said %v, want %v (%s)", test.host, says, test.says, r.stderr)
		}
	}
}

// TestWhatifPauses moves a run that the profiler recorded in parts: what was not recorded still lies
// between the calls that stopped the profiler and those that started it again.
func TestWhatifPauses(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Layers, c.Steps, c.Engine.RecordSteps, c.Engine.SkipSteps = 2, 2, 36, 10, 3
	files := testrun.Simulate(t, c, false)
	for _, host := range []string{"0.5", "1", "1.5"} {
		moved := must(t, nil, "whatif", append([]string{"--host", host}, files...)...)
		r, _, err := arrow.Open(bytes.NewReader(moved))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := eventtest.Collect(r)
		if err != nil {
			t.Fatal(err)
		}
		for rank := range int32(c.Ranks) {
			spans, stopped := [][2]int64{}, int64(0)
			for _, row := range rows {
				switch {
				case row.Rank != rank:
				case row.Name == "cudaProfilerStop":
					stopped = row.End
				case row.Name == "cudaProfilerStart" && stopped > 0:
					spans = append(spans, [2]int64{stopped, row.Start})
				}
			}
			if got := r.Header().Span(rank).Unrecorded; len(got) != 2 || !slices.Equal(got, spans) {
				t.Errorf("--host %s, rank %d: %v not recorded, the profiler paused in %v", host, rank, got, spans)
			}
		}
	}
}

// TestWhatifPart moves a part of a run: what was chosen ends where its last work does, and a faster host
// leaves no idle time behind it.
func TestWhatifPart(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Layers, c.Steps = 1, 2, 30
	files := testrun.Simulate(t, c, false)
	idle := func(host string) (ns, of int) {
		moved := must(t, nil, "whatif", append([]string{"--host", host, "--by", "none", "--from", "460ms", "--to", "500ms"}, files...)...)
		var name string
		line := strings.Split(string(must(t, moved, "metrics", "--format", "csv")), "\n")[1]
		if _, err := fmt.Sscanf(strings.ReplaceAll(line, ",", " "), "aggregate %s %d %d", &name, &ns, &of); err != nil || name != "gpu_idle_ratio" {
			t.Fatal(line, err)
		}
		return ns, of
	}
	now, window := idle("1")
	fast, rest := idle("0.2")
	if window != 40_000_000 || float64(rest) > 0.9*float64(window) || float64(window-now-rest+fast) > 0.01*float64(window) {
		t.Errorf("idle for %d of %d ns, with a faster host for %d of %d", now, window, fast, rest)
	}
}

// TestWhatifEnds has what ends last in a scenario end the trace, though other work did in the recording.
func TestWhatifEnds(t *testing.T) {
	var rows []eventtest.Row
	for k, name := range []string{"a", "b"} {
		kernel := eventtest.New(event.Kernel, 0, 10_000+int64(k)*10_000, 100_000-int64(k)*40_000, name)
		kernel.Device, kernel.Stream = 0, int64(k)
		rows = append(rows, kernel)
	}
	h := eventtest.Header(rows)
	r := &h.Reports[0]
	r.RankFacts = []event.RankFacts{{RankSpan: event.RankSpan{GPUStart: r.GPUStart, GPUEnd: r.GPUEnd}}}
	var recorded bytes.Buffer
	w := arrow.NewWriter(&recorded, h)
	if err := errors.Join(event.Each(eventtest.Source(h, rows, 10), w.Write), w.Close()); err != nil {
		t.Fatal(err)
	}
	moved := must(t, recorded.Bytes(), "whatif", "--by", "none", "--kernel", "b=3")
	if got := string(must(t, moved, "metrics", "--format", "csv")); !strings.Contains(got, "\naggregate,gpu_idle_ratio,0,130000,") {
		t.Errorf("from 10 to 140 us one kernel or the other runs:\n%.300s", got)
	}
}

// TestWhatifTooLong refuses changes whose run would end after the last time there is: what
// overflows came out as a faster run.
func TestWhatifTooLong(t *testing.T) {
	const trace = "../testdata/llama_tp2.sqlite"
	for change, status := range map[string]int{"--host=1e9": 0, "--host=1e12": 2, "--gpu=1e300": 2, "--range=_prepare_inputs=2540400h": 2, "--call=*=2540400h": 2} {
		if r := call(t, nil, "whatif", "--report", change, trace); r.status != status || (status == 2) != strings.Contains(r.stderr, "longer than times can say") {
			t.Errorf("%s: status %d: %s", change, r.status, r.stderr)
		}
	}
}
