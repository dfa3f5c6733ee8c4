package gap

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// maxOtherRuns bounds the runs that are kept of threads of processes that are no ranks, and
// of threads of ranks.
const maxOtherRuns = 1 << 18

// others is when threads were on a CPU beside a rank of another process: those of processes
// that are no ranks, and where there are several ranks, theirs. All are of one report: of
// several nobody knows which of them ran on one machine, and nothing is kept.
type others struct {
	reports int
	wanted  bool
	ranks   bool    // threads of ranks, too
	full    [2]bool // there are more runs than are kept, of ranks in the second: nothing is known
	runs    [2]int  // in all, likewise
	threads map[who]*cpuTime
	cpus    map[cpuOf][]cpuRun // in order
}

// cpuOf is a CPU as the threads of a rank had it.
type cpuOf struct{ rank, cpu int32 }

// cpuRun is a run of a thread, ns.
type cpuRun struct{ start, end, thread int64 }

// who is a thread of a rank, or with noRank of a process that is none; where the number of the
// thread is less than 0, as many of them of which none runs for long.
type who struct {
	rank   int32
	thread int64
}

const noRank = -1

// compare orders threads.
func (w who) compare(o who) int {
	return cmp.Or(cmp.Compare(w.rank, o.rank), cmp.Compare(w.thread, o.thread))
}

// number returns the rank as reports have it.
func (w who) number() *int32 {
	if w.rank == noRank {
		return nil
	}
	return &w.rank
}

// cpuTime is when a thread was on a CPU: its runs, ns, which do not overlap, in order, and
// how long it had been on one before each of them.
type cpuTime struct{ starts, ends, before []int64 }

// newOthers returns others of which nothing was observed.
func newOthers(h *event.Header) others {
	o := others{reports: len(h.Reports), threads: map[who]*cpuTime{}, cpus: map[cpuOf][]cpuRun{}}
	if len(h.Reports) != 1 || !h.Columns.Has(event.ColCPU) || h.Reports[0].RankFacts == nil {
		return o
	}
	ofRanks, with := int64(0), 0
	for _, f := range h.Reports[0].RankFacts {
		if ofRanks += f.Runs; f.Runs > 0 {
			with++
		}
	}
	elsewhere := h.Rows(event.Run) - ofRanks
	o.full = [2]bool{elsewhere > maxOtherRuns, with > 1 && ofRanks > maxOtherRuns}
	o.ranks = with > 1 && !o.full[1]
	o.wanted = o.ranks || elsewhere > 0 && !o.full[0]
	return o
}

// add keeps runs among the rows of a batch.
func (o *others) add(b *event.Batch) {
	for i := 0; i < b.Len; {
		j, rank := b.RankEnd(i), int32(noRank)
		if id, ok := b.Rank.Get(i); ok {
			rank = id
		}
		for ; i < j && (rank == noRank || o.ranks); i++ {
			if b.Kind.Values[i] == event.Run {
				o.run(b, i, rank)
			}
		}
		i = j
	}
}

// run keeps row i, a run on a known CPU.
func (o *others) run(b *event.Batch, i int, rank int32) {
	thread, ok := b.Thread.Get(i)
	cpu, known := b.CPU.Get(i)
	of := kindOf(rank)
	if !ok || !known || o.full[of] {
		return
	}
	if o.runs[of]++; o.runs[of] > maxOtherRuns { // the header was wrong
		o.full[of] = true
		maps.DeleteFunc(o.threads, func(w who, _ *cpuTime) bool { return kindOf(w.rank) == of })
		maps.DeleteFunc(o.cpus, func(c cpuOf, _ []cpuRun) bool { return kindOf(c.rank) == of })
		return
	}
	t := o.threads[who{rank, thread}]
	if t == nil {
		t = &cpuTime{}
		o.threads[who{rank, thread}] = t
	}
	start, before := b.Start.Values[i], int64(0)
	if n := len(t.ends); n > 0 {
		start, before = max(start, t.ends[n-1]), t.before[n-1]+t.ends[n-1]-t.starts[n-1]
	}
	if end := b.End.Values[i]; start < end {
		t.starts, t.ends, t.before = append(t.starts, start), append(t.ends, end), append(t.before, before)
		if cpu == event.SomeCPU {
			return
		}
		o.cpus[cpuOf{rank, cpu}] = append(o.cpus[cpuOf{rank, cpu}], cpuRun{start, end, thread})
	}
}

