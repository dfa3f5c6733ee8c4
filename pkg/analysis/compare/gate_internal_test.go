package compare

import "testing"

// TestDirection reads the interval of the wall time; a change within 1 % is no regression,
// though it is beyond the noise and has a conclusion.
func TestDirection(t *testing.T) {
	for _, x := range []struct {
		ci         Interval
		direction  string
		regression bool
	}{
		{Interval{6, 9}, Same, false}, {Interval{-9, -6}, Same, false}, {Interval{6, 30}, Slower, false}, {Interval{11, 30}, Slower, true},
		{Interval{-30, -11}, Faster, false}, {Interval{-30, 30}, Unclear, false},
	} {
		row := func(name string, ci Interval) Row {
			return Row{Name: name, Baseline: new(1000.), Target: new(1000.), Delta: new((ci[0] + ci[1]) / 2), DeltaPercent: new(1.), Evidence: Evidence{CI: &ci, P: new(0.), Significant: ci[0] > 0 || ci[1] < 0}}
		}
		none := Interval{-1, 1}
		c := &Comparison{Answer: Answer{Comparable: true, Conclusion: GPU, Direction: &x.direction}, target: &side{}, Steady: Pair{Baseline: &Figures{}}, Rows: Rows{Summary: []Row{
			row(wall, x.ci), row(idleTime, x.ci), row(busyTime, none), row(wallP50, none), row(wallP99, none), row(wallMax, none),
		}, Causes: []IdleRow{{Row: row("host:prepare", Interval{40, 60}), Cause: "host:prepare"}}}}
		c.finding.wall = c.summary(wall)
		if got := c.summary(wall).direction(); got != x.direction {
			t.Errorf("%v: %s, want %s", x.ci, got, x.direction)
		}
		for text, want := range map[string]bool{"regression": x.regression, "host:prepare>3%": true, "host:prepare>50us": false} {
			g, err := ParseGate(text)
			if err != nil {
				t.Fatal(err)
			}
			if failed, why, err := c.Check(g); failed != want || err != nil {
				t.Errorf("%v, %s: %v %s %v", x.ci, text, failed, why, err)
			}
		}
	}
}
