package compare_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// profileOf runs the stages before a profile on exports.
func profileOf(t testing.TB, by string, paths ...string) *compare.Run {
	t.Helper()
	run, err := compare.Profile(testrun.Open(t, by, paths...), compare.ProfileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// steady is the part of an expected.json that is about steady steps.
type steady struct {
	Steps    int     `json:"steps"`
	Gen      float64 `json:"gen"`
	Busy     float64 `json:"busy_us"`
	Idle     float64 `json:"idle_us"`
	Wall     float64 `json:"wall_us"`
	Duration float64 `json:"duration_us"`
	Gap      struct {
		N    int     `json:"n"`
		Mean float64 `json:"mean"`
		P50  float64 `json:"p50"`
		P90  float64 `json:"p90"`
		Max  float64 `json:"max"`
	} `json:"gap_us"`
	Ops   map[string]float64 `json:"ops"`
	Eager float64            `json:"eager_kernels"`
	Graph float64            `json:"graph_kernels"`
	GPU   float64            `json:"gpu_us"`
	APIs  map[string]float64 `json:"apis"`
}

// TestSteadyFigures meets the figures that separate code found for each trace.
func TestSteadyFigures(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(testrun.Folder(t, "TRACES"), "sim", "*.expected.json"))
	if len(files) == 0 {
		t.Fatal("no expected.json")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".expected.json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Steady *steady `json:"steady"`
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if want.Steady == nil {
				t.Skip("nothing about steady steps")
			}
			trace, by, _ := strings.Cut(name, ".")
			var paths []string
			if trace == "rank012" {
				for _, r := range []string{"rank0", "rank1", "rank2"} {
					paths = append(paths, filepath.Join(filepath.Dir(file), r+".sqlite"))
				}
			} else {
				paths = []string{filepath.Join(filepath.Dir(file), trace+".sqlite")}
			}
			c, err := compare.Compare(profileOf(t, by, paths...), nil, compare.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkSteady(t, c, want.Steady)
		})
	}
}

func checkSteady(t *testing.T, c *compare.Comparison, want *steady) {
	f := c.Steady.Baseline
	if f.Steps != want.Steps || f.Gap.N != want.Gap.N {
		t.Errorf("%d steps, %d gaps; want %d, %d", f.Steps, f.Gap.N, want.Steps, want.Gap.N)
	}
	for _, x := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"gen", f.Gen, want.Gen}, {"busy", f.Busy, want.Busy}, {"idle", f.Idle, want.Idle}, {"wall", f.Wall, want.Wall},
		{"duration", f.Duration, want.Duration}, {"gap", f.Gap.Mean, want.Gap.Mean}, {"gap p50", f.Gap.P50, want.Gap.P50},
		{"gap p90", f.Gap.P90, want.Gap.P90}, {"gap max", f.Gap.Max, want.Gap.Max}, {"eager", f.Eager, want.Eager},
		{"graph", f.Graph, want.Graph}, {"gpu", f.GPU, want.GPU},
	} {
		if x.got == nil || !near(*x.got, x.want) {
			t.Errorf("%s is %v, want %v", x.name, value(x.got), x.want)
		}
	}
	checkRows(t, c.Operations, want.Ops)
	checkRows(t, c.API, want.APIs)
	total := 0.0
	for _, r := range c.Kernels {
		total += *r.Baseline
	}
	if !near(total, want.GPU) {
		t.Errorf("kernels add up to %v, want %v", total, want.GPU)
	}
}

func checkRows(t *testing.T, rows []compare.Row, want map[string]float64) {
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
	for _, r := range rows {
		if x, ok := want[r.Name]; !ok || !near(*r.Baseline, x) {
			t.Errorf("%s is %v, want %v", r.Name, *r.Baseline, x)
		}
	}
}

func near(got, want float64) bool {
	return math.Abs(got-want) <= 1e-9*max(math.Abs(got), math.Abs(want), 1e-9)
}

func value(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

// TestBaseAgainstTarget finds what was changed between the two simulated runs, and
// nothing else.
func TestBaseAgainstTarget(t *testing.T) {
	dir := filepath.Join(testrun.Folder(t, "TRACES"), "sim")
	c, err := compare.Compare(profileOf(t, "allreduce", filepath.Join(dir, "base.sqlite")),
		profileOf(t, "allreduce", filepath.Join(dir, "target.sqlite")), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// What was changed between the two, us. _prepare_inputs launches more kernels.
	want := []struct {
		name   string
		delta  float64
		status string
	}{
		{"_process_requests", -666, compare.Improved}, {"_sample_async", -443, compare.Improved}, {"_update_requests", 310, compare.Regression},
		{"broadcast_requests", 250, compare.New}, {"_fetch_new_requests", 234, compare.Regression}, {"prepare_resources", 157, compare.Regression},
		{"_write_finish_reasons", 121, compare.New}, {"_prepare_inputs", 54, ""},
	}
	for i, r := range c.Operations {
		switch {
		case i >= len(want):
			if r.Significant {
				t.Errorf("%s is flagged: %v", r.Name, *r.Delta)
			}
		case r.Name != want[i].name || r.Status != want[i].status || !r.Significant || r.CI[0] > want[i].delta || r.CI[1] < want[i].delta:
			t.Errorf("row %d is %s %q, interval %v; want %+v", i, r.Name, r.Status, *r.CI, want[i])
		}
	}
	for _, r := range append(c.Kernels, c.API...) {
		if changed := r.Name == "elementwise_kernel" || r.Name == "cudaLaunchKernel"; r.Significant != changed {
			t.Errorf("%s: significant %v", r.Name, r.Significant)
		}
	}
	if c.Conclusion != compare.HostInterStep {
		t.Errorf("conclusion %s", c.Conclusion)
	}
	if testing.Verbose() {
		report.Markdown(os.Stdout, c.Document(), report.Options{})
	}
}
