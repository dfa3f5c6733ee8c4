package replay

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// none stands for no correlation.
const none = int64(math.MinInt64)

// known is what a run reveals about itself. Times are in ns.
type known struct {
	latency            []int64          // from call to start, by code of the call's name; -1 if no unit shows it
	age, oldest        []int            // by thread: which record its waits for events are for (1: the latest), and the oldest that is possible
	passes             *passes          // forward passes whose kernels a graph could launch
	even               [][]spentIn      // by step: factors that bring its host time to the median over ranks; nil for one rank
	limits             [][][2]int64     // by process: when a CPU limit stopped it
	free               []int64          // by code: duration of calls that wait for nothing, 0 if unknown
	graphCall, nodeGap int64            // duration of a graph launch, and the gap between a graph's kernels
	tokens             map[waitKey]bool // the waits that bring tokens back
}

// unknown returns what is known of a trace before it has been read.
func unknown(t *Trace) *known {
	k := &known{latency: make([]int64, len(t.names.all)), age: slices.Repeat([]int{1}, len(t.threads))}
	k.oldest = k.age
	for i := range k.latency {
		k.latency[i] = -1
	}
	return k
}

// learner gathers what a run reveals about itself, in a pass without changes.
type learner struct {
	late    histograms // from call to start, by code of the call's name
	all     histogram
	least   []int64 // by code: the shortest, including units that waited for others
	ranges  []int64 // host time of launching threads, ns, by code of the innermost range
	around  []int64 // the same, by code of each range around it
	calls   []int64 // the same, by code of the innermost call
	waits   map[site]int64
	passes  *passes
	spent   *hostTimes            // nil for one rank
	free    histograms            // duration of calls that wait for nothing, by code
	alone   map[event.Class]int64 // OS waits of launching threads for which no waker was found, ns
	stops   []stops               // by process
	called  [][2]int64            // by thread: start and end of the OS call that ends last
	gaps    histogram             // between kernels of a graph replay
	graphs  histogram             // duration of graph launches
	tokens  *tokenWaits
	woken   bool   // some thread waited for another, or for the interpreter lock
	records []int  // event records, by process
	ages    []ages // by thread
}

// ages counts what the event waits of one thread say about which record they are for. It
// is kept by thread because the threads of a run may have different roles.
type ages struct {
	events  int             // waits for events
	against [maxAge + 1]int // by age: waits that contradict it
	long    int             // waits longer than threadWait
	over    [maxAge + 1]int // by age: long waits that began after the unit in question had ended
}

// site is a place where calls wait: a call and the innermost range around it, -1 for
// none.
type site struct{ call, within int32 }

// newLearner returns an empty learner.
func newLearner(t *Trace) *learner {
	n := len(t.names.all)
	return &learner{late: make(histograms, n), free: make(histograms, n), least: slices.Repeat([]int64{never}, n), ranges: make([]int64, n), around: make([]int64, n), calls: make([]int64, n), waits: map[site]int64{}, alone: map[event.Class]int64{}, passes: newPasses(t), tokens: newTokenWaits(), stops: make([]stops, len(t.processes)), called: make([][2]int64, len(t.threads)), spent: newHostTimes(t), records: make([]int, len(t.processes)), ages: make([]ages, len(t.threads))}
}

// ran observes a time slice of a thread on a CPU, or an OS call.
func (l *learner) ran(process int, r *row) {
	switch call := &l.called[r.place]; {
	case r.kind == event.Run:
		l.stops[process].run(r.start, r.end, *call)
	case r.kind == event.OS && r.end > call[1]:
		*call = [2]int64{r.start, r.end}
	}
}

// launch observes the latency of a unit that waited only for its call. A unit launched
// after its thread made a stream wait for an event may have waited for that, and does
// not count.
func (l *learner) launch(c *launch, u *unit, prev *unit) {
	if u.start < c.start {
		return
	}
	l.least[c.name] = min(l.least[c.name], u.start-c.start)
	if prev != nil && prev.end > c.start || c.streamWait {
		return
	}
	l.all.add(u.start - c.start)
	l.late.add(c.name, u.start-c.start)
}

