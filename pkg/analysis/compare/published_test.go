package compare_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// published is the run of Llama 3.2 1B on two GPUs of which TensorRT-LLM's own
// analysis publishes the figures, in v1.1 (without main) and in main. What its
// steps take besides the published operations is inside the forward step's range
// before the launch, which is no row.
func published(main bool, seed uint64) sim.Config {
	pick := func(old, new float64) float64 {
		if main {
			return new
		}
		return old
	}
	c := sim.Default()
	c.Seed, c.Steps, c.ContextEvery, c.Batch = seed, 60, 0, 8
	c.Host = []sim.HostOp{
		{Name: "_fetch_new_requests", Mean: pick(36, 20), Noise: 0.08},
		{Name: "_schedule", Mean: pick(121, 120), Noise: 0.06},
		{Name: "prepare_resources", Mean: pick(192, 349), Noise: 0.06},
		{Name: "_forward_step", Mean: pick(1396, 1790), Noise: 0.04, Role: sim.Forward},
		{Name: "_sample_async", Mean: pick(85, 308), Noise: 0.05, Role: sim.Sample},
		{Name: "_process_requests", Parent: "_sample_async", Mean: pick(1056, 269), Noise: 0.05},
		{Name: "_update_requests", Mean: pick(395, 705), Noise: 0.06, Role: sim.Wait},
	}
	if main {
		c.Host = append(c.Host,
			sim.HostOp{Name: "broadcast_requests", Parent: "_fetch_new_requests", Mean: 250, Noise: 0.06},
			sim.HostOp{Name: "_write_finish_reasons", Parent: "_process_requests", Mean: 121, Noise: 0.06})
	}
	return c
}

// simulated runs a simulation through a file.
func simulated(t testing.TB, c sim.Config) *compare.Run {
	t.Helper()
	return simulatedBy(t, "allreduce", c)
}

func simulatedBy(t testing.TB, by string, c sim.Config) *compare.Run {
	t.Helper()
	return profileOf(t, by, testrun.Simulate(t, c, false)...)
}

// TestPublishedCase reports the published regression as published.
func TestPublishedCase(t *testing.T) {
	c, err := compare.Compare(simulated(t, published(false, 3)), simulated(t, published(true, 4)), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wall := row(t, c.Summary, "wall")
	t.Logf("wall %.0f to %.0f us", *wall.Baseline, *wall.Target)
	if math.Abs(*wall.Baseline-3317.4) > 60 || math.Abs(*wall.Target-3977.7) > 60 {
		t.Errorf("wall %.0f to %.0f us, want about 3317 to 3978", *wall.Baseline, *wall.Target)
	}
	for _, want := range []struct {
		name     string
		from, to float64
		status   string
	}{
		{"_fetch_new_requests", 36, 270, compare.Regression},
		{"broadcast_requests", 0, 250, compare.New},
		{"_update_requests", 413, 723, compare.Regression},
		{"prepare_resources", 192, 349, compare.Regression},
		{"_write_finish_reasons", 0, 121, compare.New},
		{"_sample_async", 1163, 720, compare.Improved},
		{"_process_requests", 1056, 390, compare.Improved},
		{"_schedule", 121, 120, ""},
	} {
		r := row(t, c.Operations, want.name)
		if r.Status != want.status {
			t.Errorf("%s has status %q, want %q", want.name, r.Status, want.status)
		}
		if truth := want.to - want.from; r.CI == nil || math.Abs(*r.Delta-truth) > 0.04*math.Abs(truth)+4 {
			t.Errorf("%s changed by %v us, want %v", want.name, *r.Delta, truth)
		}
	}
	if c.Conclusion != compare.HostInterStep {
		t.Errorf("conclusion %s", c.Conclusion)
	}
	if h := c.Handoff; h.TopRegressingOps[0].Name != "_update_requests" ||
		*h.TopRegressingOps[0].Function != "PyExecutor._update_requests" || *h.FirstTarget != "PyExecutor._update_requests" {
		t.Errorf("hand-off %+v", h)
	}
	var text strings.Builder
	if err := report.Markdown(&text, c.Document(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "# Slower by 659 µs per step (+19.9 %). Root cause: inter-step host overhead: ") {
		t.Errorf("report begins %.80q", text.String())
	}
	if testing.Verbose() {
		t.Log(text.String())
	}
}

func row(t testing.TB, rows []compare.Row, name string) *compare.Row {
	t.Helper()
	for i := range rows {
		if rows[i].Name == name {
			return &rows[i]
		}
	}
	t.Fatalf("no row %s", name)
	return nil
}

// sim60 is the engine of the simulator as it comes.
func sim60(seed uint64) sim.Config {
	c := sim.Default()
	c.Seed, c.Steps, c.ContextEvery = seed, 60, 0
	return c
}
