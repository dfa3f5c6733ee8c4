package round_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/hotspot"
	"github.com/hostbound/hostbound/pkg/hotspot/round"
	"github.com/hostbound/hostbound/pkg/report"
)

// input reads a round's profile, and makes of it the part of a report that rounds use.
func input(t *testing.T, name, text string, bench ...round.Benchmark) round.Input {
	t.Helper()
	p, err := lineprof.Read(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(name, err)
	}
	rep := hotspot.Analyze([]*lineprof.Profile{p}, hotspot.Options{})
	rep.Hotspots, rep.DrillDown, rep.ProfileNext = nil, nil, ""
	return round.Input{Name: name, Report: rep, Bench: bench}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func readBench(t *testing.T, name string) []round.Benchmark {
	t.Helper()
	runs, err := round.ReadBench(strings.NewReader(read(t, name)))
	if err != nil {
		t.Fatal(name, err)
	}
	return runs
}

func near(got *float64, want, tolerance float64) bool {
	return got != nil && math.Abs(*got-want) <= tolerance
}

// TestLlama follows four profiles of _prepare_tp_inputs of Llama-3.1-8B on four GPUs:
// 57.7, 47.7, 41.1 and 40.1 s.
func TestLlama(t *testing.T) {
	var in []round.Input
	for _, name := range []string{"round0_baseline", "round1_single_loop", "round2_no_dead_work", "round3_fewer_calls"} {
		in = append(in, input(t, name, read(t, "testdata/llama/"+name+".txt")))
	}
	in[0].Bench = readBench(t, "testdata/llama/round0_baseline.bench.json")
	in[3].Bench = readBench(t, "testdata/llama/round3_fewer_calls.bench.json")
	notes, err := round.ReadNotes(strings.NewReader(read(t, "testdata/llama/notes.toml")))
	if err != nil {
		t.Fatal(err)
	}
	res := round.Evaluate(in, round.Options{Notes: notes})
	for i, want := range []float64{0, -17.3, -13.8, -2.4} {
		if r := res.Rounds[i]; i > 0 && (!near(r.ChangePct, want, 0.1) || r.Verdict != round.Improved) {
			t.Errorf("%s: %v %s, want %.1f %% improved", r.Name, r.ChangePct, r.Verdict, want)
		}
	}
	if c := res.Summary.Cumulative; c == nil || !near(&c.ChangePct, -30.5, 0.1) {
		t.Errorf("cumulative: %+v", c)
	}
	for _, want := range []struct {
		metric round.Metric
		pct    float64
	}{{round.TPOT, -22.7}, {round.OutputThroughput, 18.7}} {
		found := false
		for _, l := range res.Summary.Benchmark {
			found = found || l.Metric == want.metric && near(&l.ChangePct, want.pct, 0.1)
		}
		if !found {
			t.Errorf("%s: want %+.1f %% in %+v", want.metric, want.pct, res.Summary.Benchmark)
		}
	}
	if r := res.Stop.Reason; r == nil || !strings.HasPrefix(*r, "rounds done: 3 of 3") || !strings.Contains(*r, "2.4 %, under 5 %") {
		t.Errorf("stop: %v", r)
	}
	if f := res.Summary.Failed; len(f) != 1 || f[0].Type != "FUNCALL" || !strings.Contains(f[0].Change, "conditional expression") {
		t.Errorf("failed attempts: %+v", f)
	}
	if tgt := res.Rounds[2].Target; tgt == nil || !strings.Contains(tgt.Source, "MultimodalParams(") || tgt.Status != "REMOVED" {
		t.Errorf("target of round 2: %+v", tgt)
	}
	if w := res.Warnings; len(w) != 0 {
		t.Errorf("warnings: %q", w)
	}
}

// table makes a profile of one function: lines of hits, ms and source.
func table(name string, lines ...string) string {
	var b strings.Builder
	total := 0
	for i, l := range lines {
		f := strings.SplitN(l, "|", 3)
		ms, err := strconv.Atoi(f[1])
		if err != nil {
			panic("BUG: " + err.Error())
		}
		total += ms
		fmt.Fprintf(&b, "%6d %9s %12d000.0 %8.1f %8.1f  %s\n", 10+i, f[0], ms, 1.0, 1.0, f[2])
	}
	return fmt.Sprintf("Timer unit: 1e-06 s\n\nTotal time: %g s\nFile: /srv/app/engine.py\nFunction: %s at line 10\n\n"+
		"Line #      Hits         Time  Per Hit   %% Time  Line Contents\n"+
		"==============================================================\n%s\n", float64(total)/1000, name, b.String())
}

func bench(tok ...float64) (runs []round.Benchmark) {
	for _, x := range tok {
		runs = append(runs, round.Benchmark{round.OutputThroughput: x})
	}
	return runs
}

// TestVerdicts: throughput decides over profile time, and intervals over points.
func TestVerdicts(t *testing.T) {
	slow, fast := table("step", "100|900|    work()", "100|100|    rest()"), table("step", "100|400|    work()", "100|100|    rest()")
	for _, c := range []struct {
		name          string
		before, after string
		a, b          []float64
		want          round.Verdict
		by            string
	}{
		{"profile alone", slow, fast, nil, nil, round.Improved, "profile"},
		{"profile alone, worse", fast, slow, nil, nil, round.Regressed, "profile"},
		{"the same profile", slow, slow, nil, nil, round.NoChange, "profile"},
		{"faster profile, slower benchmark", slow, fast, []float64{1000}, []float64{900}, round.Regressed, "throughput_tok_s"},
		{"slower profile, faster benchmark", fast, slow, []float64{1000}, []float64{1100}, round.Improved, "throughput_tok_s"},
		{"single runs, little", slow, fast, []float64{1000}, []float64{1010}, round.NoChange, "throughput_tok_s"},
		{"runs that differ", slow, fast, []float64{900, 1100, 1000}, []float64{950, 1150, 1060}, round.NoChange, "throughput_tok_s"},
		{"runs that agree", slow, fast, []float64{1000, 1001, 1002}, []float64{1010, 1011, 1012}, round.Improved, "throughput_tok_s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := round.Evaluate([]round.Input{input(t, "round0_a", c.before, bench(c.a...)...), input(t, "round1_b", c.after, bench(c.b...)...)}, round.Options{})
			r := res.Rounds[1]
			if r.Verdict != c.want || r.Decisive == nil || r.Decisive.By != c.by || r.RollBack != (c.want == round.Regressed) {
				t.Errorf("%s by %+v, roll back %v (%s), want %s by %s", r.Verdict, r.Decisive, r.RollBack, r.Reason, c.want, c.by)
			}
		})
	}
}

