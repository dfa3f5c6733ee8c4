package compare

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// side is what is known of one run over the chosen steps. It is read-only after
// measuring: two sides are measured concurrently.
type side struct {
	run     *Run
	samples *sampleTable
	figures map[string]stat.Estimate // summary and counts, by name
	walls   stat.Sequence            // periods, for their quantiles
	gaps    stat.Sequence            // positive times from the end of a step to the next one
	balance stat.Sequence            // idle time and waits with a host cause, less GPU work and imbalance
	rows    [numRows]map[string]*item
	now     map[string]string // new name, by the name here, of operations that were renamed
	keys    [numSections]map[string][]key
}

// item is a row of one run.
type item struct {
	parts   [numParts]stat.Estimate // us per rank-step
	count   float64                 // per rank-step
	present float64                 // of operations: share of the rank-steps
	slowest float64                 // of operations: own time on the rank where that is longest, us per step
	// Of operations, by bin, ns: whole time, and time outside nested ranges.
	bins, selfBins []float64
	rare           bool // it occurs in few steps, or takes most of its time in few
}

// Parts of an item.
const (
	whole   = iota
	self    // of operations: outside nested ranges; of idle time: between steps
	exposed // of operations: while GPUs were idle, averaged over them; of idle time: within steps
	numParts
)

// part returns a part of an item, nil for a nil item.
func (i *item) part(k int) *stat.Estimate {
	if i == nil {
		return nil
	}
	return &i.parts[k]
}

const us = 1 / 1e3 // factor from ns to us

// Figures of the summary and counts.
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

	idleCopies = "idle_copies" // idle time during which GPUs copy or fill

	wallP50 = "wall_p50"
	wallP90 = "wall_p90"
	wallP99 = "wall_p99"
	wallMax = "wall_max"

	waitTime      = "wait"       // in collectives
	workTime      = "work"       // busy time less waits
	hostHeld      = "host_bound" // idle time and waits with a host cause
	imbalanceTime = "imbalance"  // waits for a rank with more GPU work

	senderTime = "sender" // waits for what a sender works on; has no row

	balanceOf = "balance" // hostHeld less work, imbalance and waits for senders; has no row

	eagerKernels  = "eager_kernels"
	graphKernels  = "graph_kernels"
	graphLaunches = "graph_launches"
)

// measure computes the figures of the chosen steps. longer is how many times as many
// steps the run has as the other; now has the new names of operations.
func measure(c choice, longer float64, now map[string]string) *side {
	s := &side{run: c.run, samples: newSampleTable(c, longer), figures: map[string]stat.Estimate{}, now: now}
	for _, f := range stepFigures {
		s.figures[f.name] = s.samples.estimate(s.samples.each(f.of), f.scale)
	}
	s.walls, s.gaps = s.samples.spread(s.samples.each(wallOf)), s.samples.spread(s.samples.each(gapOf))
	for section := range numSections {
		s.keys[section] = s.keysOf(section, func(_ *Run, _ int, name string) string { return name })
		s.rows[section] = s.items(section, s.keys[section])
	}
	byClass := s.keysOf(kernels, (*Run).class)
	delete(byClass, "")
	s.rows[classes] = s.items(classes, byClass)
	causes := s.keysOf(idleTimes, func(_ *Run, _ int, name string) string { return parseIdleName(name).cause })
	s.rows[causeTimes] = s.items(causeTimes, causes)
	s.measureParts(causes, s.keys[waitTimes])
	if len(s.rows[waitTimes]) > 0 {
		for cause, keys := range s.keys[waitTimes] {
			causes[cause] = append(causes[cause], keys...)
		}
		s.rows[heldTimes] = s.items(heldTimes, causes)
	}
	return s
}

// measureParts divides the time of the GPUs into work, idle time with and without a host
// cause, and waits in collectives with and without one, and for imbalance. busy = work +
// wait.
func (s *side) measureParts(causes, waits map[string][]key) {
	t := newTimes(s.samples.n)
	total := func(of map[string][]key, counts func(cause string) bool) []float64 {
		var all []key
		for cause, keys := range of {
			if counts(cause) {
				all = append(all, keys...)
			}
		}
		s.sum(t, all)
		return slices.Clone(t.total)
	}
	otherIdle := total(causes, func(cause string) bool { return !isHost(cause) })
	wait := total(waits, func(string) bool { return true })
	hostWait, uneven := total(waits, isHost), total(waits, func(cause string) bool { return cause == imbalance })
	sent := total(waits, func(cause string) bool { return cause == sender })
	idle, held, work, balance := s.samples.each(idleOf), t.total, s.samples.each(busyOf), t.self
	for p := range idle {
		idle[p] -= otherIdle[p]
		work[p] -= wait[p]
		held[p] = idle[p] + hostWait[p]
		balance[p] = held[p] - work[p] - uneven[p] - sent[p]
	}
	for name, x := range map[string][]float64{hostIdle: idle, hostHeld: held, workTime: work, waitTime: wait, imbalanceTime: uneven, senderTime: sent, balanceOf: balance} {
		s.figures[name] = s.samples.estimate(x, us)
	}
	s.balance = s.samples.spread(balance)
}

