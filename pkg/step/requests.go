package step

import (
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Ways in which a thread waits for requests. Fetching: it is inside a range that fetches
// ([marker.FetchesRequests]) and an OS call that waits for input, others or time.
// Following: it waits for the rank that fetches, in an OS call that waits for input or
// others, whatever range it is in.
const (
	Fetching    = iota // from clients
	Following          // from the rank that fetches
	RequestWays        // the number of ways
)

// WaitsForOthers are the classes of OS calls that wait: hardly any of the time in them
// is spent on a CPU. FollowsOthers are those in which a thread may wait for another
// rank.
const (
	FollowsOthers  = event.ClassSet(1<<event.OSIO | 1<<event.OSWait)
	WaitsForOthers = FollowsOthers | 1<<event.OSJoin | 1<<event.OSSleep
)

// Requester observes a thread that may wait for requests.
type Requester struct{ until int64 } // end of its latest range that fetches

// Fetches observes a range that fetches requests and ends at until.
func (r *Requester) Fetches(until int64) { r.until = max(r.until, until) }

// Waits returns, by way, the time in an OS call during which the thread waits for
// requests. Spans of no length mean none.
func (r *Requester) Waits(class event.Class, from, to int64) (by [RequestWays]stat.Span) {
	if WaitsForOthers.Has(class) && r.until > from {
		by[Fetching] = stat.Span{From: from, To: min(to, r.until)}
	}
	if FollowsOthers.Has(class) {
		by[Following] = stat.Span{From: from, To: to}
	}
	return by
}