// TestUnmeasured: a round is compared with the last kept one in profile, and in its
// benchmark with the last kept one that has one.
func TestUnmeasured(t *testing.T) {
	at := func(i int, ms string, tok ...float64) round.Input {
		return input(t, "round"+strconv.Itoa(i)+"_x", table("step", "100|"+ms+"|    work()"), bench(tok...)...)
	}
	res := round.Evaluate([]round.Input{at(0, "900", 1000), at(1, "700"), at(2, "600", 1200)}, round.Options{})
	if r := res.Rounds[2]; r.Verdict != round.Improved || r.Decisive.By != "profile" || !strings.Contains(r.Reason, "since round0_x: throughput +20.0 %") {
		t.Errorf("%s by %+v: %s", r.Verdict, r.Decisive, r.Reason)
	}
	res = round.Evaluate([]round.Input{at(0, "900", 1000), at(1, "700"), at(2, "600", 800)}, round.Options{})
	if r := res.Rounds[2]; r.Verdict != round.Regressed || !r.RollBack {
		t.Errorf("throughput fell over two rounds: %s: %s", r.Verdict, r.Reason)
	}
}

// TestSteps: twice as many steps in the same time is half the time per step.
func TestSteps(t *testing.T) {
	res := round.Evaluate([]round.Input{
		input(t, "round0_a", table("step", "100|800|    work()")),
		input(t, "round1_b", table("step", "200|800|    work()  # moved")),
	}, round.Options{})
	r := res.Rounds[1]
	if !r.PerStep || !near(r.ChangePct, -50, 0.01) {
		t.Errorf("%v per step %v, want -50", r.ChangePct, r.PerStep)
	}
	if len(r.Lines) != 1 || r.Lines[0].Status != "" {
		t.Errorf("a comment makes it another line: %+v", r.Lines)
	}
}

