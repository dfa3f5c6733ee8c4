package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
)

// slice is pairs of one kind.
type slice struct {
	noise               *noise
	steps, ratio, ranks int
	index               int

	flagged, untold, held count
	worst                 string // a row that was flagged
}

func (s *slice) String() string {
	return fmt.Sprintf("%s, %d and %d steps, %d ranks", s.noise.name, s.steps, s.ratio*s.steps, s.ranks)
}

// lengths, ranks and ratios that are combined with each kind of noise.
var (
	noiseSteps  = []int{20, 50, 200, 1000}
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
					if steps*ratio <= 1000 {
						all = append(all, &slice{noise: &stepNoises[i], steps: steps, ratio: ratio, ranks: ranks, index: len(all)})
					}
				}
			}
		}
	}
	return all
}

// run compares pairs of equal runs; the longer is the baseline in every other.
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
	return c
}

// flaggedRow returns a row that is said to have changed, "" where none is.
func flaggedRow(c *compare.Comparison) string {
	for _, rows := range [][]compare.Row{c.Summary, c.Operations, c.Kernels, c.Classes, c.API} {
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
	for i := range c.Idle {
		if c.Idle[i].Significant {
			return c.Idle[i].Name
		}
	}
	for i := range c.Rare {
		if c.Rare[i].Significant {
			return "rare " + c.Rare[i].Name
		}
	}
	return ""
}

// surely is the lower bound of a share, at 95 % for so many shares together.
func (c count) surely(of int) float64 {
	z := math.Sqrt2 * math.Erfinv(1-0.1/float64(of))
	n, p := float64(c.of), float64(c.n)/float64(c.of)
	return (p + z*z/(2*n) - z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))) / (1 + z*z/n)
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
	var whole, told, held, missed, chance count // all but the first of noise with a variance; chance: held, of what does not recur
	worst := all[0]
	over := 0
	for _, s := range all {
		whole.sum(s.flagged)
		if s.flagged.surely(len(all)) > worst.flagged.surely(len(all)) {
			worst = s
		}
		over += one(s.flagged.surely(len(all)) > 0.05)
		if s.noise.mean == settles {
			chance.sum(s.held)
		}
		if s.noise.mean != wanders {
			told.sum(count{s.untold.of - s.untold.n, s.untold.of})
			held.sum(s.held)
			missed.sum(count{s.held.of - s.held.n, s.untold.of})
		}
	}
	fmt.Fprintf(w, "\nOf all %d pairs %v are flagged. Of %d slices (kind of noise, steps, ranks, ratio of lengths) %d have a lower bound, corrected for their number, above 5 %%; the highest is %.1f %% (%v: %v, such as %s).\n"+
		"Where the noise has a variance %v of the pairs get an answer, and %v of their intervals hold the truth: %v of all pairs get an interval that does not. Without what comes every so many steps %v hold it.\n",
		whole.of, whole, len(all), over, 100*worst.flagged.surely(len(all)), worst, worst.flagged, worst.worst, told, held, missed, chance)
	return nil
}

// printNoise writes the row of one kind.
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

// runPower is the section power: how often changes of all operations are found.
func runPower(w io.Writer, o options) error {
	fmt.Fprintf(w, "| all operations take more, equal lengths | wall found | of the wrong sign |\n|:--|--:|--:|\n")
	for _, c := range []struct{ kind, steps, percent int }{{0, 20, 5}, {0, 50, 3}, {0, 200, 3}, {0, 1000, 3}, {1, 200, 3}, {4, 200, 3}, {11, 200, 3}, {12, 200, 3}, {16, 50, 3}} {
		var found, wrong count
		var mu sync.Mutex
		forEach(numbers(o.pairs), func(k int) {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(c.steps)<<8|5))
			z := &stepNoises[c.kind]
			r := find(compared(z.draw(rng, c.steps, 2, 1, nil), z.draw(rng, c.steps, 2, 1+float64(c.percent)/100, nil)).Summary, "wall")
			mu.Lock()
			defer mu.Unlock()
			found.add(r.Significant && *r.Delta > 0)
			wrong.add(r.Significant && *r.Delta < 0)
		})
		fmt.Fprintf(w, "| %s, %d steps, +%d %% | %v | %v |\n", stepNoises[c.kind].name, c.steps, c.percent, found, wrong)
	}
	return nil
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// runRepeats is the section repeats: what several runs a side are worth.
func runRepeats(w io.Writer, o options) error {
	fmt.Fprintf(w, "| runs a side, 200 steps, 1 %% from start to start | equal: flagged | interval of the wall time holds | +5 %%: wall found |\n|:--|--:|--:|--:|\n")
	for _, runs := range []int{1, 2, 3, 5} {
		var flagged, held, found count
		var mu sync.Mutex
		forEach(numbers(o.pairs), func(k int) {
			rng := rand.New(rand.NewPCG(uint64(k), uint64(runs)<<8|6))
			a, b, more := starts(rng, runs, 1), starts(rng, runs, 1), starts(rng, runs, 1.05)
			c := compared(a(), b())
			ci := find(c.Summary, "wall").CI
			d := compared(a(), more())
			mu.Lock()
			defer mu.Unlock()
			flagged.add(flaggedRow(c) != "")
			held.add(ci[0] <= 0 && 0 <= ci[1])
			found.add(find(d.Summary, "wall").Significant)
		})
		fmt.Fprintf(w, "| %d | %v | %v | %v |\n", runs, flagged, held, found)
	}
	return nil
}

// starts returns a function that draws the same runs each time, of a version whose
// starts differ by 1 %.
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

// slower makes a share of the steps of a run take so many us more, in an operation
// of its own, and all of them that share of it less: in the long run the mean is equal.
func slower(rng *rand.Rand, share, us float64) func(*compare.RankSamples) {
	seed := rng.Uint64()
	return func(r *compare.RankSamples) {
		rng := rand.New(rand.NewPCG(seed, 0)) // all ranks at once
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

// runTails is the section tails: how often slow steps are found where the mean is equal.
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
