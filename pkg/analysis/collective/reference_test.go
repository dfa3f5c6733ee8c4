package collective

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// made is a made-up run: what each lane did, on one clock, and which collectives belong together.
type made struct {
	lanes  []madeLane
	groups [][]int
	turns  bool // groups but the first are of one name, by turns
}

type madeLane struct {
	work     []stat.Span
	idle     []madeIdle
	segments []int64
	pauses   []int64 // where segments begin, whether they count or not
	calls    []call  // in order of start
}

type madeIdle struct {
	at, ns int64
	key    Key
}

// call is a collective of a lane; of one meeting it has the number, -1 where another member was
// not recorded.
type call struct {
	Collective
	group, meeting int
}

// makeRun makes a run of lanes that work, idle, and meet: all of them, and in pairs, which as a chain
// have a lane in two of them. Kernels run beside some collectives, some collectives of single lanes were
// not recorded, and pauses divide segments.
func makeRun(rng *rand.Rand, lanes, meetings int, chain bool) *made {
	m := &made{lanes: make([]madeLane, lanes), turns: chain && lanes > 2}
	all := []int{}
	for k := range lanes {
		all = append(all, k)
	}
	m.groups = [][]int{all}
	for k := 0; k+1 < lanes && lanes > 2; k++ {
		if m.groups = append(m.groups, []int{k, k + 1}); !chain {
			k++
		}
	}
	var ends [][2]int64
	now := make([]int64, lanes)
	slow := make([]int64, lanes)
	for k := range slow {
		slow[k] = 1 + rng.Int64N(3)
	}
	for n := range meetings {
		if n%40 == 0 {
			top := slices.Max(now) + 1_000_000
			for k := range now {
				now[k] = top + rng.Int64N(2000)
				m.lanes[k].segments, m.lanes[k].pauses = append(m.lanes[k].segments, now[k]), append(m.lanes[k].pauses, now[k])
			}
		}
		g := rng.IntN(len(m.groups))
		of := m.groups[g]
		last := int64(0)
		starts := make([]int64, len(of))
		for i, k := range of {
			l := &m.lanes[k]
			for range rng.IntN(4) {
				ns := 1 + rng.Int64N(9000)
				if rng.IntN(2) == 0 {
					ns *= slow[k]
					l.work = append(l.work, stat.Span{From: now[k], To: now[k] + ns})
				} else {
					l.idle = append(l.idle, madeIdle{now[k], ns, Key(rng.IntN(5))})
				}
				now[k] += ns
			}
			starts[i] = now[k]
			last = max(last, now[k])
		}
		lost, apart := -1, int64(1000)
		if rng.IntN(12) == 0 {
			lost, apart = rng.IntN(len(of)), 10_000
		}
		end := last + 1500 + rng.Int64N(5000)
		for chain && slices.ContainsFunc(ends, func(e [2]int64) bool { return max(e[0]-end, end-e[0]) < max(apart, e[1]) }) {
			end += 1000 // of those closer it cannot be told which end together
		}
		ends = append(ends, [2]int64{end, apart})
		for i, k := range of {
			l := &m.lanes[k]
			c := call{Collective{int32(n / 10), int32(g), g == 0, starts[i], end + rng.Int64N(300)}, g, n}
			if g > 0 { // pairs run the same kernel
				c.Name = 1
			}
			if lost >= 0 {
				c.meeting = -1
			}
			now[k] = c.End + rng.Int64N(2)*rng.Int64N(50)
			if i == lost {
				l.work = append(l.work, stat.Span{From: c.Start, To: c.End})
				continue
			}
			if rng.IntN(5) == 0 { // beside it, and maybe after it
				from := c.Start + rng.Int64N(c.End-c.Start)
				l.work = append(l.work, stat.Span{From: from, To: from + 1 + rng.Int64N(4000)})
				now[k] = max(now[k], l.work[len(l.work)-1].To)
			}
			l.calls = append(l.calls, c)
		}
	}
	return m
}