// TestRename: time that moved into a function of another name is no improvement.
func TestRename(t *testing.T) {
	before := table("prepare", "100|900|    work()") + table("step", "100|100|    rest()")
	after := table("prepare_fast", "100|900|    work()") + table("step", "100|100|    rest()")
	res := round.Evaluate([]round.Input{input(t, "round0_a", before), input(t, "round1_b", after)}, round.Options{})
	r := res.Rounds[1]
	if r.Verdict != round.NoChange {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	status := map[string]string{}
	for _, f := range r.Functions {
		status[f.Function] = f.Status
	}
	if status["prepare"] != "REMOVED" || status["prepare_fast"] != "NEW" {
		t.Errorf("functions: %v", status)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "prepare, prepare_fast") {
		t.Errorf("warnings: %q", res.Warnings)
	}
}

// TestRollBack: after a round that regressed the next one is compared with the one
// before it, and what the regression looks like is named.
func TestRollBack(t *testing.T) {
	res := round.Evaluate([]round.Input{
		input(t, "round0_a", table("step", "100|500|    if ready:", "100|500|        x = work()")),
		input(t, "round1_ternary", table("step", "100|1400|    x = work() if ready else None")),
		input(t, "round2_c", table("step", "100|300|    if ready:", "100|500|        x = work()")),
	}, round.Options{})
	r := res.Rounds[1]
	if r.Verdict != round.Regressed || !r.RollBack || len(r.Pitfalls) != 1 || r.Pitfalls[0].Name != "conditional expression" {
		t.Errorf("%s, roll back %v, %+v", r.Verdict, r.RollBack, r.Pitfalls)
	}
	if r := res.Rounds[2]; *r.Against != "round0_a" || !near(r.ChangePct, -20, 0.01) {
		t.Errorf("against %s: %v", *r.Against, *r.ChangePct)
	}
	if f := res.Summary.Failed; len(f) != 1 || f[0].Round != "round1_ternary" {
		t.Errorf("failed: %+v", f)
	}
}

// TestStop: each rule can be the one that holds.
func TestStop(t *testing.T) {
	at := func(i int, ms string) round.Input {
		return input(t, "round"+strconv.Itoa(i)+"_x", table("step", "100|"+ms+"|    work()"))
	}
	waste := hotspot.Hotspot{Type: hotspot.Sync, Options: []hotspot.Option{{Risk: "low"}}}
	risky := hotspot.Hotspot{Type: hotspot.Sync, Options: []hotspot.Option{{Risk: "high"}}}
	work, blind := hotspot.Hotspot{Type: hotspot.Compute, Source: "y = f(x)"}, hotspot.Hotspot{Type: hotspot.Compute}
	for _, c := range []struct {
		name  string
		ms    []string
		left  []hotspot.Hotspot
		tests string
		want  string
	}{
		{"go on", []string{"1000", "800"}, []hotspot.Hotspot{waste}, "passed", ""},
		{"rounds", []string{"1000", "800", "600", "400"}, []hotspot.Hotspot{waste}, "passed", "rounds done"},
		{"gain", []string{"1000", "970", "950"}, []hotspot.Hotspot{waste}, "passed", "under 5 %"},
		{"a call that was not profiled", []string{"1000", "970", "950"}, []hotspot.Hotspot{waste}, "passed", ""},
		{"compute", []string{"1000", "800"}, []hotspot.Hotspot{work}, "passed", "only COMPUTE left"},
		{"no source", []string{"1000", "800"}, []hotspot.Hotspot{blind}, "passed", ""},
		{"risk", []string{"1000", "800"}, []hotspot.Hotspot{risky, work}, "passed", "the rest is high-risk"},
		{"tests", []string{"1000", "800"}, []hotspot.Hotspot{waste}, "failed", "tests failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in []round.Input
			for i, ms := range c.ms {
				in = append(in, at(i, ms))
				in[i].Report.Hotspots = c.left
				if strings.HasPrefix(c.name, "a call") {
					in[i].Report.DrillDown = []hotspot.DrillDown{{Callee: "work", Share: 0.06}}
				}
			}
			notes := &round.Notes{Rounds: []round.Note{{Name: in[len(in)-1].Name, Tests: c.tests}}}
			got := round.Evaluate(in, round.Options{Notes: notes}).Stop.Reason
			if (got == nil) != (c.want == "") || got != nil && !strings.HasPrefix(*got, c.want) {
				t.Errorf("%v, want %q", got, c.want)
			}
		})
	}
}

