package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// change is a difference between two versions of an engine with several ranks.
type change struct {
	name       string
	set        func(c *sim.Config)
	conclusion string   // expected conclusion; "host": either one about the host
	named      []string // the first thing named must contain one of these; empty: anything
	// free, if set, is the change without the cost of calls. If it accounts for more than
	// half of the growth, the host is not the cause, and the conclusion must be unclear.
	free func(c *sim.Config)
}

// slowOp is the operation that takes longer.
const slowOp = "gpu_model_runner: preprocess"

// changes are the changes of the section ranks. Launch calls are as slow as in the two
// reports on which the section is modelled; other losses of hosts are about a third of a
// step.
var changes = []change{
	{"nothing", func(*sim.Config) {}, compare.None, nil, nil},
	{"launch cost", func(c *sim.Config) { c.LaunchCost, c.GraphCost = 1.7*c.LaunchCost, 1.7*c.GraphCost }, "host", []string{"aunch"}, nil},
	{"one operation", func(c *sim.Config) { c.SetHost(slowOp, 1500) }, "host", []string{slowOp}, nil},
	{"a wait", func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultSync, At: slowOp, Rank: -1}, {Kind: sim.FaultPageable, Rank: -1, US: 40}}
	}, "host", []string{"ynchroni", "emcpy", "cop"}, func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultPageable, Rank: -1, US: c.LaunchCost}}
	}},
	{"garbage collection", func(c *sim.Config) { c.GCEvery, c.GC = 2, 3000 }, "host", []string{"garbage collection"}, nil},
	{"one slow rank", func(c *sim.Config) { c.SlowRank, c.Slow, c.SlowOp = 1, 1500, slowOp }, "host", []string{slowOp}, nil},
	{"a lock", func(c *sim.Config) { c.GIL = 1500 }, "host", []string{"interpreter lock"}, nil},
	{"slower kernels", func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: -1, Factor: 1.6}}
	}, compare.GPU, nil, nil},
	{"slower kernels of one rank", func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: 1, Factor: 1.6}}
	}, compare.Imbalance, nil, nil},
}

// engines are the ways in which the section's runs launch and schedule.
var engines = []struct {
	name string
	set  func(c *sim.Config)
}{
	{"eager", func(c *sim.Config) { c.Mode = sim.Eager }},
	{"graph", func(*sim.Config) {}},
	{"pieces", func(c *sim.Config) { c.Engine.Piecewise = true }},
}

// ranksConfig returns a run of the baseline.
func ranksConfig(ranks, engine int, overlap bool, seed int) sim.Config {
	c := sim.Default()
	c.Ranks, c.Overlap, c.Seed, c.Steps, c.ContextEvery, c.Frontend = ranks, overlap, uint64(seed+1), 100, 0, true
	c.Markers, c.Host, c.Collective, c.LaunchCost, c.GIL, c.Layers = sim.VLLM, sim.HostOps(sim.VLLM), "vllm", 5.5, 50, 8
	c.KernelScale = []float64{3, 1, 2}[seed/2%3]
	engines[engine].set(&c)
	return c
}

// ranksRow counts the conclusions on one change.
type ranksRow struct {
	runs, hidden, sign, conclusion, named int
	apart                                 float64 // largest difference of idle time and waits, as a share of the step
}

// changesNothing is the share of a step below which a change is hidden behind the GPUs'
// work.
const changesNothing = 0.03

