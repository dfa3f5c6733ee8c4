package history

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/metric"
)

// noises have the variance 1.
var noises = map[string]func(*rand.Rand) float64{
	"normal":  (*rand.Rand).NormFloat64,
	"uniform": func(r *rand.Rand) float64 { return (r.Float64() - 0.5) * math.Sqrt(12) },
	"laplace": func(r *rand.Rand) float64 { return (r.ExpFloat64() - r.ExpFloat64()) / math.Sqrt2 },
}

// simulate returns n runs of which the last `since` are worse by so many deviations of
// the noise in one metric.
func simulate(r *rand.Rand, noise func(*rand.Rand) float64, n, since int, shift float64) []Run {
	runs := make([]Run, n)
	for i := range runs {
		runs[i].Values = map[Key]float64{}
		for _, scope := range metric.Scopes {
			for _, name := range Tested {
				runs[i].Values[Key{scope, name}] = 10 + noise(r)
			}
		}
		if i >= n-since {
			runs[i].Values[Key{metric.Generation, metric.GPUIdle}] += shift
		}
	}
	return runs
}

// TestFalseAlarms wants nights on which nothing changed to be called worse as seldom as
// promised, and changes to be found.
func TestFalseAlarms(t *testing.T) {
	const nights = 1000
	for name, noise := range noises {
		for _, n := range []int{9, 15, 31} {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			alarms := 0
			for range nights {
				runs := simulate(r, noise, n, 0, 0)
				if Examine(runs[:n-1], runs[n-1], Options{}).Worse {
					alarms++
				}
			}
			limit := map[string]float64{"normal": 1, "uniform": 2, "laplace": 5}[name] * DefaultAlpha
			if bound := limit*nights + 3*math.Sqrt(limit*nights); float64(alarms) > bound {
				t.Errorf("%s, %d runs: %d false alarms in %d nights, at most %.0f", name, n, alarms, nights, bound)
			}
			t.Logf("%s, %d runs: %.2f %% false alarms", name, n, 100*float64(alarms)/nights)
		}
	}
	for _, c := range []struct {
		since int
		shift float64
		share float64
	}{{1, 6, 0.9}, {3, 4, 0.95}, {8, 3, 0.95}} {
		r := rand.New(rand.NewPCG(2, uint64(c.since)))
		found := 0
		for range 300 {
			runs := simulate(r, noises["normal"], 31, c.since, c.shift)
			res := Examine(runs[:30], runs[30], Options{})
			if res.Worse && res.Series[0].Scope == metric.Generation && res.Series[0].Metric == metric.GPUIdle {
				found++
			}
		}
		if float64(found) < c.share*300 {
			t.Errorf("worse by %.0f deviations since %d runs: found in %d of 300", c.shift, c.since, found)
		}
	}
}

// TestEdges: too few runs, figures that repeat, what got better.
func TestEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	runs := simulate(r, noises["normal"], 31, 1, -20)
	if Examine(runs[:30], runs[30], Options{}).Worse {
		t.Error("what got better is worse")
	}
	if res := Examine(runs[:MinRuns-1], runs[30], Options{}); res.Unknown == "" || res.Worse {
		t.Errorf("%+v", res)
	}
	same := simulate(r, func(*rand.Rand) float64 { return 0 }, 20, 0, 0)
	if Examine(same[:19], same[19], Options{}).Worse {
		t.Error("the same is worse")
	}
	more := simulate(r, func(*rand.Rand) float64 { return 0 }, 20, 1, 1)
	if res := Examine(more[:19], more[19], Options{}); !res.Worse || res.Series[0].Runs != 1 {
		t.Errorf("%+v", res)
	}
	for i := range more[:19] { // steps that last half as long, with the same idle time and less
		more[i].Values[Key{metric.Generation, StepP50}] = 20
	}
	if res := Examine(more[:19], more[19], Options{}); res.Worse {
		t.Errorf("steps that are shorter are worse: %+v", res)
	}
	more[19].Values[Key{metric.Context, metric.Launch}] = 12
	if res := Examine(more[:19], more[19], Options{}); !res.Worse || res.Series[0].Metric != metric.Launch || res.Series[1].Worse {
		t.Errorf("launches of context steps take longer: %+v", res)
	}
	if len(Before([]Run{{Time: 1}, {Name: "b", Time: 2}, {Time: 2, Values: map[Key]float64{{"a", "b"}: 1}}, {Time: 3}}, Run{Time: 2})) != 2 {
		t.Error("later runs, or itself, come before")
	}
}
