package compare_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// paused is a plain run in which some steps take longer, in a range of their own.
func paused(seed uint64, steps int, us float64, at ...int) *compare.Run {
	wall, gc := make([]float64, steps), make([]float64, steps)
	busy, extent := make([]float64, steps), make([]float64, steps)
	for t := range wall {
		noise := math.Mod(float64(t+1)*(0.61803398875+float64(seed)/97), 1)
		busy[t], extent[t] = 500, 520
		wall[t] = 2000 * (1 + 0.05*noise)
	}
	for _, t := range at {
		wall[t] += us
		gc[t] = us
	}
	return compare.FromSamples(compare.Samples{Name: "paused", Gen: 8, Ranks: []compare.RankSamples{{
		Wall: wall, Busy: busy, Duration: extent, Operations: map[string][]float64{"gc": gc},
	}}})
}

func compareRuns(t *testing.T, a, b *compare.Run) *compare.Comparison {
	t.Helper()
	c, err := compare.Compare(a, b, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOneSlowStep makes one step slow, which is noise wherever it is.
func TestOneSlowStep(t *testing.T) {
	for _, at := range []int{0, 1, 30, 59} {
		c := compareRuns(t, paused(1, 60, 0), paused(2, 60, 40000, at))
		for _, r := range c.Summary {
			if r.Significant {
				t.Errorf("step %d is slow: %s %q, p %v", at, r.Name, r.Status, *r.P)
			}
		}
	}
}

// TestFewEvents finds pauses where they are many and says so where they are few.
func TestFewEvents(t *testing.T) {
	few := compareRuns(t, paused(1, 60, 0), paused(2, 60, 30000, 7, 19, 33, 48))
	if r := few.Rare[0]; r.Significant || r.Target.Steps != 4 || *r.Target.Mean != 30000 {
		t.Errorf("four pauses: %+v", r)
	}
	var at []int
	for k := range 14 {
		at = append(at, 3+14*k)
	}
	many := compareRuns(t, paused(1, 200, 0), paused(2, 200, 5000, at...))
	if r := many.Rare[0]; !r.Significant || r.Status != compare.New || r.Target.Steps != 14 {
		t.Errorf("fourteen pauses: %+v", r)
	}
	if r := row(t, many.Summary, "wall_max"); !r.Significant || *r.Delta < 4000 {
		t.Errorf("fourteen pauses: the maximum %+v", r)
	}
}

// TestUnboundedQuantile has no bound above a quantile at the end of the samples.
func TestUnboundedQuantile(t *testing.T) {
	c := compareRuns(t, paused(1, 60, 0), paused(2, 60, 0))
	r := row(t, c.Summary, "wall_p99")
	if !math.IsInf(r.CI[0], -1) || !math.IsInf(r.CI[1], 1) {
		t.Errorf("P99 of 60 steps: %v", *r.CI)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"ci_us":[null,null]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestShortRuns tells nothing of a change in eleven steps, however large, and tells one in twenty,
// with the warning that it may be this start's.
func TestShortRuns(t *testing.T) {
	short := func(e engine, steps int) engine {
		e.steps = steps
		return e
	}
	for steps, told := range map[int]bool{11: false, 20: true} {
		c := compared(t, short(plain(1), steps), short(plain(2), steps).with("_sample_async", 1800), compare.Options{})
		if r := row(t, c.Operations, "_sample_async"); r.Significant != told || (r.Unknown == "") != told || r.P == nil || r.CI == nil {
			t.Errorf("%d steps: %+v", steps, r)
		}
		if said := strings.Join(c.Explanation, " "); !strings.Contains(said, "ideally three (now 1 and 1)") {
			t.Errorf("%d steps: %q", steps, said)
		}
	}
}

// machine is an engine of six operations whose host is slower by a factor that may differ from
// step to step, and one operation by another one.
func machine(seed uint64, one float64, factor func(t int) float64) *compare.Run {
	rng := rand.New(rand.NewPCG(seed, 9))
	r := compare.RankSamples{Operations: map[string][]float64{}}
	for t := range 60 {
		f := factor(t)
		wall := 500.0
		for k, name := range []string{"a", "b", "c", "d", "e", "f"} {
			us := 100 * float64(k+1) * f * math.Exp(0.03*rng.NormFloat64())
			if name == "c" {
				us *= one
			}
			r.Operations[name] = append(r.Operations[name], us)
			wall += us
		}
		r.Busy, r.Duration, r.Wall = append(r.Busy, 480), append(r.Duration, 500), append(r.Wall, wall)
	}
	return compare.FromSamples(compare.Samples{Name: "machine", Gen: 8, Ranks: []compare.RankSamples{r}})
}

// TestMachine slows all host work down, which is a row of its own and no operation's; one
// operation is found beside a machine that wanders.
func TestMachine(t *testing.T) {
	steady := func(f float64) func(int) float64 { return func(int) float64 { return f } }
	c := compareRuns(t, machine(1, 1, steady(1)), machine(2, 1, steady(1.2)))
	if r := row(t, c.Summary, "all host work"); !r.Significant || math.Abs(*r.DeltaPercent-20) > 2 || *r.Delta < r.CI[0] || *r.Delta > r.CI[1] {
		t.Errorf("%+v", r)
	}
	for _, r := range c.Operations {
		if r.Significant || r.Relative == nil || math.Abs(*r.DeltaPercent-20) > 4 {
			t.Errorf("%s is flagged: %v", r.Name, *r.Relative)
		}
	}
	if said := strings.Join(c.Explanation, " "); !strings.Contains(said, "All host work changed by one factor") {
		t.Errorf("%q", said)
	}
	wanders := func(k int) float64 { return math.Exp(0.1 * math.Sin(float64(k)/9)) }
	c = compareRuns(t, machine(1, 1, steady(1)), machine(2, 1.1, wanders))
	for _, r := range c.Operations {
		if r.Significant != (r.Name == "c") {
			t.Errorf("%s: significant %v, p %v", r.Name, r.Significant, *r.P)
		}
	}
}

// TestSimilarSteps: whether an interval is given does not depend on whether it excludes 0
// where each step is similar to the one before, which is in its width: of equal runs some miss.
func TestSimilarSteps(t *testing.T) {
	similar := func(rng *rand.Rand) *compare.Run {
		one := compare.RankSamples{Operations: map[string][]float64{}}
		z := rng.NormFloat64()
		for range 50 {
			z = 0.6*z + 0.8*rng.NormFloat64()
			wall := 520.0
			for _, name := range []string{"_schedule", "_sample_async", "_update_requests"} {
				us := 900 * (1 + 0.08*z + 0.02*rng.NormFloat64())
				one.Operations[name] = append(one.Operations[name], us)
				wall += us
			}
			one.Busy, one.Duration, one.Wall = append(one.Busy, 500), append(one.Duration, 520), append(one.Wall, wall)
		}
		return compare.FromSamples(compare.Samples{Name: "similar", Gen: 8, Ranks: []compare.RankSamples{one}})
	}
	rng := rand.New(rand.NewPCG(7, 1))
	given, missed, pairs := 0, 0, cases.Few(150, 150, 400)
	for range pairs {
		r := row(t, compareRuns(t, similar(rng), similar(rng)).Summary, "wall")
		if r.Unknown == "" {
			given++
			if r.CI[0] > 0 || r.CI[1] < 0 {
				missed++
			}
		}
	}
	if missed < pairs/100 || missed > given*8/100 || given < pairs*3/4 {
		t.Errorf("of %d pairs %d are given an interval, %d of which miss the truth", pairs, given, missed)
	}
}

// TestMedianGrown makes each step half as long again, between steps, and a few steps in a row of
// the target four times as long: they leave the mean uncertain, but not that most take longer.
func TestMedianGrown(t *testing.T) {
	draw := func(seed uint64, us float64, slow ...int) *compare.Run {
		rng := rand.New(rand.NewPCG(seed, 5))
		var r compare.RankSamples
		for range 42 {
			r.Busy, r.Duration = append(r.Busy, 440), append(r.Duration, 460)
			r.Wall = append(r.Wall, us*(1+0.02*rng.NormFloat64()))
		}
		for _, k := range slow {
			r.Wall[k] += 2100
		}
		return compare.FromSamples(compare.Samples{Name: "bursty", Gen: 8, Ranks: []compare.RankSamples{r}})
	}
	gate, err := compare.ParseGate("regression")
	if err != nil {
		t.Fatal(err)
	}
	c := compareRuns(t, draw(1, 810), draw(2, 1230, 14, 15, 16))
	if w := row(t, c.Summary, "wall"); w.Significant || w.CI[0] <= 0 || !row(t, c.Summary, "wall_p50").Significant {
		t.Fatalf("wall %+v: the case is another one now", w)
	}
	failed, why, err := c.Check(gate)
	if c.Conclusion != compare.HostInterStep || !strings.HasPrefix(c.Explanation[1], "Median step: +4") ||
		!failed || err != nil || !strings.Contains(why, "wall, P50 +4") {
		t.Errorf("%s: %q; %v %q %v", c.Conclusion, c.Explanation, failed, why, err)
	}
	most := []int{}
	for k := range 42 {
		if k%5 == 0 {
			most = append(most, k)
		}
	}
	c = compareRuns(t, draw(1, 810, most...), draw(2, 1230))
	if failed, why, err := c.Check(gate); *c.Direction != compare.Slower || !failed || err != nil || !strings.HasPrefix(why, "Slower by 4") || !strings.Contains(why, "by the median") {
		t.Errorf("the mean the same: %s: %v %q %v", c.Conclusion, failed, why, err)
	}
	c = compareRuns(t, draw(1, 810), draw(2, 810, 13, 14, 15, 16, 17, 18))
	if failed, why, err := c.Check(gate); c.Conclusion != compare.None || failed || err == nil {
		t.Errorf("slow steps alone: %s: %v %q %v", c.Conclusion, failed, why, err)
	}
}

// The operation in the middle of the others has a variance of its own, also between two runs: of equal
// runs, two on one side, no more operations are far apart than chance says.
func TestOperationsOfTwoRuns(t *testing.T) {
	start := func(rng *rand.Rand) *compare.Run {
		r := compare.RankSamples{Wall: []float64{}, Operations: map[string][]float64{}}
		for range 12 {
			r.Wall, r.Busy, r.Duration = append(r.Wall, 1000), append(r.Busy, 480), append(r.Duration, 500)
		}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			us := 100 * math.Exp(0.01*rng.NormFloat64())
			for range 12 {
				r.Operations[name] = append(r.Operations[name], us)
			}
		}
		return compare.FromSamples(compare.Samples{Name: "start", Gen: 8, Ranks: []compare.RankSamples{r}})
	}
	rng, far, all := rand.New(rand.NewPCG(31, 7)), 0, 0
	for range cases.Few(150, 150, 400) {
		two, err := compare.Join([]*compare.Run{start(rng), start(rng)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range compareRuns(t, two, start(rng)).Operations {
			if all++; *r.P < 0.01 {
				far++
			}
		}
	}
	if share := float64(far) / float64(all); share > 0.015 {
		t.Errorf("%d of %d operations have a probability below 1 %%", far, all)
	}
}

// Two runs a side that differ little have an interval of what all host work changed by, in
// proportion to it; of those that differ by much nothing is told.
func TestFactorOfTwoRuns(t *testing.T) {
	side := func(seed uint64, factors ...float64) *compare.Run {
		var runs []*compare.Run
		for k, f := range factors {
			runs = append(runs, machine(seed+uint64(k), 1, func(int) float64 { return f }))
		}
		all, err := compare.Join(runs)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	near := row(t, compareRuns(t, side(1, 1, 1.01), side(3, 1.02, 1.03)).Summary, "all host work")
	if near.CI == nil || near.Unknown != "" || *near.Delta < near.CI[0] || *near.Delta > near.CI[1] || near.CI[1] > *near.Baseline {
		t.Errorf("near: %+v %v", near, near.CI)
	}
	apart := row(t, compareRuns(t, side(1, 1, 30), side(3, 1.02, 20)).Summary, "all host work")
	if apart.CI != nil || apart.P != nil || apart.Significant || !strings.Contains(apart.Unknown, "from 2 and 2 runs") {
		t.Errorf("apart: %+v %v", apart, apart.CI)
	}
}
