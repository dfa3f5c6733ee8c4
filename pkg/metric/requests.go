package metric

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/interval"
	"github.com/hostbound/hostbound/pkg/marker"
)

// requests is when the launching threads of a rank wait for requests: inside a range that
// fetches them and a call of the system that waits (for input, for others, or for time).
type requests struct {
	recorded bool             // there are rows of calls of the system
	waits    interval.Growing // of all threads
	any      bool
	fetches  nameCache // ranges that fetch requests
}

// waitsForOthers are the classes of calls of the system that wait: of the time in them
// hardly any is spent on a CPU.
const waitsForOthers = 1<<event.OSIO | 1<<event.OSWait | 1<<event.OSJoin | 1<<event.OSSleep

// observeFetch observes a range that may fetch requests, of a thread that launches.
func (r *rank) observeFetch(b *event.Batch, i int, e int64) {
	if h := r.launching(b.Thread.Values[i]); h != nil && r.requests.fetches.is(&b.Name, i, fetchesRequests) {
		h.fetching = max(h.fetching, e)
	}
}

func fetchesRequests(name []byte) bool { return marker.FetchesRequests(string(name)) }

// mainLaunches is the least share of a rank's launches, as 1 in so many, of a thread whose
// waits count: GPUs do not wait for one that has launched something once and then receives
// requests beside the others.
const mainLaunches = 10

// observeCall observes a call of the system.
func (r *rank) observeCall(b *event.Batch, i int, t, e int64) {
	if class, ok := b.Class.Get(i); !ok || uint64(waitsForOthers)>>uint(class)&1 == 0 {
		return
	}
	h := r.launching(b.Thread.Values[i])
	if h == nil || h.fetching <= t || mainLaunches*h.launches < r.launches {
		return
	}
	if !r.requests.any { // Until now waits were none: waits ∪ busy was busy.
		r.requests.any = true
		r.eachTally(func(t *tally) { t.loaded = t.busy })
		for k := range r.gpus {
			r.gpus[k].loaded = r.gpus[k].busy
		}
	}
	e = min(e, h.fetching)
	r.acc.waiting += r.requests.waits.Add(t, e)
	for k := range r.gpus {
		r.acc.loaded += r.gpus[k].loaded.Add(t, e)
	}
}

// launching returns a thread that has launched something, nil where it has not.
func (r *rank) launching(id int64) *thread {
	for k := range r.threads {
		if r.threads[k].id == id {
			return &r.threads[k]
		}
	}
	return nil
}

// requestWait says how long the GPUs of a scope were idle while threads waited for
// requests, where calls of the system were recorded on all ranks.
func (c *computer) requestWait(res *Result, scope string, f *figures) {
	for _, r := range c.ranks {
		if !r.requests.recorded {
			return
		}
	}
	if res.RequestWait == nil {
		res.RequestWait = map[string]int64{}
	}
	res.RequestWait[scope] = f.waiting
}

// addRequestWait adds what was measured of a rank in a scope.
func (s *Rank) addRequestWait(scope string, t *tally, r *rank) {
	if !r.requests.any || t.loaded == t.busy {
		return
	}
	if s.RequestWait == nil {
		s.GPUs, s.RequestWait = int64(len(r.gpus)), map[string]int64{}
	}
	s.RequestWait[scope] = t.loaded - t.busy
}

// addRequestWait adds up the waits for requests of two parts of a run, where both know
// them.
func (res *Result) addRequestWait(other map[string]int64) {
	if res.RequestWait == nil || other == nil {
		res.RequestWait = nil
		return
	}
	for scope, ns := range other {
		res.RequestWait[scope] += ns
	}
}
