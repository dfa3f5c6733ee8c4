package cmd

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// inflated returns the path of a decompressed copy of a recording in testdata/h100.
func inflated(t *testing.T, name string) string {
	t.Helper()
	return testrun.Inflated(t, filepath.Join("../testdata/h100", name+".sqlite.gz"))
}

// TestRecordedStalls has gaps name the stalls of programs that ran on a real GPU, and
// compares their size with what the programs say. Part of a stall is before the GPU runs
// dry, and the programs' times include their own work around it.
func TestRecordedStalls(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../testdata/h100/truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth map[string]map[string]struct{ Ns float64 }
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, pattern string
		least         float64 // of the program's own time
	}{
		{"sleep", "SLEEP", 0.95},
		{"lock", "WAIT", 0.95}, // Python's locks are semaphores: who posts one nobody knows
		{"poll", "IO", 0.9},
		{"fsync", "IO", 0.85},
		{"gil", "GIL_CONTENTION", 0.9}, // how long it waited the program does not know: see below
		{"neighbour", "AFFINITY", 0},
	} {
		var out struct {
			Findings []struct {
				Pattern  string
				Text, Do string
				UsStep   float64 `json:"gain_us"`
			}
		}
		if err := json.Unmarshal(must(t, nil, "gaps", inflated(t, test.name), "--format", "json"), &out); err != nil {
			t.Fatal(err)
		}
		if len(out.Findings) == 0 || out.Findings[0].Pattern != test.pattern {
			t.Errorf("%s: found %+v, want %s first", test.name, out.Findings, test.pattern)
			continue
		}
		for _, f := range out.Findings[1:] {
			if f.Pattern == "GIL_CONTENTION" || f.Pattern == "AFFINITY" && f.UsStep > out.Findings[0].UsStep/10 { // who waits for the lock has not lost its CPU
				t.Errorf("%s: %s", test.name, f.Text)
			}
		}
		const steps = 60
		alone := truth["lock"]["step"].Ns - truth["lock"]["lock"].Ns // what the same program takes without any stall
		truth["gil"]["gil"] = struct{ Ns float64 }{truth["gil"]["step"].Ns - alone}
		if is, said := out.Findings[0].UsStep*steps*1e3, truth[test.name][test.name].Ns; said > 0 && (is < test.least*said || is > 1.02*said) {
			t.Errorf("%s: %.1f ms, the program says %.1f", test.name, is/1e6, said/1e6)
		}
	}
}

// TestRecordedWhy replays a recording without waits for the interpreter lock, which bring what gaps
// says, and refuses a stall class that there is none of: it would look as if it brought nothing.
func TestRecordedWhy(t *testing.T) {
	path := inflated(t, "gil")
	var out struct {
		Scenarios []struct {
			GainShare float64 `json:"gain_share"`
		}
	}
	if err := json.Unmarshal(must(t, nil, "whatif", "--report", "--format", "json", "--why", "gil=0", path), &out); err != nil || out.Scenarios[0].GainShare < 0.8 {
		t.Errorf("%+v, %v", out, err)
	}
	if r := call(t, nil, "whatif", "--report", "--why", "os:nobody=0", path); r.status != 2 || !strings.Contains(r.stderr, "nothing in the trace matches") {
		t.Errorf("%d: %s", r.status, r.stderr)
	}
}

// TestRecordedMoved has the rows that whatif writes say what its report says: other filters take
// them, and the steps that gaps measures there are those that were predicted.
func TestRecordedMoved(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{ // a recording, and what is different
		{"sleep", "--why", "blocked:sleep=0"}, {"gil", "--why", "gil=0"}, {"gc", "--range", "_prepare_inputs=0"}, {"gc", "--host", "0"},
		{"poll", "--range", "_prepare_inputs=0"}, {"lock", "--host", "0.3"}, {"clean", "--gpu", "0.5"},
	}[:cases.Few(3, 7, 7)] {
		path := inflated(t, c[0])
		var said struct {
			Scenarios []struct {
				StepUs float64 `json:"step_us"`
			}
		}
		if err := json.Unmarshal(must(t, nil, "whatif", append(c[1:], "--report", "--format", "json", path)...), &said); err != nil {
			t.Fatal(err)
		}
		moved := filepath.Join(t.TempDir(), "moved.arrows")
		must(t, nil, "whatif", append(c[1:], "-o", moved, path)...)
		if a, b := said.Scenarios[0].StepUs, windowStep(t, moved); math.Abs(a-b) > 1e-6*a {
			t.Errorf("%q: a step takes %g us by the report, %g by the rows", c, a, b)
		}
	}
}

