package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/table"
)

// na is a metric that is not applicable.
const na = -1

// metrics makes a table of metrics out of values in the order of Names, by scope,
// and the metadata.
func metrics(t *testing.T, run string, scopes map[string][]float64) *Input {
	t.Helper()
	tab := table.New(schema, version, append(slices.Clone(fields), table.Field{Name: "denominator_ns", Type: table.Int})...)
	for _, scope := range []string{Aggregate, Context, Generation} {
		for m, v := range scopes[scope] {
			if v == na {
				tab.Append(scope, Names[m], 0, false, nil, 0)
			} else {
				tab.Append(scope, Names[m], int64(1000*v), true, v, 1000)
			}
		}
	}
	tab.Meta["run"] = run
	in, err := FromTable(tab)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

const plainRun = `{"window": "benchmark", "method": "nvtx", "lanes": 1, "gpu_activity": true,
	"ranks": [{"rank": 0, "total": 30, "common_size": 1, "segments": 2, "benchmark": 20}],
	"phases": [{"phase": "context", "iterations": 5}, {"phase": "generation", "iterations": 15, "replayed": 3}]}`

func TestDecide(t *testing.T) {
	calm := []float64{0.1, 0.05, na, na, na, 0.9, 0.1, 0, 0}
	tests := []struct {
		name                           string
		aggregate, context, generation []float64
		verdict                        string
		crossed, applicable            int
		hostPrep, nccl                 bool
	}{
		{"calm", calm, calm, calm, No, 0, 3, false, false},
		{"one vote", []float64{0.31, 0.05, na, na, na, 0.69, 0, 0, 0}, calm, calm, No, 1, 3, false, false},
		{"at the thresholds", []float64{0.30, 0.10, 0.50, 0.05, 0.50, 0.60, 0.20, 0, 0}, calm, calm, No, 0, 6, false, false},
		{"past them", []float64{0.31, 0.11, 0.51, 0.06, 0.51, 0.59, 0.21, 0, 0}, calm, calm, Yes, 6, 6, true, true},
		{"impact is not enough", []float64{0, 0, 0, 0.06, 0, 1, 0, 0, 0}, calm, calm, No, 1, 6, false, false},
		{"nor is attribution", []float64{0, 0, 0, 0, 0.6, 1, 0, 0, 0}, calm, calm, No, 1, 6, false, false},
		{"idle alone", []float64{0.5, 0, na, na, na, 0.5, 0, 0, 0}, calm, calm, Yes, 2, 3, false, false},
		{"NCCL has no vote", []float64{0.31, 0, na, na, na, 0.69, 0.9, 0, 0}, calm, calm, No, 1, 3, false, true},
		{"generation has stricter limits", calm, calm, []float64{0.21, 0, na, na, na, 0.79, 0, 0, 0}, Yes, 0, 3, false, false},
		{"context has not", calm, []float64{0.21, 0, na, na, na, 0.79, 0, 0, 0}, calm, No, 0, 3, false, false},
		{"a phase never lowers", []float64{0.5, 0, na, na, na, 0.5, 0, 0, 0}, nil, nil, Yes, 2, 3, false, false},
	}
	for _, test := range tests {
		in := metrics(t, plainRun, map[string][]float64{Aggregate: test.aggregate, Context: test.context, Generation: test.generation})
		r := Decide(in, Defaults())
		if r.Verdict != test.verdict || r.CrossedCount != test.crossed || r.ApplicableCount != test.applicable ||
			r.HostPrepConfirmed != test.hostPrep || r.NCCLCaveat != test.nccl {
			t.Errorf("%s: %s, %d of %d crossed, host prep %v, NCCL %v", test.name,
				r.Verdict, r.CrossedCount, r.ApplicableCount, r.HostPrepConfirmed, r.NCCLCaveat)
		}
		alone := strings.Contains(strings.Join(r.Warnings, "\n"), "one fact with two votes")
		if want := r.Verdict == Yes && test.name != "past them"; alone != want {
			t.Errorf("%s: warnings %q", test.name, r.Warnings)
		}
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil || !strings.HasPrefix(text.String(), "# "+test.verdict+": ") {
			t.Errorf("%s: text %q, %v", test.name, text.String(), err)
		}
	}
}

func TestInconclusive(t *testing.T) {
	run := func(activity bool, calls, replays int) string {
		return fmt.Sprintf(`{"window": "trace", "gpu_activity": %v, "ranks": [{"rank": 3, "graph_launches": %d, "replays": %d}]}`,
			activity, calls, replays)
	}
	busy := []float64{0.5, 0.2, na, na, na, 0.5, 0, 0, 0}
	tests := []struct {
		run, want, reason string
	}{
		{run(true, 0, 0), Yes, ""},
		{run(true, 2, 0), Yes, ""},
		{run(true, 3, 0), Inconclusive, "rank 3 launched 3 CUDA graphs"},
		{run(true, 1010, 1000), Yes, ""}, // not more than 1 %
		{run(true, 1011, 1000), Inconclusive, "only 1000 replays"},
		{run(true, 0, 500), Yes, ""},
		{run(false, 0, 0), Inconclusive, "no GPU activity"},
	}
	for _, test := range tests {
		r := Decide(metrics(t, test.run, map[string][]float64{Aggregate: busy}), Defaults())
		reasons := strings.Join(r.Reasons, "\n")
		if r.Verdict != test.want || !strings.Contains(reasons, test.reason) || (test.reason == "") != (reasons == "") {
			t.Errorf("%s: %s, %q", test.run, r.Verdict, reasons)
		}
		if r.Verdict == Inconclusive && !strings.HasPrefix(r.Warnings[0], "inconclusive: ") {
			t.Errorf("%s: warnings %q", test.run, r.Warnings)
		}
	}
}

func TestText(t *testing.T) {
	in := metrics(t, plainRun, map[string][]float64{
		Aggregate: {0.2, 0.05, na, na, na, 0.8, 0.1, 0, 0}, Context: {0.2, 0.05, na, na, na, 0.8, 0.1, 0, 0},
		Generation: {0.4, 0.05, 0.9, 0.2, 0.6, 0.6, 0.3, 0.1, 0.1},
	})
	var b bytes.Buffer
	if err := Decide(in, Defaults()).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# YES: the host holds the GPUs back\n",
		"In the generation steps 5 of 6 metrics are crossed: the GPUs idle 40.0 % of the time (limit 15 %); 90.0 % of the preparation",
		"Next: shorten the preparation of inputs",
		"\n## Benchmark window: NO (1 rank, 1 lane)\n",
		"\n## Generation steps: YES (15 steps a rank)\n",
		"\n| gpu_utilization            | 60.0 % |    < 80 % | yes     |\n",
		"\n| host_prep_exposed_ratio    |    n/a |    > 50 % | -       |\n",
		"\n| nccl_ratio                 | 30.0 % |    > 20 % | caveat  |\n",
		"- NCCL kernels spin until the slowest rank arrives.",
		"which is confirmed as a cause",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestExitCode(t *testing.T) {
	for verdict, want := range map[string]int{No: 0, Yes: 1, Inconclusive: 3} {
		if got := ExitCode(verdict); got != want {
			t.Errorf("%s: %d", verdict, got)
		}
	}
}

// The names and their order are an interface.
func TestJSON(t *testing.T) {
	values := []float64{0.5, 0.2, na, na, na, 0.5, 0, 0, 0}
	in := metrics(t, plainRun, map[string][]float64{Aggregate: values, Context: values, Generation: values})
	got, err := json.Marshal(Decide(in, Defaults()))
	if err != nil {
		t.Fatal(err)
	}
	m := `{"gpu_idle_ratio":0.5,"launch_overhead_ratio":0.2,"host_prep_exposed_ratio":null,"host_prep_perf_impact":null,` +
		`"host_prep_idle_attribution":null,"gpu_utilization":0.5,"nccl_ratio":0}`
	want := `{"verdict":"YES","aggregate_metrics":` + m + `,"crossed_count":3,"applicable_count":3,"host_prep_confirmed":false,` +
		`"nccl_caveat":false,"crossed_details":{"gpu_idle_ratio":true,"launch_overhead_ratio":true,"host_prep_exposed_ratio":false,` +
		`"host_prep_perf_impact":false,"host_prep_idle_attribution":false,"gpu_utilization":true},` +
		`"phases":{"context":{"iteration_count":5,"verdict":"YES","crossed_count":3,"applicable_count":3,"host_prep_confirmed":false,"metrics":` + m +
		`},"generation":{"iteration_count":15,"verdict":"YES","crossed_count":3,"applicable_count":3,"host_prep_confirmed":false,"metrics":` + m +
		`,"cuda_graphs_detected":true}},` +
		`"steps":{"method":"nvtx","per_rank":[{"rank":0,"total":30,"common_size":1,"segments":2,"benchmark":20}]},"warnings":[],` +
		`"optimization_handoff":{"verdict":"YES","primary_bottleneck_phase":"context","host_prep_confirmed":false,` +
		`"wall_time_per_step_us":null,"inter_step_gap_p50_us":null,"kernels_per_step":null}}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWarnings(t *testing.T) {
	run := `{"window": "benchmark", "method": "nvtx", "gpu_activity": true, "hidden_graphs": 7, "kernels": 5,
		"warnings": ["the trace is cut off"],
		"ranks": [{"rank": 0, "total": 4, "replays": 30, "graph_launches": 20}, {"rank": 1}],
		"phases": [{"phase": "generation", "iterations": 4}]}`
	values := []float64{0.1, 0, na, na, na, 0.9, 0.3, 0, 0}
	r := Decide(metrics(t, run, map[string][]float64{Aggregate: values, Generation: values}), Defaults())
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{
		"the trace is cut off", "rank 0 has no benchmark segment: all 4 steps", "rank 1 has no steps", "only 4 generation steps",
		"7 graph replays have one row each", "30 graph replays, but only 20 calls", "NCCL kernels take 30.0 %",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
	if got := r.Steps.PerRank[0].Benchmark; got != 4 {
		t.Errorf("benchmark %d without a benchmark segment", got)
	}
	run = `{"window": "trace", "gpu_activity": true, "kernels": 5}`
	r = Decide(metrics(t, run, map[string][]float64{Aggregate: values}), Defaults())
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "no calls that launch them") || r.Steps.Method != "none" {
		t.Errorf("method %s, warnings %q", r.Steps.Method, r.Warnings)
	}
}

func TestThresholds(t *testing.T) {
	th := Defaults()
	if err := th.Read(strings.NewReader(`{"generation": {"gpu_idle_ratio": 0.9}}`)); err != nil {
		t.Fatal(err)
	}
	want := Defaults()
	*want.Generation.Limit("gpu_idle_ratio") = 0.9
	if th != want {
		t.Errorf("%+v", th)
	}
	if want.Aggregate.Limit("comm_ratio") != nil {
		t.Error("comm_ratio has a threshold")
	}
	for _, bad := range []string{
		`{"generation": {"gpu_idel_ratio": 0.9}}`, `{"gpu_idle_ratio": 0.9}`, `{} {}`, `{`, ``, `[]`,
		`{"context": {"gpu_idle_ratio": "much"}}`, `{"context": {"gpu_idle_ratio": -1}}`,
	} {
		if err := th.Read(strings.NewReader(bad)); err == nil || !strings.HasPrefix(err.Error(), "thresholds: ") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	if th != want {
		t.Errorf("after errors: %+v", th)
	}
}

func TestFromTableErrors(t *testing.T) {
	good := func() *table.Table {
		tab := table.New(schema, version, fields...)
		tab.Append(Aggregate, "gpu_idle_ratio", 1, true, 0.5)
		tab.Meta["run"] = "{}"
		return tab
	}
	if _, err := FromTable(good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*table.Table){
		"schema":   func(t *table.Table) { t.Schema = "operations" },
		"version":  func(t *table.Table) { t.Version = 2 },
		"metadata": func(t *table.Table) { t.Meta["run"] = "{" },
		"column":   func(t *table.Table) { t.Columns[0].Name = "sope" },
		"scope":    func(t *table.Table) { t.Columns[0].Texts[0] = "month" },
	} {
		tab := good()
		spoil(tab)
		if _, err := FromTable(tab); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