// TestAffinity: rounds on different CPUs are warned of.
func TestAffinity(t *testing.T) {
	p := table("step", "100|900|    work()")
	notes := &round.Notes{Rounds: []round.Note{{Name: "round0_a", CPUs: "0-15"}, {Name: "round1_b", CPUs: "16-31"}}}
	res := round.Evaluate([]round.Input{input(t, "round0_a", p), input(t, "round1_b", p)}, round.Options{Notes: notes})
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "16-31") {
		t.Errorf("warnings: %q", res.Warnings)
	}
}

// TestReadBench reads what each tool writes, under its own names.
func TestReadBench(t *testing.T) {
	for name, want := range map[string][]round.Benchmark{
		"vllm.json":    {{round.OutputThroughput: 2311.5, round.RequestThroughput: 9.03, round.TPOT: 24.1, round.ITL: 24, round.E2EL: 6420.5, round.TTFT: 241.9}},
		"sglang.jsonl": {{round.OutputThroughput: 2004.1, round.RequestThroughput: 7.8, round.TPOT: 21.5, round.ITL: 21.4, round.E2EL: 5530.2, round.TTFT: 130.3}, {round.OutputThroughput: 2011.9, round.RequestThroughput: 7.9, round.TPOT: 21.3, round.ITL: 21.2, round.E2EL: 5511, round.TTFT: 128.8}},
		"trtllm.json":  {{round.OutputThroughput: 3200, round.RequestThroughput: 12.5, round.TPOT: 37.4, round.E2EL: 9940, round.TTFT: 402}},
	} {
		got := readBench(t, filepath.Join("testdata/bench", name))
		if len(got) != len(want) {
			t.Fatalf("%s: %d runs, want %d", name, len(got), len(want))
		}
		for i := range want {
			if len(got[i]) != len(want[i]) {
				t.Errorf("%s: %v, want %v", name, got[i], want[i])
			}
			for m, x := range want[i] {
				if got[i][m] != x {
					t.Errorf("%s: %s %v, want %v", name, m, got[i][m], x)
				}
			}
		}
	}
	for _, bad := range []string{"", "[]", "null", "{}", `{"output_throughput": "fast"}`, `{"output_throughput": 12`, "{\"a\":" + strings.Repeat("{\"a\":", 100),
		`{"output_throughput": NaN}`, `{"output_throughput": -3}`, strings.Repeat("[", 1000)} {
		if runs, err := round.ReadBench(strings.NewReader(bad)); err == nil {
			t.Errorf("%.40q: %v", bad, runs)
		}
	}
}

// TestReadNotes: TOML and JSON, and what is neither.
func TestReadNotes(t *testing.T) {
	for _, text := range []string{
		"[[rounds]]\nname = \"round1_a\"\nline = 7\n[[rounds.failed]]\nchange = \"b\"\n",
		`{"rounds": [{"name": "round1_a", "line": 7, "failed": [{"change": "b"}]}]}`,
	} {
		n, err := round.ReadNotes(strings.NewReader(text))
		if err != nil || len(n.Rounds) != 1 || n.Rounds[0].Line != 7 || n.Rounds[0].Failed[0].Change != "b" {
			t.Errorf("%q: %+v, %v", text, n, err)
		}
	}
	for _, bad := range []string{"{", "[[rounds]]", "[[rounds]]\nname = 'a'\ncolour = 1", `{"rounds": [{"name": "a"}, {"name": "a"}]}`, "[[rounds]]\nname = 'a'\ntests = 'maybe'"} {
		if n, err := round.ReadNotes(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: %+v", bad, n)
		}
	}
}

// TestDocument: the report renders, with the seven parts of the summary.
func TestDocument(t *testing.T) {
	res := round.Evaluate([]round.Input{
		input(t, "round0_a", table("step", "100|500|    work()"), bench(1000, 1010)...),
		input(t, "round1_b", table("step", "100|400|    work()"), bench(1100, 1110)...),
	}, round.Options{})
	var b strings.Builder
	if err := report.Markdown(&b, res.Document(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# round1_b: improved; profiled time -20.0 % since", "Summary: rounds", "Summary: cumulative improvement", "Summary: benchmark",
		"Summary: changes", "Summary: failed attempts", "Summary: remaining hotspots", "Summary: recommendations"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if rows := res.Rows(); rows.Len() != 2 {
		t.Errorf("%d rows", rows.Len())
	}
}