// host observes d ns of host time of a thread.
func (l *learner) host(th *thread, d int64) {
	if d <= 0 || !th.launches {
		return
	}
	if l.spent != nil && th.process.step >= 0 {
		l.spent.add(th, d)
	}
	if n := len(th.calls); n > 0 {
		l.calls[th.calls[n-1]] += d
	}
	if n := len(th.ranges); n > 0 {
		l.ranges[th.ranges[n-1].name] += d
	}
	for _, r := range th.ranges {
		l.around[r.name] += d
	}
}

// waited observes a wait of d ns.
func (l *learner) waited(th *thread, o *openRow, d int64) {
	l.woken = l.woken || o.kind != event.API
	if o.kind != event.API || !th.launches || d <= 0 {
		return
	}
	within := int32(-1)
	if n := len(th.ranges); n > 0 {
		within = th.ranges[n-1].name
	}
	l.waits[site{o.name, within}] += d
}

// row observes the end of a row: the duration of a call that waited for nothing, and for
// an event wait, which ages it contradicts. Whatever was launched before the record must
// have ended when the wait ends and, if the wait was long, not before it began.
func (l *learner) row(t *Trace, o *openRow) {
	if o.kind == event.API && o.class != event.APISync && o.copied == nil && !o.full {
		l.free.add(o.name, o.row.end-o.start)
	}
	if o.kind == event.API && o.class == event.GraphLaunch && !o.full {
		l.graphs.add(o.row.end - o.start)
	}
	if o.kind != event.API || t.names.all[o.name].flags&isEventSync == 0 {
		return
	}
	p := o.thread.process
	if p.record(o.start, 1) == nil {
		return
	}
	a := &l.ages[o.thread.number]
	a.events++
	long := o.row.end-o.start > threadWait
	if long {
		a.long++
	}
	for age := 1; age <= maxAge; age++ {
		r := p.record(o.start, age)
		if r == nil {
			break
		}
		last := latestOf(r.units)
		if last != nil && last.end > o.row.end+jitter {
			a.against[age]++
		}
		if long && (last == nil || last.end <= o.start+jitter) {
			a.over[age]++
		}
	}
}

// known returns what was found.
func (l *learner) known(t *Trace) *known {
	k := unknown(t)
	for process := range l.passes.open {
		l.passes.end(&l.passes.open[process])
	}
	for i, h := range l.late {
		switch {
		case h != nil:
			k.latency[i] = h.median()
		case l.least[i] != never && l.all.n > 0: // not observed alone: no more than the shortest, nor than calls of other names
			k.latency[i] = min(l.least[i], l.all.median())
		case l.least[i] != never:
			k.latency[i] = l.least[i]
		}
	}
	k.free = make([]int64, len(l.free))
	for i, h := range l.free {
		if h != nil {
			k.free[i] = h.median()
		}
	}
	k.graphCall, k.nodeGap = graphCall, nodeGap
	if l.graphs.n > 0 {
		k.graphCall = l.graphs.median()
	}
	if l.gaps.n > 0 {
		k.nodeGap = l.gaps.median()
	}
	if l.spent != nil {
		k.even = l.spent.factors(t)
	}
	for i := range l.stops {
		k.limits = append(k.limits, l.stops[i].limits())
	}
	k.tokens, k.passes, k.oldest = l.tokens.known(t), l.passes, slices.Clone(k.age)
	for i := range l.ages {
		a := &l.ages[i]
		for k.age[i] < maxAge && float64(a.against[k.age[i]]) > contradicted*float64(a.events) {
			k.age[i]++
		}
		k.oldest[i] = k.age[i]
		if next := k.age[i] + l.recordsPerStep(t, t.threads[i].process); next <= maxAge && a.events > 0 && float64(a.over[next]) <= contradicted*float64(a.long) {
			k.oldest[i] = next // the recording does not tell which
		}
	}
	return k
}

