package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// expected is what a file TRACE.METHOD.expected.json says of a trace. Its keys
// are all that such a file may have, so that none goes unchecked.
type expected struct {
	Ranks           int
	GPUs            int `json:"lanes"`
	Kernels, Graphs int64
	Steps           map[string]struct {
		Total, Segments, Bench int64
		CommonSize             int64 `json:"common_size"`
	}
	Aggregate expectedScope
	Phases    map[string]expectedScope
	Verdict   string

	IdleUs   float64            `json:"idle_us"`
	CausesUs map[string]float64 `json:"idle_causes_us"`
	Gaps     expectedGaps
	Coverage *float64 `json:"graph_coverage"`
	Steady   *expectedSteady

	WhyUs map[string]float64 `json:"idle_why_us"` // by cause | why
}

type expectedScope struct {
	Verdict           string
	OverCount         int  `json:"crossed_count"`
	ApplicableCount   int  `json:"applicable_count"`
	HostPrepConfirmed bool `json:"host_prep_confirmed"`
	NCCLCaveat        bool `json:"nccl_caveat"`
	IterationCount    int  `json:"iteration_count"`
	Metrics           map[string]*float64
}

type expectedGaps struct {
	Count   []int64
	TotalUs []float64 `json:"total_us"`
	Top     [][3]any  // us, previous, next
}

type expectedSteady struct {
	Steps, Gen    int64
	WallUs        float64        `json:"wall_us"`
	BusyUs        float64        `json:"busy_us"`
	IdleUs        float64        `json:"idle_us"`
	DurationUs    float64        `json:"duration_us"`
	GpuUs         float64        `json:"gpu_us"`
	GapUs         map[string]any `json:"gap_us"`
	EagerKernels  float64        `json:"eager_kernels"`
	GraphKernels  float64        `json:"graph_kernels"`
	GraphLaunches *float64       `json:"graph_launches"`
	Ops, APIs     map[string]float64
}

// TestExpectedFigures compares what the commands say with figures that other code
// computed, on the traces in the folder that HOSTBOUND_TRACES names.
func TestExpectedFigures(t *testing.T) {
	t.Parallel()
	dir := testrun.Folder(t, "TRACES")
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.expected.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.expected.json under %s: %v", dir, err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".expected.json")
		i := strings.LastIndex(base, ".") // names may hold dots
		name, method := base[:i], base[i+1:]
		t.Run(base, func(t *testing.T) {
			want := readExpected(t, file)
			args := append(exports(filepath.Dir(file), name), "--by", method)
			t.Run("verdict", func(t *testing.T) { checkVerdict(t, args, want) })
			t.Run("metrics", func(t *testing.T) { checkMetrics(t, args, want) })
			t.Run("gaps", func(t *testing.T) { checkGaps(t, args, want) })
			if want.Steady != nil {
				t.Run("diff", func(t *testing.T) { checkSteady(t, exports(filepath.Dir(file), name), method, want.Steady) })
			}
		})
	}
}

func readExpected(t *testing.T, file string) *expected {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := &expected{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(want); err != nil {
		t.Fatal(err)
	}
	return want
}

// exports are the files of a trace.
func exports(dir, name string) []string {
	if name != "rank012" {
		return []string{filepath.Join(dir, name+".sqlite")}
	}
	var files []string
	for rank := range 3 {
		files = append(files, filepath.Join(dir, fmt.Sprintf("rank%d.sqlite", rank)))
	}
	return files
}

// answer runs a command that writes JSON.
func answer(t *testing.T, v any, command string, args ...string) {
	t.Helper()
	if err := json.Unmarshal(must(t, nil, command, append(args, "--format", "json")...), v); err != nil {
		t.Fatal(err)
	}
}

// near checks a figure.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// nearOrNull checks a figure that may be null.
func nearOrNull(t *testing.T, what string, got, want *float64) {
	t.Helper()
	switch {
	case got == nil || want == nil:
		if got != want {
			t.Errorf("%s: is one null? %v, want %v", what, got, want)
		}
	default:
		near(t, what, *got, *want)
	}
}

// sameKeys checks that two maps have the same keys and figures.
func sameKeys(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		t.Errorf("%s: %q, want %q", what, g, w)
	}
	for name, w := range want {
		near(t, what+" "+name, got[name], w)
	}
}

