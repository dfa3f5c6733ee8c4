package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
)

// slice is the pairs of one kind.
type slice struct {
	noise               *noise
	steps, ratio, ranks int
	index               int

	flagged, untold, held count
	operation             count  // pairs with a flagged operation
	worst                 string // a row that was flagged
}

// judged reports whether the bound on false alarms applies to the slice: its noise has a
// memory that is short compared with the run. Runs with few states, or with a drift, show
// too little of their noise; they need several runs per side.
func (s *slice) judged() bool {
	switch z := s.noise; {
	case z.mean == wanders || strings.Contains(z.name, "20 steps,") || strings.Contains(z.name, "50 steps,") || strings.Contains(z.name, "throttling"):
		return false
	case strings.Contains(z.name, "0.9"):
		return s.steps >= 400
	}
	return s.steps >= 100
}

func (s *slice) String() string {
	return fmt.Sprintf("%s, %d and %d steps, %d ranks", s.noise.name, s.steps, s.ratio*s.steps, s.ranks)
}

// Lengths, numbers of ranks and ratios of lengths, combined with each kind of noise.
var (
	noiseSteps  = []int{20, 50, 100, 400}
	noiseRanks  = []int{1, 2, 8}
	noiseRatios = []int{1, 3, 10}
)

// noiseSlices returns the slices of the kinds of noise whose name contains only.
func noiseSlices(only string) []*slice {
	var all []*slice
	for i := range stepNoises {
		if !strings.Contains(stepNoises[i].name, only) {
			continue
		}
		for _, steps := range noiseSteps {
			for _, ranks := range noiseRanks {
				for _, ratio := range noiseRatios {
					if steps*ratio <= 1200 {
						all = append(all, &slice{noise: &stepNoises[i], steps: steps, ratio: ratio, ranks: ranks, index: len(all)})
					}
				}
			}
		}
	}
	return all
}

// run compares pairs of equal runs. In every other pair, the longer run is the baseline.
func (s *slice) run(pairs int) {
	for k := range pairs {
		rng := rand.New(rand.NewPCG(uint64(s.index), uint64(k)<<8|77))
		a := s.noise.draw(rng, s.steps, s.ranks, 1, nil)
		b := s.noise.draw(rng, s.steps*s.ratio, s.ranks, 1, nil)
		if k%2 == 1 {
			a, b = b, a
		}
		c := compared(a, b)
		name := flaggedRow(c)
		s.flagged.add(name != "")
		s.operation.add(slices.ContainsFunc(c.Operations, func(r compare.Row) bool { return r.Significant }))
		if name != "" {
			s.worst = name
		}
		w := find(c.Summary, "wall")
		s.untold.add(w.Unknown != "")
		if w.Unknown == "" {
			s.held.add(w.CI != nil && w.CI[0] <= 0 && 0 <= w.CI[1])
		}
	}
}

func compared(a, b *compare.Run) *compare.Comparison {
	c, err := compare.Compare(a, b, compare.Options{})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return read(c)
}

// flaggedRow returns the name of a row reported as changed, "" if there is none.
// Operations come first.
func flaggedRow(c *compare.Comparison) (name string) {
	for i := range c.Operations {
		if c.Operations[i].Significant {
			return c.Operations[i].Name
		}
	}
	for _, rows := range [][]compare.Row{c.Summary, c.Kernels, c.Classes, c.API} {
		for i := range rows {
			if rows[i].Significant {
				return rows[i].Name
			}
		}
	}
	for i := range c.Counts {
		if c.Counts[i].Significant {
			return c.Counts[i].Name
		}
	}
	for _, rows := range [][]compare.IdleRow{c.Causes, c.Idle} {
		for i := range rows {
			if rows[i].Significant {
				return rows[i].Name
			}
		}
	}
	for i := range c.Rare {
		if c.Rare[i].Significant {
			return "rare " + c.Rare[i].Name
		}
	}
	return ""
}

