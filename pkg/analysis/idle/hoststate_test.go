package idle

import (
	"cmp"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"math/rand/v2"
	"slices"
	"testing"
)

// row is a span of a thread, as it comes in a stream.
type row struct {
	start, end int64
	what       int // 0 to 2 an overhead, 3 a call, 4 a run, 5 a run of which nothing is known
	class      int32
	cuda       Cause // of what: 6, a CUDA call
}

// waits reports whether a call may wait.
func (r *row) waits() bool { return r.class < 7 }

func randomHostRows(rng *rand.Rand) []row {
	var all []row
	for range rng.IntN(40) {
		r := row{start: rng.Int64N(200) - 100, what: []int{0, 1, 2, 3, 3, 3, 3, 6, 6}[rng.IntN(9)], class: rng.Int32N(9), cuda: []Cause{Sync, API}[rng.IntN(2)]}
		r.end = r.start + []int64{0, 1, 3, 10, 40, 150}[rng.IntN(6)]
		all = append(all, r)
	}
	// Runs do not overlap.
	for at := rng.Int64N(300) - 100; at < 100; at += rng.Int64N(30) {
		r := row{start: at, end: at + 1 + rng.Int64N(40), what: 4 + rng.IntN(5)/4}
		all = append(all, r)
		at = r.end
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	return all
}

// hostAt is why at an instant, by the definition.
func hostAt(rows []row, t int64) Why {
	var held [3]bool
	var inside, cuda *row
	var on, off, ran bool
	for i := range rows {
		r := &rows[i]
		if r.what >= 4 && r.what < 6 && r.start <= t {
			ran, on, off = true, r.what == 4 && t < r.end, t >= r.end
		}
		if t < r.start || t >= r.end {
			continue
		}
		switch {
		case r.what < 3:
			held[r.what] = true
		case r.what == 3:
			inside = r // later ones start later, or end no later
		case r.what == 6:
			cuda = r
		}
	}
	off = off && ran
	switch {
	case held[0]:
		return Profiler
	case held[1]:
		return QueueFull
	case held[2]:
		return Load
	case off && inside != nil && !inside.waits():
		return Preempted + Why(inside.class)
	case off && inside != nil:
		return Blocked + Why(inside.class)
	case off && cuda != nil:
		return BlockedCUDA
	case off:
		return Descheduled
	case on && inside != nil:
		return Call + Why(inside.class)
	case on && cuda != nil && cuda.cuda == Sync:
		return Spin
	case on:
		return Running
	case inside != nil:
		return In + Why(inside.class)
	}
	return Unknown
}

// cudaAt is the CUDA call at an instant, and until when nothing ends in it.
func cudaAt(rows []row, t int64) (in Cause) {
	for i := range rows {
		if r := &rows[i]; r.what == 6 && r.start <= t && t < r.end {
			in = r.cuda
		}
	}
	return in
}

// TestHost compares with the definition at every instant.
func TestHost(t *testing.T) {
	seen := map[Why]int{}
	for seed := range uint64(cases.Few(1000, 1000, 3000)) {
		rows := randomHostRows(rand.New(rand.NewPCG(seed, 3)))
		if len(rows) == 0 {
			continue
		}
		h, now := NewHostState(rows[0].start, seed%2 == 0), rows[0].start
		advance := func(to int64) {
			for now < to {
				limit := now + 1 // CUDA calls may end anywhere
				for limit < to && cudaAt(rows, limit) == cudaAt(rows, now) {
					limit++
				}
				why, until := h.At(now, limit, cudaAt(rows, now))
				if until <= now || until > limit {
					t.Fatalf("seed %d: at %d until %d, not after %d", seed, now, until, limit)
				}
				for ; now < until; now++ {
					want := hostAt(rows, now)
					if want == Descheduled && seed%2 == 1 {
						want = Off
					}
					if why != want {
						t.Fatalf("seed %d: %d at %d, want %d", seed, why, now, want)
					}
					seen[why]++
				}
			}
		}
		for _, r := range rows {
			advance(r.start)
			switch r.what {
			case 0, 1, 2:
				h.Hold(event.ByProfiler+event.Class(r.what), r.end)
			case 3:
				h.Call(r.start, r.end, event.OSLock+event.Class(r.class), r.class, r.waits())
			case 4, 5:
				h.Run(r.end, r.what == 4)
			}
		}
		advance(400)
	}
	for _, why := range []Why{Profiler, QueueFull, Load, BlockedCUDA, Descheduled, Off, Spin, Running, Unknown, Blocked + 3, Preempted + 8, In + 5, Call + 8} {
		if seen[why] == 0 {
			t.Errorf("no test of %d", why)
		}
	}
}