func checkVerdict(t *testing.T, args []string, want *expected) {
	var got struct {
		Verdict           string
		AggregateMetrics  map[string]*float64 `json:"aggregate_metrics"`
		OverCount         int                 `json:"crossed_count"`
		ApplicableCount   int                 `json:"applicable_count"`
		HostPrepConfirmed bool                `json:"host_prep_confirmed"`
		NCCLCaveat        bool                `json:"nccl_caveat"`
		Phases            map[string]expectedScope
		Steps             struct {
			PerRank []struct {
				Rank, Total, Segments, Benchmark int64
				CommonSize                       int64 `json:"common_size"`
			} `json:"per_rank"`
		}
		Handoff struct {
			WallUs   *float64 `json:"wall_time_per_step_us"`
			GapP50Us *float64 `json:"inter_step_gap_p50_us"`
			Kernels  *float64 `json:"kernels_per_step"`
		} `json:"optimization_handoff"`
	}
	answer(t, &got, "verdict", args...)
	if got.Verdict != want.Verdict {
		t.Errorf("verdict %s, want %s", got.Verdict, want.Verdict)
	}
	// The document has the verdict of the aggregate only as its count of votes.
	verdict := "NO"
	if got.OverCount >= 2 {
		verdict = "YES"
	}
	checkScope(t, "aggregate", expectedScope{
		verdict, got.OverCount, got.ApplicableCount, got.HostPrepConfirmed, got.NCCLCaveat, 0, got.AggregateMetrics,
	}, want.Aggregate)
	if g, w := slices.Sorted(maps.Keys(got.Phases)), slices.Sorted(maps.Keys(want.Phases)); !slices.Equal(g, w) {
		t.Errorf("phases %q, want %q", g, w)
	}
	for phase, w := range want.Phases {
		g := got.Phases[phase]
		g.NCCLCaveat = w.NCCLCaveat // which it does not say of phases
		checkScope(t, phase, g, w)
	}
	if len(got.Steps.PerRank) != len(want.Steps) {
		t.Errorf("steps of %d ranks, want %d", len(got.Steps.PerRank), len(want.Steps))
	}
	for _, r := range got.Steps.PerRank {
		w := want.Steps[fmt.Sprint(r.Rank)]
		if r.Total != w.Total || r.Segments != w.Segments || r.Benchmark != w.Bench || r.CommonSize != w.CommonSize {
			t.Errorf("steps %+v, want %+v", r, w)
		}
	}
	if w := want.Steady; w == nil {
		if got.Handoff.WallUs != nil {
			t.Error("there are steady steps")
		}
	} else {
		nearOrNull(t, "wall", got.Handoff.WallUs, &w.WallUs)
		if p50, ok := w.GapUs["p50"].(float64); ok {
			nearOrNull(t, "gap", got.Handoff.GapP50Us, &p50)
		}
		if kernels := w.EagerKernels + w.GraphKernels; want.Graphs == 0 {
			nearOrNull(t, "kernels", got.Handoff.Kernels, &kernels)
		} else if got.Handoff.Kernels != nil {
			t.Error("replays hide kernels, and their number is known")
		}
	}
}

func checkScope(t *testing.T, what string, got, want expectedScope) {
	t.Helper()
	metrics := got.Metrics
	if g, w := got, want; true {
		g.Metrics, w.Metrics = nil, nil
		if fmt.Sprint(g) != fmt.Sprint(w) {
			t.Errorf("%s: %+v, want %+v", what, g, w)
		}
	}
	if len(metrics) != 7 {
		t.Errorf("%s: %d metrics", what, len(metrics))
	}
	for name, g := range metrics {
		nearOrNull(t, what+"."+name, g, want.Metrics[name])
	}
}

