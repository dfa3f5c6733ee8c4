package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// ways are the ways to ask one question of a trace, as lines of a shell: FILE is the trace,
// READ reads it, ASK is the question. The first is the file form.
var ways = []string{
	"ASK FILE",
	"READ FILE | ASK",
	"READ FILE | isolate | ASK",
	"READ FILE | phase | ASK",
	"READ FILE | isolate | phase | ASK",
	"READ FILE > raw.arrows; ASK raw.arrows",
	"ASK < raw.arrows",
	"isolate raw.arrows > steps.arrows; ASK steps.arrows",
	"ASK < steps.arrows",
	"READ FILE -o raw.parquet; ASK raw.parquet",
	"isolate raw.parquet -o steps.parquet; ASK steps.parquet",
}

// wholeWays ask for the whole trace.
var wholeWays = []string{
	"ASK --by none FILE",
	"READ FILE | ASK --by none",
	"READ FILE | isolate --by none | ASK",
	"READ FILE | isolate --by none | phase | ASK",
	"isolate --by none raw.arrows > whole.arrows; ASK whole.arrows",
	"isolate --by none raw.parquet -o whole.parquet; ASK whole.parquet",
}

// rowWays leave metrics to a stage of its own; they are those of the file form of verdict.
var rowWays = []string{
	"metrics FILE | ASK",
	"READ FILE | metrics | ASK",
	"READ FILE | phase | metrics | ASK",
	"READ FILE | isolate | phase | metrics | ASK",
	"metrics steps.parquet -o rows.parquet; ASK rows.parquet",
}

// questions are what is asked; what comes after a bar is asked of what the first writes. Of those
// of rows, the rows of metrics can be asked, too.
var questions = []struct {
	ask   string
	whole bool // of the whole trace, too
	rows  bool
	files bool // takes no standard input
}{
	{ask: "verdict --format json --exit-code", whole: true, rows: true},
	{ask: "verdict --junit tests.xml", whole: true, rows: true},
	{ask: "verdict --window trace --format json --exit-code"},
	{ask: "metrics --format json", whole: true},
	{ask: "gaps --format json", whole: true},
	{ask: "gaps"},
	{ask: "gaps --window trace --format json"},
	{ask: "whatif --report"},
	{ask: "whatif --report --format json", whole: true},
	{ask: "whatif --brief"},
	{ask: "whatif --host 0.5 --even | verdict --format json --exit-code", whole: true},
	{ask: "diff --format json", files: true},
	{ask: "diff --junit tests.xml --baseline BASE --target", files: true},
}

// TestWaysAgree asks the same questions of traces in every way that there is. Each has the
// same output, tests for continuous integration and exit status. All traces that are given are
// asked where HOSTBOUND_ALL is set: those beyond the sample in a sixth of the ways each, or in
// all where it is "ways". Without it few are asked, half of the questions each, in a
// sixth of the ways.
func TestWaysAgree(t *testing.T) {
	t.Parallel()
	base := generate(t, runs["node"]...)
	traces, sampled := tracesToAsk(t)
	for k, trace := range traces {
		t.Run(filepath.Base(trace), func(t *testing.T) {
			t.Parallel()
			a := asker{dir: t.TempDir(), trace: unpacked(t, trace), read: "nsys2arrow", base: base, streams: map[string]result{}, thin: 1}
			switch {
			case os.Getenv("HOSTBOUND_ALL") == "":
				a.thin, a.turn = 6, k
			case k >= sampled && os.Getenv("HOSTBOUND_ALL") != "ways":
				a.thin, a.turn = 6, k
			}
			if strings.Contains(trace, ".json") {
				a.read = "torch2arrow"
			}
			for i, q := range questions {
				if !cases.Turn(i+k, 2) {
					continue
				}
				a.agree(t, q.ask, q.files, ways)
				if q.whole {
					a.agree(t, q.ask, q.files, wholeWays)
				}
				if q.rows {
					a.agree(t, q.ask, q.files, append(slices.Clone(ways[:1]), rowWays...))
				}
			}
			a.formsAgree(t)
		})
	}
}

