package replay

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// stopped returns when a limit on CPU time held each process of a recording up.
func stopped(t *testing.T, paths ...string) map[int32][][2]int64 {
	t.Helper()
	src, err := nsys.Open(paths, nsys.Options{Host: []event.Kind{event.OS, event.Run}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	store := spill.NewStore(1 << 24)
	defer store.Close()
	trace, err := Read(src, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	know, _, err := trace.learn()
	if err != nil {
		t.Fatal(err)
	}
	all := map[int32][][2]int64{}
	for k, rank := range trace.processes {
		all[rank] = know.limits[k]
	}
	return all
}

// A limit on CPU time is found, and nothing else that takes threads off their CPU is one.
func TestLimits(t *testing.T) {
	cases.Whole(t)
	for i, kind := range sim.HostCauses {
		for k, us := range []float64{3000, 25_000} {
			if kind != "quota" && !cases.Turn(i+k, 4) {
				continue
			}
			c := sim.Default()
			c.Steps, c.ContextEvery, c.Warmup, c.Layers = 60, 0, 0, 1
			c.Why = sim.HostCause{Kind: kind, US: us}
			if kind == "quota" {
				c.Steps = 400 // it takes some periods
			}
			for rank, limits := range stopped(t, testrun.Simulate(t, c, false)...) {
				if rank >= 0 && (len(limits) >= 5) != (kind == "quota") {
					t.Errorf("%s, %.0f us, rank %d: %d", kind, us, rank, len(limits))
				}
			}
		}
	}
}

// In recordings of a real kernel a limit is told from threads that have to share their CPUs
// (testdata/cpu).
func TestLimitsRecorded(t *testing.T) {
	for name, want := range map[string]bool{"quota": true, "contended": false} {
		limits := stopped(t, testrun.Inflated(t, "../../../testdata/cpu/"+name+".sqlite.gz"))[-1]
		if n := len(limits); (n > 0) != want || want && (n < 41 || n > 45) { // the kernel counted 45, in 41 of which it stopped threads
			t.Errorf("%s: %d", name, n)
		}
	}
}
