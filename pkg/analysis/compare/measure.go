package compare

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// side is all that is known of one run over the chosen steps. It does not change once it
// was measured; two of them are measured at a time.
type side struct {
	run     *Run
	samples *sampleTable
	figures map[string]value // summary and counts, by name
	walls   stat.Sequence    // periods, for their quantiles
	gaps    stat.Sequence    // what is positive of the time to the next step
	balance stat.Sequence    // idle time and waits with a host cause less GPU work and imbalance
	rows    [numSections]map[string]*item
	causes  map[string]*item // idle time by cause
	held    map[string]*item // idle time and waits in collectives by cause
}

// item is a row of one run.
type item struct {
	value       // us per rank-step
	self  value // of operations, outside of nested ones; of idle time, between steps
	// exposed is the part of value during which GPUs were idle, on average over
	// the GPUs.
	exposed value
	count   float64 // per rank-step
	present float64 // share of the rank-steps
	slowest float64 // of operations: self of the rank on which it takes longest
	// Of operations by bin, ns: all of their time, and what is outside of nested ones.
	bins, selfBins []float64
	rare           bool // it comes in few steps, or takes most of its time in few
}

const us = 1e-3 // from ns

// The figures of the summary and the counts, in the order of the report.
const (
	wall     = "wall"
	busyTime = "busy"
	idleTime = "idle"
	idleIn   = "idle_in_step"
	idleOut  = "idle_inter_step"
	duration = "duration"
	gap      = "gap"
	gapP50   = "gap_p50"
	gapP90   = "gap_p90"
	gpuTime  = "gpu"
	hostIdle = "idle_host" // idle time with a host cause
	hostWork = "all host work"

	wallP50 = "wall_p50"
	wallP90 = "wall_p90"
	wallP99 = "wall_p99"
	wallMax = "wall_max"

	waitTime      = "wait"       // in collectives
	workTime      = "work"       // busy time less waits
	hostHeld      = "host_bound" // idle time and waits with a host cause
	imbalanceTime = "imbalance"  // waits for a rank with more GPU work

	balanceOf = "balance" // hostHeld less work and imbalance, no row

	eagerKernels  = "eager_kernels"
	graphKernels  = "graph_kernels"
	graphLaunches = "graph_launches"
)

// measure computes the figures of the chosen steps.
func measure(c choice, longer float64) *side {
	s := measureFigures(c, longer, len(stepFigures))
	s.walls, s.gaps = s.samples.spread(s.samples.each(wallOf)), s.samples.spread(s.samples.each(gapOf))
	for section := range s.rows {
		byName := map[string][]int{}
		for id, name := range s.run.names[section].list {
			byName[name] = []int{id}
		}
		s.rows[section] = s.measureRows(section, byName)
	}
	byCause := map[string][]int{}
	for id, name := range s.run.names[idleTimes].list {
		cause := parseIdleName(name).cause
		byCause[cause] = append(byCause[cause], id)
	}
	s.causes = s.measureRows(idleTimes, byCause)
	s.measureParts(byCause)
	return s
}

// measureParts divides the time of the GPUs into work, idle time with a host cause and
// without, and waits in collectives by the same and for imbalance: busy = work + wait.
func (s *side) measureParts(byCause map[string][]int) {
	n := s.samples.n
	notHostIdle, waits, hostWaits, uneven := newTimes(n), newTimes(n), newTimes(n), newTimes(n)
	for cause, ids := range byCause {
		for _, id := range ids {
			if !isHost(cause) {
				s.each(idleTimes, id, notHostIdle.add)
			}
		}
	}
	for id, cause := range s.run.names[waitTimes].list {
		s.each(waitTimes, id, waits.add)
		switch {
		case cause == imbalance:
			s.each(waitTimes, id, uneven.add)
		case isHost(cause):
			s.each(waitTimes, id, hostWaits.add)
		}
	}
	idle, work, balance := s.samples.each(idleOf), s.samples.each(busyOf), make([]float64, n)
	for p := range idle {
		idle[p] -= notHostIdle.total[p]
		work[p] -= waits.total[p]
		balance[p] = idle[p] + hostWaits.total[p] - work[p] - uneven.total[p]
	}
	s.figures[hostIdle] = s.samples.estimate(idle, us)
	for p := range idle {
		idle[p] += hostWaits.total[p]
	}
	for name, x := range map[string][]float64{hostHeld: idle, workTime: work, waitTime: waits.total, imbalanceTime: uneven.total, balanceOf: balance} {
		s.figures[name] = s.samples.estimate(x, us)
	}
	s.balance = s.samples.spread(balance)
	if s.waits() {
		s.measureHeld(byCause)
	}
}

// measureHeld computes idle time and waits together by cause.
func (s *side) measureHeld(byCause map[string][]int) {
	s.held = map[string]*item{}
	t := newTimes(s.samples.n)
	hold := func(cause string, ids []int) {
		t.clear()
		for _, id := range ids {
			s.each(idleTimes, id, t.addIdle)
		}
		if id, ok := s.run.names[waitTimes].ids[cause]; ok {
			s.each(waitTimes, int(id), t.addIdle)
		}
		if t.found {
			s.held[cause] = s.item(idleTimes, 0, t)
		}
	}
	for cause, ids := range byCause {
		hold(cause, ids)
	}
	for _, cause := range s.run.names[waitTimes].list {
		if byCause[cause] == nil {
			hold(cause, nil)
		}
	}
}

