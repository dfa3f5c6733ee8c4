package metric

import (
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The ways in which a rank waits for requests: fetching them, inside a range that fetches and
// a call of the system that waits (for input, for others, or for time); or following the rank
// that does, in a call that waits for input or others, wherever it is, or in a range that
// fetches, where it may look for a message again and again.
const (
	fetching = iota
	following
	ways
)

// requests is when the launching threads of a rank wait for requests.
type requests struct {
	recorded bool               // there are rows of calls of the system
	beside   bool               // other ranks have the same clock
	waits    [ways]stat.Growing // of all threads
	any      [ways]bool
	spells   [ways]stat.Spells
	follows  bool      // at the end: another rank that fetches
	fetches  nameCache // ranges that fetch requests
}

// waitsForOthers are the classes of calls of the system that wait: of the time in them
// hardly any is spent on a CPU.
const waitsForOthers = 1<<event.OSIO | 1<<event.OSWait | 1<<event.OSJoin | 1<<event.OSSleep

// observeFetch observes a range that may fetch requests, of a thread that launches.
func (r *rank) observeFetch(b *event.Batch, i int, e int64) {
	if h := r.launching(b.Thread.Values[i]); h != nil && r.requests.fetches.is(&b.Name, i, fetchesRequests) {
		h.fetching = max(h.fetching, e)
		if r.requests.beside && r.isMain(h) {
			r.wait(following, b.Start.Values[i], e)
		}
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
	if h == nil || !r.isMain(h) {
		return
	}
	if h.fetching > t {
		r.wait(fetching, t, min(e, h.fetching))
	}
	if r.requests.beside && (b.Class.Values[i] == event.OSIO || b.Class.Values[i] == event.OSWait) {
		r.wait(following, t, e)
	}
}

// isMain tells whether the waits of a thread count.
func (r *rank) isMain(h *thread) bool { return mainLaunches*h.launches >= r.launches }

// wait adds a wait of a launching thread.
func (r *rank) wait(way int, t, e int64) {
	q := &r.requests
	if !q.any[way] { // Until now waits were none: waits ∪ busy was busy.
		q.any[way] = true
		r.eachTally(func(t *tally) { t.loaded[way] = t.busy })
		for k := range r.gpus {
			r.gpus[k].loaded[way] = r.gpus[k].busy
		}
	}
	q.spells[way].Add(t, e)
	r.hosts.waits[way] = append(r.hosts.waits[way], stat.Span{From: t, To: e})
	r.acc.waiting[way] += q.waits[way].Add(t, e)
	for k := range r.gpus {
		r.acc.loaded[way] += r.gpus[k].loaded[way].Add(t, e)
	}
}

// follow says which ranks follow the one that fetches requests for all: of those that wait at least
// half as long for them as any the first, as in engines. One before that which runs in a range that
// fetches is at work for the others there.
func (c *computer) follow(window string) {
	wait := func(r *rank) float64 {
		if !r.requests.any[fetching] || len(r.gpus) == 0 {
			return 0
		}
		w := r.aggregate(window)
		return float64(w.loaded[fetching]-w.busy) / float64(len(r.gpus))
	}
	most := 0.0
	for _, r := range c.ranks {
		most = max(most, wait(r))
	}
	var first *rank
	for _, r := range c.ranks {
		r.requests.follows = first != nil && r.requests.spells[following].Follow(first.requests.spells[fetching])
		if w := wait(r); first == nil && w > 0 && 2*w >= most {
			first = r
		}
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
	add := func(to *map[string]int64, way int) {
		if t.loaded[way] == t.busy {
			return
		}
		if *to == nil {
			s.GPUs, *to = int64(len(r.gpus)), map[string]int64{}
		}
		(*to)[scope] = t.loaded[way] - t.busy
	}
	if r.requests.any[fetching] {
		add(&s.RequestWait, fetching)
	}
	if r.requests.follows {
		add(&s.FollowWait, following)
	}
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
