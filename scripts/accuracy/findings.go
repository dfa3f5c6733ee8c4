package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// fault is a planted fault, and what its finding must say.
type fault struct {
	name  string
	base  func(*sim.Config) // sets up the engine, with and without the fault
	plant func(*sim.Config)
	named func(*gap.Report) bool // reports whether the fault is named with its evidence
	first bool                   // it is worth the most idle time, so it must be the first finding
}

// faults are the faults of the section findings.
var faults = []fault{
	{"synchronisation, host ahead", overlap,
		faulty(sim.Fault{Kind: sim.FaultSync, At: "prepare_resources", Rank: -1}), finding("SYNC", "cudaDeviceSynchronize", "prepare_resources"), true},
	{"synchronisation in sampling, host ahead", overlap,
		faulty(sim.Fault{Kind: sim.FaultSync, At: "_sample_async", Rank: -1}), finding("SYNC", "cudaDeviceSynchronize", "_sample_async"), true},
	{"synchronisation while scheduling, host ahead", overlap,
		faulty(sim.Fault{Kind: sim.FaultSync, At: "_schedule", Rank: -1}), finding("SYNC", "cudaDeviceSynchronize", "_schedule"), true},
	{"synchronisation while scheduling, ten steps ahead", func(c *sim.Config) { c.Engine.Ahead, c.KernelScale = 10, 6 },
		faulty(sim.Fault{Kind: sim.FaultSync, At: "_schedule", Rank: -1}), finding("SYNC", "cudaDeviceSynchronize", "_schedule"), true},
	{"pageable copies in each layer", eagerGPU,
		faulty(sim.Fault{Kind: sim.FaultPageable, Rank: -1, US: 40}), finding("SYNC", "cudaMemcpyAsync", "pageable"), true},
	{"allocation", nil,
		faulty(sim.Fault{Kind: sim.FaultAlloc, Rank: -1, US: 300}), finding("ALLOC", "cudaMalloc"), true},
	{"code compiled in the window", nil,
		faulty(sim.Fault{Kind: sim.FaultJIT, Rank: -1, Every: 19, US: 60000, Count: 1500}), finding("JIT", "cuModuleLoad"), true},
	{"code compiled once", nil,
		faulty(sim.Fault{Kind: sim.FaultJIT, Rank: -1, Every: 25, US: 20000, Count: 2000}), finding("JIT", "steps"), true},
	{"garbage collection", nil,
		func(c *sim.Config) { c.GCEvery, c.GC = 10, 5000 }, finding("GC_MGMT", "garbage"), true},
	{"interpreter lock", func(c *sim.Config) { c.GIL = 1 },
		func(c *sim.Config) { c.GIL = 500 }, finding("GIL_CONTENTION", "interpreter lock"), true},
	{"graphs lost", func(c *sim.Config) { c.LaunchCost = 6 },
		func(c *sim.Config) { c.Mode = sim.Eager }, finding("GRAPH_EXPAND", "no graph is replayed"), true},
	{"a third without graphs", func(c *sim.Config) { c.LaunchCost = 6 },
		func(c *sim.Config) { c.Engine.EagerShare = 1.0 / 3 }, finding("GRAPH_FALLBACK", "generation steps"), true},
	{"a third without graphs, whole graphs", func(c *sim.Config) { c.LaunchCost, c.Mode = 6, sim.Whole },
		func(c *sim.Config) { c.Engine.EagerShare = 1.0 / 3 }, finding("GRAPH_FALLBACK", "generation steps"), true},
	{"replays not recorded", nil,
		func(c *sim.Config) { c.Dropped = 0.2 }, finding("RECAPTURE", "replays"), true},
}

// overlap sets up an engine whose host is one step ahead of its GPU.
func overlap(c *sim.Config) { c.Overlap, c.KernelScale = true, 6 }

// eagerGPU makes the engine launch every kernel individually.
func eagerGPU(c *sim.Config) { c.Mode = sim.Eager }

func faulty(f sim.Fault) func(*sim.Config) {
	return func(c *sim.Config) { c.Faults = append(c.Faults, f) }
}

// finding returns a function that reports whether a finding of the pattern contains all
// words.
func finding(pattern string, words ...string) func(*gap.Report) bool {
	return func(rep *gap.Report) bool {
		for _, f := range rep.Findings {
			if f.Pattern == pattern && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(f.Text, w) }) {
				return true
			}
		}
		return false
	}
}

