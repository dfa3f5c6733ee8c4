package collective

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// lane is a lane of some collectives of one name, 100 us apart, of ns each and more.
func lane(store *spill.Store, rank int32, n int, ns func(i int) (late, length int64)) Lane {
	l := Lane{Rank: rank, Log: NewLog(store)}
	for i := range n {
		late, length := ns(i)
		at := int64(i)*100_000 + late
		l.Log.Collective(Collective{Step: int32(i / 4), Start: at, End: at + length})
	}
	l.Log.Seal()
	return l
}

// A group that one lane recorded has the least duration at the same place for its transfer.
func TestEstimate(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	one := lane(store, 0, 40, func(i int) (int64, int64) { return 0, 5000 + int64(i%4)*100 + int64(i%3)*1000 })
	m := New([]Lane{one})
	if !m.Estimated {
		t.Fatal("nothing is estimated")
	}
	n, sum := 0, int64(0)
	m.Each(func(ev *Meeting) {
		w := &ev.Members[0]
		if !ev.Estimated || w.End-w.Start-w.Wait != 5000+int64(n%4)*100 {
			t.Errorf("collective %d: %d ns of wait of %d", n, w.Wait, w.End-w.Start)
		}
		for _, p := range w.Parts {
			if sum += p.Ns; p.Key != Unknown {
				t.Errorf("wait of key %d", p.Key)
			}
		}
		n++
		sum -= w.Wait
	})
	if n != 40 || sum != 0 {
		t.Errorf("%d collectives, parts that differ by %d ns", n, sum)
	}
}

// Of a group that is known to have more GPUs than were recorded, each lane has an estimate, of
// unknown cause; one of a single GPU waits for nobody, and of one of unknown size a doubt is left.
func TestPartial(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	for _, test := range []struct {
		name        string
		lanes       int
		size, world int
		estimated   bool
		wait        int64 // of all lanes
		doubt       string
	}{
		{"two of eight", 2, 8, 0, true, 40 * 3000, "only 2 of 8 GPUs"},
		{"two of a run of eight", 2, 0, 8, true, 40 * 3000, "only 2 of 8 GPUs"},
		{"two of two in a run of eight", 2, 2, 8, false, 40 * 3000, ""},
		{"all of a run", 2, 0, 2, false, 40 * 3000, ""},
		{"not known", 2, 0, 0, false, 40 * 3000, "does not say how many"},
		{"one alone", 1, 1, 0, false, 0, ""},
		{"one of many", 1, 0, 0, true, 20 * 3000, "not all GPUs"},
	} {
		var lanes []Lane
		for k := range test.lanes {
			// Of two lanes each waits for the other in every other collective.
			l := lane(store, int32(k), 40, func(i int) (int64, int64) {
				wait := int64((i/4 + k) % 2 * 3000)
				return 3000 - wait, 5000 + wait
			})
			l.Size, l.World = func(int32) int { return test.size }, test.world
			lanes = append(lanes, l)
		}
		m, sum := New(lanes), int64(0)
		m.Each(func(ev *Meeting) {
			for i := range ev.Members {
				sum += ev.Members[i].Wait
				for _, p := range ev.Members[i].Parts {
					if ev.Estimated && p.Key != Unknown {
						t.Errorf("%s: an estimated wait of key %d", test.name, p.Key)
					}
				}
			}
		})
		c := m.Coverage()
		if doubt := c.Doubt(); m.Estimated != test.estimated || sum != test.wait || (doubt == "") != (test.doubt == "") || !strings.Contains(doubt, test.doubt) {
			t.Errorf("%s: estimated %v, wait %d, %q", test.name, m.Estimated, sum, doubt)
		}
	}
}

// Lanes whose collectives of one name do not end together are of groups of their own, and so
// are those of which there is too little to tell: these have no estimate either.
func TestApart(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	usual := func(int) (int64, int64) { return 0, 8000 }
	later := func(i int) (int64, int64) { return 20_000 + int64(i%7)*9000, 8000 }
	m := New([]Lane{lane(store, 0, 40, usual), lane(store, 1, 40, usual), lane(store, 2, 40, later), lane(store, 3, 40, later)})
	if len(m.Groups) != 2 || len(m.Groups[0].Lanes) != 2 || len(m.Groups[1].Lanes) != 2 {
		t.Errorf("groups %v", m.Groups)
	}
	few := New([]Lane{lane(store, 0, minTogether-1, usual), lane(store, 1, minTogether-1, usual)})
	few.Each(func(*Meeting) { t.Error("a meeting of too few") })
	if few.Estimated || len(few.Groups) != 2 || few.Groups[0].Unmatched != minTogether-1 {
		t.Errorf("%+v", few.Groups)
	}
	New(nil).Each(func(*Meeting) { t.Error("a meeting of nobody") })
}

