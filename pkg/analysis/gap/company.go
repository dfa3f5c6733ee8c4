package gap

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// places says where CPUs and the GPUs of a rank are. Lists are nil where nothing is known.
type places struct {
	sockets, nodes []int32 // of each CPU by its number, -1 where that is not known
	gpus           []int32 // the nodes of the rank's GPUs
}

// at is the place of a CPU, -1 where it is not known.
func at(places []int32, cpu int32) int32 {
	if cpu < 0 || int(cpu) >= len(places) {
		return -1
	}
	return places[cpu]
}

// cover is how much of any time some spans cover, which may overlap: what two cover counts twice.
type cover struct{ starts, ends edgeTimes }

// edgeTimes are times in order, each with the sum of those before it, which may overflow as a
// difference of two does not.
type edgeTimes struct{ at, before []int64 }

// newCover returns that of spans in any order.
func newCover(spans []stat.Span) *cover {
	edges := func(of func(stat.Span) int64) (e edgeTimes) {
		for _, s := range spans {
			e.at = append(e.at, of(s))
		}
		slices.Sort(e.at)
		e.before = make([]int64, len(e.at)+1)
		for k, t := range e.at {
			e.before[k+1] = e.before[k] + t
		}
		return e
	}
	return &cover{edges(func(s stat.Span) int64 { return s.From }), edges(func(s stat.Span) int64 { return s.To })}
}

// until is how many of them are before a time, and how long before it all of these are.
func (e *edgeTimes) until(t int64) (n int, ns int64) {
	n, _ = slices.BinarySearch(e.at, t)
	return n, int64(n)*t - e.before[n]
}

// within is how much of a span is covered.
func (c *cover) within(s stat.Span) int64 {
	began, fromStart := c.starts.until(s.To)
	ended, toEnd := c.ends.until(s.From)
	if began == ended { // Fast path: all that began before its end had ended before its start.
		return 0
	}
	_, before := c.starts.until(s.From)
	_, after := c.ends.until(s.To)
	return fromStart - after - before + toEnd
}

// times are the waits of launching threads for others in the windows of some ranks, and these
// windows, with how long they are, in ns.
type times struct {
	*view          // of one rank
	places         // of it
	waits, window  *cover
	waited, length int64
}

// timesOf returns those of views.
func timesOf(views ...*view) *times {
	var t times
	var waits, window []stat.Span
	for _, v := range views {
		v.idle.EachSpan(func(slice int, _, from, to int64, lost bool) {
			if !lost && v.hasSlice(slice) {
				waits, t.waited = append(waits, stat.Span{From: from, To: to}), t.waited+to-from
			}
		})
		for k := range v.slices {
			if v.hasSlice(k) {
				from, to := v.idle.Bounds(k)
				window = append(window, stat.Span{From: from, To: to})
			}
		}
		for b := range v.eachBin() {
			t.length += b.ns
		}
	}
	t.waits, t.window = newCover(waits), newCover(window)
	return &t
}

// ran is when a thread was on a CPU: of its rank's times, of those of all ranks, and where.
type ran struct {
	end, cpu              int64 // of its last run
	window, beside        int64 // ns
	allWindow, allBeside  int64
	moves, crossings, far int64
	onCPU, unplaced       int64 // all, and those of them of which the CPU is not known
}

// add adds a run of the thread.
func (r *ran) add(run stat.Span, cpu int32, own, all *times) {
	if run.From = max(run.From, r.end); run.Len() == 0 { // two at a time are one
		return
	}
	last := r.cpu
	r.end, r.cpu = run.To, int64(cpu)
	r.onCPU += run.Len()
	if cpu == event.SomeCPU {
		r.unplaced += run.Len()
	}
	r.allWindow, r.allBeside = r.allWindow+all.window.within(run), r.allBeside+all.waits.within(run)
	if own == nil {
		return
	}
	inside := own.window.within(run)
	r.window, r.beside = r.window+inside, r.beside+own.waits.within(run)
	if node := at(own.nodes, cpu); node >= 0 && len(own.places.gpus) > 0 && !slices.Contains(own.places.gpus, node) {
		r.far += inside
	}
	if last == noCPU || last == event.SomeCPU || cpu == event.SomeCPU || last == int64(cpu) || own.window.within(stat.Span{From: run.From, To: run.From + 1}) == 0 {
		return
	}
	r.moves++
	if a, b := at(own.sockets, int32(last)), at(own.sockets, cpu); a >= 0 && b >= 0 && a != b {
		r.crossings++
	}
}

