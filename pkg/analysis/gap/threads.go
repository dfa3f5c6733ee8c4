package gap

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// noRank is the number of processes without a GPU.
const noRank = -1

// threadWatch observes what threads of a run do as a whole, whether a GPU waits for them or not:
// which has a whole core's work to do, which spins, and whether all are stopped together by a
// limit on CPU time.
//
// It reads rows of the kinds run, os and api in the order of their start within a process, keeps a
// few numbers of each thread, of each process the instants at which threads came back, and in a
// store the runs of all threads, for what they do while launching threads wait (company.go).
//
// # Stopped
//
// A thread is stopped where it is off its CPU in no call: it had work, and was not let. Threads
// that others keep off their CPU come back at any time. Those that a limit on CPU time stops
// (cpu.cfs_quota_us, cpu.max) come back when the kernel's timer begins a new period, so that
// these instants have one phase: that is what the Rayleigh test of circular statistics asks, by
// which angles at random are told from those with a direction. Where the calls of the system were
// not recorded, off its CPU may mean that it sleeps, and nothing is said.
type threadWatch struct {
	header    *event.Header
	processes map[int32]*threadGroup
	threads   map[who]*watchedThread
	list      []who      // by the number of the thread
	runs      *spill.Log // on known CPUs, by that number
	last      *watchedThread
	lastWho   who
	asks      [2]event.Memo[bool] // whether calls of a name ask whether there is something, and come back: of the system, of CUDA
}

// threadGroup is what is known of the threads of a rank, or of all processes without a GPU.
type threadGroup struct {
	stops []threadStop // by the end, nearly
	in    stat.Span    // what counts
}

// threadStop is when a thread came back that was off its CPU in no call, in ns.
type threadStop struct{ at, thread int64 }

// watchedThread is what is known of one.
type watchedThread struct {
	process  *threadGroup
	number   int64
	ran      int64
	run      stat.Span // the last on a CPU
	call     stat.Span // the call that ends last
	poll     stat.Span // the last call that asks whether there is something, and comes back
	polled   int64
	polls    map[string]int64 // time in these, by name
	pollName string
	launches bool
}

