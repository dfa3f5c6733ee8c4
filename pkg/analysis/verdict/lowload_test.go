package verdict

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/report"
)

// A YES that rests on waiting for requests is called low load; one that does not, or of
// which nothing is recorded, is not.
func TestLowLoad(t *testing.T) {
	idle := []float64{0.6, 0.02, na, na, na, 0.4, 0, 0, 0}
	prep := []float64{0.6, 0.02, 0.9, 0.2, 0.6, 0.4, 0, 0, 0}
	calm := []float64{0.1, 0.02, na, na, na, 0.9, 0, 0, 0}
	for _, test := range []struct {
		name     string
		figures  []float64
		wait     map[string]int64 // of 1000 ns
		said     bool
		explains bool
	}{
		{"not recorded", idle, nil, false, false},
		{"none", idle, map[string]int64{"aggregate": 0}, false, false},
		{"nearly all", idle, map[string]int64{"aggregate": 550, "generation": 550}, true, true},
		{"but not of generation", idle, map[string]int64{"aggregate": 550}, true, false},
		{"a part", idle, map[string]int64{"aggregate": 300, "generation": 300}, true, false},
		{"hardly any", idle, map[string]int64{"aggregate": 30, "generation": 30}, false, false},
		{"beside preparation", prep, map[string]int64{"aggregate": 550, "generation": 550}, true, false},
		{"healthy", calm, map[string]int64{"aggregate": 90, "generation": 90}, false, false},
	} {
		in := metrics(t, plainRun, map[string][]float64{metric.Aggregate: test.figures, metric.Generation: test.figures})
		in.RequestWait = test.wait
		r := Decide(in, Defaults())
		var page bytes.Buffer
		if err := report.Markdown(&page, r.Document(), report.Options{}); err != nil {
			t.Fatal(err)
		}
		explains := r.Waits != nil && r.Waits.Explains
		if said := strings.Contains(page.String(), "wait for requests"); said != test.said || explains != test.explains || (r.IsLowLoad == nil) != (test.wait == nil || r.Verdict != Yes) {
			t.Errorf("%s: said %v, %+v", test.name, said, r.Waits)
		}
		if title, _, _ := strings.Cut(page.String(), "\n"); strings.HasPrefix(strings.TrimLeft(title, "# *"), "LOW LOAD") != test.explains {
			t.Errorf("%s: %s", test.name, title)
		}
	}
}

// What PyTorch's profiler recorded no pipe says more of.
func TestLowLoadUnknown(t *testing.T) {
	in := metrics(t, plainRun, map[string][]float64{metric.Aggregate: {0.5, 0.2, na, na, na, 0.5, 0, 0, 0}})
	for source, want := range map[string]string{"nsys": lowLoadUnknown[""], "torch": lowLoadUnknown["torch"]} {
		in.Source = source
		r := Decide(in, Defaults())
		var page bytes.Buffer
		if err := report.Markdown(&page, r.Document(), report.Options{}); err != nil {
			t.Fatal(err)
		}
		if r.LowLoadUnknown != want || !strings.Contains(page.String(), want) {
			t.Errorf("%s: %q, page\n%s", source, r.LowLoadUnknown, page.String())
		}
	}
}

// Ranks that communicate want for requests only while all of them wait.
func TestLowLoadOfRanks(t *testing.T) {
	const two = `{"window": "benchmark", "method": "nvtx", "lanes": 3, "gpu_activity": true, "request_wait_ns": {"aggregate": 500}, "ranks": [
		{"rank": 0, "total": 30, "common_size": 1, "segments": 2, "benchmark": 20, "lanes": 2, "request_wait_ns": {"aggregate": 400}},
		{"rank": 1, "total": 30, "common_size": 1, "segments": 2, "benchmark": 20, "lanes": 1, "request_wait_ns": {"aggregate": 100}}]}`
	followed := strings.NewReplacer(`"request_wait_ns": {"aggregate": 500}`, `"request_wait_ns": {"aggregate": 400}`, `"lanes": 1, "request_wait_ns"`, `"lanes": 1, "follow_wait_ns"`).Replace(two)
	for _, test := range []struct {
		run               string
		communicate, want float64
	}{{two, 0, 0.5}, {two, 0.2, 0.3}, {followed, 0, 0.4}, {followed, 0.2, 0.3}} {
		figures := []float64{0.6, 0.02, na, na, na, 0.4, test.communicate, 0, test.communicate}
		r := Decide(metrics(t, test.run, map[string][]float64{metric.Aggregate: figures}), Defaults())
		if r.Waits == nil || math.Abs(r.Waits.WaitUs-test.want) > 1e-9 {
			t.Errorf("communicating for %v: %+v, want %v us", test.communicate, r.Waits, test.want)
		}
	}
}

// Of a YES that idle time without a host cause makes, or most of whose idle time has none, the
// title says so, and a warning.
func TestNotHost(t *testing.T) {
	for host, want := range map[float64]string{0.05: "not because of the host", 0.23: "not because of the host", 0.28: "holds the GPUs back", 0.4: "holds the GPUs back"} {
		values := []float64{0.5, 0, na, na, na, 0.5, 0, 0, 0, 0, 0.1, 0.1, host + 0.1}
		r := Decide(metrics(t, plainRun, map[string][]float64{metric.Aggregate: values}), Defaults())
		said := strings.Contains(strings.Join(r.Warnings, " "), "of the idle time has no host cause")
		if title := r.title().String(); r.Verdict != Yes || !strings.Contains(title, want) || said != (host < 0.25) {
			t.Errorf("host %v: %s, warnings %q", host, title, r.Warnings)
		}
	}
}