// runNoise is the section noise.
func runNoise(w io.Writer, o options) error {
	all := noiseSlices(o.only)
	forEach(all, func(s *slice) { s.run(max(1, o.pairs/4)) })
	fmt.Fprintf(w, "Pairs of equal runs, a row or more flagged; below, in how many the wall time cannot be told and how often the interval of its change held the truth where it can.\n\n")
	head := "| noise |"
	for _, n := range noiseSteps {
		head += fmt.Sprintf(" %d steps |", n)
	}
	fmt.Fprintf(w, "%s 8 ranks | 10 times as long |\n|:--|%s\n", head, strings.Repeat("--:|", len(noiseSteps)+2))
	for i := range stepNoises {
		if strings.Contains(stepNoises[i].name, o.only) {
			printNoise(w, all, &stepNoises[i])
		}
	}
	var judged, told, held, operations count
	byKind := map[string]*count{}
	for _, s := range all {
		operations.sum(s.operation)
		if s.noise.mean != wanders {
			told.sum(count{s.untold.of - s.untold.n, s.untold.of})
			held.sum(s.held)
		}
		if s.judged() {
			judged.sum(s.flagged)
			key := fmt.Sprintf("%s, %d steps", s.noise.name, s.steps)
			if byKind[key] == nil {
				byKind[key] = &count{}
			}
			byKind[key].sum(s.flagged)
		}
	}
	worst := "none"
	byKind[worst] = &count{}
	for key, n := range byKind {
		if worst == "none" || n.n*byKind[worst].of > byKind[worst].n*n.of || n.n*byKind[worst].of == byKind[worst].n*n.of && key < worst {
			worst = key
		}
	}
	fmt.Fprintf(w, "\nOf the pairs of 100 steps and more without a drift or states of 20 steps and more, with a correlation of 0.9 of 400 and more, %v of %d are flagged; the most in a slice of noise and steps are %v of %d (%s). Of all pairs %v have an operation flagged.\n"+
		"Where the noise has a variance %v of the pairs get an answer of the wall time, and %v of their intervals hold the truth.\n",
		judged, judged.of, byKind[worst], byKind[worst].of, worst, operations, told, held)
	return nil
}

// printNoise writes the row of one kind of noise.
func printNoise(w io.Writer, all []*slice, z *noise) {
	cell := func(fits func(*slice) bool) string {
		var flagged, untold, held count
		for _, s := range all {
			if s.noise == z && fits(s) {
				flagged.sum(s.flagged)
				untold.sum(s.untold)
				held.sum(s.held)
			}
		}
		return fmt.Sprintf("%s<br>%s, %s", share(flagged.n, flagged.of), share(untold.n, untold.of), share(held.n, held.of))
	}
	line := "| " + z.name + " |"
	for _, n := range noiseSteps {
		line += cell(func(s *slice) bool { return s.steps == n && s.ratio == 1 }) + " |"
	}
	line += cell(func(s *slice) bool { return s.ranks == 8 }) + " |" + cell(func(s *slice) bool { return s.ratio == 10 }) + " |"
	fmt.Fprintln(w, line)
}

// setting is a kind of pair in which something on one side takes longer.
type setting struct {
	name  string
	draw  func(rng *rand.Rand, percent float64) (a, b *compare.Run)
	found func(c *compare.Comparison) *compare.Row
	steps int
}

// percents are by how much longer it takes.
var percents = []float64{1, 3, 5, 10, 25, 50}