// log returns the log of a lane, whose clock is late by offset.
func (l *madeLane) log(store *spill.Store, offset int64) *Log {
	log := NewLog(store)
	type row struct {
		at   int64
		rank int
		do   func()
	}
	var rows []row
	for _, t := range l.segments {
		rows = append(rows, row{t, 0, func() { log.Segment(t + offset) }})
	}
	for _, i := range l.idle { // known when the gap ends
		rows = append(rows, row{i.at + i.ns, 1, func() { log.Idle(i.key, i.ns) }})
	}
	for _, s := range l.work {
		rows = append(rows, row{s.From, 2, func() { log.Work(s.From+offset, s.To+offset) }})
	}
	for _, c := range l.calls {
		c := c.Collective
		c.Start, c.End = c.Start+offset, c.End+offset
		rows = append(rows, row{c.Start - offset, 2, func() { log.Collective(c) }})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	for _, r := range rows {
		r.do()
	}
	log.Seal()
	return log
}

// answer is what is known of one kernel of a lane: its wait, by key.
type answer struct {
	wait  int64
	parts map[Key]int64
}

// reference divides the waits of a run as the package comment says, looking at everything each
// time. Answers are by lane and start; kernels without a match have none.
func reference(m *made) map[[2]int64]answer {
	type event struct {
		meeting []int // lanes
		calls   []call
		end     int64
	}
	byMeeting := map[int]*event{}
	var events []*event
	for k := range m.lanes {
		for _, c := range m.lanes[k].calls {
			e := byMeeting[c.meeting]
			if e == nil || c.meeting < 0 {
				e = &event{}
				events = append(events, e)
				if c.meeting >= 0 {
					byMeeting[c.meeting] = e
				}
			}
			e.meeting, e.calls, e.end = append(e.meeting, k), append(e.calls, c), max(e.end, c.End)
		}
	}
	slices.SortStableFunc(events, func(a, b *event) int { return cmp.Compare(a.end, b.end) })
	answers := map[[2]int64]answer{}
	type passed struct {
		group      int
		start, end int64 // on this lane
		order      int
		wait       int64
		parts      map[Key]int64
	}
	history := make([][]passed, len(m.lanes)) // what each lane took part in so far
	for order, e := range events {
		group := e.calls[0].group
		// since returns when a lane left the group's previous collective, and the number of that.
		since := func(k int, start int64) (t int64, from int) {
			t, from = m.lanes[k].segments[0], -1
			for _, s := range m.lanes[k].segments {
				if s <= start {
					t = s
				}
			}
			begin := t
			for _, h := range history[k] {
				if h.group == group && h.end >= begin {
					t, from = h.end, h.order
				}
			}
			return t, from
		}
		own := func(k int, start int64) int64 {
			from, _ := since(k, start)
			return stat.Length(stat.Intersection(stat.Union(m.lanes[k].work), []stat.Span{{From: from, To: start}}))
		}
		// all is what a lane did from one time to another, in its order: in a gap it idles before it works.
		all := func(k int, from, to int64, after int) (did []Part) {
			gap := func(from, to int64) {
				l, first, before := &m.lanes[k], len(did), -1
				for _, i := range l.idle {
					if i.at < from || i.at >= to {
						continue
					}
					n := len(slices.DeleteFunc(slices.Clone(l.calls), func(c call) bool { return c.Start > i.at }))
					n += len(slices.DeleteFunc(slices.Clone(l.pauses), func(t int64) bool { return t > i.at }))
					if n != before {
						first, before = len(did), n
					}
					if same := slices.IndexFunc(did[first:], func(p Part) bool { return p.Key == i.key }); same >= 0 {
						did[first+same].Ns += i.ns
					} else {
						did = append(did, Part{i.key, i.ns})
					}
				}
				did = append(did, Part{Sender, stat.Length(stat.Intersection(stat.Union(l.work), []stat.Span{{From: from, To: to}}))})
			}
			for _, h := range history[k] {
				if h.order > after && h.end >= from {
					gap(from, h.start)
					for _, key := range slices.Sorted(maps.Keys(h.parts)) {
						did = append(did, Part{key, h.parts[key]})
					}
					did, from = append(did, Part{Sender, h.end - h.start - h.wait}), h.end
				}
			}
			gap(from, to)
			return did
		}
		results := make([]answer, len(e.calls))
		if e.calls[0].meeting >= 0 {
			late, least := 0, e.calls[0].End-e.calls[0].Start
			for i, c := range e.calls {
				if c.Start > e.calls[late].Start {
					late = i
				}
				least = min(least, c.End-c.Start)
			}
			last, lateLane := e.calls[late].Start, e.meeting[late]
			did := map[Key]int64{}
			from, after := since(lateLane, last)
			for _, i := range m.lanes[lateLane].idle {
				if i.at >= from && i.at < last {
					did[i.key] += i.ns
				}
			}
			for _, h := range history[lateLane] {
				if h.group != group && h.order > after && h.end >= from {
					for key, ns := range h.parts {
						did[key] += ns
					}
				}
			}
			for i, c := range e.calls {
				wait := max(0, min(last-c.Start, c.End-c.Start-least))
				imbalance := min(wait, max(0, own(lateLane, last)-own(e.meeting[i], c.Start)))
				parts := proportion(wait-imbalance, did)
				if m.turns && group > 0 {
					parts = map[Key]int64{Unknown: wait - imbalance}
					ago := int64(0)
					for _, p := range slices.Backward(all(lateLane, from, last, after)) {
						ns := max(0, min(ago+p.Ns, wait)-max(ago, imbalance))
						parts[p.Key], ago = parts[p.Key]+ns, ago+p.Ns
						parts[Unknown] -= ns
					}
				}
				parts[Imbalance] += imbalance
				results[i] = answer{wait, parts}
				answers[[2]int64{int64(e.meeting[i]), c.Start}] = results[i]
			}
		}
		for i, c := range e.calls {
			if c.meeting < 0 { // they did not leave it together
				continue
			}
			k := e.meeting[i]
			history[k] = append(history[k], passed{group, c.Start, c.End, order, results[i].wait, results[i].parts})
		}
	}
	return answers
}

// proportion divides ns by the weights, largest remainder first, of equal ones the lower key.
func proportion(ns int64, weights map[Key]int64) map[Key]int64 {
	parts, sum := map[Key]int64{}, int64(0)
	var keys []Key
	for key, w := range weights {
		if w > 0 {
			keys, sum = append(keys, key), sum+w
		}
	}
	if sum == 0 {
		parts[Unknown] = ns
		return parts
	}
	slices.Sort(keys)
	left := ns
	for _, key := range keys {
		parts[key] = ns * weights[key] / sum
		left -= parts[key]
	}
	rest := func(key Key) int64 { return ns * weights[key] % sum }
	slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(rest(b), rest(a)) })
	for _, key := range keys[:left] {
		parts[key]++
	}
	return parts
}

