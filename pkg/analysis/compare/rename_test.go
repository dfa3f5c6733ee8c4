package compare_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// renamed gives the operations of a run names that f makes, and kernels others, and has one
// operation take longer.
func renamed(t *testing.T, c sim.Config, longer float64, kernels bool, f func(string) string) *compare.Run {
	t.Helper()
	c.Host = slices.Clone(c.Host)
	for i := range c.Host {
		if h := &c.Host[i]; h.Name == "_update_requests" {
			h.Mean += longer
		}
		c.Host[i].Name, c.Host[i].Parent = f(c.Host[i].Name), f(c.Host[i].Parent)
	}
	paths := testrun.Simulate(t, c, false)
	if kernels {
		for i, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"act_and_mul_kernel", "topKStage1", "topKStage2", "rotary_embedding", "elementwise_kernel"} {
				b = bytes.ReplaceAll(b, []byte(name), []byte("X"+name[1:]))
			}
			paths[i] = filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(paths[i], b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return profileOf(t, "allreduce", paths...)
}

// TestSlowestOnly looks at a run in which each step takes longer, which the tail shows best.
func TestSlowestOnly(t *testing.T) {
	plain := func(seed uint64) sim.Config {
		c := sim.Default()
		c.Seed, c.Steps, c.Layers = seed, 40, 8
		return c
	}
	after := plain(3)
	after.Host = slices.Clone(after.Host)
	for i := range after.Host {
		if after.Host[i].Name == "_update_requests" {
			after.Host[i].Mean = 390
		}
	}
	c, err := compare.Compare(simulated(t, plain(1)), simulated(t, after), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Markdown(&b, c.Document(), report.Options{}); err != nil {
		t.Fatal(err)
	}
	said, _, _ := strings.Cut(b.String(), "\n")
	if w := row(t, c.Summary, "wall"); w.Significant || w.CI[0] <= 0 || !row(t, c.Operations, "_update_requests").Significant {
		t.Fatalf("wall %+v: the case is another one now", w)
	}
	if strings.Contains(said, "only") || !strings.Contains(said, "_update") {
		t.Errorf("%s", said)
	}
}

// TestNoLonger slows kernels down where the host takes as much less, or more than that: a step takes
// no longer, and the headline says so.
func TestNoLonger(t *testing.T) {
	for prepare, want := range map[float64]string{700: "No significant change in step time", 400: "Faster by "} {
		after := sim60(2)
		after.KernelScale *= 1.1
		after.Host = slices.Clone(after.Host)
		for i := range after.Host {
			if after.Host[i].Name == "_prepare_inputs" {
				after.Host[i].Mean = prepare
			}
		}
		c, err := compare.Compare(simulated(t, sim60(1)), simulated(t, after), compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := report.Markdown(&b, c.Document(), report.Options{}); err != nil {
			t.Fatal(err)
		}
		if said, _, _ := strings.Cut(b.String(), "\n"); !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", c.Conclusion, said, want)
		}
	}
}

// TestNoSteps looks at a run that has none of the chosen steps: the title says so.
func TestNoSteps(t *testing.T) {
	before := sim60(1)
	before.Markers, before.Steps = sim.NoMarkers, 6
	run := simulatedBy(t, "allreduce", before)
	for phase, want := range map[string]string{compare.Context: "# No figures: ", compare.All: "# Where a step's time goes: "} {
		c, err := compare.Compare(run, nil, compare.Options{Phase: phase})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := report.Markdown(&b, c.Document(), report.Options{}); err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s: %.200s, %v", phase, b.String(), err)
		}
	}
}

// TestOtherNames gives operations and kernels other names: that is no idle time that grew, nothing
// new and nothing to do, and what takes longer under its new name does so by the difference.
func TestOtherNames(t *testing.T) {
	all := func(s string) string {
		if s == "" {
			return s
		}
		return "engine." + s
	}
	same := func(s string) string { return s }
	for name, of := range map[string]struct {
		longer  float64
		kernels bool
		names   func(string) string
		target  string // "" where nothing takes longer
	}{
		"operations":       {0, false, all, ""},
		"kernels":          {0, true, same, ""},
		"both":             {0, true, all, ""},
		"one takes longer": {200, true, all, "engine._update_requests"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := compare.Compare(renamed(t, sim60(1), 0, false, same), renamed(t, sim60(2), of.longer, of.kernels, of.names), compare.Options{})
			if err != nil {
				t.Fatal(err)
			}
			said := strings.Join(slices.Concat(c.Explanation, c.Mitigations), "\n")
			if h := c.Handoff; of.target == "" {
				if h.FirstTarget != nil || len(h.TopRegressingOps)+len(h.TopIdleCauses)+len(c.Mitigations) > 0 || strings.Contains(said, "that grew") || strings.Contains(said, "take longer") {
					t.Errorf("first target %s, operations %+v, causes %+v: names take no longer\n%s", spelled(h.FirstTarget), h.TopRegressingOps, h.TopIdleCauses, said)
				}
				return
			}
			h := c.Handoff
			if spelled(h.FirstTarget) != of.target || len(h.TopRegressingOps) != 1 || len(h.TopIdleCauses) != 1 || h.TopIdleCauses[0].Cause != "host:"+of.target {
				t.Fatalf("first target %s, operations %+v, causes %+v, want %s\n%s", spelled(h.FirstTarget), h.TopRegressingOps, h.TopIdleCauses, of.target, said)
			}
			plain, err := compare.Compare(renamed(t, sim60(1), 0, false, same), renamed(t, sim60(2), of.longer, false, same), compare.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := *row(t, plain.Operations, "_update_requests").Delta
			for what, delta := range map[string]float64{"operation": h.TopRegressingOps[0].Delta, "cause": *h.TopIdleCauses[0].Delta, "between steps": *h.TopIdleCauses[0].InterStep} {
				if math.Abs(delta-want) > 0.1*want {
					t.Errorf("%s grew by %.0f us, want about %.0f", what, delta, want)
				}
			}
			if strings.Contains(said, "New in each step") {
				t.Errorf("a name is called new:\n%s", said)
			}
			g, err := compare.ParseGate("_update_requests>50us")
			if err != nil {
				t.Fatal(err)
			}
			if failed, why, err := c.Check(g); !failed || err != nil || !strings.Contains(why, "(was _update_requests)") {
				t.Errorf("a condition on an operation that has another name now: %t, %s, %v", failed, why, err)
			}
		})
	}
}