// settings returns the settings: operations that take longer, and one on a machine whose
// speed wanders.
func settings() []setting {
	wall := func(c *compare.Comparison) *compare.Row { return find(c.Summary, "wall") }
	var all []setting
	for _, k := range []struct{ kind, steps int }{{0, 20}, {0, 60}, {0, 200}, {4, 60}, {4, 200}, {5, 60}, {5, 400}, {1, 200}, {2, 200}, {11, 200}, {12, 60}, {13, 60}, {13, 200}} {
		z := &stepNoises[k.kind]
		all = append(all, setting{fmt.Sprintf("all operations, %s, %d steps", z.name, k.steps), func(rng *rand.Rand, percent float64) (a, b *compare.Run) {
			return z.draw(rng, k.steps, 2, 1, nil), z.draw(rng, k.steps, 2, 1+percent/100, nil)
		}, wall, k.steps})
	}
	for _, steps := range []int{60, 200} {
		all = append(all, setting{fmt.Sprintf("the wall, 5 %% per step, %d steps", steps), func(rng *rand.Rand, percent float64) (a, b *compare.Run) {
			return plainWall(rng, steps, 1), plainWall(rng, steps, 1+percent/100)
		}, wall, steps})
	}
	wandering := noise{"a machine that wanders by 10 %", wanders, normal(0.97, 0.1), normal(0, 0.05)}
	one := opName(2)
	all = append(all, setting{"one operation beside a machine that wanders by 10 %, 60 steps", func(rng *rand.Rand, percent float64) (a, b *compare.Run) {
		return wandering.draw(rng, 60, 2, 1, nil), wandering.draw(rng, 60, 2, 1, func(r *compare.RankSamples) {
			for t, v := range r.Operations[one] {
				r.Operations[one][t] = v * (1 + percent/100)
				r.Wall[t] += v * percent / 100
			}
		})
	}, func(c *compare.Comparison) *compare.Row { return find(c.Operations, one) }, 60})
	return all
}

// plainWall returns a run whose step time varies by 5 %.
func plainWall(rng *rand.Rand, steps int, factor float64) *compare.Run {
	r := compare.RankSamples{Wall: times(2000*factor, normal(0, 0.05)(rng, steps))}
	r.Busy, r.Duration = slices.Repeat([]float64{500}, steps), slices.Repeat([]float64{520}, steps)
	return compare.FromSamples(compare.Samples{Name: "plain", Gen: 8, Ranks: []compare.RankSamples{r}})
}

// runPower is the section power: how often changes are found, by their size.
func runPower(w io.Writer, o options) error {
	head, line := "| found, of what takes more |", "|:--|"
	for _, p := range percents {
		head, line = fmt.Sprintf("%s +%v %% |", head, p), line+"--:|"
	}
	fmt.Fprintln(w, head+" wrong sign |\n"+line+"--:|")
	var all count
	for i, s := range settings() {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		row := "| " + s.name + " |"
		var wrong count
		for _, percent := range percents {
			var found count
			var mu sync.Mutex
			forEach(numbers(o.pairs), func(k int) {
				c := compared(s.draw(rand.New(rand.NewPCG(uint64(k), uint64(i)<<8|5)), percent))
				r := s.found(c)
				change := r.Delta
				if r.Relative != nil {
					change = r.Relative
				}
				mu.Lock()
				defer mu.Unlock()
				found.add(r.Significant && *change > 0)
				off := r.Significant && *change < 0
				if off && o.verbose != nil {
					fmt.Fprintf(o.verbose, "%s, +%v %%, pair %d: %+.2f, p %.2g, interval %.0f to %.0f us, %v\n", s.name, percent, k, *change, *r.P, r.CI[0], r.CI[1], c.Explanation)
				}
				wrong.add(off)
			})
			row += fmt.Sprintf(" %s |", share(found.n, found.of))
		}
		all.sum(wrong)
		fmt.Fprintf(w, "%s %d of %d |\n", row, wrong.n, wrong.of)
	}
	fmt.Fprintf(w, "\nThe sign is wrong in %d of %d pairs.\n", all.n, all.of)
	return nil
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// runRepeats is the section repeats: the value of several runs per side.
func runRepeats(w io.Writer, o options) error {
	fmt.Fprintf(w, "| runs a side, 200 steps, 1 %% from start to start | equal: flagged | interval of the wall time holds | +5 %%: wall found |\n|:--|--:|--:|--:|\n")
	for _, n := range [][2]int{{1, 1}, {2, 2}, {3, 3}, {5, 5}, {2, 1}, {3, 1}, {5, 1}} {
		runs, targets := n[0], n[1]
		var flagged, held, found count
		var mu sync.Mutex
		forEach(numbers(o.pairs), func(k int) {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(runs)<<8|6))
			a, b, more := starts(rng, runs, 1), starts(rng, targets, 1), starts(rng, targets, 1.05)
			c := compared(a(), b())
			ci := find(c.Summary, "wall").CI
			d := compared(a(), more())
			mu.Lock()
			defer mu.Unlock()
			flagged.add(flaggedRow(c) != "")
			held.add(ci[0] <= 0 && 0 <= ci[1])
			found.add(find(d.Summary, "wall").Significant)
		})
		title := fmt.Sprint(runs)
		if runs != targets {
			title += fmt.Sprintf(" against %d", targets)
		}
		fmt.Fprintf(w, "| %s | %v | %v | %v |\n", title, flagged, held, found)
	}
	return nil
}

