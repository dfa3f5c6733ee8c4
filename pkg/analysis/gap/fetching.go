package gap

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// wait observes a call of the system of a thread.
func (r *rank) wait(of *caller, class event.Class, from, to int64) {
	if of.launches && class == event.OSIO && from >= of.called && to-from > blocking && r.counting() {
		r.now.messages += to - from
	}
	if !r.c.canFollow {
		return
	}
	for way, s := range of.Waits(class, from, to) {
		if of.launches {
			r.waits[way].Add(s.From, s.To)
		}
	}
}

// followers returns the ranks that follow the one that fetches requests: ranks that reduce together
// run the same requests. A rank before it that runs in a range that fetches is at work for the
// others there: engines fetch on the first rank that does.
func (c *Watch) followers(views []*view) map[int32]bool {
	follow, first := map[int32]bool{}, (*view)(nil)
	for _, v := range views {
		switch {
		case first != nil && v.waits[step.Following].Follow(first.waits[step.Fetching]):
			follow[v.id] = true
		case first == nil && len(v.waits[step.Fetching]) > 0:
			first = v
		}
	}
	return follow
}
