package main

import (
	"math"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/sim"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// Each way in which a host loses time is named first, with its time, and none is where the
// host runs on: a floor under the board, of one run each.
func TestWhyIsNamed(t *testing.T) {
	cases.All(t)
	const seed = 3
	dir := t.TempDir()
	without, _, err := whyRun(dir, sim.HostCause{Kind: "running", US: 700}, seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range hostCauses {
		rep, truth, err := whyRun(dir, sim.HostCause{Kind: c.kind, US: 700}, seed, 0)
		if err != nil {
			t.Fatal(err)
		}
		got, low, high := c.time(rep)
		switch _, first := c.named(rep); {
		case !first:
			t.Errorf("%s is not named first: findings %v, warnings %q", c.kind, rep.Findings, rep.Warnings)
		case c.why != "" && math.Abs(got-truth) > 0.05*truth, c.why == "" && (truth < low*0.95 || truth > high*1.05):
			t.Errorf("%s: %.0f us [%.0f, %.0f], simulated were %.0f", c.kind, got, low, high, truth)
		}
		if falsely, _ := c.named(without); falsely {
			t.Errorf("%s is named where the host runs on: %v", c.kind, without.Findings)
		}
	}
}