// formsAgree checks that the forms of a verdict say the same: the headline, the JSON, the exit
// status and the tests; that the gaps of the trace have the same target to begin with, and the same
// waits in collectives; and that a YES has one.
func (a *asker) formsAgree(t *testing.T) {
	t.Helper()
	junit := filepath.Join(a.dir, "tests.xml")
	os.Remove(junit)
	text := call(t, nil, "verdict", a.trace, "--junit", junit)
	if text.status == 2 {
		return
	}
	coded := call(t, nil, "verdict", a.trace, "--exit-code", "--format", "json")
	var v, g struct {
		Verdict string
		LowLoad *bool  `json:"low_load"`
		Window  string `json:"scope"`
		Handoff struct {
			First *string `json:"recommended_first_target"`
		} `json:"optimization_handoff"`
		Reported struct {
			Waits *float64 `json:"collective_wait_ratio"`
		}
		Waits *struct {
			Total  float64 `json:"total_us"`
			Share  float64
			Causes []struct{ Us float64 }
		}
		Idle struct{ Window string }
	}
	for of, data := range map[any]string{&v: coded.stdout, &g: call(t, nil, "gaps", a.trace, "--format", "json").stdout} {
		if err := json.Unmarshal([]byte(data), of); err != nil {
			t.Fatal(err)
		}
	}
	if w := g.Waits; w != nil && g.Idle.Window == "benchmark" {
		for _, c := range w.Causes {
			w.Total -= c.Us
		}
		if math.Abs(w.Total) > 1e-3 {
			t.Errorf("the causes of waits in collectives add up to %g us less than these", w.Total)
		}
		if v.Reported.Waits == nil || math.Abs(*v.Reported.Waits-w.Share) > 1e-9 {
			t.Errorf("gaps has %g of waits in collectives, verdict %+v", w.Share, v.Reported.Waits)
		}
	} else if w == nil && v.Reported.Waits != nil && *v.Reported.Waits > 0 {
		t.Logf("gaps has no waits in collectives, verdict %g", *v.Reported.Waits)
	}
	low := v.LowLoad != nil && *v.LowLoad
	headline, failed := v.Verdict, 0
	switch {
	case low:
		headline, failed = "LOW LOAD", 1
	case v.Verdict == "YES":
		failed = 1
	case v.Verdict == "INCONCLUSIVE":
		failed = 3
	}
	if !strings.HasPrefix(text.stdout, "# "+headline+": ") || coded.status != failed {
		t.Errorf("JSON says %s, low load %t; the headline %.60q, and status %d", v.Verdict, low, text.stdout, coded.status)
	}
	tests, err := os.ReadFile(junit)
	if err != nil {
		t.Fatal(err)
	}
	if said := bytes.Contains(tests, []byte("<failure")) || bytes.Contains(tests, []byte("<error")); said != (v.Verdict == "YES") && v.Verdict != "INCONCLUSIVE" {
		t.Errorf("%s, and the tests are\n%s", v.Verdict, tests)
	}
	if of := v.Handoff.First; v.Verdict == "YES" && !low {
		if of == nil || g.Handoff.First == nil || *of != *g.Handoff.First || !strings.Contains(text.stdout, "First target: `"+*of+"`.") {
			t.Errorf("first target %s, of gaps %s; the text is\n%.900s", spelled(of), spelled(g.Handoff.First), text.stdout)
		}
	} else if of != nil {
		t.Errorf("%s, low load %t, and a first target %s", v.Verdict, low, *of)
	}
}

// spelled is a text that may be missing.
func spelled(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

// tracesToAsk are traces of each kind: a sample first, and with HOSTBOUND_ALL all that there are.
func tracesToAsk(t *testing.T) (all []string, sampled int) {
	all = []string{filepath.Join(root, "testdata", "llama_tp2.sqlite")}
	lowLoad := []string{"--steps", "60", "--set", `{"KernelScale":12,"Why":{"Kind":"requests","US":20000}}`,
		"--host", "_prepare_inputs=50", "--host", "_handle_responses=20", "--host", "_update_requests=20"}
	add := func(glob string) {
		if strings.HasPrefix(glob, "$") && os.Getenv(glob[1:strings.Index(glob, "/")]) == "" {
			return
		}
		found, err := filepath.Glob(os.ExpandEnv(glob))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if !strings.Contains(path, "expected") && !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	if !testing.Short() {
		all = append(all, generate(t, lowLoad...))
		add("$HOSTBOUND_TRACES/sim/prefill.sqlite")
		add("$HOSTBOUND_KINETO/tracelens_b200_vllm_eager_rank0of8.json.gz")
		add("$HOSTBOUND_KINETO/tracelens_vllm_piecewise_mi300.json.gz")
	}
	sampled = len(all)
	if os.Getenv("HOSTBOUND_ALL") != "" {
		all = append(all, generate(t, runs["nomarker"]...))
		add(filepath.Join(root, "testdata/h100/*.sqlite.gz"))
		add("$HOSTBOUND_TRACES/*/*.sqlite")
		add("$HOSTBOUND_KINETO/*.json*")
	}
	return all, sampled
}

// unpacked is the name of a trace, of an export that is compressed that of a copy which is not.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	if !strings.HasSuffix(path, ".sqlite.gz") {
		return path
	}
	return testrun.Inflated(t, path)
}

// written are the names of files that a way or a question writes, in the asker's folder.
var written = regexp.MustCompile(`\b(raw|steps|whole|rows|tests)\.(arrows|parquet|xml)`)

// asker asks questions of a trace.
type asker struct {
	dir         string // for what is written
	trace, read string
	base        string            // what diff compares it with
	streams     map[string]result // what pipes gave, by their line
	thin, turn  int               // one way of so many is asked, in turn
}