// TestRecordedClean finds nothing on the host where it runs ahead of the GPU.
func TestRecordedClean(t *testing.T) {
	path := inflated(t, "clean")
	var gaps struct{ Findings []struct{ Text string } }
	if err := json.Unmarshal(must(t, nil, "gaps", path, "--format", "json"), &gaps); err != nil || len(gaps.Findings) > 0 {
		t.Errorf("found %+v, %v", gaps.Findings, err)
	}
	var answer struct{ Verdict string }
	if err := json.Unmarshal(must(t, nil, "verdict", path, "--format", "json"), &answer); err != nil || answer.Verdict != "NO" {
		t.Errorf("verdict %q, %v", answer.Verdict, err)
	}
}

// TestRecordedDifference has diff say what one recording has and the other has not, and where
// another model was recorded.
func TestRecordedDifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ baseline, target, want string }{
		{"lock", "sleep", "Slower by 1.71 ms per step (+52.4 %). Root cause: inter-step host overhead: launching threads sleep, in host time in _prepare_inputs (+3.1"},
		{"lock", "gil", "Slower by 17.2 ms per step (+527.4 %). Root cause: inter-step host overhead: waiting for the interpreter lock (GIL)"},
		{"clean", "gil", "Caution, another model or build: 79.7 % of the GPU time is in kernels that only one side has. Slower by 18.4 ms per step (+926.2 %). Root cause: inter-step host overhead: waiting for the interpreter lock (GIL)"},
		{"poll", "lock", "Faster by 1.50 ms per step (-31.5 %). Cause: less host overhead between steps"},
		{"clean", "neighbour", "Caution, another model or build: 79.7 % of the GPU time is in kernels that only one side has. Faster by 655 µs per step (-43.1 %, by the median). Cause: less GPU work"},
	} {
		out := string(must(t, nil, "diff", "--why", inflated(t, c.baseline), inflated(t, c.target)))
		if first, _, _ := strings.Cut(out, "\n"); !strings.HasPrefix(first, "# "+c.want) {
			t.Errorf("from %s to %s: %s", c.baseline, c.target, first)
		}
	}
	if out := string(must(t, nil, "diff", inflated(t, "lock"), inflated(t, "sleep"))); !strings.Contains(out, ": --why tells which, if context switches or OS calls were recorded.") {
		t.Errorf("threads were recorded, and --why is not named:\n%s", out)
	}
}

// TestRecordedHalves compares the halves of a recording in the second of which half of the steps take 80 %
// longer: no change among all rows that are tested, and a step's own interval that says otherwise.
func TestRecordedHalves(t *testing.T) {
	path, dir := inflated(t, "clean"), t.TempDir()
	first, second := filepath.Join(dir, "first.arrows"), filepath.Join(dir, "second.arrows")
	must(t, nil, "nsys2arrow", path, "--to", "0.075759s", "-o", first)
	must(t, nil, "nsys2arrow", path, "--from", "0.075759s", "-o", second)
	out := string(must(t, nil, "diff", first, second))
	if got, _, _ := strings.Cut(out, "\n"); got != "# No significant change in step time (+644 µs), though its own 95 % interval is +182 µs to +1.11 ms: more runs would tell" {
		t.Error(got)
	}
}

