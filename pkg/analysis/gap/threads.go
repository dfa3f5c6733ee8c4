package gap

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// noRank is the rank of threads of processes without a GPU.
const noRank = -1

// threadWatch finds threads that keep a whole core busy, and threads that spin. It observes
// the whole run, whether or not a GPU waits for a thread.
//
// It reads rows of the kinds run, os and api, in order of start within a process, and keeps a
// few numbers per thread. The runs of all threads go to a store: company.go finds out which
// threads ran while launching threads waited.
type threadWatch struct {
	header  *event.Header
	threads map[who]*watchedThread
	list    []who      // by thread number
	runs    *spill.Log // runs on known CPUs, by thread number
	last    *watchedThread
	lastWho who
	asks    [2]event.Memo[bool] // whether calls of a name poll: OS calls [0], CUDA calls [1]
}

// watchedThread is the state of a thread. Times are in ns.
type watchedThread struct {
	counted  stat.Span // time that counts
	number   int64
	ran      int64
	run      stat.Span        // the last run on a CPU
	poll     stat.Span        // the last polling call
	polls    map[string]int64 // time on a CPU in polling calls, by name
	pollName string
	launches bool
}

// newThreadWatch returns a threadWatch that keeps runs in store. It ignores all rows if the
// recording has no runs of threads.
func newThreadWatch(h *event.Header, store *spill.Store) *threadWatch {
	return &threadWatch{header: h, threads: map[who]*watchedThread{}, runs: store.NewLog(3, 0)}
}

// Add observes the rows of a batch.
func (w *threadWatch) Add(b *event.Batch) {
	if w.header.Rows(event.Run) == 0 {
		return
	}
	for i := range b.Len {
		switch kind := b.Kind.Values[i]; kind {
		case event.Run, event.OS, event.API:
			id, ok := b.Thread.Get(i)
			if !ok {
				continue
			}
			t := w.thread(b, i, id)
			at := stat.Span{From: b.Start.Values[i], To: b.End.Values[i]}
			switch kind {
			case event.Run:
				if b.Columns.Has(event.ColCPU) && b.CPU.Valid.Get(i) {
					w.runs.Add(t.number, at.From, at.To, int64(b.CPU.Values[i]))
					t.on(at.Clip(t.counted))
				}
			case event.OS:
				if w.asks[0].Of(&b.Name, i, func(name []byte) bool { return cudaname.Asks(string(name)) }) {
					t.in(at.Clip(t.counted), string(b.Name.Get(i)))
				}
			default:
				class, _ := b.Class.Get(i)
				t.launches = t.launches || class == event.Launch || class == event.GraphLaunch
				if w.asks[1].Of(&b.Name, i, func(name []byte) bool { return cudaname.EffectOf(string(name))&cudaname.Polls != 0 }) {
					t.in(at.Clip(t.counted), string(b.Name.Get(i)))
				}
			}
		}
	}
}

// thread returns the thread of row i.
func (w *threadWatch) thread(b *event.Batch, i int, id int64) *watchedThread {
	of := who{noRank, id}
	if r, ok := b.Rank.Get(i); ok {
		of.rank = r
	}
	if w.last != nil && w.lastWho == of { // Fast path: the rows of a thread tend to come together.
		return w.last
	}
	t := w.threads[of]
	if t == nil {
		t = &watchedThread{counted: w.span(of.rank), polls: map[string]int64{}, number: int64(len(w.list))}
		w.list = append(w.list, of)
		w.threads[of] = t
	}
	w.last, w.lastWho = t, of
	return t
}

// on observes a run on a CPU.
func (t *watchedThread) on(at stat.Span) {
	at.From = max(at.From, t.run.To)
	if at.Len() > 0 {
		t.ran += at.Len()
		t.run = at
		t.asked(at, t.poll)
	}
}

// in observes a polling call.
func (t *watchedThread) in(at stat.Span, name string) {
	if at.Len() > 0 {
		at.From = max(at.From, t.poll.To)
		t.poll, t.pollName = at, name
		t.asked(t.run, at)
	}
}

// asked adds the time that a run and a polling call have in common.
func (t *watchedThread) asked(run, poll stat.Span) {
	if ns := run.Clip(poll).Len(); ns > 0 {
		t.polls[t.pollName] += ns
	}
}

// busy returns facts about the threads that spin, and about those that keep a core busy without
// launching anything, the busiest first. It returns none for runs without GPU work.
func (w *threadWatch) busy() (facts []findings.Fact) {
	share := func(of who) float64 { return float64(w.threads[of].ran) / float64(w.threads[of].counted.Len()) }
	for _, of := range slices.SortedFunc(maps.Keys(w.threads), func(a, b who) int { return cmp.Or(cmp.Compare(share(b), share(a)), a.compare(b)) }) {
		t, polled := w.threads[of], int64(0)
		for _, ns := range t.polls {
			polled += ns
		}
		asking := float64(polled) / float64(t.counted.Len())
		one := findings.Fact{Of: findings.Threads, Is: []string{"busy"}, Names: map[string]string{"thread": report.Capital(of.named())},
			Numbers: map[string]float64{"on_share": share(of), "asking_share": asking}}
		switch {
		case t.counted.From == math.MinInt64: // no GPU work
		case asking >= spinning:
			one.Is, one.Names["asks"] = []string{"spins"}, most(t.polls)
			facts = append(facts, one)
		case share(of) >= saturated && !t.launches:
			facts = append(facts, one)
		}
	}
	return facts
}

// span returns the time from the first to the last GPU work in the report of a rank, or in
// all reports for noRank. Before that, engines load and compile, which keeps threads busy.
// Without GPU work it is all time.
func (w *threadWatch) span(rank int32) stat.Span {
	all := stat.Span{From: math.MaxInt64, To: math.MinInt64}
	for i := range w.header.Reports {
		r := &w.header.Reports[i]
		if r.GPUStart != nil && r.GPUEnd != nil && (rank == noRank || slices.Contains(r.Ranks, rank)) {
			all = stat.Span{From: min(all.From, *r.GPUStart), To: max(all.To, *r.GPUEnd)}
		}
	}
	if all.Len() == 0 {
		return stat.Span{From: math.MinInt64, To: math.MaxInt64}
	}
	return all
}
