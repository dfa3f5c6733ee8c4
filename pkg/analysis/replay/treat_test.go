package replay_test

import (
	"math"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// hosts are the events of a run, with what the operating system says of its threads.
func hosts(t *testing.T, c sim.Config) event.Source {
	t.Helper()
	r, err := nsys.Open(testrun.Simulate(t, c, false), nsys.Options{Host: []event.Kind{event.OS, event.Run}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return testrun.Phased(t, r, isolate.Options{By: "nvtx"})
}

// TestTreatments has each way to treat a run, on runs with what it is for: the gain is what a
// step takes less in the run of the same seed without.
func TestTreatments(t *testing.T) {
	cases.Whole(t)
	lost := func(kind string) func(*sim.Config) {
		return func(c *sim.Config) { c.Why = sim.HostCause{Kind: kind, US: 700} }
	}
	for _, test := range []struct {
		name   string
		plant  func(*sim.Config)
		treat  replay.Change
		off    float64 // share of the truth
		launch float64
	}{
		{"lock", lost("lock"), replay.Class(0, event.OSLock), 0.1, 0},
		{"sleep", lost("sleep"), replay.Class(0, event.OSSleep), 0.1, 0},
		{"file", lost("file"), replay.Class(0, event.OSFile), 0.1, 0},
		{"descheduled", lost("descheduled"), replay.Lost(0), 0.1, 0},
		{"load", lost("jit"), replay.Loading(0), 0.1, 0},
		{"collections", func(c *sim.Config) { c.GCEvery, c.GC = 3, 3000 }, replay.Class(0, event.GC), 0.1, 0},
		{"interpreter lock", func(c *sim.Config) { c.GIL = 400 }, replay.Class(0, event.GIL), 0.15, 0},
		{"no graphs", func(c *sim.Config) { c.Mode = sim.Eager }, replay.Graph(), 0.1, 6},
		{"ranks even", func(c *sim.Config) { c.Ranks, c.SlowRank, c.Slow = 4, 1, 600 }, replay.Even(), 0.1, 0},
		{"a rank's host", func(c *sim.Config) { c.SlowRank, c.Slow = 1, 400 }, replay.Range("_prepare_inputs", 780.0/1180).On(1), 0.2, 0},
	} {
		without := sim.Default()
		without.Steps, without.Seed = 60, 3
		if test.name == "interpreter lock" {
			without.GIL = 1
		}
		if test.launch > 0 {
			without.LaunchCost = test.launch
		}
		with := without
		test.plant(&with)
		g := gainsOf(t, hosts(t, with), "nvtx", treat(test.treat))
		truth := g.StepUs - gains(t, without, "nvtx").StepUs
		if truth < 100 || math.Abs(g.Scenarios[0].GainUs-truth) > test.off*truth {
			t.Errorf("%s: a step of %.0f us is said to gain %.0f, and takes %.0f less without", test.name, g.StepUs, g.Scenarios[0].GainUs, truth)
		}
	}
}