// stepFigures are the figures that are one number of each step; those of phases come first.
var stepFigures = []struct {
	name  string
	of    func(s *step, gpus float64) float64
	scale float64
}{
	{wall, wallOf, us},
	{busyTime, busyOf, us},
	{idleTime, idleOf, us},
	{idleIn, func(s *step, gpus float64) float64 { return idleOf(s, gpus) - float64(s.inter) }, us},
	{idleOut, func(s *step, _ float64) float64 { return float64(s.inter) }, us},
	{duration, func(s *step, _ float64) float64 { return float64(s.extent) }, us},
	{gpuTime, func(s *step, _ float64) float64 { return float64(s.gpu) }, us}, // full durations of what it runs
	{gap, gapOf, us},
	{eagerKernels, func(s *step, _ float64) float64 { return float64(s.work.Forward + s.work.Loose) }, 1},
	{graphKernels, func(s *step, _ float64) float64 { return float64(s.work.Replayed) }, 1},
	{graphLaunches, func(s *step, _ float64) float64 { return float64(s.work.Whole) }, 1},
}

// phaseFigures is how many of them phases show.
const phaseFigures = 3

// measureFigures computes the figures of the chosen steps without the rows that go by name: the
// first n of stepFigures.
func measureFigures(c choice, longer float64, n int) *side {
	s := &side{run: c.run, samples: newSampleTable(c, longer), figures: map[string]value{}}
	for _, f := range stepFigures[:n] {
		s.figures[f.name] = s.samples.estimate(s.samples.each(f.of), f.scale)
	}
	return s
}

// each calls f for each entry of a name at the position of its step.
func (s *side) each(section, id int, f func(p int32, e entry)) {
	for k, r := range s.samples.c.ranks {
		if row := r.rank.sections[section].row(id); row != nil {
			at := s.samples.at[k]
			row.each(func(e entry) {
				if p := at[e.step]; p >= 0 {
					f(p, e)
				}
			})
		}
	}
}

// measureRows computes the figures of rows of a section, each of some of its names. Names
// without an entry in the chosen steps have none.
func (s *side) measureRows(section int, rowsOf map[string][]int) map[string]*item {
	rows := map[string]*item{}
	t := newTimes(s.samples.n)
	for name, ids := range rowsOf {
		t.clear()
		for _, id := range ids {
			if !s.has(section, id) {
				continue
			}
			if section >= idleTimes {
				s.each(section, id, t.addIdle)
			} else {
				s.each(section, id, t.add)
			}
		}
		if t.found {
			rows[name] = s.item(section, ids[0], t)
		}
	}
	return rows
}

// has reports whether any rank has entries of a row.
func (s *side) has(section, id int) bool {
	return slices.ContainsFunc(s.samples.c.ranks, func(r chosen) bool {
		return r.rank.sections[section].row(id) != nil
	})
}

// times is what the entries of one name add up to, by position, in ns.
type times struct {
	total, self, hidden, count []float64
	found                      bool
}

// newTimes returns the sums of n samples, all 0.
func newTimes(n int) *times {
	return &times{total: make([]float64, n), self: make([]float64, n), hidden: make([]float64, n), count: make([]float64, n)}
}

// clear begins another name: the slices are large, and used again.
func (t *times) clear() {
	clear(t.total)
	clear(t.self)
	clear(t.hidden)
	clear(t.count)
	t.found = false
}

// add adds an entry to the sample that it belongs to.
func (t *times) add(p int32, e entry) {
	t.found = true
	t.total[p] += float64(e.ns)
	t.count[p] += float64(e.count)
	t.self[p] += float64(e.self)
	t.hidden[p] += float64(e.hidden)
}

// addIdle adds an entry of idle time, which counts once in a step.
func (t *times) addIdle(p int32, e entry) {
	t.add(p, e)
	t.count[p] = 1
}

// item makes a row of what one name adds up to, which is used up.
func (s *side) item(section, id int, t *times) *item {
	one := &item{value: s.samples.estimate(t.total, us)}
	one.count = s.average(t.count)
	for _, n := range t.count {
		if n > 0 {
			one.present += 1 / float64(len(t.count))
		}
	}
	switch section {
	case operations:
		s.operation(one, t)
	case idleTimes, whyTimes:
		one.self = s.samples.estimate(t.self, us)
		for p := range t.total {
			t.total[p] -= t.self[p]
		}
		one.exposed = s.samples.estimate(t.total, us)
	}
	return one
}

// operation completes the row of an operation.
func (s *side) operation(one *item, t *times) {
	one.rare = fewAtMost(s.samples.largest(t.total))
	one.self = s.samples.estimate(t.self, us)
	one.bins, one.selfBins = s.samples.perBin(t.total), s.samples.perBin(t.self)
	for k, r := range s.samples.c.ranks {
		gpus := max(1, float64(r.rank.gpus))
		from, to := s.samples.first[k], s.samples.first[k+1]
		for p := from; p < to; p++ {
			t.total[p] -= t.hidden[p] / gpus
		}
		if from < to {
			one.slowest = max(one.slowest, stat.Mean(t.self[from:to])*us)
		}
	}
	one.exposed = s.samples.estimate(t.total, us)
}

// slowest is what an operation takes itself on the rank on which it takes longest, us.
func (s *side) slowest(name string) float64 {
	if one := s.rows[operations][name]; one != nil {
		return one.slowest
	}
	return 0
}

// average is the weighted mean over all positions.
func (s *side) average(x []float64) float64 {
	s.samples.add(x)
	return s.samples.mean
}

// quantile returns a quantile of what is in ns, in us, nil where it is nowhere.
func quantile(s *stat.Sequence, p float64) *float64 { return number(stat.Quantile(s.Sorted(), p) * us) }
