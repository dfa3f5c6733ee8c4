package gap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// No finding about idle time is worth more than there is.
func TestFindingsAreWorthIdleTime(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		for _, mode := range []sim.Mode{sim.Eager, sim.Node, sim.Whole} {
			c := sim.Default()
			c.Seed, c.Mode, c.Overlap, c.Steps = seed, mode, seed%2 == 0, 40
			c.GCEvery, c.GIL, c.LaunchCost = 7, 200, 6
			c.Engine.EagerShare = 0.2
			c.Faults = []sim.Fault{
				{Kind: sim.FaultSync, At: "_sample_async", Rank: -1}, {Kind: sim.FaultAlloc, Rank: -1, US: 200},
				{Kind: sim.FaultJIT, Rank: -1, Every: 19, US: 20000, Count: 900}, {Kind: sim.FaultPageable, Rank: -1, US: 30},
			}
			rep := compute(t, "nvtx", gap.Options{}, testrun.Simulate(t, c, false)...)
			if len(rep.Findings) < 3 {
				t.Errorf("%s, seed %d: findings %+v", mode, seed, rep.Findings)
			}
			idle := rep.Idle.TotalUs / float64(rep.Idle.Steps)
			for i, f := range rep.Findings {
				if f.Pattern == gap.Coordinator || f.Pattern == gap.SlowGPU {
					continue
				}
				if f.UsStep < 0 || f.UsStep > idle || f.Share == nil || *f.Share > 1 {
					t.Errorf("%s, seed %d: worth %v us of %v us: %s", mode, seed, f.UsStep, idle, f.Evidence)
				}
				if i > 0 && f.UsStep > rep.Findings[i-1].UsStep {
					t.Errorf("%s, seed %d: %s after what is worth less", mode, seed, f.Pattern)
				}
			}
		}
	}
}

// TestWaitAheadOfOlderEvent has the GPU run dry in a wait for the device, small kernels launched, and
// an event waited for that has happened: whether it is of the step before, and what is idle behind
// it the first wait's doing, is not known, and said. A wait for the whole stream ends it.
func TestWaitAheadOfOlderEvent(t *testing.T) {
	for call, want := range map[string]bool{"cudaStreamSynchronize": false, "cudaEventSynchronize": true} {
		e := &engine{}
		e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 400)...) }, func() {
			e.call("cudaDeviceSynchronize", event.APISync, max(0, e.free-e.now)+4_000)
			e.launch("argmax", event.Sampling)
			e.now += 20_000
			e.call(call, event.APISync, 3_000)
			e.now += 200_000
		})
		f := has(e.report(t), gap.Sync)
		if f == nil || f.UsStep > 60 || strings.Contains(f.Evidence, "more where the cudaEventSynchronize behind it is for an earlier step") != want {
			t.Errorf("%s: %+v", call, f)
		}
	}
}
