package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// noises have the variance 1.
var noises = map[string]func(*rand.Rand) float64{
	"normal":  (*rand.Rand).NormFloat64,
	"uniform": func(r *rand.Rand) float64 { return (r.Float64() - 0.5) * math.Sqrt(12) },
	"laplace": func(r *rand.Rand) float64 { return (r.ExpFloat64() - r.ExpFloat64()) / math.Sqrt2 },
}

// deviation is that of the noise of simulate, as a share of a step.
const deviation = 0.01

// simulate returns n runs of which the last `since` are worse by so many deviations of
// the noise in one metric.
func simulate(r *rand.Rand, noise func(*rand.Rand) float64, n, since int, shift float64) []HistoryRun {
	runs := make([]HistoryRun, n)
	for i := range runs {
		runs[i].Values = map[Key]float64{}
		for _, scope := range Scopes {
			for _, name := range Tested {
				runs[i].Values[Key{scope, name}] = 0.3 + deviation*noise(r)
				if name == StepP50 {
					runs[i].Values[Key{scope, name}] = 2500 * math.Exp(deviation*noise(r))
				}
			}
		}
		if i >= n-since {
			runs[i].Values[Key{Generation, GPUIdle}] += shift * deviation
		}
	}
	return runs
}

// TestFalseAlarms wants nights on which nothing changed to be called worse as seldom as
// promised, and changes to be found.
func TestFalseAlarms(t *testing.T) {
	cases.Whole(t)
	nights := cases.Few(0, 300, 1000)
	for name, noise := range noises {
		for _, n := range []int{6, 9, 15, 31} {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			alarms := 0
			for range nights {
				runs := simulate(r, noise, n, 0, 0)
				if Examine(runs[:n-1], runs[n-1], HistoryOptions{}).Worse {
					alarms++
				}
			}
			limit := map[string]float64{"normal": 1, "uniform": 2, "laplace": 5}[name] * DefaultAlpha
			if bound := limit*float64(nights) + 3*math.Sqrt(limit*float64(nights)); float64(alarms) > bound {
				t.Errorf("%s, %d runs: %d false alarms in %d nights, at most %.0f", name, n, alarms, nights, bound)
			}
			t.Logf("%s, %d runs: %.2f %% false alarms", name, n, 100*float64(alarms)/float64(nights))
		}
	}
	for _, c := range []struct {
		since int
		shift float64
		share float64
	}{{1, 10, 0.95}, {3, 6, 0.95}, {8, 5, 0.95}} {
		r := rand.New(rand.NewPCG(2, uint64(c.since)))
		found := 0
		for range nights {
			runs := simulate(r, noises["normal"], 31, c.since, c.shift)
			res := Examine(runs[:30], runs[30], HistoryOptions{})
			if res.Worse && res.Series[0].Scope == Generation && res.Series[0].Metric == GPUIdle {
				found++
			}
		}
		if float64(found) < c.share*float64(nights) {
			t.Errorf("worse by %.0f deviations since %d runs: found in %d of %d", c.shift, c.since, found, nights)
		}
	}
}

// TestEdges: too few runs, figures that repeat, what got better.
func TestEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	runs := simulate(r, noises["normal"], 31, 1, -20)
	if Examine(runs[:30], runs[30], HistoryOptions{}).Worse {
		t.Error("what got better is worse")
	}
	if res := Examine(runs[:MinRuns-1], runs[30], HistoryOptions{}); res.Unknown == "" || res.Worse {
		t.Errorf("%+v", res)
	}
	same := simulate(r, func(*rand.Rand) float64 { return 0 }, 20, 0, 0)
	if Examine(same[:19], same[19], HistoryOptions{}).Worse {
		t.Error("the same is worse")
	}
	more := simulate(r, func(*rand.Rand) float64 { return 0 }, 20, 1, 2)
	if res := Examine(more[:19], more[19], HistoryOptions{}); !res.Worse || res.Series[0].Runs != 1 {
		t.Errorf("%+v", res)
	}
	for i := range more[:19] { // steps that last half as long, with the same idle time and less
		more[i].Values[Key{Generation, StepP50}] = 5000
	}
	if res := Examine(more[:19], more[19], HistoryOptions{}); res.Worse {
		t.Errorf("steps that are shorter are worse: %+v", res)
	}
	more[19].Values[Key{Context, Launch}] = 0.35
	if res := Examine(more[:19], more[19], HistoryOptions{}); !res.Worse || res.Series[0].Metric != Launch || res.Series[1].Worse {
		t.Errorf("launches of context steps take longer: %+v", res)
	}
	if len(Before([]HistoryRun{{Time: 1}, {Name: "b", Time: 2}, {Time: 2, Values: map[Key]float64{{"a", "b"}: 1}}, {Time: 3}}, HistoryRun{Time: 2})) != 2 {
		t.Error("later runs, or itself, come before")
	}
}