// noCPU is the last CPU of a thread that was on none.
const noCPU = -1

// The columns of runs of threads, by the number of the thread.
const runFrom, runTo, runCPU = spill.Payload, spill.Payload + 1, spill.Payload + 2

// minPlaced is the time of runs, as a multiple of that of those on a CPU without a number, from
// which it is told where threads ran: what they did there changes little.
const minPlaced = 100

// beside fills in what other threads did while launching threads waited, and where those
// ran.
func (c *Watch) beside(rep *Idle, views []*view) {
	rep.Meanwhile, rep.Placement = []Meanwhile{}, []Placement{}
	threads := c.threads.list
	if len(threads) == 0 {
		return
	}
	whole, own := timesOf(views...), map[int32]*times{}
	for _, v := range views {
		of := timesOf(v)
		if rep := c.header.Report(v.id); rep != nil {
			of.sockets, of.nodes = rep.Sockets, rep.Nodes
		}
		if f := c.header.RankFacts(v.id); f != nil {
			of.places.gpus = f.GPUNodes
		}
		of.view, own[v.id] = v, of
	}
	all, order := make([]ran, len(threads)), make([]int, len(threads))
	for k := range all {
		all[k].end, all[k].cpu, order[k] = math.MinInt64, noCPU, k
	}
	c.threads.runs.Each(spill.Columns(runFrom, runTo, runCPU), func(rows spill.Rows) {
		for i, thread := range rows[spill.Key] {
			all[thread].add(stat.Span{From: rows[runFrom][i], To: rows[runTo][i]}, int32(rows[runCPU][i]), own[threads[thread].rank], whole)
		}
	})
	slices.SortFunc(order, func(a, b int) int { return threads[a].compare(threads[b]) })
	for _, v := range views {
		var onCPU, unplaced int64
		for k, t := range threads {
			if t.rank == v.id {
				onCPU, unplaced = onCPU+all[k].onCPU, unplaced+all[k].unplaced
			}
		}
		v.unplaced = minPlaced*unplaced > onCPU
	}
	for _, k := range order {
		r, t := &all[k], threads[k]
		of := own[t.rank]
		if of == nil {
			continue
		}
		rep.meanwhile(t, false, r.beside, of.waited, r.window, of.length)
		if r.window > 0 && !of.unplaced && slices.Contains(of.idle.Launching(), t.thread) {
			rep.Placement = append(rep.Placement, of.placement(t.thread, r))
		}
	}
	for _, k := range order {
		if len(c.header.Reports) != 1 { // nobody knows which of them ran on one machine
			break
		}
		r, of := &all[k], own[threads[k].rank]
		if of == nil {
			of = &times{}
		}
		rep.meanwhile(threads[k], true, r.allBeside-r.beside, whole.waited-of.waited, r.allWindow-r.window, whole.length-of.length)
	}
	slices.SortStableFunc(rep.Meanwhile, func(a, b Meanwhile) int { return cmp.Compare(b.Us, a.Us) })
	rep.Meanwhile = rep.Meanwhile[:min(len(rep.Meanwhile), maxMeanwhile)]
	rep.lost = c.lostCPUs(views, whole.length/int64(max(1, len(views)))) // the step of all ranks is as long as one's
}

// meanwhile adds what a thread did while launching threads, elsewhere or of its own rank, waited:
// it was on a CPU for beside of that, and for ran of the window; where that is no more than else
// it adds nothing.
func (rep *Idle) meanwhile(t who, elsewhere bool, beside, waited, ran, window int64) {
	m := Meanwhile{Thread: t.thread, Elsewhere: elsewhere, Us: us(beside), Share: ratio(beside, waited), WindowShare: ratio(ran, window)}
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

// placement says how a launching thread ran between sockets, and away from the GPUs.
func (t *times) placement(thread int64, r *ran) Placement {
	p := Placement{Rank: t.id, Thread: thread, Migrations: r.moves, OnCPUUs: us(r.window), PerStep: perStep(float64(r.moves), t.steps)}
	if t.sockets != nil {
		p.Crossings = &r.crossings
	}
	if t.nodes != nil && len(t.places.gpus) > 0 {
		p.FarUs, p.GPUNodes = new(us(r.far)), t.places.gpus
	}
	return p
}
