package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// fixed is steps in which a kind comes at the same place of the only idle part. In microseconds.
type fixed struct {
	name               string
	step, varies       float64 // how long a step lasts, and its standard deviation
	every              float64 // between samples
	part               float64 // idle time
	begins, us, differ float64 // of the kind in it: where, how long, and the standard deviation of that
	told               bool    // the share is told
	least              float64 // of the intervals that hold it
}

// draw draws a run.
func (f *fixed) draw(rng *rand.Rand) *timeline {
	t := &timeline{sizes: make([]float64, 1), counts: make([]Counts, 1)}
	at, now, hit := rng.Float64()*f.every, 0.0, 0.0
	for range 120 {
		us, n := f.us+f.differ*rng.NormFloat64(), 0
		for ; at < now+f.part; at += f.every {
			if at < now {
				continue
			}
			d := Drawn{Part: int32(len(t.lengths)), Offset: float32(at - now)}
			if into := at - now - f.begins; into >= 0 && into < us {
				d.Kind = 1
			}
			t.drawn, t.strata = append(t.drawn, d), append(t.strata, 0)
			n++
		}
		t.counts[0].Add(n, int64(f.part))
		t.sizes[0] += f.part
		hit += us
		if n > 0 {
			t.lengths = append(t.lengths, f.part)
		}
		now += max(f.part, f.step+f.varies*rng.NormFloat64())
	}
	t.scale()
	t.truth = hit / t.sizes[0]
	return t
}

// Of what comes at the same place of each step samples at equal distances hold the share,
// unless they hit none but some moments of it: then no share is told.
func TestSharesOfFixedPlaces(t *testing.T) {
	const runs = 400
	for _, f := range []fixed{
		{"from the beginning on", 5000, 2000, 100, 840, 0, 700, 50, true, 0.93},
		{"between samples of others", 5000, 2000, 1000, 1200, 200, 700, 0, true, 0.86},
		{"in step", 5000, 0, 1000, 1200, 200, 700, 0, false, 0},
		{"nearly in step", 5000, 5, 1000, 1200, 200, 700, 0, false, 0},
		{"every other sample in step", 4500, 5, 1000, 2100, 200, 900, 0, false, 0},
		{"long, in step", 10000, 5, 5000, 6200, 200, 2300, 100, false, 0},
	} {
		told, held := 0.0, 0.0
		for seed := range uint64(runs) {
			line := f.draw(rand.New(rand.NewPCG(seed, 9)))
			for kind, s := range Shares(line.drawn, 2, NewSampler(line.counts, line.lengths, line.drawn)) {
				if kind == 1 && s.Share > 0 && math.Round(s.N) >= 30 {
					told++
					held += of(s.Low <= line.truth && line.truth <= s.High)
				}
			}
		}
		t.Logf("%s: told %.3f, %.3f of the intervals hold the truth", f.name, told/runs, held/told)
		if f.told && (told < 0.95*runs || held/told < f.least) || !f.told && told > 0.01*runs {
			t.Errorf("%s: told in %.3f, holds in %.3f of the runs", f.name, told/runs, held/told)
		}
	}
}

func of(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