// nights are runs as a nightly job makes them: all that a step takes is multiplied by what
// differs from start to start, exp(N(0, spread)), and by growth of the night; a median of many
// steps adds 0.1 %, one of few context steps 0.5 %, and ratios vary by 0.2 points.
func nights(r *rand.Rand, n int, spread float64, growth func(night int) float64) []HistoryRun {
	runs := make([]HistoryRun, n)
	for i := range runs {
		start := math.Exp(spread*r.NormFloat64()) * growth(i)
		v := map[Key]float64{
			{Generation, StepP50}: 2500 * start * math.Exp(0.001*r.NormFloat64()),
			{Context, StepP50}:    9000 * start * math.Exp(0.005*r.NormFloat64()),
		}
		for _, scope := range Scopes {
			for k, name := range []string{GPUIdle, Launch, PrepImpact} {
				v[Key{scope, name}] = []float64{0.6, 0.05, 0.25}[k] + 0.002*r.NormFloat64()
			}
		}
		runs[i] = HistoryRun{Name: fmt.Sprint(i), Time: int64(i + 1), Values: v}
	}
	return runs
}

// redNights counts the runs from place first on that are worse than those before them.
func redNights(runs []HistoryRun, first int) (red int) {
	for i := first; i < len(runs); i++ {
		if Examine(runs[:i], runs[i], HistoryOptions{}).Worse {
			red++
		}
	}
	return red
}

// TestNights: hardly a night is red without a change, a step of 8 % is found in its first
// night after five, a slow drift within fifteen nights.
func TestNights(t *testing.T) {
	cases.Whole(t)
	same := func(int) float64 { return 1 }
	r := rand.New(rand.NewPCG(27, 5))
	years := cases.Few(0, 3, 10)
	for _, spread := range []float64{0.005, 0.012, 0.03} {
		red, most := 0, 0
		for range years {
			n := redNights(nights(r, 205, spread, same), MinRuns)
			red, most = red+n, max(most, n)
		}
		t.Logf("%.1f %%: %d of %d nights without a change are red, at most %d of 200", 100*spread, red, 200*years, most)
		if red > 200*years/50 {
			t.Errorf("spread %v: %d of %d nights without a change are red", spread, red, 200*years)
		}
	}
	for _, c := range []struct {
		spread, share float64
		nights        int
		growth        func(int) float64
	}{
		{0.005, 0.95, 6, func(i int) float64 { return 1 + 0.08*float64(i/5) }},
		{0.012, 0.80, 6, func(i int) float64 { return 1 + 0.08*float64(i/5) }},
		{0.005, 0.90, 20, func(i int) float64 { return math.Pow(1.0025, float64(max(0, i-4))) }},
		{0.005, 0.90, 15, func(i int) float64 { return math.Pow(1.0025, float64(i)) }},
	} {
		const times = 400
		found := 0
		for range times {
			if redNights(nights(r, c.nights, c.spread, c.growth), MinRuns) > 0 {
				found++
			}
		}
		t.Logf("%.1f %%, %d nights: found in %d of %d", 100*c.spread, c.nights, found, times)
		if float64(found) < c.share*times {
			t.Errorf("spread %v, %d nights: found in %d of %d", c.spread, c.nights, found, times)
		}
	}
}