// newThreadWatch begins to watch a run. It watches nothing where the recording has no runs of threads.
func newThreadWatch(h *event.Header, store *spill.Store) *threadWatch {
	return &threadWatch{header: h, processes: map[int32]*threadGroup{}, threads: map[who]*watchedThread{}, runs: store.NewLog(3, 0)}
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
			at := stat.Span{From: b.Start.Values[i], To: b.End.Values[i]}.Clip(t.process.in)
			if at.Len() == 0 || !known {
				continue
			}
			switch kind {
			case event.Run:
				t.on(at, id)
			case event.OS:
				t.in(at, b, i, w.asks[0].Of(&b.Name, i, func(name []byte) bool { return cudaname.Asks(string(name)) }))
			default:
				class, _ := b.Class.Get(i)
				t.launches = t.launches || class == event.Launch || class == event.GraphLaunch
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
	if w.last != nil && w.lastWho == of { // Fast path: rows of a thread come together.
		return w.last
	}
	t := w.threads[of]
	if t == nil {
		p := w.processes[rank]
		if p == nil {
			p = &threadGroup{in: w.span(rank)}
			w.processes[rank] = p
		}
		t = &watchedThread{process: p, polls: map[string]int64{}, number: int64(len(w.list))}
		w.list = append(w.list, of)
		w.threads[of] = t
	}
	w.last, w.lastWho = t, of
	return t
}

// on observes that the thread is on a CPU.
func (t *watchedThread) on(at stat.Span, id int64) {
	at.From = max(at.From, t.run.To)
	if at.Len() == 0 {
		return
	}
	// Off its CPU in no call: what covers the middle is why it is off.
	if off := (stat.Span{From: t.run.To, To: at.From}); t.run.To > 0 && off.Len() >= minStop && len(t.process.stops) < maxStops {
		if mid := off.From + off.Len()/2; t.call.From > mid || t.call.To < mid {
			t.process.stops = append(t.process.stops, threadStop{off.To, id})
		}
	}
	t.ran += at.Len()
	t.run = at
	t.asked(at, t.poll)
}

// in observes a call, of row i; polls reports whether it is one that asks and comes back, where it is on a CPU.
func (t *watchedThread) in(at stat.Span, b *event.Batch, i int, polls bool) {
	if at.To > t.call.To {
		t.call = at
	}
	if polls {
		at.From = max(at.From, t.poll.To)
		t.poll, t.pollName = at, string(b.Name.Get(i))
		t.asked(t.run, at)
	}
}

// asked adds the time that the thread was on a CPU in a call that asks.
func (t *watchedThread) asked(run, poll stat.Span) {
	if ns := run.Clip(poll).Len(); ns > 0 {
		t.polled += ns
		t.polls[t.pollName] += ns
	}
}

// cpuLimit is what is known of a limit on CPU time of a process.
type cpuLimit struct {
	Periods int // periods in which it stopped threads
	Threads int // that were stopped
}

// limited says what stops the threads of a rank or, of a recording without any, of all processes,
// nil where nothing does in periods.
func (w *threadWatch) limited(rank int32) *cpuLimit {
	p, calls := w.processes[rank], w.header.Records(event.OS, rank)
	if rank == noRank {
		calls = w.header.NumRanks() == 0 && w.header.Rows(event.OS) > 0
	}
	if p == nil || !calls || len(p.stops) == 0 {
		return nil
	}
	return limitOf(slices.Clone(p.stops))
}

// Quota is what a limit on CPU time does to a recording without GPU work.
type Quota struct {
	watch *threadWatch
	store *spill.Store
}

// NewQuota begins to watch a recording.
func NewQuota(h *event.Header) *Quota {
	store := spill.NewStore(DefaultMemory)
	return &Quota{newThreadWatch(h, store), store}
}

// Add observes the rows of a batch.
func (q *Quota) Add(b *event.Batch) { q.watch.Add(b) }

// Close says what the limit did, "" where it did nothing or nobody can tell, and lets go of the rest.
func (q *Quota) Close() (string, error) { return q.watch.quota(), q.store.Close() }

// quota says what a limit on CPU time did to the threads of a recording without GPU work, "" where
// it did nothing or nobody can tell.
func (w *threadWatch) quota() string {
	l := w.limited(noRank)
	if l == nil {
		return ""
	}
	return fmt.Sprintf("%s stopped and resumed on a %s period in %s, as under a CPU quota: raise the CPU limit of the container",
		report.Counted(l.Threads, "thread"), report.Micros(quotaPeriod/1e3), report.Counted(l.Periods, "period"))
}

// limitOf says what makes stops, nil where nothing does in periods.
func limitOf(stops []threadStop) *cpuLimit {
	slices.SortFunc(stops, func(a, b threadStop) int { return cmp.Compare(a.at, b.at) })
	// Threads that come back together are one instant of the test.
	var ends []int64
	for _, s := range stops {
		if n := len(ends); n == 0 || s.at-ends[n-1] >= minStop {
			ends = append(ends, s.at)
		}
	}
	phase, ok := together(ends)
	if !ok {
		return nil
	}
	threads, periods := map[int64]bool{}, map[int64]bool{}
	for _, t := range ends {
		periods[(t-phase+quotaPeriod/2)/quotaPeriod] = true
	}
	for _, s := range stops {
		threads[s.thread] = true
	}
	return &cpuLimit{Periods: len(periods), Threads: len(threads)}
}

// together reports whether instants have one phase of the period, and which, in ns: by the Rayleigh test, in which
// n R² of n angles at random is more than z with probability exp(-z), R being the length of
// their mean.
func together(at []int64) (phase int64, ok bool) {
	var x, y float64
	for _, t := range at {
		angle := 2 * math.Pi * float64(t%quotaPeriod) / quotaPeriod
		x, y = x+math.Cos(angle), y+math.Sin(angle)
	}
	n, square := float64(len(at)), x*x+y*y
	phase = int64(math.Atan2(y, x) / (2 * math.Pi) * quotaPeriod)
	return phase, square > -math.Log(quotaChance)*n && square > mostScattered*n*n
}

// busyThread is a thread that runs nearly all the time, or asks and comes back.
type busyThread struct {
	who
	Share    float64 // of the run, on a CPU
	Call     string  // that it asks with most, "" for none
	Asking   float64 // share of the run in calls that ask
	Launches bool
}

// spins reports whether it asks for most of the time.
func (b *busyThread) spins() bool { return b.Asking >= spinning }

// busy returns, of runs with GPU work, the threads that spin, and those beside the launching ones that have a core's
// work, the busiest first.
func (w *threadWatch) busy() (all []busyThread) {
	for of, t := range w.threads {
		in := t.process.in
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

// stat.Span is that of the GPU work of a rank's report, of all reports for noRank: before it engines
// load and compile, which keeps threads busy. Without any work it is all time.
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
