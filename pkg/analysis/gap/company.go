package gap

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// stretches are disjoint spans in order of time. before[k] is the total length of at[:k].
type stretches struct {
	at     []stat.Span
	before []int64
}

// union returns the time covered by spans, which may be in any order and overlap.
func union(spans []stat.Span) *stretches {
	u := &stretches{at: stat.Union(spans)}
	before := int64(0)
	for _, s := range u.at {
		u.before = append(u.before, before)
		before += s.Len()
	}
	return u
}

// until returns how much of them lies before t, in ns.
func (u *stretches) until(t int64) int64 {
	k := sort.Search(len(u.at), func(k int) bool { return u.at[k].From >= t })
	if k == 0 {
		return 0
	}
	return u.before[k-1] + min(t, u.at[k-1].To) - u.at[k-1].From
}

// within returns how much of them lies in s, in ns.
func (u *stretches) within(s stat.Span) int64 { return u.until(s.To) - u.until(s.From) }

// length returns their total length, in ns.
func (u *stretches) length() int64 { return u.until(math.MaxInt64) }

// machine describes the ranks of one machine: when their launching threads waited for other
// threads, and when their windows were.
type machine struct {
	waits, window *stretches
	waiters       map[int32]bool // ranks whose threads waited
}

// windowSpans returns the slices of the window as spans.
func (v *view) windowSpans() (spans []stat.Span) {
	for k, s := range v.slices {
		if v.has(&v.bins[s.bin].scope) {
			from, to := v.idle.Bounds(k)
			spans = append(spans, stat.Span{From: from, To: to})
		}
	}
	return spans
}

// machines returns the machines of views. A report stands for a machine, see Watch.machine.
func (c *Watch) machines(views []*view) map[*event.Report]*machine {
	all, waits, windows := map[*event.Report]*machine{}, map[*event.Report][]stat.Span{}, map[*event.Report][]stat.Span{}
	for _, v := range views {
		of := c.machine(v.id)
		if all[of] == nil {
			all[of] = &machine{waiters: map[int32]bool{}}
		}
		window, blocked := v.windowSpans(), []stat.Span(nil)
		v.idle.EachWait(func(from, to int64) { blocked = append(blocked, stat.Span{From: from, To: to}) })
		blocked = stat.Intersection(stat.Union(blocked), stat.Union(window))
		all[of].waiters[v.id] = len(blocked) > 0
		waits[of], windows[of] = append(waits[of], blocked...), append(windows[of], window...)
	}
	for of, m := range all {
		m.waits, m.window = union(waits[of]), union(windows[of])
	}
	return all
}

// machine returns the report that stands for the machine that a rank ran on, nil if unknown.
func (c *Watch) machine(rank int32) *event.Report {
	if len(c.header.Reports) == 1 {
		return &c.header.Reports[0]
	}
	return c.header.Report(rank)
}

// home is a rank with its window and the places of its CPUs and GPUs.
type home struct {
	*view
	window         *stretches
	sockets, nodes []int32 // by CPU number, -1 for unknown; nil if all are
	gpus           []int32 // NUMA nodes of the rank's GPUs; empty if unknown
}

// newHome returns the home of a rank.
func newHome(v *view) *home {
	h := &home{view: v, window: union(v.windowSpans())}
	if rep := v.c.header.Report(v.id); rep != nil {
		h.sockets, h.nodes = rep.Sockets, rep.Nodes
	}
	if f := v.c.header.RankFacts(v.id); f != nil {
		h.gpus = f.GPUNodes
	}
	return h
}

// at returns the place of a CPU, -1 if unknown.
func at(places []int32, cpu int64) int32 {
	if cpu < 0 || cpu >= int64(len(places)) {
		return -1
	}
	return places[cpu]
}

// ran says how long a thread was on a CPU, in ns, and where.
type ran struct {
	end, cpu              int64 // of its last run, noCPU before the first
	window, beside        int64 // on a CPU in the machine's windows, and while launching threads waited
	onCPU, somewhere      int64 // in the window of its rank, and the part of that on an unknown CPU
	moves, crossings, far int64
}

