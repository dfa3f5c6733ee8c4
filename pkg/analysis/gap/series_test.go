package gap_test

import (
	"math"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// What figures show of the steps is what the report says of each step: bins hold every
// step once, and their parts add up to the periods and to the idle time.
func TestSeriesAgainstSteps(t *testing.T) {
	for _, devices := range []int{1, 2} {
		testSeries(t, devices)
	}
}

func testSeries(t *testing.T, devices int) {
	c := sim.Default()
	c.Ranks, c.Devices, c.Steps, c.Layers = 2, devices, 230, 1
	rep, err := gap.Compute(testrun.Open(t, "nvtx", testrun.Simulate(t, c, false)...), gap.Options{PerStep: true, Series: true})
	if err != nil {
		t.Fatal(err)
	}
	s, steps := rep.Series, 0
	var period, idle, waits float64 // of all, in us per GPU
	for _, b := range s.Bins {
		steps += b.Steps
		wall := 0.0
		for _, part := range b.Parts {
			wall += part
		}
		wait := b.Parts[len(b.Parts)-1]
		waits += wait * float64(b.Steps)
		period, idle = period+wall*float64(b.Steps), idle+(wall-b.Parts[0]-wait)*float64(b.Steps)
		if wall < b.Period[0]-1e-6 || wall > b.Period[2]+1e-6 || b.Period[1] < b.Period[0] || b.Idle[2] < b.Idle[1] {
			t.Errorf("steps %d to %d: mean %f of %v, idle %v", b.First, b.Last, wall, b.Period, b.Idle)
		}
	}
	var wantPeriod, wantIdle, slowest float64
	gpus := float64(devices)
	for _, st := range rep.Idle.PerStep {
		wantPeriod, wantIdle, slowest = wantPeriod+st.WindowUs/gpus, wantIdle+st.TotalUs/gpus, max(slowest, st.WindowUs/gpus)
	}
	if len(s.Bins) > 200 || steps != len(rep.Idle.PerStep) || math.Abs(period/wantPeriod-1) > 1e-9 || math.Abs(idle/wantIdle-1) > 1e-9 {
		t.Errorf("%d bins of %d steps, %f us, %f idle; want %d, %f, %f", len(s.Bins), steps, period, idle, len(rep.Idle.PerStep), wantPeriod, wantIdle)
	}
	var wantWaits float64
	for _, r := range rep.Straggler.Ranks {
		wantWaits += r.WaitUs * float64(rep.Straggler.Steps)
	}
	if devices == 1 && (!s.Waits() || math.Abs(waits/wantWaits-1) > 0.02) || devices > 1 && s.Waits() { // some begin in a step that does not count
		t.Errorf("waits of %f us, want %f", waits, wantWaits)
	}
	most := 0.0
	for _, b := range s.Bins {
		most = max(most, b.Period[2])
	}
	if math.Abs(most-slowest) > 1e-6 || len(s.Ranks) != 2 {
		t.Errorf("the slowest step takes %f us, want %f; %d ranks", most, slowest, len(s.Ranks))
	}
	figures := 0
	for _, section := range rep.Document("").Sections {
		for _, b := range section.Blocks {
			if d, ok := b.(*report.Drawing); ok {
				figures++
				if d.Alt == "" || len(d.Table.Rows) == 0 {
					t.Errorf("%s: %q, %d rows", d.Title, d.Alt, len(d.Table.Rows))
				}
			}
		}
	}
	if figures != 2 {
		t.Errorf("%d figures", figures)
	}
}
