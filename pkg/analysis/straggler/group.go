package straggler

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// maxGrouped is how many ranks are divided into groups at most: each is compared with the
// first one of each group.
const maxGrouped = 64

// FindGroup is Find for ranks of which not all run their collectives together, such as
// those of the stages of a pipeline. Of the groups that do it returns the result of the one
// in which a rank is late most, and the numbers of its ranks.
func FindGroup(ranks []Rank, store *spill.Store) (res *Result, group []int) {
	res, group = findGroup(ranks, store)
	if res != nil {
		res.apartBySteps()
	}
	return res, group
}

func findGroup(ranks []Rank, store *spill.Store) (res *Result, group []int) {
	all := make([]int, len(ranks))
	for r := range all {
		all[r] = r
	}
	res = Find(ranks, store)
	if res == nil || res.Kind == Unknown || res.ClockError <= agreeNs || len(ranks) > maxGrouped {
		return res, all
	}
	groups := groupsOf(ranks, store)
	if len(groups[0]) == len(ranks) {
		return res, all
	}
	var best *Result
	for _, g := range groups {
		var of []Rank
		for _, r := range g {
			of = append(of, ranks[r])
		}
		if res := Find(of, store); res != nil && (best == nil || res.perStep() > best.perStep()) {
			best, group = res, g
		}
	}
	if best == nil {
		res.Kind, res.Rank, res.Reason = Unknown, -1, "no two ranks end their collectives together: they may be stages of a pipeline"
		return res, all
	}
	return best, group
}

// perStep returns by how much the persistent straggler is late per step, ns, 0 where there
// is none.
func (res *Result) perStep() int64 {
	if res.Kind != Persistent {
		return 0
	}
	return res.Ranks[res.Rank].Late / int64(max(1, res.Steps))
}

// groupsOf divides ranks into those that end their collectives together with the first one
// of a group; the largest group comes first.
func groupsOf(ranks []Rank, store *spill.Store) (groups [][]int) {
	for r := range ranks {
		joined := false
		for k := range groups {
			if joined = endTogether(ranks[groups[k][0]], ranks[r], store); joined {
				groups[k] = append(groups[k], r)
				break
			}
		}
		if !joined {
			groups = append(groups, []int{r})
		}
	}
	slices.SortStableFunc(groups, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	return groups
}

// endTogether tells whether two ranks end their collectives together.
func endTogether(a, b Rank, store *spill.Store) bool {
	m := match([]Rank{a, b}, store)
	if m.n < minMatched {
		return false
	}
	m.align(&Result{})
	w := m.witnesses()
	spread := medianOf(w, func(add func(int64)) {
		m.eachWitness([]int{0, 1}, func(ends []int64) { add(m.spread(ends)) })
	})
	return spread <= agreeNs
}
