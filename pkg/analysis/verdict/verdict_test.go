package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
)

// na is a metric that is not applicable.
const na = -1

// metrics makes a result out of values in the order of metric.Names, by scope, and
// what else is known of the run.
func metrics(t *testing.T, run string, scopes map[string][]float64) *metric.Result {
	t.Helper()
	res := &metric.Result{}
	for _, scope := range metric.Scopes {
		for m, v := range scopes[scope] {
			r := metric.Row{Scope: scope, Metric: metric.Names[m]}
			if v != na {
				r.Numerator, r.Denominator, r.Applicable = int64(math.Round(1000*v)), 1000, true
			}
			res.Rows = append(res.Rows, r)
		}
	}
	if err := json.Unmarshal([]byte(run), &res.Run); err != nil {
		t.Fatal(err)
	}
	return res
}

const plainRun = `{"window": "benchmark", "method": "nvtx", "lanes": 1, "gpu_activity": true,
	"ranks": [{"rank": 0, "total": 30, "common_size": 1, "segments": 2, "benchmark": 20}],
	"phases": [{"phase": "context", "iterations": 9}, {"phase": "generation", "iterations": 15, "replayed": 3}]}`

func TestDecide(t *testing.T) {
	calm := []float64{0.1, 0.05, na, na, na, 0.9, 0.1, 0, 0}
	tests := []struct {
		name                           string
		aggregate, context, generation []float64
		verdict                        string
		over, applicable               int
		hostPrep, nccl, alone          bool
	}{
		{"calm", calm, calm, calm, No, 0, 3, false, false, false},
		{"one vote", []float64{0.31, 0.05, na, na, na, 0.69, 0, 0, 0}, calm, calm, No, 1, 3, false, false, false},
		{"at the thresholds", []float64{0.30, 0.10, 0.50, 0.05, 0.50, 0.60, 0.20, 0, 0}, calm, calm, No, 0, 6, false, false, false},
		{"past them", []float64{0.31, 0.11, 0.51, 0.06, 0.51, 0.59, 0.21, 0, 0}, calm, calm, Yes, 6, 6, true, true, false},
		{"impact is not enough", []float64{0, 0, 0, 0.06, 0, 1, 0, 0, 0}, calm, calm, No, 1, 6, false, false, false},
		{"nor is attribution", []float64{0, 0, 0, 0, 0.6, 1, 0, 0, 0}, calm, calm, No, 1, 6, false, false, false},
		{"idle alone", []float64{0.5, 0, na, na, na, 0.5, 0, 0, 0}, calm, calm, Yes, 2, 3, false, false, true},
		{"NCCL has no vote", []float64{0.31, 0, na, na, na, 0.69, 0.9, 0, 0}, calm, calm, No, 1, 3, false, true, false},
		{"generation has stricter limits", calm, calm, []float64{0.21, 0, na, na, na, 0.79, 0, 0, 0}, Yes, 0, 3, false, false, true},
		{"context has not", calm, []float64{0.21, 0, na, na, na, 0.79, 0, 0, 0}, calm, No, 0, 3, false, false, false},
		{"a phase never lowers", []float64{0.5, 0, na, na, na, 0.5, 0, 0, 0}, nil, nil, Yes, 2, 3, false, false, true},
	}
	for _, test := range tests {
		in := metrics(t, plainRun, map[string][]float64{metric.Aggregate: test.aggregate, metric.Context: test.context, metric.Generation: test.generation})
		r := Decide(in, Defaults())
		if r.Verdict != test.verdict || r.Over != test.over || r.Applicable != test.applicable ||
			r.HostPrep != test.hostPrep || r.NCCL != test.nccl {
			t.Errorf("%s: %s, %d of %d over, host prep %v, NCCL %v", test.name,
				r.Verdict, r.Over, r.Applicable, r.HostPrep, r.NCCL)
		}
		if alone := strings.Contains(strings.Join(r.Warnings, "\n"), "the same measurement, counted twice"); alone != test.alone {
			t.Errorf("%s: warnings %q", test.name, r.Warnings)
		}
		var text bytes.Buffer
		if err := report.Markdown(&text, r.Document(), report.Options{}); err != nil || !strings.HasPrefix(text.String(), "# "+test.verdict+": ") {
			t.Errorf("%s: text %q, %v", test.name, text.String(), err)
		}
	}
}

