package straggler

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// A rank with nearly all lateness is named though it is late in few of the steps.
func TestMostOfTheLateness(t *testing.T) {
	some := func(share float64) func(*rand.Rand, int, int) int64 {
		return func(rng *rand.Rand, step, rank int) int64 {
			if rank == 1 && float64(step%10) < 10*share {
				return 400_000
			}
			return rng.Int64N(10_000)
		}
	}
	for _, ranks := range []int{2, 4, 8} {
		res := find(run{ranks: ranks, steps: 100, late: some(0.6), noise: 4000}.make())
		if res == nil || res.Kind != Persistent || res.Rank != 1 || res.ShareLate < 0.9 || res.Ranks[1].Straggler > 80 {
			t.Errorf("%d ranks: %+v, want rank 1", ranks, res)
		}
	}
}

// Equal ranks are named in none of many runs, whatever their noise.
func TestEqualRanks(t *testing.T) {
	noises := map[string]func(*rand.Rand, int, int) int64{
		"even": func(rng *rand.Rand, _, _ int) int64 { return rng.Int64N(50_000) },
		"pauses": func(rng *rand.Rand, _, _ int) int64 {
			if rng.IntN(60) == 0 {
				return 30_000_000
			}
			return rng.Int64N(5_000)
		},
		"heavy tail": func(rng *rand.Rand, _, _ int) int64 { return int64(2000 / (rng.Float64() + 1e-6)) },
	}
	for name, noise := range noises {
		for _, ranks := range []int{2, 3, 8} {
			for _, steps := range []int{8, 20, 100} {
				for seed := range uint64(cases.Few(5, 5, 40)) {
					rng := rand.New(rand.NewPCG(seed, 9))
					late := func(_ *rand.Rand, step, rank int) int64 { return noise(rng, step, rank) }
					if res := find(run{ranks: ranks, steps: steps, late: late, noise: 3000}.make()); res == nil || res.Late() != nil {
						t.Errorf("%s, %d ranks, %d steps, seed %d: %+v", name, ranks, steps, seed, res)
					}
				}
			}
		}
	}
}

// Two runs that have nothing to do with each other are not compared, nor is what few
// collectives say.
func TestUnrelated(t *testing.T) {
	one := run{ranks: 1, steps: 60, noise: 3000}.make()[0]
	unrelated := func(first int64, clocked bool) []listed {
		now := int64(0)
		rng := rand.New(rand.NewPCG(7, 7))
		b := listed{Lane: collective.Lane{Rank: 1, Report: 1, Clocked: clocked}, Window: Window{To: 60}}
		for k, c := range one.Collectives {
			if k%13 == 0 {
				now += rng.Int64N(200_000)
			}
			c.Start, c.End = c.Start+now+first, c.End+now+first
			b.Collectives = append(b.Collectives, c)
		}
		a := one
		a.Clocked = clocked
		return []listed{a, b}
	}
	for _, clocked := range []bool{false, true} {
		for _, first := range []int64{0, 5_000_000_000} {
			if res := find(unrelated(first, clocked)); res == nil || res.Kind != Unknown || !strings.Contains(res.Reason, "not of one run") {
				t.Errorf("clocked %v, %d ns later: %+v", clocked, first, res)
			}
		}
	}
	for _, steps := range []int{1, 2, 7} {
		if res := find(run{ranks: 2, steps: steps, late: second}.make()); res == nil || res.Kind != Unknown || res.Reason == "" {
			t.Errorf("%d steps: %+v", steps, res)
		}
	}
	// Clocks that say nothing do not keep ranks of one run from being compared.
	ranks := run{ranks: 2, steps: 60, late: second, noise: 3000, offset: func(k int, _ int64) int64 { return int64(k) * 1e15 }}.make()
	if res := find(ranks); res.Kind != Persistent || res.Rank != 1 {
		t.Errorf("unknown clocks: %+v", res)
	}
	ranks[0].Clocked, ranks[1].Clocked = true, true
	if res := find(ranks); res.Kind != Unknown {
		t.Errorf("clocks that are 11 days apart: %+v", res)
	}
}

// The clock error holds for the few collectives that were compared, too.
func TestClockErrorOfFew(t *testing.T) {
	for n, want := range map[int][2]int64{20: {19, 19}, 1000: {910, 920}} {
		var s spread
		for i := range n {
			s.others = append(s.others, int64(i))
		}
		if got := s.error(); got < want[0] || got > want[1] {
			t.Errorf("of %d: %d, want %v", n, got, want)
		}
	}
}
