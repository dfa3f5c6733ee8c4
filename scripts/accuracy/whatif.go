package main

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// whatifPair is a run with and without a planted cause, and the change that removes the
// cause. If the change also removes something else, other removes that from the run
// without the cause.
type whatifPair struct {
	name   string
	set    func(*sim.Config)
	plant  func(*sim.Config)
	change replay.Scenario
	other  []replay.Change
}

// treated returns a scenario with some changes.
func treated(changes ...replay.Change) replay.Scenario { return replay.Scenario{Changes: changes} }

// whatifPairs are the pairs of the section whatif.
var whatifPairs = []whatifPair{
	{"an operation longer", nil, slowPrep, prepAsWas, nil},
	{"an operation longer, a step ahead", func(c *sim.Config) { c.Engine.Ahead = 1 }, slowPrep, prepAsWas, nil},
	{"an operation longer, launched one by one", func(c *sim.Config) { c.Mode = sim.Eager }, slowPrep, prepAsWas, nil},
	{"an operation longer, whole graphs", func(c *sim.Config) { c.Mode, c.Ranks = sim.Whole, 1 }, slowPrep, prepAsWas, nil},
	{"kernels twice as long", func(c *sim.Config) { c.KernelScale = 2 }, func(c *sim.Config) { c.KernelScale = 4 }, treated(replay.GPU(0.5)), nil},
	{"a synchronise", func(c *sim.Config) { c.Ranks = 1 }, withFault(sim.Fault{Kind: sim.FaultSync, At: "_sample_async", Rank: -1}), treated(noWaits("cudaDeviceSynchronize")), nil},
	{"memory from the system", nil, withFault(sim.Fault{Kind: sim.FaultAlloc, Rank: -1, US: 600}), treated(replay.Call("cudaMalloc", 0), replay.Call("cudaFree", 0)), nil},
	{"launches twice as long", func(c *sim.Config) { c.Mode, c.Ranks = sim.Eager, 1 }, func(c *sim.Config) { c.LaunchCost = 7 }, treated(calls("cu*LaunchKernel*", 0.5), calls("cudaMem*Async", 0.5)), nil},
	{"a late rank of four", fourRanks, lateRank, treated(replay.Range("_prepare_inputs", 780./1380).On(1)), nil},
	{"a late rank of four, ranks even", fourRanks, lateRank, treated(replay.Even()), []replay.Change{replay.Even()}},
}

// slowPrep makes an operation take 1,600 us instead of 780; prepAsWas undoes that.
func slowPrep(c *sim.Config) { c.SetHost("_prepare_inputs", 1600) }

var prepAsWas = treated(replay.Range("_prepare_inputs", 780./1600))

// lateRank makes the same operation of one rank take 600 us longer.
func lateRank(c *sim.Config) { c.SlowRank, c.Slow = 1, 600 }

func fourRanks(c *sim.Config) { c.Ranks = 4 }

// withFault plants a fault.
func withFault(f sim.Fault) func(*sim.Config) {
	return func(c *sim.Config) { c.Faults = []sim.Fault{f} }
}

func noWaits(call string) replay.Change {
	c, err := replay.Parse("no-wait", call)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return c
}

func calls(glob string, factor float64) replay.Change {
	c, err := replay.Parse("call", fmt.Sprint(glob, "=", factor))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return c
}

// predict returns whatif's report on a run.
func predict(dir string, c sim.Config, s replay.Scenario) (r *replay.Report, err error) {
	traces, _, err := sim.SimulateTruth(c, false)
	if err != nil {
		return nil, err
	}
	path, err := writeTrace(dir, traces[0])
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	err = inProcess(&command.Verdict, []string{path}, func(p *command.Plan) error {
		src, err := p.Events(source.Phased, false)
		if err != nil {
			return err
		}
		store := spill.NewStore(64 << 20)
		defer store.Close()
		t, err := replay.Read(src, store, []replay.Scenario{s})
		if err != nil {
			return err
		}
		r, err = t.Predict(s)
		return err
	})
	return r, err
}

// whatifRow counts the results for one pair.
type whatifRow struct{ near, close, held, sign count }

// runWhatif compares predictions with runs of the same seed without the planted cause.
func runWhatif(w io.Writer, o options) error {
	rows := make([]whatifRow, len(whatifPairs))
	var names []string
	for _, p := range whatifPairs {
		names = append(names, p.name)
	}
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		p := &whatifPairs[i]
		without := sim.Default()
		without.Seed, without.Steps = uint64(seed+1), 60
		if p.set != nil {
			p.set(&without)
		}
		with := without
		p.plant(&with)
		said, err := predict(dir, with, p.change)
		if err != nil {
			return nil, err
		}
		truth, err := predict(dir, without, treated(append(p.other, replay.Host(1))...))
		if err != nil {
			return nil, err
		}
		return func() { rows[i].add(p, said, truth.Scenarios[0].StepUs, seed, o) }, nil
	})
	fmt.Fprintf(w, "| planted | within 2 %% of the step | within 5 %% | interval holds the truth | gain has the other sign |\n|:--|--:|--:|--:|--:|\n")
	for i, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", names[i], r.near, r.close, r.held, r.sign.plain())
	}
	return err
}

// add counts a prediction. truth is the time of a step without the planted cause, in us.
func (r *whatifRow) add(p *whatifPair, said *replay.Report, truth float64, seed int, o options) {
	one := &said.Scenarios[0]
	off, gain := math.Abs(one.StepUs/truth-1), said.StepUs-truth
	r.near.add(off <= 0.02)
	r.close.add(off <= 0.05)
	r.held.add(one.CIUs != nil && one.CIUs[0] <= gain && gain <= one.CIUs[1])
	r.sign.add(one.GainUs*gain < 0 && math.Abs(one.GainUs) > 0.003*said.StepUs)
	if off > 0.05 {
		remark(o.verbose, "%s, seed %d: a step of %.0f us is said to take %.0f, and takes %.0f", p.name, seed, said.StepUs, one.StepUs, truth)
	}
}
