package compare_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
)

// A run that is joined with itself has the figures that it has alone, also where
// the names of both come in another order.
func TestJoin(t *testing.T) {
	alone, err := compare.Compare(plain(1).run(), plain(2).run(), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := plain(1)
	again.ops = map[string]float64{"another": 5}
	both, err := compare.Join([]*compare.Run{plain(1).run(), plain(1).run()})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := compare.Compare(both, plain(2).run(), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if joined.Runs != (compare.RunCount{Baseline: 2, Target: 1}) || alone.Runs != (compare.RunCount{Baseline: 1, Target: 1}) {
		t.Errorf("runs %+v, alone %+v", joined.Runs, alone.Runs)
	}
	if !joined.Comparable || row(t, joined.Summary, "wall").CI == nil {
		t.Errorf("two runs and one were not compared: %q", joined.Reasons)
	}
	for i, r := range joined.Operations {
		if want := row(t, alone.Operations, r.Name); !same(*r.Baseline, *want.Baseline) || !same(*r.BaselineCount, *want.BaselineCount) {
			t.Errorf("%d: %s is %v us, %v per step, want %v, %v", i, r.Name, *r.Baseline, *r.BaselineCount, *want.Baseline, *want.BaselineCount)
		}
	}

	mixed, err := compare.Join([]*compare.Run{plain(1).run(), again.run()})
	if err != nil {
		t.Fatal(err)
	}
	one, err := compare.Compare(mixed, nil, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := *row(t, one.Operations, "another").BaselineCount; !same(got, 0.5) {
		t.Errorf("what one of two equal runs has occurs %v times per step", got)
	}
}

func TestJoinRefuses(t *testing.T) {
	fewer := plain(3)
	fewer.ranks = 1
	if _, err := compare.Join([]*compare.Run{plain(1).run(), fewer.run()}); err == nil || !strings.Contains(err.Error(), "equal ranks") {
		t.Errorf("error %v", err)
	}
}

// same reports whether two figures are equal but for rounding.
func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
