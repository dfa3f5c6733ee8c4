package straggler

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// run makes the collectives of ranks: in each step ten of one name and three of
// another, one of a kind that does not end together.
type run struct {
	ranks, steps int
	late         func(rng *rand.Rand, step, rank int) int64 // ns
	noise        int64
	offset       func(rank int, t int64) int64
	report       func(rank int) int
	skip         func(rank, step int) bool
	missing      func(rng *rand.Rand) bool
	only         int // steps with collectives
}

// listed is a rank with its collectives as a list.
type listed struct {
	collective.Lane
	Window
	Collectives []collective.Collective
}

// find is Find of listed ranks.
func find(list []listed) *Result {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	var lanes []collective.Lane
	var windows []Window
	for _, l := range list {
		l.Log = collective.NewLog(store)
		slices.SortStableFunc(l.Collectives, func(a, b collective.Collective) int { return cmp.Compare(a.Start, b.Start) })
		for _, c := range l.Collectives {
			l.Log.Collective(c)
		}
		l.Log.Seal()
		lanes, windows = append(lanes, l.Lane), append(windows, l.Window)
	}
	return Find(collective.New(lanes), windows)
}

func (r run) make() []listed {
	rng := rand.New(rand.NewPCG(1, 2))
	ranks := make([]listed, r.ranks)
	for k := range ranks {
		ranks[k].Lane, ranks[k].Window = collective.Lane{Rank: int32(k), Report: k}, Window{To: r.steps}
		if r.report != nil {
			ranks[k].Report = r.report(k)
		}
	}
	first := make([]int, r.ranks) // first step of each rank
	for k := range first {
		for r.skip != nil && r.skip(k, first[k]) {
			first[k]++
		}
	}
	now := int64(1_000_000)
	for step := range r.steps {
		if r.only > 0 && step >= r.only {
			break
		}
		for i := range 13 {
			end := int64(0)
			starts := make([]int64, r.ranks)
			for k := range ranks {
				starts[k] = now + rng.Int64N(2000)
				if i == 0 && r.late != nil {
					starts[k] += r.late(rng, step, k)
				}
				end = max(end, starts[k]+8000)
			}
			for k := range ranks {
				if step < first[k] || r.missing != nil && r.missing(rng) {
					continue
				}
				c := collective.Collective{Step: int32(step - first[k]), Name: int32(i % 2), Allreduce: i%2 == 0, Start: starts[k], End: end}
				if r.noise > 0 {
					c.End += rng.Int64N(r.noise)
				}
				if i%2 == 1 {
					c.End += int64(k) * 100_000 // a broadcast
				}
				if r.offset != nil {
					c.Start += r.offset(k, c.Start)
					c.End += r.offset(k, c.End)
				}
				ranks[k].Collectives = append(ranks[k].Collectives, c)
			}
			now = end + 20_000
		}
		now += 3_000_000 + rng.Int64N(200_000)
	}
	return ranks
}

func second(_ *rand.Rand, _, rank int) int64 {
	if rank == 1 {
		return 400_000
	}
	return 0
}

