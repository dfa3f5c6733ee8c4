package verdict_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/nsys"
	"github.com/hostbound/hostbound/pkg/phase"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/verdict"
)

// expected is what separate code found in a trace.
type expected struct {
	Lanes  int
	Graphs int // replays that hide their kernels
	Steps  map[string]struct {
		Total, Segments, Bench int64
		CommonSize             int64 `json:"common_size"`
	}
	Aggregate expectedScope
	Phases    map[string]expectedScope
	Verdict   string
	Steady    *struct {
		Steps        int64
		WallUS       float64                `json:"wall_us"`
		GapUS        struct{ P50 *float64 } `json:"gap_us"`
		EagerKernels float64                `json:"eager_kernels"`
		GraphKernels float64                `json:"graph_kernels"`
	}
}

type expectedScope struct {
	Verdict           string
	CrossedCount      int    `json:"crossed_count"`
	ApplicableCount   int    `json:"applicable_count"`
	HostPrepConfirmed bool   `json:"host_prep_confirmed"`
	NCCLCaveat        bool   `json:"nccl_caveat"`
	IterationCount    *int64 `json:"iteration_count"`
	Metrics           map[string]*float64
}

// TestTraces goes from exports to verdicts and compares every figure with the one
// that separate code found.
func TestTraces(t *testing.T) {
	dir := os.Getenv("HOSTBOUND_TRACES")
	if dir == "" {
		t.Skip("HOSTBOUND_TRACES does not name a folder of traces with expected figures")
	}
	var files []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".expected.json") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in %s: %v", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".expected.json")
		t.Run(name, func(t *testing.T) { compareTrace(t, file) })
	}
}

func compareTrace(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want expected
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(file, ".expected.json")
	method := filepath.Ext(base)[1:]
	res := measure(t, exports(t, strings.TrimSuffix(base, "."+method)), method)
	in, err := verdict.FromTable(res.Table())
	if err != nil {
		t.Fatal(err)
	}
	got := verdict.Decide(in, verdict.Defaults())
	if got.Verdict != want.Verdict || res.Lanes != want.Lanes {
		t.Errorf("verdict %s with %d lanes, want %s with %d", got.Verdict, res.Lanes, want.Verdict, want.Lanes)
	}
	if len(want.Steps) != len(got.Steps.PerRank) {
		t.Errorf("%d ranks with steps, want %d", len(got.Steps.PerRank), len(want.Steps))
	}
	for _, r := range got.Steps.PerRank {
		w := want.Steps[string(rune('0'+r.Rank))]
		if r.Total != w.Total || r.Segments != w.Segments || r.Benchmark != w.Bench || r.CommonSize != w.CommonSize {
			t.Errorf("steps %+v, want %+v", r, w)
		}
	}
	compareScopes(t, got, res, &want)
	compareSteady(t, got, &want)
}

// exports returns the files of a trace: one, or for rank012 three.
func exports(t *testing.T, base string) []string {
	if _, err := os.Stat(base + ".sqlite"); err == nil {
		return []string{base + ".sqlite"}
	}
	var files []string
	stem := strings.TrimRight(base, "0123456789")
	for _, digit := range base[len(stem):] {
		files = append(files, stem+string(digit)+".sqlite")
	}
	return files
}

func measure(t *testing.T, files []string, method string) *metric.Result {
	t.Helper()
	reader, err := nsys.Open(files, nsys.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var src event.Source = reader
	if method != "none" {
		isolated, err := step.New(src, step.Options{By: method, Log: func(s string) { t.Log(s) }})
		if err != nil {
			t.Fatal(err)
		}
		if src, err = phase.New(isolated, nil); err != nil {
			t.Fatal(err)
		}
	}
	res, err := metric.Compute(src, metric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func compareScopes(t *testing.T, got *verdict.Report, res *metric.Result, want *expected) {
	scopes := map[string]expectedScope{"aggregate": want.Aggregate}
	for name, s := range want.Phases {
		scopes[name] = s
	}
	if len(got.Scopes) != len(scopes) {
		t.Errorf("%d scopes, want %d", len(got.Scopes), len(scopes))
	}
	for _, s := range got.Scopes {
		w := scopes[s.Name]
		if s.Verdict != w.Verdict || s.Crossed != w.CrossedCount || s.Applicable != w.ApplicableCount ||
			s.HostPrep != w.HostPrepConfirmed || s.NCCL != w.NCCLCaveat {
			t.Errorf("%s: %s, %d of %d, want %+v", s.Name, s.Verdict, s.Crossed, s.Applicable, w)
		}
	}
	for _, p := range res.Phases {
		if w := want.Phases[p.Phase].IterationCount; w == nil || *w != p.Iterations {
			t.Errorf("%s: %d iterations, want %v", p.Phase, p.Iterations, w)
		}
	}
	n := 0
	for i := range res.Rows {
		r := &res.Rows[i]
		w := scopes[r.Scope].Metrics[r.Metric]
		n++
		if w == nil {
			if r.Applicable {
				t.Errorf("%s: %s is %v, want null", r.Scope, r.Metric, r.Value())
			}
			continue
		}
		near(t, r.Scope+": "+r.Metric, r.Value(), *w)
	}
	if n != 9*len(scopes) {
		t.Errorf("%d rows", n)
	}
}

func compareSteady(t *testing.T, got *verdict.Report, want *expected) {
	w := want.Steady
	if w == nil {
		if got.Handoff.Wall != nil {
			t.Error("steady steps")
		}
		return
	}
	near(t, "wall", *got.Handoff.Wall, w.WallUS)
	if got.Handoff.Kernels == nil {
		if want.Graphs == 0 {
			t.Error("kernels are not known")
		}
	} else {
		near(t, "kernels", *got.Handoff.Kernels, w.EagerKernels+w.GraphKernels)
	}
	if w.GapUS.P50 != nil {
		near(t, "gap", *got.Handoff.GapP50, *w.GapUS.P50)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
