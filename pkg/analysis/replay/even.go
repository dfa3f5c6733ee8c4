package replay

import (
	"cmp"
	"slices"
)

// spentIn is the host time of a rank's launching threads in one step, or a factor for
// it. It is the time inside ranges of one name, the innermost; -1 stands for outside all
// ranges.
type spentIn struct {
	name  int32
	value float32 // ns, or the factor
}

// hostTimes are the host times of steps. They are kept by range because a rank is late
// in some place: scaling all its host time equally would also shorten ranges that
// nothing waits for.
type hostTimes struct {
	names []name
	steps [][]spentIn // by step
}

// newHostTimes returns empty host times, or nil if all steps are of one process.
func newHostTimes(t *Trace) *hostTimes {
	for k := range t.steps {
		if t.steps[k].process != t.steps[0].process {
			return &hostTimes{t.names.all, make([][]spentIn, len(t.steps))}
		}
	}
	return nil
}

// HostTimes returns the host time of a rank's launching threads, in us per step of the
// benchmark segment, by innermost range ("" for outside all ranges). It is nil if all
// steps are of one rank.
func (t *Trace) HostTimes(rank int32) (map[string]float64, error) {
	p, err := t.predictor()
	if err != nil || p.learner.spent == nil {
		return nil, err
	}
	sums, n := make([]float64, len(t.names.all)+1), 0.0
	for _, c := range p.chosen {
		if c.rank == rank {
			n++
			for _, one := range p.learner.spent.steps[c.step] {
				sums[one.name+1] += float64(one.value)
			}
		}
	}
	times := map[string]float64{}
	for code, ns := range sums {
		switch {
		case ns > 0 && code == 0:
			times[""] += ns / n / 1e3
		case ns > 0:
			times[t.names.all[code-1].text] += ns / n / 1e3
		}
	}
	return times, nil
}

// add adds d ns of host time of a thread.
func (h *hostTimes) add(th *thread, d int64) {
	q := th.process
	if q.spentAt == nil {
		q.spentAt = make([]int32, len(h.names)+1)
	}
	code, list := th.innermost(h.names), &h.steps[q.step]
	k := &q.spentAt[code+1]
	if int(*k) >= len(*list) || (*list)[*k].name != code {
		*k = int32(len(*list))
		*list = append(*list, spentIn{name: code})
	}
	(*list)[*k].value += float32(d)
}

// innermost returns the name of the innermost open range of a thread, -1 for none.
func (th *thread) innermost(names []name) int32 {
	if n := len(th.ranges); n > 0 {
		return names[th.ranges[n-1].name].same
	}
	return -1
}

// factors returns, by step, the factors that bring its host time to the median over
// ranks: in sum and, as far as that allows, in ranges of each name. It is nil for one
// rank. Steps of several ranks with the same index are one iteration. If ranks have
// different numbers of steps, those that start closest to one another are.
func (h *hostTimes) factors(t *Trace) [][]spentIn {
	byProcess := make([][]int32, len(t.processes))
	for _, k := range byStart(t.steps) {
		byProcess[t.steps[k].process] = append(byProcess[t.steps[k].process], k)
	}
	ranks := slices.DeleteFunc(byProcess, func(r []int32) bool { return len(r) == 0 })
	if len(ranks) < 2 {
		return nil
	}
	alike := !slices.ContainsFunc(ranks, func(r []int32) bool { return len(r) != len(ranks[0]) })
	factors := make([][]spentIn, len(t.steps))
	for r, own := range ranks {
		for n, k := range own {
			var all [][]spentIn
			for o, other := range ranks {
				j := n
				if !alike && o != r { // a rank may have several steps with one start, and nearest returns any
					j = nearest(t, other, t.steps[k].start)
				}
				all = append(all, h.steps[other[j]])
			}
			factors[k] = evenStep(h.steps[k], all)
		}
	}
	return factors
}

// evenStep returns the factors of a step, own, which is one of ranks.
func evenStep(own []spentIn, ranks [][]spentIn) []spentIn {
	of := map[int32][]float32{}
	var sums []float32
	for r, list := range ranks {
		sum := float32(0)
		for _, one := range list {
			if of[one.name] == nil {
				of[one.name] = make([]float32, len(ranks))
			}
			of[one.name][r] = one.value
			sum += one.value
		}
		sums = append(sums, sum)
	}
	sum := float32(0)
	for _, one := range own {
		sum += median(of[one.name])
	}
	all, rest := make([]spentIn, len(own)), float32(1)
	if sum > 0 {
		rest = median(sums) / sum
	}
	for i, one := range own {
		all[i] = spentIn{one.name, rest * median(of[one.name]) / one.value}
	}
	slices.SortFunc(all, func(a, b spentIn) int { return cmp.Compare(a.name, b.name) })
	return all
}

// median returns the median of values, which it sorts.
func median(values []float32) float32 {
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// evenFactor returns the factor of a thread's host time in the current step of its
// process.
func (p *plan) evenFactor(th *thread) float64 {
	code := th.innermost(p.names)
	k, ok := slices.BinarySearchFunc(th.process.even, code, func(s spentIn, code int32) int { return cmp.Compare(s.name, code) })
	if !ok {
		return 1
	}
	return float64(th.process.even[k].value)
}

// nearest returns the index in order of the step whose start is nearest to at.
func nearest(t *Trace, order []int32, at int64) int {
	j, _ := slices.BinarySearchFunc(order, at, func(k int32, at int64) int {
		if t.steps[k].start < at {
			return -1
		}
		return 1
	})
	if j == len(order) || j > 0 && at-t.steps[order[j-1]].start < t.steps[order[j]].start-at {
		j--
	}
	return j
}

// enterStep makes host time of a process count for step k from the step's start on.
func (h *hosts) enterStep(q *process, k int32, at int64) {
	even := h.plan.asks[evenTime] && h.even != nil
	if h.learn == nil && !even {
		return
	}
	for _, th := range q.threads {
		if th.begun && th.held == nil && th.launches && th.last < at {
			h.reach(th, at)
		}
	}
	q.step = k
	if !even {
		return
	}
	q.even = h.even[k]
	for _, th := range q.threads {
		if th.begun {
			h.plan.refactor(th)
		}
	}
}