func TestFind(t *testing.T) {
	off := func(k int, _ int64) int64 { return []int64{0, 2_000_000, -1_500_000}[k] }
	drift := func(k int, t int64) int64 { return []int64{0, 2_000_000 + t/50_000, -t / 100_000}[k] }
	tests := []struct {
		name string
		run  run
		kind Kind
		rank int
	}{
		{"late", run{ranks: 3, steps: 40, late: second}, Persistent, 1},
		{"clocks", run{ranks: 3, steps: 40, late: second, offset: off, noise: 3000}, Persistent, 1},
		{"drifting clocks", run{ranks: 3, steps: 400, late: second, offset: drift, noise: 3000}, Persistent, 1},
		{"alike", run{ranks: 3, steps: 40, offset: off, noise: 3000}, Nobody, -1},
		{"alike, drifting clocks", run{ranks: 3, steps: 400, offset: drift, noise: 3000}, Nobody, -1},
		{"last at some collectives each", run{ranks: 3, steps: 60, report: func(int) int { return 0 }}, Nobody, -1},
		{"rotating", run{ranks: 3, steps: 60, late: func(rng *rand.Rand, step, rank int) int64 {
			if step%3 == rank {
				return 400_000
			}
			return 0
		}}, Rotating, 0},
		{"two at once", run{ranks: 4, steps: 40, noise: 3000, late: func(_ *rand.Rand, _, rank int) int64 { return int64(rank%2) * 400_000 }}, Together, -1},
		{"two at once, one of them later", run{ranks: 4, steps: 40, late: func(_ *rand.Rand, _, rank int) int64 { return []int64{0, 400_000, 0, 450_000}[rank] }}, Persistent, 3},
		{"three of four at once", run{ranks: 4, steps: 40, noise: 3000, late: func(_ *rand.Rand, _, rank int) int64 { return int64(min(rank, 1)) * 400_000 }}, Nobody, -1},
		{"now and then", run{ranks: 3, steps: 60, noise: 4000, late: func(rng *rand.Rand, step, rank int) int64 {
			if step%10 == 0 && rank == 2 {
				return 400_000
			}
			return 0
		}}, Nobody, -1},
		{"fewer steps at the begin", run{ranks: 3, steps: 40, late: second, offset: off, skip: func(rank, step int) bool { return rank == 2 && step < 3 }}, Persistent, 1},
		{"few steps with collectives", run{ranks: 2, steps: 60, late: second, skip: nil, only: 10}, Nobody, -1},
		{"missing ones", run{ranks: 2, steps: 60, late: second, noise: 500, missing: func(rng *rand.Rand) bool { return rng.IntN(400) == 0 }}, Persistent, 1},
	}
	for _, test := range tests {
		res := find(test.run.make())
		if res == nil || res.Kind != test.kind || test.kind != Rotating && res.Rank != test.rank {
			t.Errorf("%s: %+v, want %s %d", test.name, res, test.kind, test.rank)
			continue
		}
		if late := float64(res.Apart); (test.kind == Together || test.rank == 3) && (!slices.Equal(res.Together, []int{1, 3}) || late < 380_000 || late > 430_000) {
			t.Errorf("%s: %v are late by %v ns a step at once, want 1 and 3 by 400000", test.name, res.Together, late)
		}
		if test.kind != Persistent || test.rank == 3 {
			continue
		}
		late := float64(res.Ranks[res.Rank].Late) / float64(res.Steps)
		if late < 380_000 || late > 430_000 {
			t.Errorf("%s: %v ns late a step, want 400000", test.name, late)
		}
		for k, s := range res.Ranks {
			if k != res.Rank && float64(s.Wait)/float64(res.Steps) < 350_000 {
				t.Errorf("%s: rank %d waits %v ns a step", test.name, k, float64(s.Wait)/float64(res.Steps))
			}
		}
		if res.ClockError > 10_000 {
			t.Errorf("%s: clock error %d ns", test.name, res.ClockError)
		}
	}
}

// Ranks wait for those only that run collectives with them: in the stages of a pipeline
// the rank that is late in its stage is found, and where every stage is one rank nothing is
// said.
func TestGroups(t *testing.T) {
	stages := func(ranks int, late func(*rand.Rand, int, int) int64, apart int64) (all []listed) {
		for stage := range 2 {
			of := run{ranks: ranks, steps: 40, late: late, report: func(int) int { return 0 }}.make()
			rng := rand.New(rand.NewPCG(3, 4)) // what the stages are apart by
			for r := range of {
				of[r].Rank = int32(len(all))
				all = append(all, of[r])
			}
			for i := range of[0].Collectives {
				by := int64(stage) * (apart + rng.Int64N(300_000))
				for r := range of {
					of[r].Collectives[i].Start += by
					of[r].Collectives[i].End += by
				}
			}
		}
		return all
	}
	for _, apart := range []int64{400_000, 20_000_000} { // replicas may be steps apart
		res := find(stages(2, second, apart))
		if res.Kind != Persistent || len(res.Lanes) != 2 || res.Lanes[res.Rank]%2 != 1 {
			t.Errorf("two by two: %s, rank %d of %v", res.Kind, res.Rank, res.Lanes)
		}
		if late := res.perStep(); late < 380_000 || late > 430_000 {
			t.Errorf("late by %d ns per step, want 400000", late)
		}
	}
	if res := find(stages(1, nil, 400_000)); res.Kind != Unknown || res.Reason == "" || len(res.Lanes) != 2 {
		t.Errorf("two stages: %s, %q, %v", res.Kind, res.Reason, res.Lanes)
	}
}