// stepFigures are the figures that are one number per step.
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
	{gpuTime, func(s *step, _ float64) float64 { return float64(s.gpu) }, us},
	{gap, gapOf, us},
	{idleCopies, func(s *step, _ float64) float64 { return float64(s.copies) }, us},
	{eagerKernels, func(s *step, _ float64) float64 { return float64(s.work.Forward + s.work.Loose) }, 1},
	{graphKernels, func(s *step, _ float64) float64 { return float64(s.work.Replayed) }, 1},
	{graphLaunches, func(s *step, _ float64) float64 { return float64(s.work.Whole) }, 1},
}

// key identifies a name of a section in one run, on all its ranks.
type key struct{ run, section, id int }

// keysOf groups the names of a section by the result of of.
func (s *side) keysOf(section int, of func(run *Run, id int, name string) string) map[string][]key {
	keys := map[string][]key{}
	for run, one := range s.run.repeats {
		for id := range one.names[section].Len() {
			name := one.names[section].Text(int32(id))
			if len(s.now) > 0 && (section == operations || section >= idleTimes) {
				name = renamed(name, s.now)
			}
			name = of(one, id, name)
			keys[name] = append(keys[name], key{run, section, id})
		}
	}
	return keys
}

// items computes the rows of groups of names. Groups without an entry in the chosen
// steps get none.
func (s *side) items(section int, of map[string][]key) map[string]*item {
	rows := map[string]*item{}
	t := newTimes(s.samples.n)
	for name, keys := range of {
		if s.sum(t, keys) {
			rows[name] = s.item(section, t)
		}
	}
	return rows
}

// sum adds up the entries of some names by sample, and reports whether there are any.
// Idle time counts as one occurrence per step.
func (s *side) sum(t *times, keys []key) (found bool) {
	for _, x := range [][]float64{t.total, t.self, t.hidden, t.count} {
		clear(x)
	}
	for _, key := range keys {
		for k, r := range s.samples.c.ranks {
			row := r.rank.sections[key.section].row(key.id)
			if row == nil || r.rank.run != key.run {
				continue
			}
			at, once := s.samples.at[k], key.section >= idleTimes
			row.each(func(e entry) {
				p := at[e.step]
				if p < 0 {
					return
				}
				found = true
				t.total[p] += float64(e.ns)
				t.self[p] += float64(e.self)
				t.hidden[p] += float64(e.hidden)
				if t.count[p] += float64(e.count); once {
					t.count[p] = 1
				}
			})
		}
	}
	return found
}

// times are sums by sample, in ns. The slices are large and are reused.
type times struct{ total, self, hidden, count []float64 }

// newTimes returns sums for n samples, all 0.
func newTimes(n int) *times {
	return &times{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

// item makes a row from sums, which it overwrites.
func (s *side) item(section int, t *times) *item {
	one := &item{count: stat.Mean(t.count)}
	one.parts[whole] = s.samples.estimate(t.total, us)
	switch {
	case section == operations:
		s.operation(one, t)
	case isIdle(section):
		one.parts[self] = s.samples.estimate(t.self, us)
		for p := range t.total {
			t.total[p] -= t.self[p]
		}
		one.parts[exposed] = s.samples.estimate(t.total, us)
	}
	return one
}

// operation completes the row of an operation.
func (s *side) operation(one *item, t *times) {
	for _, n := range t.count {
		if n > 0 {
			one.present += 1 / float64(len(t.count))
		}
	}
	_, one.rare = heaviest(s.samples.largest(t.total))
	one.parts[self] = s.samples.estimate(t.self, us)
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
	one.parts[exposed] = s.samples.estimate(t.total, us)
}

// slowest returns the own time of an operation on the rank where that is longest, us per
// step.
func (s *side) slowest(name string) float64 {
	if one := s.rows[operations][name]; one != nil {
		return one.slowest
	}
	return 0
}

// quantile returns a quantile of s, which is in ns, in us; nil if s is empty.
func quantile(s *stat.Sequence, p float64) *float64 { return number(stat.Quantile(s.Sorted(), p) * us) }
