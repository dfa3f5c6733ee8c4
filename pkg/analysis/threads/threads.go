package threads

import (
	"cmp"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/names/native"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// NoRank is the number of processes without a GPU.
const NoRank = -1

// Watch observes the rows of a run.
type Watch struct {
	header    *event.Header
	processes map[int32]*process
	threads   map[who]*thread
	last      *thread
	lastWho   who
}

// who is a thread of a process.
type who struct {
	rank   int32
	thread int64
}

// process is what is known of the threads of a rank, or of all processes without a GPU.
type process struct {
	stops []Stop // by the end, nearly
	in    span   // what counts
}

// Stop is a time in which a thread was off its CPU in no call, in ns.
type Stop struct {
	From, To int64
	Thread   int64
}

// thread is what is known of one.
type thread struct {
	process  *process
	ran      int64
	run      span // the last on a CPU
	call     span // the call that ends last
	poll     span // the last call that asks whether there is something, and comes back
	polled   int64
	polls    map[string]int64 // time in these, by name
	pollName string
	launches bool
}

type span struct{ from, to int64 }

// New begins to watch a run. It watches nothing where the recording has no runs of threads.
func New(h *event.Header) *Watch {
	return &Watch{header: h, processes: map[int32]*process{}, threads: map[who]*thread{}}
}

// Add observes the rows of a batch.
func (w *Watch) Add(b *event.Batch) {
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
			at := span{max(b.Start.Values[i], t.process.in.from), min(b.End.Values[i], t.process.in.to)}
			if at.from >= at.to {
				continue
			}
			switch kind {
			case event.Run:
				if b.Columns.Has(event.ColCPU) {
					if _, known := b.CPU.Get(i); known {
						t.on(at, id)
					}
				}
			case event.OS:
				t.in(at, name(b, i), native.Asks(name(b, i)))
			default:
				class, _ := b.Class.Get(i)
				t.launches = t.launches || class == event.Launch || class == event.GraphLaunch
				t.in(at, name(b, i), cudaname.EffectOf(name(b, i))&cudaname.Polls != 0)
			}
		}
	}
}

func name(b *event.Batch, i int) string { return string(b.Name.Get(i)) }

// thread returns the thread of row i.
func (w *Watch) thread(b *event.Batch, i int, id int64) *thread {
	rank := int32(NoRank)
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
			p = &process{in: w.span(rank)}
			w.processes[rank] = p
		}
		t = &thread{process: p, polls: map[string]int64{}}
		w.threads[of] = t
	}
	w.last, w.lastWho = t, of
	return t
}

// on observes that the thread is on a CPU.
func (t *thread) on(at span, id int64) {
	at.from = max(at.from, t.run.to)
	if at.from >= at.to {
		return
	}
	// Off its CPU in no call: what covers the middle is why it is off.
	if off := (span{t.run.to, at.from}); t.run.to > 0 && off.to-off.from >= stopped && len(t.process.stops) < maxStops {
		if mid := off.from + (off.to-off.from)/2; t.call.from > mid || t.call.to < mid {
			t.process.stops = append(t.process.stops, Stop{off.from, off.to, id})
		}
	}
	t.ran += at.to - at.from
	t.run = at
	t.asked(at, t.poll)
}

// in observes a call; polls tells whether it is one that asks and comes back, where it is on a CPU.
func (t *thread) in(at span, name string, polls bool) {
	if at.to > t.call.to {
		t.call = at
	}
	if !polls {
		return
	}
	at.from = max(at.from, t.poll.to)
	t.poll, t.pollName = at, name
	t.asked(t.run, at)
}

// asked adds the time that the thread was on a CPU in a call that asks.
func (t *thread) asked(run, poll span) {
	if ns := min(run.to, poll.to) - max(run.from, poll.from); ns > 0 {
		t.polled += ns
		t.polls[t.pollName] += ns
	}
}

// Limited is what is known of a limit on CPU time of a process.
type Limited struct {
	Stops   []Stop // those that it makes
	Periods int    // periods in which it stopped threads
	Threads int    // that were stopped
	Ns      int64  // time in which any thread was stopped
}

// Limited says what stops the threads of a rank, nil where nothing does in periods.
func (w *Watch) Limited(rank int32) *Limited {
	p := w.processes[rank]
	if p == nil || !w.header.Records(event.OS, rank) || len(p.stops) == 0 {
		return nil
	}
	stops := slices.Clone(p.stops)
	slices.SortFunc(stops, func(a, b Stop) int { return cmp.Compare(a.To, b.To) })
	// Threads that come back together are one instant of the test.
	var ends []int64
	for _, s := range stops {
		if n := len(ends); n == 0 || s.To-ends[n-1] >= stopped {
			ends = append(ends, s.To)
		}
	}
	if !together(ends) {
		return nil
	}
	l := &Limited{Stops: stops, Periods: len(ends)}
	threads, until := map[int64]bool{}, int64(math.MinInt64)
	slices.SortFunc(stops, func(a, b Stop) int { return cmp.Compare(a.From, b.From) })
	for _, s := range stops {
		threads[s.Thread] = true
		l.Ns += max(0, s.To-max(s.From, until))
		until = max(until, s.To)
	}
	l.Threads = len(threads)
	return l
}

// together tells whether instants have one phase of the period: by the Rayleigh test, in which
// n R² of n angles at random is more than z with probability exp(-z), R being the length of
// their mean.
func together(at []int64) bool {
	var x, y float64
	for _, t := range at {
		angle := 2 * math.Pi * float64(t%period) / period
		x, y = x+math.Cos(angle), y+math.Sin(angle)
	}
	n, square := float64(len(at)), x*x+y*y
	return square > -math.Log(chance)*n && square > most*n*n
}

// Busy is a thread that runs nearly all the time, or asks and comes back.
type Busy struct {
	Rank     int32 // NoRank for one of a process without a GPU
	Thread   int64
	Share    float64 // of the run, on a CPU
	Call     string  // that it asks with most, "" for none
	Asking   float64 // share of the run in calls that ask
	Launches bool
}

// Spins tells whether it asks for most of the time.
func (b *Busy) Spins() bool { return b.Asking >= spinning }

// Busy returns, of runs with GPU work, the threads that spin, and those beside the launching ones that have a core's
// work, the busiest first.
func (w *Watch) Busy() (all []Busy) {
	for of, t := range w.threads {
		in := t.process.in
		if t.ran == 0 || in.from == math.MinInt64 {
			continue
		}
		whole := float64(in.to - in.from)
		b := Busy{Rank: of.rank, Thread: of.thread, Share: float64(t.ran) / whole, Asking: float64(t.polled) / whole, Launches: t.launches}
		for name, ns := range t.polls {
			if b.Call == "" || ns > t.polls[b.Call] || ns == t.polls[b.Call] && name < b.Call {
				b.Call = name
			}
		}
		if b.Spins() || b.Share >= saturated && !t.launches {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b Busy) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Thread, b.Thread))
	})
	return all
}

// span is that of the GPU work of a rank's report, of all reports for NoRank: before it engines
// load and compile, which keeps threads busy. Without any work it is all time.
func (w *Watch) span(rank int32) span {
	all := span{math.MaxInt64, math.MinInt64}
	for i := range w.header.Reports {
		r := &w.header.Reports[i]
		if r.GPUStart != nil && r.GPUEnd != nil && (rank == NoRank || slices.Contains(r.Ranks, rank)) {
			all = span{min(all.from, *r.GPUStart), max(all.to, *r.GPUEnd)}
		}
	}
	if all.from >= all.to {
		return span{math.MinInt64, math.MaxInt64}
	}
	return all
}