// noises are used in turn by the runs of a fault and their clean counterparts.
var noises = []sim.Noise{
	{}, {Kind: "normal", Scale: 0.1}, {Kind: "heavy", Scale: 0.1, Private: true}, {Kind: "bursty", Scale: 0.2},
	{Kind: "sticky", Scale: 0.15, Rho: 0.9}, {Kind: "ar1", Scale: 0.1, Rho: 0.8, Private: true}, {Kind: "drift", Scale: 0.1},
}

// run returns the report on the run with a seed, with or without the fault.
func (p *fault) run(dir string, seed int, with bool) (*gap.Report, error) {
	c := sim.Default()
	c.Seed, c.Steps = uint64(seed+1), 40+seed%5*8
	c.Layers = 12 + seed%4*6
	c.Noise = noises[seed%len(noises)]
	if p.base != nil {
		p.base(&c)
	}
	if with {
		p.plant(&c)
	}
	return gapsOf(dir, c, false)
}

// faultRow counts the results for one fault.
type faultRow struct {
	p                                        *fault
	runs, named, first, sized, silent, empty int
}

// runFindings counts planted faults that are named, and faults named in runs without one.
func runFindings(w io.Writer, o options) error {
	rows := make([]faultRow, len(faults))
	var names []string
	for i := range faults {
		rows[i].p = &faults[i]
		names = append(names, faults[i].name)
	}
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		p := &faults[i]
		with, err := p.run(dir, seed, true)
		if err != nil {
			return nil, err
		}
		without, err := p.run(dir, seed, false)
		if err != nil {
			return nil, err
		}
		return func() {
			r := &rows[i]
			r.runs++
			found, named := p.first && len(with.Findings) > 0, p.named(with)
			r.named += one(named)
			head := *with
			head.Findings = head.Findings[:min(1, len(head.Findings))]
			r.first += one(found && p.named(&head))
			r.sized += one(p.sized(with, without))
			r.silent += one(!p.named(without))
			r.empty += one(len(without.Findings) == 0)
			if len(without.Findings) > 0 {
				remark(o.verbose, "%s, seed %d: without the fault: %s", p.name, seed, said(without))
			}
			if !named || p.first && !p.named(&head) {
				remark(o.verbose, "%s, seed %d: %s", p.name, seed, said(with))
			}
			if found && !p.sized(with, without) {
				remark(o.verbose, "%s, seed %d: a step takes %.0f us less without it: %s", p.name, seed, stepUs(with)-stepUs(without), said(with))
			}
		}, nil
	})
	fmt.Fprintf(w, "| fault | runs | named | first | first, within a quarter | silent without it | no finding without it |\n|:--|--:|--:|--:|--:|--:|--:|\n")
	all := faultRow{p: &fault{name: "all"}}
	for _, r := range rows {
		r.print(w)
		all.runs, all.named, all.first, all.sized, all.silent, all.empty = all.runs+r.runs, all.named+r.named, all.first+r.first, all.sized+r.sized, all.silent+r.silent, all.empty+r.empty
	}
	all.print(w)
	return err
}

func (r *faultRow) print(w io.Writer) {
	fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s |\n", r.p.name, r.runs, count{r.named, r.runs}, count{r.first, r.runs}, count{r.sized, r.runs}, count{r.silent, r.runs}, count{r.empty, r.runs})
}

// quarter is the largest relative error of a predicted gain.
const quarter = 0.25

// sized reports whether the first finding names the fault and predicts its gain to within
// quarter.
func (p *fault) sized(with, without *gap.Report) bool {
	head := *with
	head.Findings = head.Findings[:min(1, len(head.Findings))]
	if !p.named(&head) {
		return false
	}
	truth := stepUs(with) - stepUs(without)
	return math.Abs(gainOf(with)-truth) <= quarter*math.Abs(truth)
}

// stepUs returns the time per step, in us.
func stepUs(rep *gap.Report) float64 { return rep.Idle.WindowUs / float64(max(1, rep.Idle.Steps)) }

// gainOf returns the predicted gain of the first finding, in us, 0 if it has none.
func gainOf(rep *gap.Report) float64 {
	if g := rep.Findings[0].GainUs; g != nil {
		return *g
	}
	return 0
}

// said returns the findings of a report, one per line.
func said(rep *gap.Report) (text string) {
	for _, f := range rep.Findings {
		gain := math.NaN()
		if f.GainUs != nil {
			gain = *f.GainUs
		}
		text += fmt.Sprintf("\n\t%s %.0f us: %s", f.Pattern, gain, f.Text)
	}
	return text
}