// checkMetrics checks the rows of metrics, which has those without a vote, too.
func checkMetrics(t *testing.T, args []string, want *expected) {
	_, table, err := arrow.Open(bytes.NewReader(must(t, nil, "metrics", append(args, "--format", "arrow")...)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := metric.FromTable(table)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Ranks) != want.Ranks || got.GPUs != want.GPUs || got.Kernels != want.Kernels || got.HiddenGraphs != want.Graphs {
		t.Errorf("%d ranks, %d GPUs, %d kernels, %d graphs; want %d, %d, %d, %d", len(got.Ranks), got.GPUs, got.Kernels, got.HiddenGraphs,
			want.Ranks, want.GPUs, want.Kernels, want.Graphs)
	}
	scopes := maps.Clone(want.Phases)
	if scopes == nil {
		scopes = map[string]expectedScope{}
	}
	scopes["aggregate"] = want.Aggregate
	found := map[string]int{}
	for i := range got.Rows {
		r := &got.Rows[i]
		w, ok := scopes[r.Scope].Metrics[r.Metric]
		if !ok {
			// The files with expectations know nothing of waits in collectives.
			if m := r.Metric; m != metric.CollectiveWait && m != metric.HostWait && m != metric.HostBound {
				t.Errorf("%s.%s is not expected", r.Scope, r.Metric)
			}
			continue
		}
		found[r.Scope]++
		var value *float64
		if v := r.Value(); !math.IsNaN(v) {
			value = &v
		}
		nearOrNull(t, r.Scope+"."+r.Metric, value, w)
	}
	for name, s := range scopes {
		if found[name] != len(s.Metrics) {
			t.Errorf("%s: %d metrics, want %d", name, found[name], len(s.Metrics))
		}
	}
}

func checkGaps(t *testing.T, args []string, want *expected) {
	var got struct {
		Idle struct {
			TotalUs float64 `json:"total_us"`
			Causes  []struct {
				Cause string
				Us    float64
				Why   []struct {
					Why string
					Us  float64
				}
			}
		}
		Gaps struct {
			Buckets []struct {
				Count   int64
				TotalUs float64 `json:"total_us"`
			}
			Top []struct {
				GapUs          float64 `json:"gap_us"`
				Previous, Next string
			}
		}
		Graph struct{ Coverage *float64 }
	}
	answer(t, &got, "gaps", args...)
	near(t, "idle time", got.Idle.TotalUs, want.IdleUs)
	causes, whys := map[string]float64{}, map[string]float64{}
	for _, c := range got.Idle.Causes {
		if c.Cause == "memop" || c.Cause == "alloc" {
			c.Cause = "api" // the expected figures do not tell these classes apart
		}
		causes[c.Cause] += c.Us
		for _, w := range c.Why {
			whys[c.Cause+" | "+w.Why] += w.Us
		}
	}
	sameKeys(t, "idle cause", causes, want.CausesUs)
	sameKeys(t, "why", whys, want.WhyUs)
	if len(got.Gaps.Buckets) != len(want.Gaps.Count) || len(got.Gaps.Top) < len(want.Gaps.Top) {
		t.Fatalf("%d buckets and %d gaps, want %d and %d", len(got.Gaps.Buckets), len(got.Gaps.Top), len(want.Gaps.Count), len(want.Gaps.Top))
	}
	for k, b := range got.Gaps.Buckets {
		if b.Count != want.Gaps.Count[k] {
			t.Errorf("%d gaps in bucket %d, want %d", b.Count, k, want.Gaps.Count[k])
		}
		near(t, fmt.Sprint("bucket ", k), b.TotalUs, want.Gaps.TotalUs[k])
	}
	for k, w := range want.Gaps.Top {
		g := got.Gaps.Top[k]
		near(t, fmt.Sprint("gap ", k), g.GapUs, w[0].(float64))
		if g.Previous != w[1] || g.Next != w[2] {
			t.Errorf("gap %d between %s and %s, want %v", k, g.Previous, g.Next, w[1:])
		}
	}
	nearOrNull(t, "graph coverage", got.Graph.Coverage, want.Coverage)
}

func checkSteady(t *testing.T, files []string, method string, want *expectedSteady) {
	type row struct {
		Name     string
		Baseline *float64 `json:"baseline_us"`
	}
	var got struct {
		Steady          struct{ Baseline expectedSteady }
		Operations, API []row
	}
	args := []string{"--by", method}
	for _, f := range files {
		args = append(args, "--baseline", f)
	}
	answer(t, &got, "diff", args...)
	g, w := got.Steady.Baseline, want
	if g.Steps != w.Steps || g.Gen != w.Gen {
		t.Errorf("%d steps of %d requests, want %d of %d", g.Steps, g.Gen, w.Steps, w.Gen)
	}
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"wall_us", g.WallUs, w.WallUs}, {"busy_us", g.BusyUs, w.BusyUs}, {"idle_us", g.IdleUs, w.IdleUs},
		{"duration_us", g.DurationUs, w.DurationUs}, {"gpu_us", g.GpuUs, w.GpuUs},
		{"eager_kernels", g.EagerKernels, w.EagerKernels}, {"graph_kernels", g.GraphKernels, w.GraphKernels},
	} {
		near(t, f.name, f.got, f.want)
	}
	if w.GraphLaunches != nil {
		nearOrNull(t, "graph_launches", g.GraphLaunches, w.GraphLaunches)
	}
	for name, v := range w.GapUs {
		got, there := g.GapUs[name].(float64)
		if v, ok := v.(float64); ok != there {
			t.Errorf("gap_us.%s is %v, want %v", name, g.GapUs[name], v)
		} else if ok {
			near(t, "gap_us."+name, got, v)
		}
	}
	for name, section := range map[string]struct {
		rows []row
		want map[string]float64
	}{"operation": {got.Operations, w.Ops}, "call": {got.API, w.APIs}} {
		figures := map[string]float64{}
		for _, r := range section.rows {
			if r.Baseline != nil {
				figures[r.Name] = *r.Baseline
			}
		}
		sameKeys(t, name, figures, section.want)
	}
}

// TestFirstContact wants an answer for every export with GPU work, whatever it is of.
func TestFirstContact(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(testrun.Folder(t, "TRACES"), "*", "*.sqlite"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no exports: %v", err)
	}
	for _, file := range files {
		for _, name := range []string{"verdict", "gaps"} {
			if r := call(t, nil, name, file); r.status != 0 || !strings.HasPrefix(r.stdout, "# ") {
				t.Errorf("%s %s: %d, %s", name, filepath.Base(file), r.status, r.stderr)
			}
		}
	}
}
