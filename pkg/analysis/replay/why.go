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

// Host time by why (SPEC 9): the state of a thread at each instant, as package idle
// defines it. It is followed as rows come, ahead of the thread's own points, which may
// be held. The time removed up to each point is kept as long as an earlier point may be
// asked for.

// whys are the changes of host time by why, and those of CPU limits.
type whys struct {
	n       int // scenarios
	changes []applied
	factors map[idle.Why][]float64 // by why as met: the factor of each change
	names   []name
}

// whyTime is how much time of a thread the changes remove, up to points in old time.
type whyTime struct {
	thread *thread
	state  *idle.HostState
	at     int64
	gil    int64         // end of a range that waits for the interpreter lock: until then the CPU is not lost
	cuda   []event.Class // classes of open GPU API calls
	ends   []int64       // their ends
	points []int64       // old times
	gone   [][]float64   // ns removed up to each point, by scenario
	limits [][2]int64    // when a CPU limit stopped the process
}

// of returns the factors of a why, by change.
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

// begin begins a thread at t; calls says whether its OS calls were recorded.
func (w *whys) begin(th *thread, t int64, calls bool) *whyTime {
	return &whyTime{thread: th, state: idle.NewHostState(t, calls), at: t, points: []int64{t}, gone: [][]float64{make([]float64, w.n)}, limits: th.process.limits}
}

// observe updates the state of a thread by a row.
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

// advance follows the state of a thread up to t.
func (w *whys) advance(th *whyTime, t int64) {
	for th.at < t {
		until, in := t, idle.Untraced
		if th.at < th.gil {
			until = min(until, th.gil)
		}
		for n := len(th.ends); n > 0 && th.ends[n-1] <= th.at; n-- {
			th.cuda, th.ends = th.cuda[:n-1], th.ends[:n-1]
		}
		if n := len(th.ends); n > 0 {
			until, in = min(until, th.ends[n-1]), idle.API
			if th.cuda[n-1] == event.APISync {
				in = idle.Sync
			}
		}
		why, until := th.state.At(th.at, until, in)
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
			th.points[n-1] = until // nothing was removed
			continue
		}
		th.points, th.gone = append(th.points, until), append(th.gone, gone)
	}
}

// within returns how much of the time between two instants lies in spans, which are
// sorted.
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

// upTo returns how much is removed up to t in scenario s, ns.
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

// less returns how much shorter the time between two instants of a thread is in scenario
// s, ns. No later call may ask for times before from.
func (th *thread) less(s int, from, to int64) int64 {
	if th.why == nil || to <= from {
		return 0
	}
	return min(to-from, int64(th.why.upTo(to, s)-th.why.upTo(from, s)+0.5))
}

// spent subtracts what changes remove of the host time between two instants.
func (w *whys) spent(th *thread, from, to int64) {
	w.advance(th.why, to)
	for s := range th.now {
		th.now[s] -= scaled(th.less(s, from, to), th.factor[s])
	}
	th.why.forget(from)
}

// forget drops points before t that are no longer needed.
func (th *whyTime) forget(t int64) {
	k, _ := slices.BinarySearch(th.points, t)
	if k--; k >= 512 {
		th.points = th.points[:copy(th.points, th.points[k:])]
		th.gone = th.gone[:copy(th.gone, th.gone[k:])]
	}
}

// The CPU limit of a container stops all its threads until the next period begins.

// stops are the spans, at most a period long, in which no thread of a process is on a CPU. The thread that resumes after one must not have been waiting: the process's
// own timer may wake a waiting thread.
type stops struct {
	until int64 // the latest end of a time slice on a CPU, 0 for none yet
	all   [][2]int64
}

// run observes a time slice of a thread on a CPU; call is the thread's last OS call,
// start and end.
func (s *stops) run(start, end int64, call [2]int64) {
	mid := s.until + (start-s.until)/2
	if s.until != 0 && start > s.until+limitJitter/2 && start <= s.until+limitPeriod && (call[0] > mid || call[1] < mid) {
		s.all = append(s.all, [2]int64{s.until, start})
	}
	s.until = max(s.until, end)
}

// limits returns the stops due to a CPU limit: their ends lie at one place of its
// period.
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

// Quota says what a CPU limit did to the threads of a recording without GPU work, "" if
// it did nothing or the recording does not tell.
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

// Limited returns how often a CPU limit stopped a rank, or for -1 all processes without
// a GPU. It is 0 if none did, or if OS calls or CPU time slices were not recorded.
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