// recordsPerStep returns how many events a step of a process records, 1 if no steps are
// known. A wait that is not for the record of its own step is for that of the step
// before, this many records earlier.
func (l *learner) recordsPerStep(t *Trace, process int32) int {
	n := 0
	for i := range t.steps {
		if t.steps[i].process == process {
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return max(1, (l.records[process]+n/2)/n)
}

// eventAge returns the youngest and the oldest record that event waits may be for, 1 for
// the latest. It is that of an ambiguous thread if there is one, else that of the thread
// with most event waits. It is nil if there are no event waits.
func (p *predictor) eventAge() *[2]int {
	var best *[2]int
	most := 0
	for i, a := range p.learner.ages {
		age := [2]int{p.know.age[i], p.know.oldest[i]}
		open, clear := age[0] != age[1], best == nil || best[0] == best[1]
		if a.events > 0 && (open && clear || open != clear && a.events > most) {
			best, most = &age, a.events
		}
	}
	return best
}

// histogram counts durations in ns, each to within 1/256.
type histogram struct {
	counts []uint32
	n      int64
}

// histograms has one histogram by code of a name, nil for none.
type histograms []*histogram

// add counts a duration for a name.
func (h histograms) add(name int32, v int64) {
	if h[name] == nil {
		h[name] = &histogram{}
	}
	h[name].add(v)
}

// exactBins is how many of the shortest durations have a bin each; above, each doubling
// has 256.
const exactBins = 512

// bin returns the bin of a duration.
func bin(v int64) int {
	if v < exactBins {
		return int(v)
	}
	k := bits.Len64(uint64(v)) - 9
	return k<<8 + int(v>>k)
}

// add counts a duration.
func (h *histogram) add(v int64) {
	k := bin(v)
	if k >= len(h.counts) {
		h.counts = append(h.counts, make([]uint32, k+1-len(h.counts))...)
	}
	h.counts[k]++
	h.n++
}

// median returns the median, -1 if nothing was counted.
func (h *histogram) median() int64 {
	left := h.n / 2
	for k, c := range h.counts {
		if left -= int64(c); left < 0 {
			if k < exactBins {
				return int64(k)
			}
			shift := k>>8 - 1
			return int64(k-shift<<8) << shift
		}
	}
	return -1
}

// largest returns the codes of the at most n largest positive values, in descending
// order.
func largest(values []int64, n int) (codes []int32) {
	for k, v := range values {
		if v > 0 {
			codes = append(codes, int32(k))
		}
	}
	slices.SortStableFunc(codes, func(a, b int32) int { return cmp.Compare(values[b], values[a]) })
	return codes[:min(n, len(codes))]
}

// learn returns what the run reveals about itself. It is computed once.
func (t *Trace) learn() (*known, *learner, error) {
	var err error
	if t.known == nil {
		t.known, t.learner, err = t.learnAll()
	}
	return t.known, t.learner, err
}

// learnAll makes one learning pass, and a second one if event waits may be for an older
// record.
func (t *Trace) learnAll() (*known, *learner, error) {
	know, l, err := t.learnFrom(unknown(t))
	if err != nil || slices.Max(append(know.oldest, 1)) == 1 {
		return know, l, err
	}
	at := *know // which waits bring tokens back depends on what they are for
	at.age = slices.Clone(at.age)
	for i, age := range at.age {
		if age == 1 {
			at.age[i] = at.oldest[i] // they never had to wait: something else waited before, and brought nothing back
		}
	}
	again, _, err := t.learnFrom(&at)
	if err == nil {
		know.tokens = again.tokens
	}
	return know, l, err
}

// learnFrom makes one learning pass, given what is already known.
func (t *Trace) learnFrom(know *known) (*known, *learner, error) {
	l := newLearner(t)
	p := newPass(t, []Scenario{{}}, know)
	p.learn = l
	if err := p.run(); err != nil {
		return nil, nil, err
	}
	return l.known(t), l, nil
}

// operations returns, by code, the host time of ranges that is mostly their own, 0 for
// others: ranges around other ranges contain many operations.
func (l *learner) operations(names []name) []int64 {
	own := slices.Clone(l.ranges)
	for k := range own {
		if !stat.MostOf(own[k], l.around[k]) || names[k].flags&isStep != 0 || names[k].text == "" {
			own[k] = 0
		}
	}
	return own
}

// sites returns the at most n sites where calls wait for longest.
func (l *learner) sites(n int) []site {
	all := slices.SortedFunc(maps.Keys(l.waits), func(a, b site) int {
		return cmp.Or(cmp.Compare(l.waits[b], l.waits[a]), cmp.Compare(a.call, b.call), cmp.Compare(a.within, b.within))
	})
	return all[:min(n, len(all))]
}
