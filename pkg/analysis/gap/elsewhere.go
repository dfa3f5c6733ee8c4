package gap

import (
	"maps"
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// elsewhere is when threads were on a CPU beside a rank of another process: those of processes
// that are no ranks, as of an engine core that schedules for its workers, and where there are
// several ranks, theirs. All are of one report: of several nobody knows which of them ran on
// one machine, and nothing is kept.
type elsewhere struct {
	wanted  bool
	ranks   bool // threads of ranks, too
	full    bool // there are more runs than are kept: nothing is known
	runs    int
	threads map[who]*cpuTime
}

// cpuTime is when a thread was on a CPU: its runs, ns, which do not overlap, in order, and
// how long it had been on one before each of them.
type cpuTime struct{ starts, ends, before []int64 }

// newElsewhere returns one of which nothing was observed.
func newElsewhere(h *event.Header) elsewhere {
	e := elsewhere{threads: map[who]*cpuTime{}}
	if len(h.Reports) != 1 || !h.Columns.Has(event.ColCPU) || h.Reports[0].RankFacts == nil {
		return e
	}
	ofRanks, with := int64(0), 0
	for _, f := range h.Reports[0].RankFacts {
		if ofRanks += f.Runs; f.Runs > 0 {
			with++
		}
	}
	others := h.Rows(event.Run) - ofRanks
	e.ranks = with > 1 && ofRanks <= maxOtherRuns
	e.full = others > maxOtherRuns || with > 1 && !e.ranks
	e.wanted = e.ranks || others > 0 && !e.full
	return e
}

// add keeps runs among the rows of a batch.
func (e *elsewhere) add(b *event.Batch) {
	for i := 0; e.wanted && i < b.Len; {
		j, rank := b.RankEnd(i), int32(noRank)
		if id, ok := b.Rank.Get(i); ok {
			rank = id
		}
		for ; i < j && (rank == noRank || e.ranks); i++ {
			if b.Kind.Values[i] == event.Run {
				e.run(b, i, rank)
			}
		}
		i = j
	}
}

// run keeps row i, a run on a known CPU.
func (e *elsewhere) run(b *event.Batch, i int, rank int32) {
	thread, ok := b.Thread.Get(i)
	if _, known := b.CPU.Get(i); !ok || !known || e.full {
		return
	}
	if e.runs++; e.runs > 2*maxOtherRuns { // the header was wrong
		e.full, e.threads = true, nil
		return
	}
	t := e.threads[who{rank, thread}]
	if t == nil {
		t = &cpuTime{}
		e.threads[who{rank, thread}] = t
	}
	start, before := b.Start.Values[i], int64(0)
	if n := len(t.ends); n > 0 {
		start, before = max(start, t.ends[n-1]), t.before[n-1]+t.ends[n-1]-t.starts[n-1]
	}
	if end := b.End.Values[i]; start < end {
		t.starts, t.ends, t.before = append(t.starts, start), append(t.ends, end), append(t.before, before)
	}
}

// until returns how long the thread was on a CPU before a time.
func (t *cpuTime) until(at int64) int64 {
	k := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] >= at }) - 1
	if k < 0 {
		return 0
	}
	return t.before[k] + min(at, t.ends[k]) - t.starts[k]
}

// meanwhile says which threads ran while launching threads of the ranks of other processes
// waited.
func (e *elsewhere) meanwhile(views []*view) (all []Meanwhile) {
	waits := func(v *view, f func(group int, from, to int64)) { v.idle.EachWait(f) }
	e.dropIdle(views, waits)
	window := e.within(views, func(v *view, f func(group int, from, to int64)) { v.idle.EachSlice(f) })
	beside := e.within(views, waits)
	for w, b := range beside {
		if m, ok := meanwhile(w.rank, w.thread, b.ran, b.ns, window[w].ran, window[w].ns); ok {
			if m.Elsewhere = true; w.rank == noRank {
				m.Rank = nil
			}
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Meanwhile) int { return a.who().compare(b.who()) })
	return all
}

// eachTime calls f with times of a view, ns, and the groups of slices that these are in.
type eachTime func(v *view, f func(group int, from, to int64))

// dropIdle drops threads that were not on a CPU for long enough to matter beside the waits of
// others, which are over all GPUs. Of a whole machine's threads few are left.
func (e *elsewhere) dropIdle(views []*view, waits eachTime) {
	gpus, all := 0, int64(0)
	waited := map[int32]int64{}
	for _, v := range views {
		gpus += len(v.gpus)
		waits(v, func(group int, from, to int64) {
			if v.has(&v.scopes[group]) {
				waited[v.id], all = waited[v.id]+to-from, all+to-from
			}
		})
	}
	maps.DeleteFunc(e.threads, func(w who, t *cpuTime) bool {
		n, ns := len(t.ends), all-waited[w.rank]
		return n == 0 || ns == 0 || float64(gpus)*float64(t.until(t.ends[n-1])) < minBesideShare*float64(ns)
	})
}

// during is how long a thread was on a CPU in some times, and how long these are, in ns.
type during struct{ ran, ns int64 }

// within returns that of each thread and the times of the windows of other ranks that each
// hands out.
func (e *elsewhere) within(views []*view, each eachTime) map[who]during {
	all := map[who]during{}
	for _, v := range views {
		each(v, func(group int, from, to int64) {
			if !v.has(&v.scopes[group]) {
				return
			}
			for w, t := range e.threads {
				if w.rank != v.id {
					d := all[w]
					all[w] = during{d.ran + t.until(to) - t.until(from), d.ns + to - from}
				}
			}
		})
	}
	return all
}