// starts returns a function that joins several runs of one version, whose starts differ by
// 1 %. Each call returns equal runs.
func starts(rng *rand.Rand, runs int, factor float64) func() *compare.Run {
	seed := rng.Uint64()
	return func() *compare.Run {
		rng := rand.New(rand.NewPCG(seed, 0))
		var all []*compare.Run
		for range runs {
			all = append(all, stepNoises[0].draw(rng, 200, 2, factor*(1+0.01*rng.NormFloat64()), nil))
		}
		run, err := compare.Join(all)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return run
	}
}

// slower makes a share of steps longer by us, in an operation of its own, and all steps
// shorter by that share of us. So the long-run mean does not change.
func slower(rng *rand.Rand, share, us float64) func(*compare.RankSamples) {
	seed := rng.Uint64()
	return func(r *compare.RankSamples) {
		rng := rand.New(rand.NewPCG(seed, 0)) // the same steps on all ranks
		gc := make([]float64, len(r.Wall))
		for t := range gc {
			if rng.Float64() < share {
				gc[t] = us
			}
			r.Wall[t] += gc[t] - us*share
		}
		r.Operations["gc"] = gc
	}
}

// runTails is the section tails: how often slow steps are found if the mean does not
// change.
func runTails(w io.Writer, o options) error {
	fmt.Fprintf(w, "| 5 ms more in some of 200 steps, mean equal | P99 or maximum found | the operation found among what is rare | in both runs: any row flagged |\n|:--|--:|--:|--:|\n")
	for _, c := range []struct {
		kind  int
		share float64
	}{{0, 0.05}, {0, 0.02}, {3, 0.05}, {1, 0.05}} {
		var tail, rare, equal count
		var mu sync.Mutex
		forEach(numbers(o.pairs), func(k int) {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(1000*c.share)<<8|7))
			z := &stepNoises[c.kind]
			d := compared(z.draw(rng, 200, 2, 1, nil), z.draw(rng, 200, 2, 1, slower(rng, c.share, 5000)))
			same := compared(z.draw(rng, 200, 2, 1, slower(rng, c.share, 5000)), z.draw(rng, 200, 2, 1, slower(rng, c.share, 5000)))
			grown := func(name string) bool {
				r := find(d.Summary, name)
				return r.Significant && *r.Delta > 0
			}
			mu.Lock()
			defer mu.Unlock()
			equal.add(flaggedRow(same) != "")
			tail.add(grown("wall_p99") || grown("wall_max"))
			rare.add(slices.ContainsFunc(d.Rare, func(r compare.Rare) bool { return r.Name == "gc" && r.Significant }))
		})
		fmt.Fprintf(w, "| %s, %.0f %% of the steps | %v | %v | %v |\n", stepNoises[c.kind].name, 100*c.share, tail, rare, equal)
	}
	return nil
}