// agree checks that each way gives the answer of the first.
func (a *asker) agree(t *testing.T, ask string, files bool, ways []string) {
	t.Helper()
	want := ""
	for i, way := range ways {
		if files && (strings.HasSuffix(way, "ASK") || strings.Contains(way, "<")) {
			continue
		}
		if i > 0 {
			if a.turn++; a.turn%a.thin > 0 && !strings.Contains(way, ">") && !strings.Contains(way, "-o") {
				continue // those that write files are asked: others read them
			}
		}
		got := a.answer(t, way, ask)
		switch {
		case i == 0:
			want = got
		case got != want && got != refused:
			t.Errorf("%s: %s differs from %s:\n%s", ask, way, ways[0], linesDiffer(got, want))
		}
	}
}

// answer is what a way answers to a question: the exit status, the output and the tests. An
// error of the analysis is one whatever it is called.
func (a *asker) answer(t *testing.T, way, ask string) string {
	t.Helper()
	junit := filepath.Join(a.dir, "tests.xml")
	os.Remove(junit)
	var r result
	for line := range strings.SplitSeq(way, ";") {
		r = a.line(t, strings.TrimSpace(line), ask)
		if r.status == 2 && strings.Contains(line, " -o ") {
			return refused // a file of steps that cannot be identified is not written
		}
	}
	if r.status == 2 {
		return "status 2"
	}
	tests, _ := os.ReadFile(junit)
	out := written.ReplaceAllLiteralString(strings.ReplaceAll(r.stdout, a.dir+"/", ""), a.trace) // in a command to go on with
	return fmt.Sprintf("status %d\n%s\n%s", r.status, out, tests)
}

// refused is the answer of a way that ends before the question is asked.
const refused = "refused"

// line runs a pipe. What does not depend on the question runs once.
func (a *asker) line(t *testing.T, line, ask string) (r result) {
	t.Helper()
	line, in, _ := strings.Cut(line, " < ")
	line, out, _ := strings.Cut(line, " > ")
	var stdin []byte
	if in != "" {
		stdin = a.file(t, in)
	}
	done := ""
	for stage := range strings.SplitSeq(line, "|") {
		done += "|" + stage
		asked := strings.Contains(stage, "ASK")
		if known, ok := a.streams[done]; ok && !asked {
			r, stdin = known, []byte(known.stdout)
			continue
		}
		first, then, _ := strings.Cut(ask, "|")
		args := strings.Fields(strings.NewReplacer("READ", a.read, "ASK", first).Replace(stage))
		for i := range args {
			args[i] = strings.NewReplacer("FILE", a.trace, "BASE", a.base).Replace(written.ReplaceAllString(args[i], filepath.Join(a.dir, "$0")))
		}
		r = call(t, stdin, args[0], args[1:]...)
		stdin = []byte(r.stdout)
		switch args := strings.Fields(then); {
		case !asked:
			a.streams[done] = r
		case then != "" && r.status == 0:
			r = call(t, stdin, args[0], args[1:]...)
		}
	}
	if out != "" {
		if err := os.WriteFile(filepath.Join(a.dir, out), stdin, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// file is the content of a file that an earlier way wrote.
func (a *asker) file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// linesDiffer is the first lines in which two texts differ.
func linesDiffer(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %s\nbut %s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(x), len(y))
}

// Flags that an input cannot honour are refused, be it a file or standard input.
func TestFlagsTooLate(t *testing.T) {
	trace := generate(t, runs["node"]...)
	dir := t.TempDir()
	saved := filepath.Join(dir, "steps.arrows")
	steps := must(t, nil, "isolate", trace)
	if err := os.WriteFile(saved, steps, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "steps.parquet")
	must(t, nil, "isolate", trace, "-o", kept)
	whole := must(t, nil, "isolate", trace, "--by", "none")
	rows := must(t, nil, "metrics", trace)
	for _, test := range []struct {
		stdin []byte
		line  string
	}{
		{steps, "gaps --by nvtx"}, {steps, "gaps --by none"}, {steps, "metrics --by nvtx"}, {steps, "metrics --gap 1ms"}, {steps, "verdict --by none"},
		{nil, "gaps --by nvtx " + saved}, {nil, "metrics --segment-gap 1s " + saved}, {nil, "verdict --by none " + saved},
		{nil, "gaps --by nvtx " + kept}, {nil, "metrics --marker x " + kept}, {nil, "diff --by nvtx " + kept},
		{whole, "gaps --by nvtx"}, {whole, "metrics --by none"}, {whole, "gaps --per-step"}, {whole, "isolate"},
		{rows, "verdict --by nvtx"}, {rows, "verdict --window trace"}, {rows, "verdict --rank 0"}, {rows, "verdict --from 1 --to 3"},
	} {
		args := strings.Fields(test.line)
		if r := call(t, test.stdin, args[0], args[1:]...); r.status != 2 || r.stdout != "" || !strings.Contains(r.stderr, "hint: ") {
			t.Errorf("%s of %d bytes on standard input: status %d, %s", test.line, len(test.stdin), r.status, r.stderr)
		}
	}
	if r := call(t, steps, "metrics", "--window", "trace", "--format", "csv"); r.status != 0 || !bytes.HasPrefix([]byte(r.stdout), []byte("scope")) {
		t.Errorf("--window trace can be honoured: %s", r.stderr)
	}
}
