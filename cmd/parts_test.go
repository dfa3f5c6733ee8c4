package cmd

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// TestSideBySide wants ranks that are read side by side to give the answer of ranks that
// are read one after the other, whatever their steps are found by, also where they cannot
// be found, in one report and in one for each rank.
func TestSideBySide(t *testing.T) {
	cases.Whole(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, by := range []string{"auto", "nvtx", "graph"} {
		for _, split := range []bool{false, true} {
			for _, markers := range []sim.Markers{sim.Default().Markers, sim.NoMarkers} {
				c := sim.Default()
				c.Ranks, c.Layers, c.Steps, c.Warmup, c.Markers = 3, 2, 12, 2, markers
				args := append([]string{"--format", "json", "--by", by}, testrun.Simulate(t, c, split)...)
				runtime.GOMAXPROCS(1)
				want := call(t, nil, "verdict", args...)
				runtime.GOMAXPROCS(8)
				if got := call(t, nil, "verdict", args...); got != want {
					t.Errorf("--by %s, a report for each rank: %v, markers %q: %v\nside by side %v", by, split, markers, want, got)
				}
			}
		}
	}
}

// TestPartNoSurer wants a verdict on chosen steps, or times, to be no surer than that on the
// whole run, whose markers were to have become steps: before and after steps are found.
func TestPartNoSurer(t *testing.T) {
	t.Parallel()
	// Eager passes are steps, but those of a single layer have too few kernels for that.
	for _, tt := range []struct {
		layers int
		share  float64
		want   string
	}{{4, 0, "YES"}, {4, 0.75, "YES"}, {1, 0.75, "INCONCLUSIVE"}} {
		c := sim.Default()
		c.Ranks, c.Layers, c.Steps, c.Engine.EagerShare = 1, tt.layers, 60, tt.share
		files := testrun.Simulate(t, c, false)
		for _, part := range [][]string{nil, {"--from", "3", "--to", "12"}, {"--from", "450ms", "--to", "900ms"}} {
			args := append([]string{"--format", "json", "--by", "graph"}, part...)
			got := call(t, nil, "verdict", append(args, files...)...)
			if few := strings.Contains(got.stdout, "forward-step marker ranges became steps"); few != (tt.want == "INCONCLUSIVE") ||
				!strings.Contains(got.stdout, `"verdict": "`+tt.want+`"`) {
				t.Errorf("%d layers, %v of eager steps, %v: not %s:\n%.500s", tt.layers, tt.share, part, tt.want, got.stdout)
			}
		}
	}
}
