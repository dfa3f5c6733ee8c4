package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// byStack names idle time by its cause, why, call or kernel, and ranges.
func byStack(sites *idle.Sites, k idle.Key) string {
	s := sites.Stack(k)
	return strings.Join(append([]string{s.Cause, s.Why, s.Leaf}, s.Path...), "\x00")
}

// parseStack makes a stack again of what byStack has named.
func parseStack(name string) figure.Stack {
	parts := append(strings.Split(name, "\x00"), "", "") // others are a cause alone
	s := figure.Stack{Cause: parts[0], Why: parts[1], Leaf: parts[2], Evidence: figure.Exact}
	if len(parts) > 5 {
		s.Path = parts[3 : len(parts)-2]
	}
	return s
}

// Stacks returns the idle time per rank-step of the steps that were compared as stacks, of
// both sides, where their profiles have it: in whole ns, so that they add up to the idle
// time of a step rounded to ns. Without a target the second are none.
func (c *Comparison) Stacks() (baseline, target []figure.Stack) {
	if c.target != nil {
		target = c.target.stacks()
	}
	return c.base.stacks(), target
}

// stacks weighs the stacks of the samples as the means that were compared weigh their steps,
// by rank and phase. A stack names its device only where its rank has just one.
func (s *side) stacks() []figure.Stack {
	type place struct {
		rank  int32
		phase event.Phase
	}
	var all []figure.Stack
	var exact []float64
	weight := s.samples.weights()
	for id, name := range s.run.names[stackTimes].list {
		sums := map[place]float64{}
		devices := map[int32]*int32{}
		for k, r := range s.samples.c.ranks {
			if r.rank.gpus == 1 {
				devices[r.rank.id] = &r.rank.device
			}
			row := r.rank.sections[stackTimes].row(id)
			if row == nil {
				continue
			}
			steps := r.rank.steps.Reader()
			row.each(func(e entry) {
				if p := s.samples.at[k][e.step]; p >= 0 {
					sums[place{r.rank.id, steps.At(int(e.step)).phase}] += float64(e.ns) * weight[p]
				}
			})
		}
		for at, ns := range sums {
			stack := parseStack(name)
			stack.Rank, stack.Device, stack.Phase = at.rank, devices[at.rank], at.phase.String()
			all, exact = append(all, stack), append(exact, ns)
		}
	}
	return rounded(all, exact)
}

// rounded gives stacks their weights: whole numbers that add up to the sum of the exact
// ones, rounded, those with the largest remainders rounded up.
func rounded(all []figure.Stack, exact []float64) []figure.Stack {
	order := make([]int, len(all))
	sum, floors := 0.0, int64(0)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return all[a].Compare(&all[b]) })
	for _, i := range order { // in one order, so that the sum is the same each time
		all[i].Ns = int64(exact[i])
		sum, floors = sum+exact[i], floors+all[i].Ns
	}
	remainder := func(i int) float64 { return exact[i] - math.Floor(exact[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainder(b), remainder(a)) })
	for k := range int(int64(math.Round(sum)) - floors) {
		all[order[k]].Ns++
	}
	return slices.DeleteFunc(all, func(s figure.Stack) bool { return s.Ns == 0 })
}