// runRanks compares runs whose ranks wait for one another.
func runRanks(w io.Writer, o options) error {
	byEngine := make([][]ranksRow, len(changes))
	for i := range byEngine {
		byEngine[i] = make([]ranksRow, 2*len(engines))
	}
	var kinds []string
	for _, ranks := range []int{2, 4, 8} {
		for e := range engines {
			for _, overlap := range []string{"", ", overlap"} {
				kinds = append(kinds, fmt.Sprintf("TP %d, %s%s", ranks, engines[e].name, overlap))
			}
		}
	}
	err := eachRun(kinds, o, func(dir string, i, seed int) (func(), error) {
		ranks, engine, overlap := []int{2, 4, 8}[i/6], i/2%3, i%2 == 1
		base, err := writeRun(dir, ranksConfig(ranks, engine, overlap, 2*seed))
		if err != nil {
			return nil, err
		}
		defer os.Remove(base)
		compared := func(set func(*sim.Config)) (result *compare.Comparison, err error) {
			c := ranksConfig(ranks, engine, overlap, 2*seed+1)
			set(&c)
			target, err := writeRun(dir, c)
			if err != nil {
				return nil, err
			}
			defer os.Remove(target)
			err = inProcess(&command.Diff, []string{base, target}, func(p *command.Plan) error {
				if result, err = p.Diff(); err == nil {
					read(result)
				}
				return err
			})
			return result, err
		}
		var all []*compare.Comparison
		expected := slices.Clone(changes)
		for k := range expected {
			result, err := compared(expected[k].set)
			if err != nil {
				return nil, err
			}
			all = append(all, result)
			if expected[k].free == nil {
				continue
			}
			if result, err = compared(expected[k].free); err != nil {
				return nil, err
			}
			if 2**find(result.Summary, "wall").Delta > *find(all[k].Summary, "wall").Delta {
				expected[k].conclusion = compare.Unclear
			}
		}
		return func() {
			for k, result := range all {
				byEngine[k][i%6].add(&expected[k], result, fmt.Sprintf("%s, %s, seed %d", kinds[i], changes[k].name, seed), o)
			}
		}, nil
	})
	fmt.Fprintf(w, "| change |")
	for range 2 {
		for _, e := range engines {
			fmt.Fprintf(w, " %s |", e.name)
		}
	}
	fmt.Fprintf(w, " all: sign | conclusion | cause named | hidden |\n|:--|%s\n", strings.Repeat("--:|", 2*len(engines)+4))
	apart := 0.0
	for k := range changes {
		sum := ranksRow{}
		fmt.Fprintf(w, "| %s |", changes[k].name)
		for overlap := range 2 {
			for e := range engines {
				r := byEngine[k][2*e+overlap]
				fmt.Fprintf(w, " %s |", count{r.conclusion, r.runs - r.hidden})
				sum.runs, sum.hidden, sum.sign, sum.conclusion, sum.named = sum.runs+r.runs, sum.hidden+r.hidden, sum.sign+r.sign, sum.conclusion+r.conclusion, sum.named+r.named
				apart = max(apart, r.apart)
			}
		}
		n := sum.runs - sum.hidden
		fmt.Fprintf(w, " %s | %s | %s | %d |\n", count{sum.sign, n}, count{sum.conclusion, n}, count{sum.named, n}, sum.hidden)
	}
	fmt.Fprintf(w, "\nThe first three columns are without overlap, the next three with it. Hidden are changes that make the step less than %.0f %% longer: they are not counted. Idle time and waits of equal runs are up to %.1f points apart.\n",
		100*changesNothing, 100*apart)
	return err
}

// writeRun simulates a run, writes its report, and returns the path.
func writeRun(dir string, c sim.Config) (string, error) {
	traces, err := sim.Simulate(c)
	if err != nil {
		return "", err
	}
	return writeTrace(dir, traces)
}

// add counts the conclusion on one pair.
func (r *ranksRow) add(ch *change, c *compare.Comparison, what string, o options) {
	r.runs++
	wall := find(c.Summary, "wall")
	share := *wall.Delta / *wall.Baseline
	headline := fmt.Sprint(c.Document().Title)
	isHost := c.Conclusion == compare.HostInStep || c.Conclusion == compare.HostInterStep
	right := c.Conclusion == ch.conclusion || ch.conclusion == "host" && isHost
	if ch.conclusion == compare.None {
		idle := find(c.Summary, "idle")
		wait := find(c.Summary, "wait")
		held := func(of func(*compare.Row) *float64) float64 {
			sum := *of(idle)
			if v := of(wait); v != nil {
				sum += *v
			}
			return sum / *of(wall)
		}
		r.apart = max(r.apart, math.Abs(held(func(x *compare.Row) *float64 { return x.Target })-held(func(x *compare.Row) *float64 { return x.Baseline })))
		r.sign, r.conclusion, r.named = r.sign+1, r.conclusion+one(right), r.named+one(right)
		if !right {
			remark(o.verbose, "%s: %s", what, headline)
		}
		return
	}
	if share < changesNothing {
		r.hidden++
		return
	}
	sign := c.Direction != nil && *c.Direction == compare.Slower
	named := right && (ch.named == nil || slices.ContainsFunc(ch.named, func(n string) bool { return strings.Contains(headline, n) }))
	r.sign, r.conclusion, r.named = r.sign+one(sign), r.conclusion+one(right), r.named+one(named)
	if !sign || !named {
		remark(o.verbose, "%s: %s", what, headline)
	}
}
