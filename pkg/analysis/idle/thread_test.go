package idle

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/cases"
)

// spot is a span of a thread.
type spot struct {
	start, end int64
	what       int // 0 call, 1 wait, 2 hold, 3 collection, 4 range
	state      Key
}

func randomSpots(seed uint64) []spot {
	rng := rand.New(rand.NewPCG(seed, 5))
	var all []spot
	for range rng.IntN(60) {
		s := spot{start: rng.Int64N(200), what: rng.IntN(7)}
		s.end = s.start + []int64{0, 1, 3, 10, 40, 150}[rng.IntN(6)]
		switch {
		case s.what == 0 || s.what == 5:
			s.what, s.state = 0, Key(Launch)+Key(rng.IntN(5))
		case s.what >= 4:
			s.what, s.state = 4, named+Key(rng.IntN(4))
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b spot) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	return all
}

// threadAt returns the state at an instant by its definition.
func threadAt(spots []spot, t int64) Key {
	var call, named *spot
	var wait, hold, gc bool
	for i := range spots {
		s := &spots[i]
		if t < s.start || t >= s.end {
			continue
		}
		switch s.what {
		case 0:
			if call == nil || s.start > call.start || s.end < call.end || s.end == call.end && s.state < call.state {
				call = s
			}
		case 1:
			wait = true
		case 2:
			hold = true
		case 3:
			gc = true
		case 4:
			named = s // later ones start later, or end earlier
		}
	}
	switch {
	case call != nil:
		return call.state
	case wait && !hold:
		return Key(GIL)
	case gc:
		return Key(GC)
	case named != nil:
		return named.state
	}
	return Key(Untraced)
}

func (t *Thread) take(s spot) {
	switch s.what {
	case 0:
		t.Call(s.start, s.end, Cause(s.state), s.state)
	case 1:
		t.Wait(s.start, s.end)
	case 2:
		t.Hold(s.start, s.end)
	case 3:
		t.Collect(s.start, s.end)
	case 4:
		t.Range(s.start, s.end, int32(s.state-named))
	}
}

func TestThread(t *testing.T) {
	for seed := range uint64(cases.Few(1000, 1000, 3000)) {
		spots := randomSpots(seed)
		if len(spots) == 0 {
			continue
		}
		h := NewThread(spots[0].start)
		for _, s := range spots {
			h.take(s)
		}
		const end = 500
		h.Advance(end)
		runs := h.Runs(spots[0].start)
		for i, r := range runs {
			to := int64(end)
			if i+1 < len(runs) {
				to = runs[i+1].At
				if runs[i+1].Key == r.Key {
					t.Fatalf("seed %d: two runs of state %d in a row", seed, r.Key)
				}
			}
			for now := r.At; now < to; now++ {
				if want := threadAt(spots, now); r.Key != want {
					t.Fatalf("seed %d: state %d at %d, want %d", seed, r.Key, now, want)
				}
			}
		}
	}
}

func TestForget(t *testing.T) {
	h := NewThread(0)
	for i := range int64(10_000) {
		h.Call(10*i, 10*i+5, Launch, Key(Launch))
		if i%100 == 0 {
			h.Forget(10*i - 55)
			if n := h.Len(); n > 16 {
				t.Fatalf("%d runs after the call at %d", n, 10*i)
			}
			if runs := h.Runs(10*i - 45); i > 0 && (runs[0].At > 10*i-45 || runs[1].At <= 10*i-45) {
				t.Fatalf("the runs from %d on begin with %v", 10*i-45, runs[:2])
			}
		}
	}
	h.Forget(h.now)
	if h.Len() != 0 {
		t.Errorf("%d runs after all were forgotten", h.Len())
	}
}

func TestPaths(t *testing.T) {
	p := NewSites()
	outer, inner := p.Ranges.ID([]byte("outer")), p.Ranges.ID([]byte("inner"))
	a := p.child(-1, outer)
	b := p.child(a, inner)
	if p.child(a, inner) != b || p.child(-1, inner) == b || p.Range(b) != inner || p.Parent(b) != a || p.Parent(a) != -1 || p.Range(-1) != -1 {
		t.Error("a path is not itself")
	}
	if got := p.PathText(b); got != "outer > inner" || p.PathText(-1) != "" {
		t.Errorf("a path is %q", got)
	}
	h := NewThread(0)
	h.Range(0, 100, a)
	h.Range(10, 20, b)
	if h.Path() != b {
		t.Error("the innermost range is not the last")
	}
	if h.Advance(20); h.Path() != a {
		t.Error("the innermost range did not end")
	}
	if h.Advance(100); h.Path() != -1 {
		t.Error("the outermost range did not end")
	}
}

func BenchmarkThread(b *testing.B) {
	h := NewThread(0)
	var t int64
	for b.Loop() {
		h.Range(t, t+100, 1)
		h.Call(t+10, t+15, Launch, Key(Launch))
		h.Range(t+20, t+40, 2)
		h.Call(t+25, t+30, Launch, Key(Launch))
		t += 100
		if t%100_000 == 0 {
			h.Forget(t)
		}
	}
	b.ReportMetric(4*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mspans/s")
}
