package compare_test

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// Whole-graph replays that are lost are named by their number.
func TestWholeGraphs(t *testing.T) {
	before := sim.Default()
	before.Seed, before.Steps, before.ContextEvery, before.Layers, before.Mode = 31, 60, 0, 3, sim.Whole
	lost := before
	lost.Seed, lost.Mode = 32, sim.Eager
	got := differenceBy(t, "nvtx", before, lost)
	if len(got.Mitigations) == 0 || !strings.Contains(got.Mitigations[0], "CUDA graph replays are lost. Per step, before and now: graph replays 1 and 0") {
		t.Errorf("%v %q; %q", got.Comparable, got.Reasons, got.Mitigations)
	}
}