// TestRecordedAdvice finds the steps of a trace that was recorded as verdict advises: 50,
// but for the first after the profiler started.
func TestRecordedAdvice(t *testing.T) {
	var out struct {
		Steps struct {
			Method  string
			PerRank []struct{ Total, Benchmark int } `json:"per_rank"`
		}
		Phases map[string]any
	}
	if err := json.Unmarshal(must(t, nil, "verdict", "../testdata/h100/torch.json.gz", "--format", "json"), &out); err != nil {
		t.Fatal(err)
	}
	if s := out.Steps; s.Method != "nvtx" || len(s.PerRank) != 1 || s.PerRank[0].Benchmark != 49 {
		t.Errorf("steps %+v", s)
	}
	if _, ok := out.Phases["generation"]; !ok {
		t.Errorf("phases %v have no generation", out.Phases)
	}
}

// TestRecordedFallback counts the eager steps of a run whose every third step replays no
// graph, where the replay before each runs in its period. The first step is left out.
func TestRecordedFallback(t *testing.T) {
	var out struct {
		Findings []struct {
			Pattern, Text string
			GainUs        float64 `json:"gain_us"`
		}
		Pattern struct{ Layers int }
	}
	if err := json.Unmarshal(must(t, nil, "gaps", "../testdata/h100/eager_third.json.gz", "--format", "json"), &out); err != nil {
		t.Fatal(err)
	}
	const want = "6 of 18 generation steps (33.3 %) run without a CUDA graph, though the others replay one: steps 1, 4, 7, 10, 13, 16 of rank 0"
	if f := out.Findings; len(f) == 0 || f[0].Pattern != "GRAPH_FALLBACK" || !strings.HasPrefix(f[0].Text, want) {
		t.Errorf("findings %+v", f)
	}
	// Of three steps one replays, in 2.44 ms; the eager one holds the replay before it, and its own tail
	// is the next one: 14.29 ms both, in the mean of the six. Two replays take 4.88. Replay with
	// a graph comes to within 3 % of what that leaves.
	if f := out.Findings; math.Abs(f[0].GainUs-(14290-2*2440)/3) > 90 {
		t.Errorf("to gain: %.0f us", f[0].GainUs)
	}
	if out.Pattern.Layers != 16 { // and not those of the replay, too
		t.Errorf("%d layers", out.Pattern.Layers)
	}
}

// TestRecordedCollections finds garbage collection, by samples of the CPU, and the line that
// collects, by samples of Python functions, though this interpreter has hardly any symbols.
// Collections of 90 ms and more are stalls of the steps that they delay. It is the first target,
// with its own advice, and not the operation in which it is.
func TestRecordedCollections(t *testing.T) {
	path := inflated(t, "gc")
	var out struct {
		Idle struct {
			TotalUs float64 `json:"total_us"`
			Python  []struct {
				Line string
				Us   float64
			}
		}
		First *struct {
			Pattern, Text, Do string
			Evidence          struct {
				IdleUs float64 `json:"idle_us"`
			}
		} `json:"first_target"`
	}
	if err := json.Unmarshal(must(t, nil, "gaps", path, "--format", "json"), &out); err != nil {
		t.Fatal(err)
	}
	const said = 1_162_950 // us
	if first := out.Idle.Python[0]; first.Line != "prepare (engine.py:99)" || first.Us < 0.97*said || first.Us > 1.03*said {
		t.Errorf("first is %+v, the program collects for %d us", first, said)
	}
	if f := out.First; f == nil || f.Pattern != "GC_MGMT" || !strings.Contains(f.Text, "prepare (engine.py:99)") || !strings.Contains(f.Do, "gc.freeze") ||
		60*f.Evidence.IdleUs < 0.95*said || 60*f.Evidence.IdleUs > 1.05*said {
		t.Errorf("first target %+v", f)
	}
}

// An eager pass among replays is a step: the markers of the recording say that there are 18, of
// which six were not replayed.
func TestH100EagerPassesAreSteps(t *testing.T) {
	out := must(t, nil, "isolate", "--by", "graph", "--format", "csv", "../testdata/h100/eager_third.json.gz")
	if n := bytes.Count(out, []byte("\nstep,")); n != 18 {
		t.Errorf("%d steps by graph, want 18", n)
	}
}
