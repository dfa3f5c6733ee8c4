package replay

import (
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Host time by why (SPEC 9): what package idle says that a thread is in at each instant. It is
// followed as rows come, ahead of the thread's own points, which may be held; what changes of
// it take away up to a time is kept as long as some point may ask.

// whys are the changes about host time with some why, or that a CPU limit took.
type whys struct {
	n       int // scenarios
	changes []applied
	factors map[idle.Why][]float64 // by change, of whys that were met
	names   []name
}

// whyTime is how much time of a thread changes take away, up to points of old time.
type whyTime struct {
	thread *thread
	state  *idle.HostState
	at     int64
	gil    int64         // until when a range says that it waits for the interpreter lock, and has not lost its CPU
	cuda   []event.Class // of open calls of the GPU's library
	ends   []int64       // of them
	points []int64       // of time
	gone   [][]float64   // by scenario, up to each point
	limits [][2]int64    // in which a CPU limit held the process up
}

// of returns the factors of a why.
func (w *whys) of(why idle.Why) []float64 {
	if f, ok := w.factors[why]; ok {
		return f
	}
	text := why.String()
	if n := why.Name(); n >= 0 {
		text += w.names[n].text
	}
	f := make([]float64, len(w.changes))
	for k, c := range w.changes {
		if f[k] = 1; c.what == whyHost && matches(c.glob, text) || c.what == lostTime && why.Lost() {
			f[k], *c.met = c.Factor, true
		}
	}
	w.factors[why] = f
	return f
}

// begin begins a thread.
func (w *whys) begin(th *thread, t int64, calls bool) *whyTime {
	return &whyTime{thread: th, state: idle.NewHostState(t, calls), at: t, points: []int64{t}, gone: [][]float64{make([]float64, w.n)}, limits: th.process.limits}
}

// observe has a row of a thread say what it is in.
func (w *whys) observe(th *whyTime, r *row) {
	w.advance(th, r.start)
	switch r.kind {
	case event.Run:
		th.state.Run(r.end, r.node)
	case event.OS:
		th.state.Call(r.start, r.end, r.class, r.name, cudaname.Waits(w.names[r.name].text))
	case event.Overhead:
		th.state.Hold(r.class, r.end)
	case event.NVTX:
		if w.names[r.name].flags&waitsForGIL != 0 {
			th.gil = max(th.gil, r.end)
		}
	case event.API:
		th.cuda, th.ends = append(th.cuda, r.class), append(th.ends, r.end)
	}
}

// advance goes on to a time.
func (w *whys) advance(th *whyTime, t int64) {
	for th.at < t {
		until, cuda := t, idle.NoCall
		if th.at < th.gil {
			until = min(until, th.gil)
		}
		for n := len(th.ends); n > 0 && th.ends[n-1] <= th.at; n-- {
			th.cuda, th.ends = th.cuda[:n-1], th.ends[:n-1]
		}
		if n := len(th.ends); n > 0 {
			until, cuda = min(until, th.ends[n-1]), idle.AnyCall
			if th.cuda[n-1] == event.APISync {
				cuda = idle.SyncCall
			}
		}
		why, until := th.state.At(th.at, until, cuda)
		gone := slices.Clone(th.gone[len(th.gone)-1])
		for k, f := range w.of(why) {
			switch c := &w.changes[k]; {
			case !c.on(th.thread.rank), c.what == lostTime && (!th.thread.launches || th.at < th.gil):
			case c.what == limitTime:
				ns := within(th.limits, th.at, until)
				*c.met = *c.met || ns > 0
				gone[c.scenario] += float64(ns)
			default:
				gone[c.scenario] += float64(until-th.at) * (1 - f)
			}
		}
		th.at = until
		if n := len(th.points); n > 1 && slices.Equal(th.gone[n-1], th.gone[n-2]) && slices.Equal(gone, th.gone[n-1]) {
			th.points[n-1] = until // nothing of it counted
			continue
		}
		th.points, th.gone = append(th.points, until), append(th.gone, gone)
	}
}

// within is how much of the time between two instants lies in spans.
func within(spans [][2]int64, from, to int64) (ns int64) {
	k, _ := slices.BinarySearchFunc(spans, from, func(s [2]int64, t int64) int {
		if s[1] <= t {
			return -1
		}
		return 1
	})
	for ; k < len(spans) && spans[k][0] < to; k++ {
		ns += min(to, spans[k][1]) - max(from, spans[k][0])
	}
	return ns
}

// upTo is how much is gone up to a time.
func (th *whyTime) upTo(t int64, s int) float64 {
	k, found := slices.BinarySearch(th.points, t)
	switch {
	case found:
		return th.gone[k][s]
	case k == 0:
		return th.gone[0][s]
	case k == len(th.points):
		return th.gone[k-1][s]
	}
	a, b := th.points[k-1], th.points[k]
	return th.gone[k-1][s] + (th.gone[k][s]-th.gone[k-1][s])*float64(t-a)/float64(b-a)
}

// less returns how much shorter the time between two instants of a thread is in a scenario;
// nobody asks for what is before from any more.
func (th *thread) less(s int, from, to int64) int64 {
	if th.why == nil || to <= from {
		return 0
	}
	return min(to-from, int64(th.why.upTo(to, s)-th.why.upTo(from, s)+0.5))
}

// spent takes off what changes take away of host time between two instants.
func (w *whys) spent(th *thread, from, to int64) {
	w.advance(th.why, to)
	for s := range th.now {
		th.now[s] -= scaled(th.less(s, from, to), th.factor[s])
	}
	th.why.forget(from)
}

// forget drops what is before a time.
func (th *whyTime) forget(t int64) {
	k, _ := slices.BinarySearch(th.points, t)
	if k--; k >= 512 {
		th.points = th.points[:copy(th.points, th.points[k:])]
		th.gone = th.gone[:copy(th.gone, th.gone[k:])]
	}
}

// The CPU limit of a container stops all threads of it until its next period begins.

// stops are the stretches of a process, a period at most, in which none of its threads is on a CPU, and
// after which one goes on that waited for nothing: a timer of the process wakes one that did.
type stops struct {
	until int64 // some thread was on a CPU until then, 0 for none yet
	all   [][2]int64
}

// run observes a stretch on a CPU of a thread whose last call of the system is given.
func (s *stops) run(start, end int64, call [2]int64) {
	mid := s.until + (start-s.until)/2
	if s.until != 0 && start > s.until+limitJitter/2 && start <= s.until+limitPeriod && (call[0] > mid || call[1] < mid) {
		s.all = append(s.all, [2]int64{s.until, start})
	}
	s.until = max(s.until, end)
}

// limits returns those that a CPU limit made: their ends lie at one place in its period.
func (s *stops) limits() [][2]int64 {
	const bins = int(limitPeriod / limitJitter)
	var ns [bins]int64
	var n [bins]int
	total := int64(0)
	bin := func(x [2]int64) int { return int((x[1]%limitPeriod + limitPeriod) % limitPeriod / limitJitter) }
	for _, x := range s.all {
		k := bin(x)
		ns[k], n[k], total = ns[k]+x[1]-x[0], n[k]+1, total+x[1]-x[0]
	}
	best := 0
	at := func(k int) int64 { return ns[k] + ns[(k+1)%bins] }
	for k := range bins {
		if at(k) > at(best) {
			best = k
		}
	}
	if n[best]+n[(best+1)%bins] < leastLimits || stat.MostOf(total-at(best), total) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.all), func(x [2]int64) bool { k := bin(x); return k != best && k != (best+1)%bins })
}

// Quota says what a limit on CPU time did to the threads of a recording without GPU work, "" where it did
// nothing or nobody can tell.
func (t *Trace) Quota() (string, error) {
	if t.header.NumRanks() > 0 {
		return "", nil
	}
	times, err := t.Limited(-1)
	if err != nil || times == 0 {
		return "", err
	}
	return fmt.Sprintf("all threads stopped %s, and resumed on a %s period, as under a CPU quota: raise the CPU limit of the container",
		report.Counted(times, "time"), report.Micros(float64(limitPeriod)/1e3)), nil
}

// Limited is how often a limit on CPU time stopped a rank, or all processes without a GPU for -1: 0 where
// it did not, or nobody can tell, as calls of the system were not recorded.
func (t *Trace) Limited(rank int32) (times int, err error) {
	k := slices.Index(t.processes, rank)
	if k < 0 || rank >= 0 && !t.header.Records(event.OS, rank) || t.header.Rows(event.OS) == 0 || t.header.Rows(event.Run) == 0 {
		return 0, nil
	}
	know, _, err := t.learn()
	if err != nil {
		return 0, err
	}
	return len(know.limits[k]), nil
}
