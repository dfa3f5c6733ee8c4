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

// none is no correlation.
const none = int64(math.MinInt64)

// known is what a run says of itself.
type known struct {
	latency            []int64          // from call to start, by code of the call's name; -1 where no unit says
	age, oldest        []int            // by thread: of the record that its waits for events are for, and the greatest that they do not contradict
	passes             *passes          // that launch kernels by themselves which a graph could replay
	even               [][]spentIn      // by step: factors of its host time that make it the median of the ranks'; nil for one rank
	limits             [][][2]int64     // by process: when a CPU limit stopped it
	free               []int64          // what calls of a name take that wait for nothing, 0 where none says
	graphCall, nodeGap int64            // what launching a graph takes, and the time between its kernels
	tokens             map[waitKey]bool // the waits that bring tokens back
}

// unknown is what is known of a trace before it was read.
func unknown(t *Trace) *known {
	k := &known{latency: make([]int64, len(t.names.all)), age: slices.Repeat([]int{1}, len(t.threads))}
	k.oldest = k.age
	for i := range k.latency {
		k.latency[i] = -1
	}
	return k
}

// learner finds what a run says of itself, in a pass without changes.
type learner struct {
	late    histograms // by code of the call's name
	all     histogram
	least   []int64 // the shortest of a name, also of units that followed others
	ranges  []int64 // host time of launching threads in ranges, ns, by code: the innermost
	around  []int64 // with those inside of them
	calls   []int64 // in calls
	waits   map[site]int64
	passes  *passes
	spent   *hostTimes            // nil for one rank
	free    histograms            // what calls take that wait for nothing, by code of their name
	alone   map[event.Class]int64 // waits of launching threads in the operating system for nothing that was found, ns
	stops   []stops               // by process
	called  [][2]int64            // by thread: its call of the system that ends last
	gaps    histogram             // between kernels of replays
	graphs  histogram             // what calls that launch graphs take
	tokens  *tokenWaits
	woken   bool   // a launching thread waited for another
	records []int  // of events, by process
	ages    []ages // by thread
}

// ages is what waits of a thread for events say of which record they are for: the threads of a run may
// play different parts.
type ages struct {
	events  int             // waits for them
	against [maxAge + 1]int // that an age contradicts
	long    int             // that waited
	over    [maxAge + 1]int // of these those before which the unit had ended that they would be for
}

// site is where calls wait.
type site struct{ call, within int32 }

// newLearner returns a learner.
func newLearner(t *Trace) *learner {
	n := len(t.names.all)
	return &learner{late: make(histograms, n), free: make(histograms, n), least: slices.Repeat([]int64{never}, n), ranges: make([]int64, n), around: make([]int64, n), calls: make([]int64, n), waits: map[site]int64{}, alone: map[event.Class]int64{}, passes: newPasses(t), tokens: newTokenWaits(), stops: make([]stops, len(t.processes)), called: make([][2]int64, len(t.threads)), spent: newHostTimes(t), records: make([]int, len(t.processes)), ages: make([]ages, len(t.threads))}
}

// ran notes a stretch of a thread on a CPU, or a call of the system.
func (l *learner) ran(process int, r *row) {
	switch call := &l.called[r.place]; {
	case r.kind == event.Run:
		l.stops[process].run(r.start, r.end, *call)
	case r.kind == event.OS && r.end > call[1]:
		*call = [2]int64{r.start, r.end}
	}
}

// launch notes how long a unit took to start that waited for nothing but its call. What was
// launched after its thread made a stream wait for an event may have waited for that.
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

// host notes host time of a thread.
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

// waited notes a wait.
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

// row notes the end of a wait for an event: which ages it contradicts. What was launched
// before the record has ended by then, and had not when the call began, if it waited.
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
		case l.least[i] != never && l.all.n > 0: // none says: no more than any took, nor than calls of other names
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
			k.oldest[i] = next // nothing says which
		}
	}
	return k
}

// recordsPerStep is how many events a step of a process records: a wait that is not for the record of
// its own step is for that of the step before, so many records earlier. It is 1 where no steps are known.
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

// eventAge is of which records the waits of a thread for events may be, of one with most of them where
// that is ambiguous, or of one with most where none is; nil where none waits.
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

// histogram counts times, each to within 1/256 of it.
type histogram struct {
	counts []uint32
	n      int64
}

// histograms are those of names, nil for none.
type histograms []*histogram

// add counts a time of a name.
func (h histograms) add(name int32, v int64) {
	if h[name] == nil {
		h[name] = &histogram{}
	}
	h[name].add(v)
}

// exactBins is how many of the shortest times have a place each; then 256 to each doubling have one.
const exactBins = 512

// bin is where a time is counted.
func bin(v int64) int {
	if v < exactBins {
		return int(v)
	}
	k := bits.Len64(uint64(v)) - 9
	return k<<8 + int(v>>k)
}

// add counts a time.
func (h *histogram) add(v int64) {
	k := bin(v)
	if k >= len(h.counts) {
		h.counts = append(h.counts, make([]uint32, k+1-len(h.counts))...)
	}
	h.counts[k]++
	h.n++
}

// median returns the median.
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

// largest returns the codes of the largest values, at most n of them.
func largest(values []int64, n int) (codes []int32) {
	for k, v := range values {
		if v > 0 {
			codes = append(codes, int32(k))
		}
	}
	slices.SortStableFunc(codes, func(a, b int32) int { return cmp.Compare(values[b], values[a]) })
	return codes[:min(n, len(codes))]
}

// learn finds what the run says of itself, once.
func (t *Trace) learn() (*known, *learner, error) {
	var err error
	if t.known == nil {
		t.known, t.learner, err = t.learnAll()
	}
	return t.known, t.learner, err
}

// learnAll finds it.
func (t *Trace) learnAll() (*known, *learner, error) {
	know, l, err := t.learnFrom(unknown(t))
	if err != nil || slices.Max(append(know.oldest, 1)) == 1 {
		return know, l, err
	}
	at := *know // which waits are for tokens depends on what they are for
	at.age = slices.Clone(at.age)
	for i, age := range at.age {
		if age == 1 {
			at.age[i] = at.oldest[i] // they never had to wait: something else did, and brought nothing back
		}
	}
	again, _, err := t.learnFrom(&at)
	if err == nil {
		know.tokens = again.tokens
	}
	return know, l, err
}

// learnFrom finds what the run says of itself, given what else is known of it.
func (t *Trace) learnFrom(know *known) (*known, *learner, error) {
	l := newLearner(t)
	p := newPass(t, []Scenario{{}}, know)
	p.learn = l
	if err := p.run(); err != nil {
		return nil, nil, err
	}
	return l.known(t), l, nil
}

// operations are the host times of the ranges that are mostly their own: those around other
// ranges are of many operations.
func (l *learner) operations(names []name) []int64 {
	own := slices.Clone(l.ranges)
	for k := range own {
		if !stat.MostOf(own[k], l.around[k]) || names[k].flags&isStep != 0 || names[k].text == "" {
			own[k] = 0
		}
	}
	return own
}

// sites returns where calls wait for longest, at most n of them.
func (l *learner) sites(n int) []site {
	all := slices.SortedFunc(maps.Keys(l.waits), func(a, b site) int {
		return cmp.Or(cmp.Compare(l.waits[b], l.waits[a]), cmp.Compare(a.call, b.call), cmp.Compare(a.within, b.within))
	})
	return all[:min(n, len(all))]
}