// Lanes of one group match a name that comes three times, too: a wait in it is not left out. Where the
// others of such a name cannot be found it has no match, though all ranks of the run were recorded.
func TestRareName(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	for shift, want := range map[int64][2]int64{0: {43, 0}, 60_000: {40, 6}} {
		var lanes []Lane
		for k := range int64(2) {
			l := Lane{Rank: int32(k), Log: NewLog(store), World: 2}
			for i := range int64(40) {
				l.Log.Collective(Collective{Step: int32(i / 4), Start: i * 400_000, End: i*400_000 + 8000})
				if i%16 == 0 {
					late := 7000*k + shift*k
					l.Log.Collective(Collective{Step: int32(i / 4), Name: 1, Start: i*400_000 + 20_000 + late, End: i*400_000 + 60_000 + shift*k})
				}
			}
			l.Log.Seal()
			lanes = append(lanes, l)
		}
		wait, m := int64(0), New(lanes)
		m.Each(func(ev *Meeting) { wait += ev.Members[0].Wait })
		matched, unmatched := int64(0), int64(0)
		for _, g := range m.Groups {
			matched, unmatched = matched+g.Matched, unmatched+g.Unmatched
		}
		if matched != want[0] || unmatched != want[1] || wait != 7000*(want[0]-40) {
			t.Errorf("shift %d: %d matched, %d without a match, %d ns of wait", shift, matched, unmatched, wait)
		}
	}
}

// A kernel without a match, as one that waits for nobody and only prepares a collective, is nothing that
// lanes left together: what the late lane did before it is the cause.
func TestCauseBeforeUnmatched(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	var lanes []Lane
	for k := range int64(2) {
		l := Lane{Rank: int32(k), Log: NewLog(store)}
		for i := range int64(40) {
			at, late := i*200_000, int64(0)
			if i%5 == 4 {
				late = 50_000 * k
			}
			l.Log.Idle(3, late)
			l.Log.Collective(Collective{Start: at + late, End: at + late + 500})
			l.Log.Collective(Collective{Name: 1, Start: at + late + 1000, End: at + 60_000})
		}
		l.Log.Seal()
		lanes = append(lanes, l)
	}
	parts := map[Key]int64{}
	m := Visit(lanes, func(ev *Meeting) {
		for _, w := range ev.Members {
			for _, p := range w.Parts {
				parts[p.Key] += p.Ns
			}
		}
	})
	if len(m.Groups) != 1 || m.Groups[0].Unmatched != 16 || parts[3] != 8*50_000 || len(parts) != 1 {
		t.Errorf("%+v, waits by key %v", m.Groups, parts)
	}
}

// Ranks that number their steps differently, each without those of its dummy batches, are matched
// all the same; so are reports whose clocks are apart and drift.
func TestClocks(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	const n = 4000
	make := func(rank int32, clock func(int64) int64, dummy bool) Lane {
		l := Lane{Rank: rank, Log: NewLog(store)}
		step := int32(0)
		for i := range int64(n) {
			if i%4 == 0 && !(dummy && i/4%10 == int64(rank)) {
				step++
			}
			at := i * 100_000
			if i%5 == int64(rank) {
				at += 20_000
			}
			l.Log.Collective(Collective{Step: step, Start: clock(at), End: clock(i*100_000 + 30_000 + i*7919%400)})
		}
		l.Log.Seal()
		return l
	}
	same := func(t int64) int64 { return t }
	check := func(what string, lanes []Lane) {
		m := New(lanes)
		waits := map[int]int64{}
		m.Each(func(ev *Meeting) {
			for _, w := range ev.Members {
				waits[w.Lane] += w.Wait
			}
		})
		if len(m.Groups) != 1 || m.Groups[0].Matched != n {
			t.Fatalf("%s: groups %+v, runs %v", what, m.Groups, m.run)
		}
		for k, ns := range waits {
			if want := int64(n / 5 * 20_000 * (len(lanes) - 1)); ns < want*99/100 || ns > want*101/100 {
				t.Errorf("%s: lane %d waits %d ns, want %d", what, k, ns, want)
			}
		}
	}
	check("dummy batches", []Lane{make(0, same, true), make(1, same, true), make(2, same, true)})
	off := make(1, func(t int64) int64 { return t + 200_000 + t/20_000 }, false)
	off.Report = 1
	check("clocks", []Lane{make(0, same, false), off})
}

