package gap

import (
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/event"
)

// maxOtherRuns bounds the runs that are kept of threads of processes that are no ranks.
const maxOtherRuns = 1 << 18

// others is when threads of processes that are no ranks were on a CPU: those of the report
// that the ranks are of. Of several reports nobody knows which of them ran beside a rank, and
// nothing is kept.
type others struct {
	wanted  bool
	full    bool // there were more runs than are kept: nothing is known
	runs    int  // in all
	threads map[int64]*cpuTime
}

// cpuTime is when a thread was on a CPU: its runs, ns, which do not overlap, in order, and
// how long it had been before each of them.
type cpuTime struct{ starts, ends, before []int64 }

// hasOthers tells whether there are rows of kind run beyond those of ranks.
func hasOthers(h *event.Header) bool {
	if len(h.Reports) != 1 {
		return false
	}
	of := h.Rows(event.Run)
	for _, f := range h.Reports[0].RankFacts {
		of -= f.Runs
	}
	return of > 0 && h.Columns.Has(event.ColCPU) && h.Reports[0].RankFacts != nil
}

// add keeps the runs among the rows of a batch that are of no rank.
func (o *others) add(b *event.Batch) {
	for i := 0; i < b.Len; {
		j := b.RankEnd(i)
		for ; i < j && !b.Rank.Valid.Get(i); i++ {
			if b.Kind.Values[i] == event.Run {
				o.run(b, i)
			}
		}
		i = j
	}
}

// run keeps row i, a run on a known CPU.
func (o *others) run(b *event.Batch, i int) {
	thread, ok := b.Thread.Get(i)
	if _, known := b.CPU.Get(i); !ok || !known || o.full {
		return
	}
	if o.runs++; o.runs > maxOtherRuns {
		o.full, o.threads = true, nil
		return
	}
	t := o.threads[thread]
	if t == nil {
		t = &cpuTime{}
		o.threads[thread] = t
	}
	start, before := b.Start.Values[i], int64(0)
	if n := len(t.ends); n > 0 {
		start, before = max(start, t.ends[n-1]), t.until(t.ends[n-1])
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

// meanwhile says which threads of other processes ran while launching threads of any rank
// waited.
func (o *others) meanwhile(views []*view) (all []Meanwhile) {
	if len(o.threads) == 0 {
		return nil
	}
	waits := func(v *view, f func(group int, from, to int64)) { v.idle.EachWait(f) }
	_, waited := o.within(nil, views, waits)
	if waited == 0 {
		return nil
	}
	numbers := o.busy(waited, views)
	ran, window := o.within(numbers, views, func(v *view, f func(group int, from, to int64)) { v.idle.EachSlice(f) })
	beside, _ := o.within(numbers, views, waits)
	for k, thread := range numbers {
		if m, ok := meanwhile(nil, thread, beside[k], waited, ran[k], window); ok {
			all = append(all, m)
		}
	}
	return all
}

// busy returns the threads, in order, that were on a CPU for long enough to matter beside so
// much waiting, which is over all lanes. Of a whole machine's threads these are few.
func (o *others) busy(waited int64, views []*view) (numbers []int64) {
	lanes := 0
	for _, v := range views {
		lanes += len(v.lanes)
	}
	for thread, t := range o.threads {
		if n := len(t.ends); n > 0 && float64(lanes)*float64(t.until(t.ends[n-1])) >= minBesideShare*float64(waited) {
			numbers = append(numbers, thread)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// within returns how long each thread was on a CPU in the times of the views' windows that
// each hands out, and how long these are.
func (o *others) within(numbers []int64, views []*view, each func(*view, func(group int, from, to int64))) (ran []int64, ns int64) {
	ran = make([]int64, len(numbers))
	for _, v := range views {
		each(v, func(group int, from, to int64) {
			if !v.has(&v.scopes[group]) {
				return
			}
			ns += to - from
			for k, thread := range numbers {
				t := o.threads[thread]
				ran[k] += t.until(to) - t.until(from)
			}
		})
	}
	return ran, ns
}
