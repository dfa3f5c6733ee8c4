package gap

import (
	"fmt"
	"testing"
)

func TestSampler(t *testing.T) {
	var s Sampler
	for i := range int64(100) {
		s.Add(i * 1000)
	}
	s.Mark()
	s.Add(1)
	s.Drop()
	if got, want := s.End(), (Step{100, 11, 0, 9_900, 49_500}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := s.End(); got != (Step{}) {
		t.Errorf("after its end %+v", got)
	}
}

// Of many launches a part is kept, which stands for all of them.
func TestSamplerBounds(t *testing.T) {
	for _, n := range []int{0, 1, maxValues - 1, maxValues, maxValues + 1, 5 * maxValues} {
		var s Sampler
		for i := range n {
			s.Add(int64(i))
		}
		if len(s.values) > maxValues {
			t.Errorf("%d of %d are kept", len(s.values), n)
		}
		got := s.End()
		if d := float64(got.Launches) - float64(n); d < 0 || d > float64(8) {
			t.Errorf("%d launches of %d", got.Launches, n)
		}
		if d := float64(got.P50) - float64(n)/2; n > 0 && (d < -8 || d > 8) {
			t.Errorf("of %d launches the median is %d", n, got.P50)
		}
	}
}

func TestSummary(t *testing.T) {
	var s SlackSummary
	if s.Report() != nil {
		t.Error("a report on nothing")
	}
	for rank := range int32(3) {
		for k := range int64(12) {
			step := Step{Launches: 10, Near: 1, Min: 5 + k, P10: 7_000, P50: 20_000 - 1_000*k}
			s.Add(step, true)
			s.List(rank, int(k), step)
		}
		s.EndRank()
	}
	s.Add(Step{}, true)
	rep := s.Report()
	if rep.Launches != 360 || rep.NearZero != 0.1 || rep.MinUs != 0.005 || rep.P10Us != 7 || rep.P50Us != 14.5 || len(rep.Steps) != 36 {
		t.Errorf("%+v", rep)
	}
	if rep.TrendUs == nil || *rep.TrendUs != -1 {
		t.Errorf("trend %v, want -1 us per step", rep.TrendUs)
	}
}

func ExampleSampler() {
	var launches Sampler
	for _, ns := range []int64{4_000, 90_000, 120_000} {
		launches.Add(ns)
	}
	var s SlackSummary
	s.Add(launches.End(), true)
	s.EndRank()
	rep := s.Report()
	fmt.Printf("%d launches, %v us ahead, %.0f %% of them at once\n", rep.Launches, rep.P50Us, 100*rep.NearZero)
	// Output: 3 launches, 90 us ahead, 33 % of them at once
}
