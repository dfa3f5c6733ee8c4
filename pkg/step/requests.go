package step

import (
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The ways in which a thread waits for requests: fetching them, inside a range that fetches
// ([marker.FetchesRequests]) and a call of the system that waits (for input, for others, or for
// time); or following the rank that does, in a call that waits for input or others, wherever it
// is, or in a range that fetches, where it may look for a message again and again.
const (
	Fetching    = iota // from clients
	Following          // from the rank that fetches
	RequestWays        // how many ways there are
)

// WaitsForOthers are the classes of calls of the system that wait: of the time in them hardly any
// is spent on a CPU. FollowsOthers are those of them in which another rank may be waited for.
const (
	FollowsOthers  = event.ClassSet(1<<event.OSIO | 1<<event.OSWait)
	WaitsForOthers = FollowsOthers | 1<<event.OSJoin | 1<<event.OSSleep
)

// Requester is a thread that may wait for requests.
type Requester struct{ until int64 } // it is in a range that fetches

// Fetches observes a range that fetches requests.
func (r *Requester) Fetches(until int64) { r.until = max(r.until, until) }

// Waits returns when it waits for requests in a call of the system, by the way; spans of no
// length are none.
func (r *Requester) Waits(class event.Class, from, to int64) (by [RequestWays]stat.Span) {
	if WaitsForOthers.Has(class) && r.until > from {
		by[Fetching] = stat.Span{From: from, To: min(to, r.until)}
	}
	if FollowsOthers.Has(class) {
		by[Following] = stat.Span{From: from, To: to}
	}
	return by
}
