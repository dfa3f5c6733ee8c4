package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// altered profiles a simulated run whose rows were changed once the steps were
// found.
func altered(t *testing.T, c sim.Config, change func(*event.Header, []eventtest.Row)) *compare.Run {
	t.Helper()
	phases := testrun.Open(t, step.Allreduce, testrun.Simulate(t, c, false)...)
	rows, err := eventtest.Collect(phases)
	if err != nil {
		t.Fatal(err)
	}
	h := *phases.Header()
	isolation := *h.Isolation
	h.Isolation = &isolation
	change(&h, rows)
	run, err := compare.Profile(eventtest.Source(&h, rows, 4096), compare.ProfileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A rank whose recording ends early has fewer of the steps than on the other side, and what it does
// otherwise than other ranks is no change of any.
func TestShares(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Layers, c.Steps, c.ContextEvery, c.SlowRank, c.Slow = 3, 3, 60, 0, 2, 400
	short := func(share float64) func(*event.Header, []eventtest.Row) {
		return func(_ *event.Header, rows []eventtest.Row) {
			last := rows[len(rows)-1].End
			for i := range rows {
				if r := &rows[i]; r.Rank == 2 && r.Kind == event.Step && float64(r.Start) > share*float64(last) {
					r.Segment++
				}
			}
		}
	}
	full, half := altered(t, c, short(1)), altered(t, c, short(0.95))
	for target, want := range map[*compare.Run]bool{full: false, half: true} {
		got, err := compare.Compare(full, target, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(strings.Join(got.Warnings, " "), "differences between ranks look like changes"); said != want {
			t.Errorf("warned %v: %d steps, %q", said, got.Steady.Target.Steps, got.Warnings)
		}
	}
}

// Steps of other sizes, torn ones, and those found by other markers are not
// compared, and their clean counterparts are.
func TestSetups(t *testing.T) {
	small := sim.Default()
	small.Layers, small.Steps, small.ContextEvery = 3, 40, 0
	again, deeper := small, small
	again.Seed, deeper.Layers = 2, 4
	same := func(*event.Header, []eventtest.Row) {}
	for name, c := range map[string]struct {
		config sim.Config
		change func(*event.Header, []eventtest.Row)
		want   string // "": comparable
	}{
		"clean": {again, same, ""},
		"sizes": {deeper, same, "baseline and target have 7 and 9 all-reduce kernels per step"},
		"torn": {again, func(_ *event.Header, rows []eventtest.Row) {
			n := 0
			for i := range rows {
				if rows[i].Kind == event.Step {
					if n++; n%5 == 0 {
						rows[i].Size = 3
					}
				}
			}
		}, "were not detected reliably"},
		"no calls": {again, func(h *event.Header, _ []eventtest.Row) {
			h.Reports = slices.Clone(h.Reports)
			for i := range h.Reports {
				h.Reports[i].Rows = map[string]int64{event.Kinds[event.Kernel]: 1, event.Kinds[event.NVTX]: 1}
			}
		}, "only one side has CUDA API calls"},
		"few of another size": {again, func(_ *event.Header, rows []eventtest.Row) {
			for i := range rows {
				if rows[i].Kind == event.Step && rows[i].Step == 20 {
					rows[i].Size = 3
				}
			}
		}, ""},
		"other iterations by markers": {again, func(_ *event.Header, rows []eventtest.Row) {
			for i := range rows {
				if rows[i].Kind == event.Window {
					rows[i].Class = event.StepMarker
				}
			}
		}, "are not those that its forward-step markers show; use --by nvtx"},
		"markers": {again, func(h *event.Header, _ []eventtest.Row) { h.Isolation.Marker = "x(?P<gen>\\d+)" }, "markers \"\" in the baseline"},
	} {
		c2, err := compare.Compare(altered(t, small, same), altered(t, c.config, c.change), compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		reasons := strings.Join(c2.Reasons, "; ")
		if c.want == "" && !c2.Comparable || c.want != "" && !strings.Contains(reasons, c.want) {
			t.Errorf("%s: comparable %v, %q", name, c2.Comparable, reasons)
		}
	}
}