// What is less than the clock error is not claimed.
func TestBelowClockError(t *testing.T) {
	late := func(_ *rand.Rand, _, rank int) int64 { return int64(rank) * 15_000 }
	if res := find(run{ranks: 2, steps: 50, late: late, noise: 50_000}.make()); res == nil || res.Kind != Nobody && res.Kind != Unknown {
		t.Errorf("%+v, want nobody, or that it cannot be told", res)
	}
	if res := find(run{ranks: 2, steps: 50, late: late, noise: 2_000}.make()); res == nil || res.Kind != Persistent {
		t.Errorf("%+v, want rank 1", res)
	}
}

// Ranks that leave out other steps, as those of dummy batches have no marker, are matched by
// when their collectives end; where that is not clear nothing is said.
func TestOtherSteps(t *testing.T) {
	for _, late := range []bool{true, false} {
		r := run{ranks: 3, steps: 64, report: func(int) int { return 0 }}
		if late {
			r.late = second
		}
		ranks := r.make()
		for k := range ranks {
			from, to := int32(8*k+8), int32(8*k+16)
			for i := range ranks[k].Collectives {
				switch c := &ranks[k].Collectives[i]; {
				case c.Step >= to:
					c.Step -= to - from
				case c.Step >= from:
					c.Step = from - 1
				}
			}
			ranks[k].To -= int(to - from)
		}
		if res := find(ranks); res == nil || res.ClockError > 5000 || res.Matched < 400 || (res.Kind == Persistent && res.Rank == 1) != late {
			t.Errorf("late %v: %+v", late, res)
		}
		for k := range ranks { // all-reduces that do not end together either
			for i := range ranks[k].Collectives {
				ranks[k].Collectives[i].End += int64(i) * int64(k) * 13_000
			}
		}
		if res := find(ranks); res == nil || res.Kind != Unknown || res.Reason == "" {
			t.Errorf("apart: %+v, want unknown", res)
		}
	}
}

// Ranks of one report have one clock: what looks like an offset is lateness.
func TestOneClock(t *testing.T) {
	one := run{ranks: 2, steps: 40, late: second, report: func(int) int { return 0 }, offset: func(k int, _ int64) int64 { return int64(k) * 50_000 }}
	res := find(one.make())
	if res == nil || res.Clocks[1].Offset != 0 {
		t.Fatalf("%+v, want no offset", res)
	}
}

func TestNothing(t *testing.T) {
	if find(nil) != nil || find(make([]listed, 1)) != nil || find(make([]listed, 3)) != nil {
		t.Error("a straggler among nothing")
	}
	a := listed{Window: Window{To: 1}, Collectives: []collective.Collective{{Name: 1, End: 5}}}
	b := listed{Window: Window{To: 1}, Collectives: []collective.Collective{{Name: 2, End: 5}}}
	if res := find([]listed{a, b}); res == nil || res.Kind != Unknown {
		t.Error("a straggler without anything matched")
	}
}

func BenchmarkFind(b *testing.B) {
	ranks := run{ranks: 8, steps: 1000, late: second, noise: 1000}.make()
	n := 0
	for _, r := range ranks {
		n += len(r.Collectives)
	}
	b.ReportAllocs()
	for b.Loop() {
		if find(ranks) == nil {
			b.Fatal("nothing")
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mcollectives/s")
}