func TestInconclusive(t *testing.T) {
	run := func(activity bool, calls, replays int) string {
		return fmt.Sprintf(`{"window": "trace", "gpu_activity": %v, "ranks": [{"rank": 3, "graph_launches": %d, "replays": %d}]}`,
			activity, calls, replays)
	}
	apart := func(idle, busy int) string {
		return fmt.Sprintf(`{"window": "benchmark", "method": "allreduce", "gpu_activity": true, "ranks": [{"rank": 0, "total": 30, "benchmark": 30}, {"rank": 1, "apart": true}],
			"apart": [{"Scope": "aggregate", "Metric": "gpu_idle_ratio", "Numerator": %d, "Denominator": 1000, "Applicable": true},
				{"Scope": "aggregate", "Metric": "launch_overhead_ratio", "Denominator": 10000, "Applicable": true},
				{"Scope": "aggregate", "Metric": "gpu_utilization", "Numerator": %d, "Denominator": 1000, "Applicable": true}]}`, idle, busy)
	}
	busy := []float64{0.5, 0.2, na, na, na, 0.5, 0, 0, 0, 0}
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
		{`{"window": "benchmark", "gpu_activity": true, "lost_events": true}`, Inconclusive, "lost CUDA events"},
		{`{"window": "trace", "gpu_activity": true, "no_steps": true}`, Inconclusive, "no inference steps were found"},
		// What was launched outside the window left no trace.
		{`{"gpu_activity": true, "ranks": [{"trace_graph_launches": 80, "total": 6}], "markers": 6}`, Inconclusive, "launched 80 CUDA graphs, but only 0"},
		{`{"gpu_activity": true, "ranks": [{"trace_graph_launches": 80, "trace_replays": 45}]}`, Yes, ""},
		// The host runs ahead: replays of the last launches begin after the window.
		{`{"gpu_activity": true, "ranks": [{"graph_launches": 867, "replays": 855, "trace_graph_launches": 901, "trace_replays": 901}]}`, Yes, ""},
		{`{"gpu_activity": true, "ranks": [{"graph_launches": 867, "replays": 855, "trace_graph_launches": 901, "trace_replays": 889}]}`, Inconclusive, "only 855 replays"},
		{`{"gpu_activity": true, "ranks": [{"total": 20}, {"total": 19}], "markers": 79}`, Inconclusive, "only 39 of 79 forward-step marker ranges"},
		{`{"gpu_activity": true, "ranks": [{"total": 20}, {"total": 20}], "markers": 80}`, Yes, ""},
		{`{"gpu_activity": true, "window": "trace", "markers": 80}`, Yes, ""}, // no steps were asked for
		// The steps of a rank cannot be identified: what it did could change the verdict, or not.
		{apart(900, 100), Yes, ""},
		{apart(5, 995), Inconclusive, "the steps of rank 1 cannot be identified, and its figures would change"},
	}
	for _, test := range tests {
		r := Decide(metrics(t, test.run, map[string][]float64{metric.Aggregate: busy}), Defaults())
		reasons := strings.Join(r.Reasons, "\n")
		if r.Verdict != test.want || !strings.Contains(reasons, test.reason) || (test.reason == "") != (reasons == "") {
			t.Errorf("%s: %s, %q", test.run, r.Verdict, reasons)
		}
		if r.Verdict != Inconclusive {
			continue
		}
		var text bytes.Buffer
		if err := report.Markdown(&text, r.Document(), report.Options{}); err != nil || strings.Contains(text.String(), "YES") || strings.Contains(text.String(), ": NO") {
			t.Errorf("%s: text %q, %v", test.run, text.String(), err)
		}
		for _, reason := range r.Reasons { // once, or in the words of the title
			if n := strings.Count(strings.ToLower(text.String()), strings.ToLower(reason)); n != 1 && reason != noSteps(r.run) {
				t.Errorf("%s: %q is %d times in %s", test.run, reason, n, text.String())
			}
		}
		r.run.Source = "torch" // has advice of its own
		var torch bytes.Buffer
		if err := report.Markdown(&torch, r.Document(), report.Options{}); err != nil || strings.Contains(torch.String(), "nsys profile") ||
			!strings.Contains(torch.String(), "record_function(") || !strings.Contains(torch.String(), "schedule(wait=") || strings.Contains(text.String(), "record_function(") {
			t.Errorf("%s: %s, %v", test.run, torch.String(), err)
		}
		if !strings.HasPrefix(r.Warnings[0], "inconclusive: ") || len(r.Borderline) > 0 {
			t.Errorf("%s: warnings %q, borderline %q", test.run, r.Warnings, r.Borderline)
		}
	}
}

