package replay

import "slices"

// evenFactors returns by step the factor of its host time that makes it the median of the ranks',
// nil where there is one rank. Steps of several ranks are one iteration by their number; where
// ranks have unlike numbers of steps, those that start next to one another are.
func evenFactors(t *Trace, host []int64) []float64 {
	var ranks [][]int32
	of := map[int32]int{}
	alike := true
	for _, k := range t.stepOrder() {
		p := t.steps[k].process
		i, ok := of[p]
		if !ok {
			i = len(ranks)
			of[p], ranks = i, append(ranks, nil)
		}
		ranks[i] = append(ranks[i], k)
	}
	if len(ranks) < 2 {
		return nil
	}
	for _, r := range ranks {
		alike = alike && len(r) == len(ranks[0])
	}
	factors := make([]float64, len(host))
	for _, own := range ranks {
		for n, k := range own {
			var all []int64
			for _, other := range ranks {
				j := n
				if !alike {
					j = nearest(t, other, t.steps[k].start)
				}
				all = append(all, host[other[j]])
			}
			slices.Sort(all)
			factors[k] = 1
			if median := float64(all[(len(all)-1)/2]+all[len(all)/2]) / 2; host[k] > 0 {
				factors[k] = median / float64(host[k])
			}
		}
	}
	return factors
}

// nearest returns the place in order of the step that starts nearest to a time.
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

// enterStep has a process's host time count for a step from its start on.
func (h *hosts) enterStep(q *process, k int32, at int64) {
	even := h.plan.even != nil && h.even != nil
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
