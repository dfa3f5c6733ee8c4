package metric

import (
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// requests records when the launching threads of a rank wait for requests.
type requests struct {
	recorded bool // OS calls were recorded
	beside   bool // other ranks have the same clock
	spells   [step.RequestWays]step.Spells
	follows  bool             // set at the end: it waits for another rank that fetches
	fetches  event.Memo[bool] // whether ranges of a name fetch requests
}

func fetchesRequests(name []byte) bool { return marker.FetchesRequests(string(name)) }

// observeCall observes an OS call from t to e.
func (r *rank) observeCall(b *event.Batch, i int, t, e int64) {
	class, ok := b.Class.Get(i)
	if !ok || !step.WaitsForOthers.Has(class) {
		return
	}
	h := r.launching(b.Thread.Values[i])
	if h == nil || !r.isMain(h) {
		return
	}
	for way, s := range h.requester.Waits(class, t, e) {
		if s.From < s.To && (way == step.Fetching || r.requests.beside) {
			r.wait(way, s.From, s.To)
		}
	}
}

// isMain reports whether the waits of a thread count, see mainLaunches.
func (r *rank) isMain(h *thread) bool { return mainLaunches*h.launches >= r.launches }

// wait adds a wait of a launching thread.
func (r *rank) wait(way int, t, e int64) {
	r.requests.spells[way].Add(t, e)
	r.hosts.waits[way] = append(r.hosts.waits[way], stat.Span{From: t, To: e})
	r.do(way, t, e)
}

// follow finds out which ranks wait for the one that fetches requests for all. As in engines,
// that is the first rank that waits for requests at least half as long as any other.
func (c *computer) follow(window string) {
	wait := func(r *rank) float64 {
		w := r.aggregate(window)
		return float64(w.during[step.Fetching].idleOf(len(r.gpus))) / float64(max(1, len(r.gpus)))
	}
	most := 0.0
	for _, r := range c.ranks {
		most = max(most, wait(r))
	}
	var first *rank
	for _, r := range c.ranks {
		r.requests.follows = first != nil && r.requests.spells[step.Following].Follow(first.requests.spells[step.Fetching])
		if w := wait(r); first == nil && w > 0 && stat.MostOf(w, most) {
			first = r
		}
	}
}

// launching returns the thread with an id, nil if it has not launched anything.
func (r *rank) launching(id int64) *thread {
	for k := range r.threads {
		if r.threads[k].id == id {
			return &r.threads[k]
		}
	}
	return nil
}

// requestWait sets how long the GPUs of a scope were idle while threads waited for requests, if
// OS calls were recorded on all ranks.
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

// addRequestWait sets the waits for requests of a rank in a scope.
func (s *Rank) addRequestWait(scope string, t *tally, r *rank) {
	for way, to := range [step.RequestWays]*map[string]int64{step.Fetching: &s.RequestWait, step.Following: &s.FollowWait} {
		ns := t.during[way].idleOf(len(r.gpus))
		if ns == 0 || way == step.Following && !r.requests.follows {
			continue
		}
		if *to == nil {
			s.GPUs, *to = int64(len(r.gpus)), map[string]int64{}
		}
		(*to)[scope] = ns
	}
}

// addRequestWait adds up the waits for requests of two parts of a run. They become nil if either
// part does not know them.
func (res *Result) addRequestWait(other map[string]int64) {
	if res.RequestWait == nil || other == nil {
		res.RequestWait = nil
		return
	}
	for scope, ns := range other {
		res.RequestWait[scope] += ns
	}
}
