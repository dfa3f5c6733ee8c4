package idle

import (
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// hold is a span in which a thread holds the interpreter lock, in ns.
type hold struct {
	start, end int64
	by         *hostThread
}

// locks keeps the holds of the interpreter lock.
type locks struct {
	holds []hold // in order of start
	held  bool   // a hold was recorded
}

// maxHolds is how many holds of a rank are kept. Before them the holder is unknown. maxOverlap
// is how many of them are searched for an open one: there is only one lock.
const (
	maxHolds   = 1 << 16
	maxOverlap = 16
)

// Free reports whether, in the time of a key, a thread that is ready to run waits for the
// interpreter lock though no thread holds it. It is false unless holders were recorded.
func (r *Rank) Free(k Key) bool {
	h, ok := r.sites.Holder(k)
	_, why := r.sites.Undivided(k)
	return ok && r.locks.held && h.Thread == NoTime && why == Descheduled
}

// creditState adds the time between from and to to the key of a thread's state. If the thread
// waits for the interpreter lock, the time is divided by who holds it.
func (r *Rank) creditState(from, to int64, waiting *hostThread, key Key, cause Cause, why Why, g gapOf) {
	if r.waits != nil && why.ForOthers() {
		r.waits.Add(from, to)
	}
	if !r.opt.Why || cause != GIL {
		r.creditStacks(from, to, waiting, key, why, g)
		return
	}
	for from < to {
		by, end := r.locks.holder(from, to, waiting)
		if by == nil {
			r.credit(from, end, r.sites.held(key, nobody), g)
			from = end
			continue
		}
		by.Advance(end)
		runs := by.Runs(from)
		for k := range runs {
			until := end
			if k+1 < len(runs) {
				until = min(end, runs[k+1].At)
			}
			if from < until {
				r.credit(from, until, r.sites.held(key, Holder{by.id, r.opt.Rank, runs[k].Key}), g)
				from = until
			}
		}
		r.credit(from, end, r.sites.held(key, nobody), g)
		from = end
	}
}

// creditStacks adds the time between from and to to a key. Time in stacks that wait for the
// interpreter lock counts as a wait for an unknown holder (inStack), unless ranges tell who
// holds the lock.
func (r *Rank) creditStacks(from, to int64, h *hostThread, key Key, why Why, g gapOf) {
	if r.opt.Why && !r.locks.held && len(h.called.at) > 0 && why.MayWait() {
		h.eachCalled(from, to, func(start, end int64, s *stackAt) {
			if s.family == event.GIL {
				r.credit(from, start, key, g)
				r.credit(start, end, r.sites.held(key, inStack), g)
				from = end
			}
		})
	}
	r.credit(from, to, key, g)
}

// EachWait calls f with each span, in ns, in which a GPU is idle because a launching thread is
// blocked on another one. That is in calls of the classes wait, io and join. Spans of several
// GPUs may overlap. Without the option Waits there are none.
func (r *Rank) EachWait(f func(from, to int64)) {
	if r.waits == nil {
		return
	}
	r.waits.Each(spill.Columns(waitTo), func(rows spill.Rows) {
		for i, from := range rows[spill.Key] {
			f(from, rows[waitTo][i])
		}
	})
}

// waitTo is the column of Rank.waits with the ends of waits. Their starts are the keys.
const waitTo = spill.Payload

// holder returns the thread that holds the lock at time t, nil if unknown, and until when that
// lasts, at most limit. Of several holders, it returns the one that took the lock last.
func (l *locks) holder(t, limit int64, waiting *hostThread) (by *hostThread, until int64) {
	k := sort.Search(len(l.holds), func(i int) bool { return l.holds[i].start > t })
	if k < len(l.holds) {
		limit = min(limit, l.holds[k].start)
	}
	for i := k - 1; i >= max(0, k-maxOverlap); i-- {
		if h := &l.holds[i]; h.end > t && h.by != waiting {
			return h.by, min(limit, h.end)
		}
	}
	return nil, limit
}

// forget drops the holds that end by from, and the oldest, once there are maxHolds of them.
func (l *locks) forget(from int64) {
	if len(l.holds) < maxHolds {
		return
	}
	kept := l.holds[:0]
	for i, h := range l.holds {
		if h.end > from && i >= len(l.holds)-maxHolds/2 {
			kept = append(kept, h)
		}
	}
	l.holds = kept
}