// Stages of a pipeline, a report each, have all-reduces of their own, half a step apart with jitter.
// Their clocks go by what one sends to the other.
func TestClocksOfStages(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	const steps, off = 100, 300_000
	var lanes []Lane
	for k := range int64(2) {
		l := Lane{Rank: int32(k), Report: int(k), Clocked: true, Log: NewLog(store)}
		add := func(step int64, c Collective, start, end int64) {
			c.Step, c.Start, c.End = int32(step), start+k*off, end+k*off
			l.Log.Collective(c)
		}
		for s := range int64(steps) {
			sent := s*1_000_000 + s*7919%60_000
			if k == 1 {
				add(s, Collective{Name: 1}, sent-200_000, sent)
			}
			for i := range int64(4) {
				at := sent - (1-k)*400_000 + 50_000 + i*80_000 + (1-k)*(s*104_729%20_000)
				add(s, Collective{Allreduce: true}, at, at+5000)
			}
			if k == 0 {
				add(s, Collective{Name: 1}, sent-10_000, sent)
			}
		}
		l.Log.Seal()
		lanes = append(lanes, l)
	}
	m, waits := New(lanes), int64(0)
	m.Each(func(ev *Meeting) {
		for _, w := range ev.Members {
			waits += w.Wait
		}
	})
	if c, run := m.Clock(1); c.Offset != off || run != 0 || waits != steps*190_000 || len(m.Groups) != 3 {
		t.Errorf("clock %+v of run %d, %d ns of waits, groups %+v", c, run, waits, m.Groups)
	}
}

// Kernels without a match are said from a hundredth of the time of the GPUs on.
func TestDoubts(t *testing.T) {
	for n, want := range map[int64]string{0: "", 9: "", 10: "10 collective kernels, about 1.0 % of the time, have no match"} {
		m := &Match{Groups: []Group{{Lanes: []int{0, 1}, Size: 2, Matched: 145, Unmatched: n}}}
		for range 2 {
			m.Lanes = append(m.Lanes, Lane{Log: &Log{span: 1_000_000, length: 300_000}})
		}
		if all := strings.Join(m.Doubts(), " "); (all == "") != (want == "") || !strings.Contains(all, want) {
			t.Errorf("%d without a match: %q", n, all)
		}
	}
}

// How much was recorded does not depend on the order of the groups, which is that of the numbers
// that the names of their collectives happen to have.
func TestCoverageOrder(t *testing.T) {
	groups := []Group{{Lanes: []int{0}}, {Lanes: []int{0}, Size: 2}, {Lanes: []int{1}, Size: 1}}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		m := &Match{}
		for _, g := range order {
			m.Groups = append(m.Groups, groups[g])
		}
		if c := m.Coverage(); c.Recorded != 1 || c.Size == nil || *c.Size != 2 {
			t.Errorf("groups in order %v: %+v", order, c)
		}
	}
}

// A collective that was recorded on one of two ranks alone, before the other began, does not mean
// that GPUs are missing.
func TestOddOne(t *testing.T) {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	for _, odd := range []int64{0, 1, 50} {
		var lanes []Lane
		for k := range int64(2) {
			l := Lane{Rank: int32(k), Log: NewLog(store), Size: func(int32) int { return 2 }}
			for i := range int64(50) {
				if k == 0 && i < odd {
					l.Log.Collective(Collective{Step: int32(i), Name: 1, Start: i * 10_000, End: i*10_000 + 700})
				}
				l.Log.Collective(Collective{Step: int32(i), Start: i*10_000 + 1000 + k*300, End: i*10_000 + 2000})
			}
			l.Log.Seal()
			lanes = append(lanes, l)
		}
		if m := Visit(lanes, func(*Meeting) {}); m.Estimated != (odd == 50) || m.Groups[0].Matched != 50 {
			t.Errorf("%d odd ones: estimated %v, groups %+v", odd, m.Estimated, m.Groups)
		}
	}
}
