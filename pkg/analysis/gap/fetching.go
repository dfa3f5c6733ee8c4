package gap

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// follow is when a thread waits for requests, or perhaps for the rank that fetches them.
type follow struct {
	step.Requester
	waits [step.RequestWays]stat.Spells
}

// canFollow reports whether ranks may wait for the one that fetches requests: all are of one report,
// as clocks of several are not the same to the microsecond.
func canFollow(h *event.Header) bool {
	return len(h.Reports) == 1 && h.NumRanks() > 1 && h.Rows(event.OS) > 0 && h.ClassRows(event.Allreduce) > 0
}

// fetch observes a range that fetches requests.
func (w *follow) fetch(from, to int64) {
	w.Fetches(to)
	w.waits[step.Following].Add(from, to)
}

// call observes a call of the system.
func (w *follow) call(class event.Class, from, to int64) {
	for way, s := range w.Waits(class, from, to) {
		w.waits[way].Add(s.From, s.To)
	}
}

// followOf returns that of a thread, by its number.
func (r *rank) followOf(thread int) *follow {
	for thread >= len(r.follows) {
		r.follows = append(r.follows, follow{})
	}
	return &r.follows[thread]
}

// spells returns the waits of a rank's launching threads.
func (v *view) spells(way int) (all stat.Spells) {
	var list []stat.Span
	for thread := range v.follows {
		if v.idle.Launches(thread) {
			list = append(list, v.follows[thread].waits[way]...)
		}
	}
	slices.SortFunc(list, func(a, b stat.Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, s := range list {
		all.Add(s.From, s.To)
	}
	return all
}

// followers returns the ranks, of those after the one that fetches requests, that follow it. A rank
// before it that runs in a range that fetches is at work for the others there: engines fetch on the
// first rank that does.
func (c *computer) followers(views []*view, first *view) map[int32]bool {
	follow := map[int32]bool{}
	for _, v := range views {
		if c.canFollow && v.spells(step.Following).Follow(first.spells(step.Fetching)) {
			follow[v.id] = true
		}
	}
	return follow
}
