package compare_test

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// Whole-graph replays that are lost are named by their number, and so are steps
// that fall back where graphs are recorded as a whole; of one run alone, too.
func TestWholeGraphs(t *testing.T) {
	before := sim.Default()
	before.Seed, before.Steps, before.ContextEvery, before.Layers, before.Mode = 31, 60, 0, 3, sim.Whole
	lost, some := before, before
	lost.Seed, lost.Mode = 32, sim.Eager
	some.Seed, some.Engine.EagerShare = 33, 0.4
	for name, c := range map[string]struct {
		after sim.Config
		want  string
	}{
		"lost": {lost, "CUDA graphs are lost: graph replays per step 1 before and 0 now"},
		"some": {some, "run without the CUDA graph that the others replay"},
	} {
		got := differenceBy(t, "nvtx", before, c.after)
		if len(got.Mitigations) == 0 || !strings.Contains(got.Mitigations[0], c.want) {
			t.Errorf("%s: %v %q; %q", name, got.Comparable, got.Reasons, got.Mitigations)
		}
	}
}
