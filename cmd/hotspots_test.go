package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// hotspotsDoc is what the tests read of the JSON of hotspots.
type hotspotsDoc struct {
	Functions []struct {
		Function string
		Hits     float64
	}
	Hotspots  []hotLine
	DrillDown []struct {
		Function, Callee string
		Share            float64 `json:"share_of_function"`
		Target           *string
	} `json:"drill_down"`
	ProfileNext string `json:"profile_next"`
	Rounds      []struct {
		Name      string
		ChangePct *float64 `json:"change_pct"`
		Verdict   string
	}
	Stop    struct{ Reason *string }
	Summary struct {
		Cumulative struct {
			ChangePct float64 `json:"change_pct"`
		}
		Benchmark []struct {
			Metric    string
			ChangePct float64 `json:"change_pct"`
		}
		Failed []struct{ Change string } `json:"failed_attempts"`
	}
	Warnings []string
}

type hotLine struct {
	Function string
	Line     int
	Type     string
	TimeUs   float64  `json:"time_us"`
	Exposed  *float64 `json:"exposed_us_per_step"`
	Evidence []string
	Options  []struct {
		Savings *[2]float64 `json:"savings_us_per_step"`
	}
}

func hotspotsJSON(t *testing.T, stdin []byte, args ...string) (d hotspotsDoc) {
	t.Helper()
	if err := json.Unmarshal(must(t, stdin, "hotspots", append(args, "--format", "json")...), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// firstWaste is the first hotspot that is not COMPUTE.
func (d *hotspotsDoc) firstWaste() (function, typ string) {
	for _, h := range d.Hotspots {
		if h.Type != "COMPUTE" {
			return h.Function, h.Type
		}
	}
	return "", ""
}

// TestHotspotsRounds: three rounds on _prepare_tp_inputs of Llama-3.1-8B.
func TestHotspotsRounds(t *testing.T) {
	folder := filepath.Join(root, "pkg", "hotspot", "round", "testdata", "llama")
	d := hotspotsJSON(t, nil, folder, "--rounds", "3")
	if len(d.Rounds) != 4 {
		t.Fatalf("%d rounds, want 4", len(d.Rounds))
	}
	for i, want := range []float64{-17.3, -13.8, -2.4} {
		if r := d.Rounds[i+1]; r.ChangePct == nil || math.Abs(*r.ChangePct-want) > 0.1 || r.Verdict != "improved" {
			t.Errorf("%s: %v %s, want %.1f improved", r.Name, r.ChangePct, r.Verdict, want)
		}
	}
	if c := d.Summary.Cumulative.ChangePct; math.Abs(c+30.5) > 0.1 {
		t.Errorf("cumulative %.1f %%, want -30.5", c)
	}
	for _, b := range d.Summary.Benchmark {
		want := map[string]float64{"tpot_ms": -22.7, "throughput_tok_s": 18.7}[b.Metric]
		if want != 0 && math.Abs(b.ChangePct-want) > 0.1 {
			t.Errorf("%s %+.1f %%, want %+.1f", b.Metric, b.ChangePct, want)
		}
	}
	if d.Stop.Reason == nil || !strings.Contains(*d.Stop.Reason, "3 of 3") || !strings.Contains(*d.Stop.Reason, "under 5 %") {
		t.Errorf("stop: %v", d.Stop.Reason)
	}
	if len(d.Summary.Failed) != 1 || !strings.Contains(d.Summary.Failed[0].Change, "conditional expression") {
		t.Errorf("failed attempts: %+v", d.Summary.Failed)
	}
	for name, want := range map[string]string{"round0_baseline": "REDUNDANT_ITER", "round1_single_loop": "DEAD_WORK"} {
		d := hotspotsJSON(t, nil, filepath.Join(folder, name+".txt"))
		if _, typ := d.firstWaste(); typ != want {
			t.Errorf("%s: first waste %s, want %s", name, typ, want)
		}
	}
	d = hotspotsJSON(t, nil, filepath.Join(folder, "round2_no_dead_work.txt"))
	if !slices.ContainsFunc(d.Hotspots, func(h hotLine) bool { return h.Line == 1189 && h.Type == "FUNCALL" }) {
		t.Error("round 2: the helper is not FUNCALL")
	}
}

// profileLine is a line of a made-up profile: how often it ran, for how long, and its
// source.
type profileLine struct {
	hits   int
	ms     float64
	source string
}

// profileText writes a table as line_profiler 4.0 does.
func profileText(file, function string, first int, lines ...profileLine) string {
	total := 0.0
	for _, l := range lines {
		total += l.ms
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Total time: %g s\nFile: %s\nFunction: %s at line %d\n\n", total/1000, file, function, first)
	head := fmt.Sprintf("%6s %9s %12s %8s %8s  %s", "Line #", "Hits", "Time", "Per Hit", "% Time", "Line Contents")
	fmt.Fprintf(&b, "%s\n%s\n", head, strings.Repeat("=", len(head)))
	for i, l := range lines {
		if l.hits == 0 {
			fmt.Fprintf(&b, "%6d %9s %12s %8s %8s  %s\n", first+i, "", "", "", "", l.source)
			continue
		}
		fmt.Fprintf(&b, "%6d %9d %12.1f %8.1f %8.1f  %s\n", first+i, l.hits, l.ms*1e6, l.ms*1e6/float64(l.hits), 100*l.ms/total, l.source)
	}
	return b.String() + "\n"
}

const unitLine = "Timer unit: 1e-09 s\n\n"

// TestHotspotsDrillDown: the whole time of _forward_step is in a call, and the value of
// TLLM_LINE_PROFILER_FUNCTIONS to go on with holds the defaults and what it calls.
func TestHotspotsDrillDown(t *testing.T) {
	text := unitLine + profileText("/app/tensorrt_llm/_torch/pyexecutor/py_executor.py", "_forward_step", 2840,
		profileLine{0, 0, "    def _forward_step(self, scheduled_requests, new_tensors_device=None):"},
		profileLine{4100, 210, "        gather_context_logits = any(r.py_return_context_logits for r in scheduled_requests.context_requests)"},
		profileLine{4100, 59200, "        outputs = self.model_engine.forward(scheduled_requests, self.resource_manager, new_tensors_device)"},
		profileLine{4100, 480, "        self._kv_connector_wait_for_save()"},
		profileLine{4100, 90, "        return outputs"})
	d := hotspotsJSON(t, []byte(text))
	if len(d.DrillDown) == 0 || math.Abs(d.DrillDown[0].Share-0.987) > 0.001 {
		t.Fatalf("drill-down: %+v", d.DrillDown)
	}
	value, ok := strings.CutPrefix(d.ProfileNext, "TLLM_LINE_PROFILER_FUNCTIONS=")
	names := strings.Split(value, ",")
	for _, want := range []string{
		"tensorrt_llm._torch.pyexecutor.model_engine.PyTorchModelEngine.forward",
		"tensorrt_llm._torch.pyexecutor.model_engine.PyTorchModelEngine._prepare_tp_inputs",
		"tensorrt_llm._torch.pyexecutor.py_executor.PyExecutor._forward_step",
		"tensorrt_llm._torch.pyexecutor.py_executor.PyExecutor._sample_async",
		"tensorrt_llm._torch.pyexecutor.sampler.TorchSampler.update_requests",
	} {
		if !ok || !slices.Contains(names, want) {
			t.Errorf("%s is not in %s", want, d.ProfileNext)
		}
	}
}

// serving is a profile of an executor: _process_requests takes most, and a GPU waits
// for it least.
func serving() string {
	const dir = "/app/tensorrt_llm/_torch/pyexecutor/"
	return unitLine +
		profileText(dir+"sampler.py", "_process_requests", 900,
			profileLine{0, 0, "    def _process_requests(self, requests):"},
			profileLine{1000, 3000, "        tokens = torch.tensor(self.rows(requests))"},
			profileLine{1000, 1500, "        return self.pick(tokens)"}) +
		profileText(dir+"model_engine.py", "_prepare_tp_inputs", 1100,
			profileLine{0, 0, "    def _prepare_tp_inputs(self, requests):"},
			profileLine{1000, 1800, "        ids = torch.tensor(self.ids(requests))"},
			profileLine{1000, 200, "        return ids"}) +
		profileText(dir+"py_executor.py", "_handle_responses", 1300,
			profileLine{0, 0, "    def _handle_responses(self):"},
			profileLine{1000, 900, "        payload = pickle.dumps(self.responses)"},
			profileLine{1000, 100, "        return payload"})
}

// TestHotspotsEvidence: what a trace says a GPU waits for comes first, what is hidden
// behind its work goes down, and why is said.
func TestHotspotsEvidence(t *testing.T) {
	trace := filepath.Join(root, "testdata", "llama_tp2.sqlite")
	profile := filepath.Join(t.TempDir(), "profile.txt")
	if err := os.WriteFile(profile, []byte(serving()), 0o644); err != nil {
		t.Fatal(err)
	}
	order := func(d hotspotsDoc) (names []string) {
		for _, h := range d.Hotspots {
			if !slices.Contains(names, h.Function) {
				names = append(names, h.Function)
			}
		}
		return names
	}
	alone := hotspotsJSON(t, nil, profile)
	if got := order(alone); got[0] != "_process_requests" {
		t.Fatalf("by time: %v", got)
	}
	if text := string(must(t, nil, "hotspots", profile)); !strings.Contains(text, "cannot tell whether the CPU is the bottleneck") {
		t.Errorf("without a trace the report does not say what it cannot know:\n%s", text)
	}
	for _, from := range []string{"gaps", "diff"} {
		evidence := must(t, nil, from, trace, "--format", "json")
		d := hotspotsJSON(t, evidence, "--evidence", "-", profile)
		if got := order(d); !slices.Equal(got, []string{"_prepare_tp_inputs", "_handle_responses", "_process_requests"}) {
			t.Errorf("by %s: %v", from, got)
		}
		for _, h := range d.Hotspots {
			if h.Exposed == nil { // gaps names the ranges in which a GPU waits, and no others
				if text := strings.Join(h.Evidence, "; "); from == "diff" || !strings.Contains(text, "unknown whether a GPU waits") {
					t.Errorf("by %s: exposed time of %s is not known: %s", from, h.Function, text)
				}
				continue
			}
			for _, o := range h.Options {
				if o.Savings != nil && o.Savings[1] > *h.Exposed+1e-9 {
					t.Errorf("by %s: %s saves %v us of %v exposed", from, h.Function, o.Savings[1], *h.Exposed)
				}
			}
		}
	}
	// the same trace, in which _process_requests is never waited for
	hidden := `{"operations": [
		{"name": "_prepare_inputs", "exposed": {"baseline_us": 700, "target_us": null}},
		{"name": "_process_requests", "exposed": {"baseline_us": 0, "target_us": null}},
		{"name": "_handle_responses", "exposed": {"baseline_us": 90, "target_us": null}}], "optimization_handoff": {"recommended_first_target": "_handle_responses"}}`
	d := hotspotsJSON(t, []byte(hidden), "--evidence", "-", profile)
	if got := order(d); !slices.Equal(got, []string{"_handle_responses", "_prepare_tp_inputs", "_process_requests"}) {
		t.Errorf("with the first target: %v", got)
	}
	last := d.Hotspots[len(d.Hotspots)-1]
	if last.Exposed == nil || *last.Exposed != 0 || !strings.Contains(strings.Join(last.Evidence, "; "), "hidden: no GPU waits") {
		t.Errorf("hidden: %+v", last)
	}
}

// TestHotspotsRanks: of ranks the largest total counts, of parts the sum.
func TestHotspotsRanks(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, ms := range []float64{300, 500} {
		text := unitLine + profileText("engine.py", "step", 10, profileLine{0, 0, "def step(self):"}, profileLine{100, ms, "    torch.cuda.synchronize()"})
		files = append(files, filepath.Join(dir, fmt.Sprintf("rank%d.txt", i)))
		if err := os.WriteFile(files[i], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := hotspotsJSON(t, nil, files...); len(d.Hotspots) != 1 || d.Hotspots[0].TimeUs != 500e3 {
		t.Errorf("ranks: %+v", d.Hotspots)
	}
	if d := hotspotsJSON(t, nil, append(files, "--sum")...); len(d.Hotspots) != 1 || d.Hotspots[0].TimeUs != 800e3 {
		t.Errorf("parts: %+v", d.Hotspots)
	}
}

// TestHotspotsFormats: the same answer in every format, and rows have source text only
// where it was asked for.
func TestHotspotsFormats(t *testing.T) {
	profile := []byte(serving())
	for _, format := range []string{"text", "json", "csv", "jsonl", "table", "arrow"} {
		out := must(t, profile, "hotspots", "--format", format)
		if !bytes.Contains(out, []byte("_process_requests")) {
			t.Errorf("%s: no function in it", format)
		}
		if format != "text" && format != "json" && bytes.Contains(out, []byte("pickle.dumps")) {
			t.Errorf("%s: source text", format)
		}
	}
	if out := must(t, profile, "hotspots", "--format", "csv", "--source", t.TempDir()); !bytes.Contains(out, []byte("pickle.dumps")) {
		t.Errorf("csv with --source: no source text:\n%s", out)
	}
	folder := filepath.Join(root, "pkg", "hotspot", "round", "testdata", "llama")
	for _, unit := range []string{"line", "round"} {
		for row := range strings.Lines(string(must(t, nil, "hotspots", folder, "--by", unit, "--format", "jsonl"))) {
			validate(t, row)
		}
	}
	if out := string(must(t, nil, "hotspots", folder, "--by", "round", "--format", "csv")); strings.Count(out, "\n") != 5 {
		t.Errorf("rounds as rows:\n%s", out)
	}
}

// TestHotspotsRefuses: what makes no sense ends with status 2 and says what to do.
func TestHotspotsRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, junk := file("good.txt", serving()), file("junk.txt", "no profile\n")
	for _, args := range [][]string{
		{filepath.Join(dir, "missing.txt")},
		{junk},
		{dir},
		{good, "--evidence", junk},
		{good, "--evidence", filepath.Join(dir, "missing.json")},
		{"--evidence", "-"},
		{good, "--notes", junk},
		{good, "--bench", "round0=" + junk},
		{"round0_a=" + good, "--bench", "round0=" + junk},
		{"round0_a=" + good, "--bench", "round1=" + junk},
		{"round0_a=" + good, "--bench", "round0"},
		{"round0_a=" + good, "round0_b=" + good},
		{"round0_a=" + good, good},
		{"baseline=" + good},
		{good, "--top", "-1"},
		{good, "--by", "colour"},
		{"round0_a=" + good, "-o", good},
		{good, "--source", filepath.Join(dir, "missing")},
	} {
		r := call(t, nil, "hotspots", args...)
		if r.status != 2 || !strings.HasPrefix(r.stderr, "hotspots: error: ") || !strings.Contains(r.stderr, "\nhotspots: hint: ") || r.stdout != "" {
			t.Errorf("%v: status %d, %q, output %q", args, r.status, r.stderr, r.stdout)
		}
	}
	if text, err := os.ReadFile(good); err != nil || string(text) != serving() {
		t.Error("the input was written to")
	}
}

// TestHotspotsHostile: profiles, evidence, benchmarks and notes that were cut and
// changed at random end with an answer or with status 2.
func TestHotspotsHostile(t *testing.T) {
	n := cases.Few(100, 400, 5000)
	dir := t.TempDir()
	read := func(path string) []byte {
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	llama := filepath.Join(root, "pkg", "hotspot", "round", "testdata", "llama")
	evidence := must(t, nil, "gaps", filepath.Join(root, "testdata", "llama_tp2.sqlite"), "--format", "json")
	rng := rand.New(rand.NewSource(1))
	good := filepath.Join(llama, "round0_baseline.txt")
	for i := range n {
		path := filepath.Join(dir, "input")
		var args []string
		var data []byte
		switch i % 4 {
		case 0:
			data, args = []byte(serving()), []string{path}
		case 1:
			data, args = evidence, []string{good, "--evidence", path}
		case 2:
			data, args = read("pkg/hotspot/round/testdata/bench/vllm.json"), []string{"round0_a=" + good, "round1_b=" + good, "--bench", "round0=" + path, "--bench", "round1=" + path}
		case 3:
			data, args = read("pkg/hotspot/round/testdata/llama/notes.toml"), []string{"round0_a=" + good, "round1_single_loop=" + good, "--notes", path}
		}
		if err := os.WriteFile(path, mutate(rng, data), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := call(t, nil, "hotspots", args...); r.status != 0 && (r.status != 2 || !strings.HasPrefix(r.stderr, "hotspots: error: ")) {
			t.Fatalf("%d: status %d, %q", i, r.status, r.stderr)
		}
	}
	// names in a profile are hostile to every format
	name := "x\x1b]0;title\x07](http://evil)|<script>"
	text := unitLine + profileText("/home/somebody/"+name, name, 10, profileLine{0, 0, "def f():"}, profileLine{10, 500, "    torch.cuda.synchronize()  # \x1b[31m|<b>"})
	for _, format := range []string{"text", "csv", "json", "table"} {
		out := string(must(t, []byte(text), "hotspots", "--format", format))
		if strings.ContainsAny(out, "\x1b\x07") {
			t.Errorf("%s: control characters: %q", format, out)
		}
		if strings.Contains(out, "somebody") {
			t.Errorf("%s: a user's name: %s", format, out)
		}
	}
}

// mutate cuts, flips, repeats and exchanges bytes.
func mutate(rng *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + rng.Intn(4) {
		if len(data) == 0 {
			break
		}
		at := rng.Intn(len(data))
		switch rng.Intn(5) {
		case 0:
			data = data[:at]
		case 1:
			data[at] ^= byte(1 << rng.Intn(8))
		case 2:
			end := min(len(data), at+rng.Intn(200))
			data = slices.Concat(data[:end], data[at:])
		case 3:
			data[at] = []byte("0{}[]\",:\x00\xff-e9")[rng.Intn(13)]
		case 4:
			data = slices.Concat(data[:at], []byte("99999999999999999999e999"), data[at:])
		}
	}
	return data
}