// TestFewReplayed: the first kernels of a replay, which run before the step that they belong to
// begins, make no context step one with CUDA graphs.
func TestFewReplayed(t *testing.T) {
	run := strings.NewReplacer(`"iterations": 9`, `"iterations": 9, "replayed": 10, "kernels": 316`, `"replayed": 3`, `"replayed": 6070, "kernels": 6304`).Replace(plainRun)
	calm := []float64{0.1, 0.05, na, na, na, 0.9, 0.1, 0, 0}
	var b bytes.Buffer
	in := metrics(t, run, map[string][]float64{metric.Aggregate: calm, metric.Context: calm, metric.Generation: calm})
	if err := report.Markdown(&b, Decide(in, Defaults()).Document(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- Context steps: CUDA graphs replay 3.2 % of the kernels, the host launches the others.", "- Generation steps: CUDA graphs are used."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestText(t *testing.T) {
	in := metrics(t, plainRun, map[string][]float64{
		metric.Aggregate: {0.2, 0.05, na, na, na, 0.8, 0.1, 0, 0}, metric.Context: {0.2, 0.05, na, na, na, 0.8, 0.1, 0, 0},
		metric.Generation: {0.4, 0.05, 0.9, 0.2, 0.6, 0.6, 0.3, 0.1, 0.1},
	})
	var b bytes.Buffer
	if err := report.Markdown(&b, Decide(in, Defaults()).Document(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# YES: the host holds the GPUs back\n",
		"In the generation steps **5 of 6 metrics** are over the limit. The GPUs are idle 40.0 % of the time (limit 15 %). 90.0 % of input preparation",
		"2 independent signals: idle GPUs, input preparation. Next: shorten input preparation",
		"- Context steps: healthy. ", "- Context steps: CUDA graphs are not used", "- Generation steps: CUDA graphs are used.", "1.67 times the tokens/s",
		"\n## Benchmark window: NO, 0 of 3 over the limit (1 rank, 1 GPU)\n",
		"\n## Generation steps: YES, 5 of 6 over the limit (15 per rank)\n",
		"\n| gpu_utilization            | 60.0 % | < 80 % | yes        |\n",
		"\n| host_prep_exposed_ratio    |      - | > 50 % | -          |\n",
		"\n| nccl_ratio                 | 30.0 % | > 20 % | caveat     |\n",
		"- NCCL kernels spin until the slowest rank arrives.",
		"and is confirmed as a cause",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestNearLimit shows what is on one side of a limit and, rounded, on it or beyond, and a scope of
// which one metric is over its limit: it is not healthy.
func TestNearLimit(t *testing.T) {
	limits := Defaults()
	if err := limits.Read(strings.NewReader(`{"aggregate": {"launch_overhead_ratio": 0.0846}}`)); err != nil {
		t.Fatal(err)
	}
	in := metrics(t, plainRun, map[string][]float64{
		metric.Aggregate: {300.02, 84.55, na, na, na, 699.98, 199.99, 0, 0}, metric.Context: {300, 0, na, na, na, 700, 0, 0, 0},
	})
	for i := range in.Rows {
		in.Rows[i].Denominator *= 1000
	}
	var b bytes.Buffer
	if err := report.Markdown(&b, Decide(in, limits).Document(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| gpu_idle_ratio             | 30.0 % |   > 30 % | yes (30.002 %) |",
		"| launch_overhead_ratio      |  8.5 % | > 8.46 % | no (8.455 %)   |",
		"| gpu_utilization            | 70.0 % |   < 60 % | no             |",
		"| nccl_ratio                 | 20.0 % |   > 20 % | no (19.999 %)  |",
		"| gpu_idle_ratio             | 30.0 % | > 30 % | no         |",
		"- Benchmark window: 1 metric over the limit (YES needs 2). The GPUs are idle 30.0 % of the time.",
		"- Context steps: healthy. ",
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
	in := metrics(t, plainRun, map[string][]float64{metric.Aggregate: values, metric.Context: values, metric.Generation: values})
	got, err := json.Marshal(Decide(in, Defaults()))
	if err != nil {
		t.Fatal(err)
	}
	m := `{"gpu_idle_ratio":0.5,"launch_overhead_ratio":0.2,"host_prep_exposed_ratio":null,"host_prep_perf_impact":null,` +
		`"host_prep_idle_attribution":null,"gpu_utilization":0.5,"nccl_ratio":0}`
	none := `{"gpu_idle_ratio":null,"launch_overhead_ratio":null,"host_prep_exposed_ratio":null,"host_prep_perf_impact":null,` +
		`"host_prep_idle_attribution":null,"gpu_utilization":null,"nccl_ratio":null}`
	reported := `,"reported":{"graph_launch_ratio":0,"comm_ratio":0,"launch_backpressure_ratio":null,"collective_wait_ratio":null,` +
		`"host_wait_ratio":null,"host_bound_ratio":null},"raised_by":null`
	want := `{"verdict":"YES","borderline":[],"scope":"benchmark","aggregate_metrics":` + m + `,"intervals":` + none + `,"crossed_count":3,"applicable_count":3,"host_prep_confirmed":false,` +
		`"nccl_caveat":false,"crossed_details":{"gpu_idle_ratio":true,"launch_overhead_ratio":true,"host_prep_exposed_ratio":false,` +
		`"host_prep_perf_impact":false,"host_prep_idle_attribution":false,"gpu_utilization":true}` + reported + `,` +
		`"phases":{"context":{"iteration_count":9,"verdict":"YES","crossed_count":3,"applicable_count":3,"host_prep_confirmed":false,"nccl_caveat":false,"metrics":` + m +
		`,"intervals":` + none + reported + `},"generation":{"iteration_count":15,"verdict":"YES","crossed_count":3,"applicable_count":3,"host_prep_confirmed":false,"nccl_caveat":false,"metrics":` + m +
		`,"intervals":` + none + reported + `,"cuda_graphs_detected":true}},` +
		`"steps":{"method":"nvtx","per_rank":[{"rank":0,"total":30,"common_size":1,"segments":2,"benchmark":20}]},"low_load":null,"low_load_unknown":"` + lowLoadUnknown[""] + `","training":false,"warnings":[],` +
		`"optimization_handoff":{"verdict":"YES","primary_bottleneck_phase":"context","host_prep_confirmed":false,` +
		`"top_regressing_ops":null,"top_idle_causes":null,"recommended_first_target":"launch","idle_us_per_step":null,` +
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
	r := Decide(metrics(t, run, map[string][]float64{metric.Aggregate: values, metric.Generation: values}), Defaults())
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{
		"the trace is cut off", "rank 1 has no steps", "only 4 generation steps",
		"30 graph replays, but only 20 calls", "NCCL kernels take 30.0 %",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in\n%s", want, all)
		}
	}
	if got := r.Steps.PerRank[0].Benchmark; got != 4 {
		t.Errorf("benchmark %d without a benchmark segment", got)
	}
	run = `{"window": "trace", "gpu_activity": true, "kernels": 5}`
	r = Decide(metrics(t, run, map[string][]float64{metric.Aggregate: values}), Defaults())
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "kernels and no API calls") || r.Steps.Method != "none" {
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
		`{"context": {"gpu_idle_ratio": 30}}`, `{"context": {"gpu_idle_ratio": "much"}}`, `{"context": {"gpu_idle_ratio": -1}}`,
	} {
		if err := th.Read(strings.NewReader(bad)); err == nil || !strings.HasPrefix(err.Error(), "thresholds: ") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
	if th != want {
		t.Errorf("after errors: %+v", th)
	}
}

// spread gives metrics of a scope an interval of so much on either side.
func spread(res *metric.Result, scope string, by map[string]float64) {
	for i := range res.Rows {
		if r := &res.Rows[i]; r.Scope == scope && r.Applicable {
			d := by[r.Metric]
			r.Interval = &metric.Interval{Low: r.Value() - d, High: r.Value() + d}
		}
	}
}

// TestOneStep warns of a window that ends with its only step.
func TestOneStep(t *testing.T) {
	for _, benchmark := range []string{"1", "null"} {
		run := `{"window": "benchmark", "method": "allreduce", "lanes": 1, "gpu_activity": true, "phases": [],
			"ranks": [{"rank": 0, "total": 1, "common_size": 33, "segments": 1, "benchmark": ` + benchmark + `}]}`
		r := Decide(metrics(t, run, map[string][]float64{metric.Aggregate: {0.1, 0, na, na, na, 0.9, 0, 0, 0}}), Defaults())
		if !slices.ContainsFunc(r.Warnings, func(s string) bool { return strings.Contains(s, "no rank has more than one step") }) {
			t.Errorf("benchmark %s: warnings %q", benchmark, r.Warnings)
		}
	}
}

func TestBorderline(t *testing.T) {
	calm := []float64{0.05, 0.02, na, na, na, 0.95, 0, 0, 0}
	idle := func(v, launch float64) []float64 { return []float64{v, launch, na, na, na, 1 - v, 0, 0, 0} }
	even := func(d float64) map[string]float64 {
		return map[string]float64{"gpu_idle_ratio": d, "gpu_utilization": d, "launch_overhead_ratio": d}
	}
	tests := []struct {
		name                  string
		aggregate, generation []float64
		by, byGeneration      map[string]float64
		verdict, borderline   string
	}{
		{"far from every limit", calm, calm, even(0.02), even(0.02), No, ""},
		// Both votes on idle time are needed, and the second is lost.
		{"idle near 40 %", idle(0.42, 0), calm, even(0.03), even(0), Yes, "aggregate.gpu_utilization"},
		{"it could be", idle(0.38, 0), calm, even(0.03), even(0), No, "aggregate.gpu_utilization"},
		{"one vote is not enough", idle(0.28, 0), calm, even(0.03), even(0), No, ""},
		{"with the other it is", idle(0.28, 0.2), calm, even(0.03), even(0), No, "aggregate.gpu_idle_ratio"},
		{"the ends are far", idle(0.2, 0), calm, even(0.25), even(0), No, "aggregate.gpu_idle_ratio aggregate.gpu_utilization"},
		{"a phase raises it", calm, idle(0.21, 0), even(0), even(0.02), Yes, "generation.gpu_utilization"},
		{"a phase could raise it", calm, idle(0.19, 0), even(0), even(0.02), No, "generation.gpu_utilization"},
		{"the aggregate is firm", idle(0.9, 0.3), idle(0.21, 0), even(0.01), even(0.02), Yes, ""},
		{"both are doubtful", idle(0.41, 0), idle(0.21, 0), even(0.02), even(0.02), Yes, "aggregate.gpu_utilization generation.gpu_utilization"},
		{"the launches decide", idle(0.35, 0.11), calm, map[string]float64{"launch_overhead_ratio": 0.02}, even(0), Yes, "aggregate.launch_overhead_ratio"},
	}
	for _, test := range tests {
		res := metrics(t, plainRun, map[string][]float64{metric.Aggregate: test.aggregate, metric.Context: calm, metric.Generation: test.generation})
		spread(res, metric.Aggregate, test.by)
		spread(res, metric.Generation, test.byGeneration)
		r := Decide(res, Defaults())
		if got := strings.Join(r.Borderline, " "); got != test.borderline || r.Verdict != test.verdict {
			t.Errorf("%s: %s, borderline %q", test.name, r.Verdict, got)
		}
		var text bytes.Buffer
		if err := report.Markdown(&text, r.Document(), report.Options{}); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(text.String(), "\n")
		if strings.Contains(head, "borderline") != (test.borderline != "") {
			t.Errorf("%s: headline %q", test.name, head)
		}
		if said := strings.Contains(strings.Join(r.Warnings, "\n"), "the verdict is borderline"); said != (test.borderline != "") {
			t.Errorf("%s: warnings %q", test.name, r.Warnings)
		}
	}
}

func TestFirstTarget(t *testing.T) {
	run := strings.Replace(plainRun, "{", `{"prep": "_prepare_inputs", `, 1)
	prep := []float64{0.5, 0.2, 0.9, 0.3, 0.6, 0.5, 0, 0, 0}
	for want, values := range map[string][]float64{
		"_prepare_inputs": prep, FirstLaunch: {0.5, 0.2, na, na, na, 0.5, 0, 0, 0},
		"": {0.5, 0.0, na, na, na, 0.5, 0, 0, 0}, " ": {0.1, 0.2, 0.9, 0, 0, 0.9, 0, 0, 0},
	} {
		got := ""
		r := Decide(metrics(t, run, map[string][]float64{metric.Aggregate: values}), Defaults())
		if r.Handoff.FirstTarget != nil {
			got = *r.Handoff.FirstTarget
		}
		if want == " " { // two votes, but not confirmed
			want = FirstLaunch
		}
		if got != want {
			t.Errorf("first target %q, want %q", got, want)
		}
	}
	calm, wait := []float64{0.5, 0, na, na, na, 0.5, 0, 0, 0}, []float64{0.6, 0, na, na, na, 0.4, 0, 0, 0}
	eager := []float64{0.4, 0.3, na, na, na, 0.6, 0, 0, 0}
	r := Decide(metrics(t, plainRun, map[string][]float64{metric.Aggregate: calm, metric.Context: eager, metric.Generation: wait}), Defaults())
	if few := Decide(metrics(t, run, map[string][]float64{metric.Aggregate: {0.7, 0.2, na, na, na, 0.3, 0, 0, 0}}), Defaults()); few.Handoff.FirstTarget != nil {
		t.Errorf("first target %q, want none: more than two thirds of the idle time are no launch's", *few.Handoff.FirstTarget)
	}
	if h := r.Handoff; *h.Phase != metric.Generation || h.FirstTarget != nil {
		t.Errorf("phase %s, first target %q, want none: launches are over their limit in the other phase alone", *h.Phase, *h.FirstTarget)
	}
}