// kindOf is the place of a rank's threads in full and runs: 0 for noRank, 1 for ranks.
func kindOf(rank int32) int { return min(int(rank)+1, 1) }

// until returns how long the thread was on a CPU before a time.
func (t *cpuTime) until(at int64) int64 {
	k := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] >= at }) - 1
	if k < 0 {
		return 0
	}
	return t.before[k] + min(at, t.ends[k]) - t.starts[k]
}

// meanwhile says which threads of other processes ran while launching threads of ranks
// waited.
func (o *others) meanwhile(views []*view) (all []Meanwhile) {
	if len(o.threads) == 0 || len(views) == 0 {
		return nil
	}
	waits := func(v *view, f func(group int, from, to int64)) {
		v.idle.EachWait(func(w idle.Wait) {
			if w.CPU == idle.ForOthers {
				f(w.Group, w.From, w.To)
			}
		})
	}
	list := o.busy(views, waits)
	window := o.within(list, views, func(v *view, f func(group int, from, to int64)) { v.idle.EachSlice(f) })
	beside := o.within(list, views, waits)
	for k, w := range list {
		if m, ok := meanwhile(w.number(), w.thread, beside[k].ran, beside[k].ns, window[k].ran, window[k].ns); ok {
			m.Elsewhere = true
			all = append(all, m)
		}
	}
	return all
}

// busy returns the threads, in order, that were on a CPU for long enough to matter beside the
// waits of others, which are over all GPUs. Of a whole machine's threads these are few.
func (o *others) busy(views []*view, waits eachTime) (list []who) {
	gpus, ranks := 0, []who{{rank: noRank}}
	for _, v := range views {
		gpus, ranks = gpus+len(v.gpus), append(ranks, who{rank: v.id})
	}
	waited := map[int32]int64{}
	for k, all := range o.within(ranks, views, waits) {
		waited[ranks[k].rank] = all.ns
	}
	for w, t := range o.threads {
		n, ns := len(t.ends), waited[w.rank]
		if n > 0 && ns > 0 && float64(gpus)*float64(t.until(t.ends[n-1])) >= minBesideShare*float64(ns) {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, who.compare)
	return list
}

// eachTime calls f with times of a view, ns, and the groups of slices that these are in.
type eachTime func(v *view, f func(group int, from, to int64))

// during is how long a thread was on a CPU in some times, and how long these are, in ns.
type during struct{ ran, ns int64 }

// within returns that of each thread and the times of other ranks' windows that each hands
// out.
func (o *others) within(list []who, views []*view, each eachTime) []during {
	all := make([]during, len(list))
	for _, v := range views {
		each(v, func(group int, from, to int64) {
			if !v.has(&v.scopes[group]) {
				return
			}
			for k, w := range list {
				if w.rank == v.id {
					continue
				}
				if all[k].ns += to - from; o.threads[w] != nil {
					all[k].ran += o.threads[w].until(to) - o.threads[w].until(from)
				}
			}
		})
	}
	return all
}

// neighbours returns who of other processes ran on the CPUs that the launching threads of a
// rank had lost meanwhile, and for how long, ns, by these threads.
func (o *others) neighbours(v *view) map[int64]map[who]int64 {
	all := map[int64]map[who]int64{}
	ranks := map[int32]bool{}
	for c := range o.cpus {
		ranks[c.rank] = c.rank != v.id
	}
	v.idle.EachWait(func(w idle.Wait) {
		if w.CPU < 0 || !v.has(&v.scopes[w.Group]) {
			return
		}
		for rank, other := range ranks {
			if !other {
				continue
			}
			list := o.cpus[cpuOf{rank, w.CPU}]
			k := sort.Search(len(list), func(i int) bool { return list[i].end > w.From })
			for ; k < len(list) && list[k].start < w.To; k++ {
				if all[w.Thread] == nil {
					all[w.Thread] = map[who]int64{}
				}
				all[w.Thread][who{rank, list[k].thread}] += max(0, min(list[k].end, w.To)-max(list[k].start, w.From))
			}
		}
	})
	return all
}