// TestReference wants exactly the reference's matches, waits and causes: of one report, of one for each
// lane whose clocks differ, and of lanes whose steps turn out to be none, which have no segments.
func TestReference(t *testing.T) {
	untold, seeds := 0, cases.Few(40, 40, 120)
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed/2, 1))
		run := makeRun(rng, 2+rng.IntN(4), 400, seed%2 > 0)
		for _, mode := range []struct{ reports, stepless bool }{{false, false}, {true, false}, {false, true}} {
			reports, of := mode.reports, &made{slices.Clone(run.lanes), run.groups, run.turns}
			for k := range of.lanes {
				if mode.stepless {
					of.lanes[k].segments = of.lanes[k].segments[:1] // which nothing is before
				}
			}
			want := reference(of)
			store := spill.NewStore(1 << 20)
			lanes := make([]Lane, len(run.lanes))
			for k := range lanes {
				offset := int64(0)
				if reports {
					offset = int64(k) * 200_000
				}
				lanes[k] = Lane{Rank: int32(k), Log: run.lanes[k].log(store, offset), Stepless: mode.stepless}
				if reports {
					lanes[k].Report = k
				}
			}
			m := New(lanes)
			if run.turns && len(m.turns[1]) == 0 {
				untold++
				store.Close()
				continue
			}
			seen := 0
			m.Each(func(ev *Meeting) {
				for _, w := range ev.Members {
					clock, _ := m.Clock(w.Lane)
					start := w.Start // ends differ by up to 300 ns from lane to lane, and so do clocks
					if reports {
						start = w.At - int64(w.Lane)*200_000
					}
					a, ok := want[[2]int64{int64(w.Lane), start}]
					if !ok {
						t.Fatalf("seed %d: a match of lane %d at %d that is none", seed, w.Lane, start)
					}
					seen++
					sum := int64(0)
					for _, p := range w.Parts {
						if sum += p.Ns; p.Ns <= 0 {
							t.Fatalf("seed %d: a part of %d ns", seed, p.Ns)
						}
						if !reports && a.parts[p.Key] != p.Ns {
							t.Fatalf("seed %d: lane %d at %d: key %d has %d ns of %d, want %d of %d (%v, %v)", seed, w.Lane, start, p.Key, p.Ns, w.Wait, a.parts[p.Key], a.wait, w.Parts, a.parts)
						}
					}
					if sum != w.Wait || w.Wait > w.End-w.Start {
						t.Fatalf("seed %d: parts of %d ns of a wait of %d ns of %d ns", seed, sum, w.Wait, w.End-w.Start)
					}
					if by := w.Wait - a.wait; by != 0 && !reports || max(by, -by) > 1000 {
						t.Fatalf("seed %d: lane %d waits %d ns, want %d; clock %v", seed, w.Lane, w.Wait, a.wait, clock)
					}
				}
			})
			if seen != len(want) || m.Estimated {
				t.Errorf("seed %d, %+v: %d of %d kernels matched, estimated %v", seed, mode, seen, len(want), m.Estimated)
			}
			store.Close()
		}
	}
	if 10*untold > seeds {
		t.Errorf("of %d runs ends do not tell which lanes meet by turns", untold)
	}
}
