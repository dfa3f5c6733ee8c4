package gap

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
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
	spans   map[int32]stat.Span // time that counts, by rank
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
	run      stat.Span // the last run on a CPU
	poll     stat.Span // the last polling call
	polled   int64
	polls    map[string]int64 // time on a CPU in polling calls, by name
	pollName string
	launches bool
}

// newThreadWatch returns a threadWatch that keeps runs in store. It ignores all rows if the
// recording has no runs of threads.
func newThreadWatch(h *event.Header, store *spill.Store) *threadWatch {
	return &threadWatch{header: h, spans: map[int32]stat.Span{}, threads: map[who]*watchedThread{}, runs: store.NewLog(3, 0)}
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
			cpu, known := int32(0), kind != event.Run
			if !known && b.Columns.Has(event.ColCPU) {
				if cpu, known = b.CPU.Get(i); known {
					w.runs.Add(t.number, b.Start.Values[i], b.End.Values[i], int64(cpu))
				}
			}
			class, _ := b.Class.Get(i)
			t.launches = t.launches || kind == event.API && (class == event.Launch || class == event.GraphLaunch)
			at := stat.Span{From: b.Start.Values[i], To: b.End.Values[i]}.Clip(t.counted)
			if at.Len() == 0 || !known {
				continue
			}
			switch kind {
			case event.Run:
				t.on(at)
			case event.OS:
				t.in(at, b, i, w.asks[0].Of(&b.Name, i, func(name []byte) bool { return cudaname.Asks(string(name)) }))
			default:
				t.in(at, b, i, w.asks[1].Of(&b.Name, i, func(name []byte) bool { return cudaname.EffectOf(string(name))&cudaname.Polls != 0 }))
			}
		}
	}
}

// thread returns the thread of row i.
func (w *threadWatch) thread(b *event.Batch, i int, id int64) *watchedThread {
	rank := int32(noRank)
	if r, ok := b.Rank.Get(i); ok {
		rank = r
	}
	of := who{rank, id}
	if w.last != nil && w.lastWho == of { // Fast path: the rows of a thread tend to come together.
		return w.last
	}
	t := w.threads[of]
	if t == nil {
		in, ok := w.spans[rank]
		if !ok {
			in = w.span(rank)
			w.spans[rank] = in
		}
		t = &watchedThread{counted: in, polls: map[string]int64{}, number: int64(len(w.list))}
		w.list = append(w.list, of)
		w.threads[of] = t
	}
	w.last, w.lastWho = t, of
	return t
}

// on observes a run on a CPU.
func (t *watchedThread) on(at stat.Span) {
	at.From = max(at.From, t.run.To)
	if at.Len() == 0 {
		return
	}
	t.ran += at.Len()
	t.run = at
	t.asked(at, t.poll)
}

// in observes a call, of row i; polls says whether it is a polling call.
func (t *watchedThread) in(at stat.Span, b *event.Batch, i int, polls bool) {
	if polls {
		at.From = max(at.From, t.poll.To)
		t.poll, t.pollName = at, string(b.Name.Get(i))
		t.asked(t.run, at)
	}
}

// asked adds the time that a run and a polling call have in common.
func (t *watchedThread) asked(run, poll stat.Span) {
	if ns := run.Clip(poll).Len(); ns > 0 {
		t.polled += ns
		t.polls[t.pollName] += ns
	}
}

// busyThread is a thread that is on a CPU nearly all the time, or polls.
type busyThread struct {
	who
	Share    float64 // of the time that counts, on a CPU
	Call     string  // polling call with the most time, "" for none
	Asking   float64 // share of the time that counts, on a CPU in polling calls
	Launches bool
}

// spins reports whether the thread polls for most of the time.
func (b *busyThread) spins() bool { return b.Asking >= spinning }

// busy returns the threads that spin, and those that keep a core busy without launching
// anything, the busiest first. It returns none for runs without GPU work.
func (w *threadWatch) busy() (all []busyThread) {
	for of, t := range w.threads {
		in := t.counted
		if t.ran == 0 || in.From == math.MinInt64 {
			continue
		}
		whole := float64(in.Len())
		b := busyThread{who: of, Share: float64(t.ran) / whole, Asking: float64(t.polled) / whole, Launches: t.launches}
		for name, ns := range t.polls {
			if b.Call == "" || ns > t.polls[b.Call] || ns == t.polls[b.Call] && name < b.Call {
				b.Call = name
			}
		}
		if b.spins() || b.Share >= saturated && !t.launches {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b busyThread) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), a.compare(b.who))
	})
	return all
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
