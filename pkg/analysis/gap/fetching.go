package gap

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// wait observes an OS call of a thread.
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

// followers returns the ranks that wait for the one that fetches requests: ranks that share
// all-reduces run the same requests. The first rank with a wait in a fetching range fetches
// for all.
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
