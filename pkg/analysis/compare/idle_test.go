package compare_test

import (
	"path/filepath"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// The idle time by cause and site adds up to the idle time of a step, for each way
// to find steps.
func TestIdleAddsUp(t *testing.T) {
	dir := testrun.Folder(t, "TRACES")
	for _, c := range []struct{ by, path string }{
		{"allreduce", "sim/base.sqlite"}, {"nvtx", "sim/base.sqlite"}, {"nvtx", "sim/gc_gil.sqlite"}, {"allreduce", "sim/prefill.sqlite"},
		{"nvtx", "sim/tp1_eager_2021.sqlite"}, {"nvtx", "sim/tp2_node.sqlite"},
	} {
		one, err := compare.Compare(profileOf(t, c.by, filepath.Join(dir, c.path)), nil, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var total, within, between float64
		for _, r := range one.Idle {
			total += *r.Baseline
			within += *r.InStep.Baseline
			between += *r.InterStep.Baseline
		}
		if len(one.Idle) == 0 || !near(total, *one.Steady.Baseline.Idle) {
			t.Errorf("%s by %s: %d causes of %v us, idle %v", c.path, c.by, len(one.Idle), total, *one.Steady.Baseline.Idle)
		}
		for name, got := range map[string]float64{"idle_in_step": within, "idle_inter_step": between} {
			if r := row(t, one.Summary, name); !near(got, *r.Baseline) {
				t.Errorf("%s by %s: causes add up to %s %v, not %v", c.path, c.by, name, got, *r.Baseline)
			}
		}
	}
}

// Idle time lies within or between steps in the same way, however the steps were found.
func TestInterStepByMethod(t *testing.T) {
	path := filepath.Join(testrun.Folder(t, "TRACES"), "sim/base.sqlite")
	between := func(by string) float64 {
		one, err := compare.Compare(profileOf(t, by, path), nil, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return *row(t, one.Summary, "idle_inter_step").Baseline
	}
	a, b := between("allreduce"), between("nvtx")
	if a < 100 || a/b > 1.02 || b/a > 1.02 {
		t.Errorf("%v us between steps by allreduce, %v by nvtx", a, b)
	}
}
