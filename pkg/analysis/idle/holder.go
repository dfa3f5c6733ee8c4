package idle

import (
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// hold is a stretch in which a thread holds the interpreter lock.
type hold struct {
	start, end int64
	by         *hostThread
}

// locks are the holds of the interpreter lock.
type locks struct {
	holds []hold // in the order of their start
	held  bool   // there are any
}

// maxHolds is how many holds of a rank are kept: where a gap began before them nobody
// knows who held the lock. maxOverlap is how many of them are looked through for one that
// is open: there is one lock.
const (
	maxHolds   = 1 << 16
	maxOverlap = 16
)

// Free reports whether a key is time in which a thread that is ready to run waits for the
// interpreter lock, and nobody is recorded to hold it where holders are.
func (r *Rank) Free(k Key) bool {
	h, ok := r.sites.Holder(k)
	_, why := r.sites.Undivided(k)
	return ok && r.locks.held && h.Thread == NoTime && why == Descheduled
}

// creditState credits the time between from and to to the state of a thread, and where
// that waits for the interpreter lock, to who holds it.
func (r *Rank) creditState(from, to int64, waiting *hostThread, key Key, cause Cause, why Why, g gapOf) {
	if r.company.observe(from, to, why); !r.opt.Why || cause != GIL {
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
				r.credit(from, until, r.sites.held(key, Holder{by.id, r.opt.Rank, Key(runs[k].State)}), g)
				from = until
			}
		}
		r.credit(from, end, r.sites.held(key, nobody), g)
		from = end
	}
}

// creditStacks credits the time between from and to, that in stacks which wait for the
// interpreter lock as of a holder whom nobody knows. Where ranges say who holds the lock they are believed.
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

// holder returns who holds the lock at a time, nil where nobody knows, and until when, at
// most limit. Of several it is the one who took it last.
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

// forget drops the holds that end before a time that no gap reaches back to, and the oldest where
// there are too many.
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