// add adds a run of the thread, in order of start. home is nil if its rank has no window.
func (r *ran) add(run stat.Span, cpu int64, m *machine, home *home) {
	if run.From = max(run.From, r.end); run.Len() == 0 { // overlaps with the last run count once
		return
	}
	last := r.cpu
	r.end, r.cpu = run.To, cpu
	r.window, r.beside = r.window+m.window.within(run), r.beside+m.waits.within(run)
	if home == nil {
		return
	}
	inside := home.window.within(run)
	r.onCPU += inside
	if cpu == event.SomeCPU {
		r.somewhere += inside
	}
	if node := at(home.nodes, cpu); node >= 0 && len(home.gpus) > 0 && !slices.Contains(home.gpus, node) {
		r.far += inside
	}
	if last == noCPU || last == event.SomeCPU || cpu == event.SomeCPU || last == cpu || home.window.within(stat.Span{From: run.From, To: run.From + 1}) == 0 {
		return
	}
	r.moves++
	if a, b := at(home.sockets, last), at(home.sockets, cpu); a >= 0 && b >= 0 && a != b {
		r.crossings++
	}
}

// noCPU is ran.cpu of a thread that has not run yet.
const noCPU = -1

// The columns of the log of runs; its key is the number of the thread.
const runFrom, runTo, runCPU = spill.Payload, spill.Payload + 1, spill.Payload + 2

// minPlaced: a thread's placement is reported only if its time on CPUs is at least this
// multiple of that on unknown CPUs, which then changes little.
const minPlaced = 100

// beside fills in which other threads ran while launching threads waited (Meanwhile), and
// where launching threads ran (Placement).
func (c *Watch) beside(rep *Idle, views []*view) {
	rep.Meanwhile, rep.Placement = []Meanwhile{}, []Placement{}
	threads := c.threads.list
	if len(threads) == 0 {
		return
	}
	machines, homes := c.machines(views), map[int32]*home{}
	for _, v := range views {
		homes[v.id] = newHome(v)
	}
	all, order := make([]ran, len(threads)), make([]int, len(threads))
	for k := range all {
		all[k].end, all[k].cpu, order[k] = math.MinInt64, noCPU, k
	}
	c.threads.runs.Each(spill.Columns(runFrom, runTo, runCPU), func(rows spill.Rows) {
		for i, thread := range rows[spill.Key] {
			rank := threads[thread].rank
			if m := machines[c.machine(rank)]; m != nil {
				all[thread].add(stat.Span{From: rows[runFrom][i], To: rows[runTo][i]}, rows[runCPU][i], m, homes[rank])
			}
		}
	})
	slices.SortFunc(order, func(a, b int) int { return threads[a].compare(threads[b]) })
	for _, k := range order {
		r, t := &all[k], threads[k]
		if m := machines[c.machine(t.rank)]; m != nil {
			rep.meanwhile(t, r, m)
		}
		if home := homes[t.rank]; home != nil && r.onCPU > 0 && minPlaced*r.somewhere <= r.onCPU && c.threads.threads[t].launches {
			rep.Placement = append(rep.Placement, home.placement(t.thread, r))
		}
	}
	slices.SortStableFunc(rep.Meanwhile, func(a, b Meanwhile) int { return cmp.Compare(b.Us, a.Us) })
	rep.Meanwhile = rep.Meanwhile[:min(len(rep.Meanwhile), maxMeanwhile)]
}

// meanwhile adds a thread if it was on a CPU for a clearly larger share of the time in which
// launching threads waited than of the window.
func (rep *Idle) meanwhile(t who, r *ran, of *machine) {
	m := Meanwhile{Thread: t.thread, Elsewhere: !of.waiters[t.rank], Us: us(r.beside), Share: ratio(r.beside, of.waits.length()), WindowShare: ratio(r.window, of.window.length())}
	if t.rank != noRank {
		m.Rank = &t.rank
	}
	if m.WindowShare > 0 {
		m.Lift = m.Share / m.WindowShare
	}
	if m.Lift >= minLift && m.Share >= minBesideShare {
		rep.Meanwhile = append(rep.Meanwhile, m)
	}
}

// placement returns how often a launching thread changed its CPU and socket, and how long it
// ran away from its GPUs.
func (h *home) placement(thread int64, r *ran) Placement {
	p := Placement{Rank: h.id, Thread: thread, Migrations: r.moves, OnCPUUs: us(r.onCPU), PerStep: perStep(float64(r.moves), h.steps)}
	if h.sockets != nil {
		p.Crossings = &r.crossings
	}
	if h.nodes != nil && len(h.gpus) > 0 {
		p.FarUs, p.GPUNodes = new(us(r.far)), h.gpus
	}
	return p
}
