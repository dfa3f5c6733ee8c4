package main

import (
	"fmt"
	"io"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/straggler"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// race is a kind of run with several ranks, one of which may be late.
type race struct {
	name  string
	late  int    // rank to be named, -1: none
	side  string // expected source of its lateness
	cause string // expected first cause
	set   func(*sim.Config)
}

// races are the kinds of the section straggler.
var races = []race{
	{"equal ranks", -1, "", "", nil},
	{"a slow host on one rank", 1, "host", "_prepare_inputs", func(c *sim.Config) { c.SlowRank, c.Slow = 1, 600 }},
	{"late in six of ten steps", 1, "host", "_prepare_inputs", func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultTail, At: "_prepare_inputs", Rank: 1, Share: 0.6, US: 800}}
	}},
	{"a slow GPU", 1, "gpu", "kernels:gemm", func(c *sim.Config) {
		c.KernelScale = 6
		c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: 1, Factor: 1.25}}
	}},
	{"a pipeline of two by two", -1, "", "", func(c *sim.Config) { pipelined(c) }},
	{"a slow GPU in a pipeline", 1, "gpu", "kernels:gemm", func(c *sim.Config) {
		pipelined(c)
		c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: 1, Factor: 1.25}}
	}},
	{"late in turn", -1, "", "", func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultRotate, Rank: -1, US: 600}}
	}},
	{"one pause of 30 ms", -1, "", "", func(c *sim.Config) {
		c.Faults = []sim.Fault{{Kind: sim.FaultTail, Rank: 1, Every: 25, US: 30000}}
	}},
}

// pipelined makes a run a pipeline of two stages with two ranks each.
func pipelined(c *sim.Config) {
	c.Ranks, c.Engine.Pipeline, c.Engine.Ahead, c.KernelScale = 4, 2, 1, 6
}

// trial returns the report on the run with a seed.
func (k *race) trial(dir string, seed int) (*gap.Report, error) {
	c := sim.Default()
	c.Seed, c.Ranks, c.Steps = uint64(seed+1), 2+seed%4, 40
	if k.late < 0 {
		c.Noise = noises[seed%len(noises)]
		c.Noise.Private = c.Noise.Kind != "sticky" // a private sticky state would make one rank late
	} else if seed%2 == 1 {
		c.Noise = sim.Noise{Kind: "normal", Scale: 0.03, Private: true}
	}
	c.Mode = []sim.Mode{sim.Node, sim.Eager}[seed%2]
	c.ClockError = []float64{0, 900, -1500, 300, -200}
	if k.set != nil {
		k.set(&c)
	}
	return gapsOf(dir, c, seed%3 > 0)
}

// raceRow counts the answers for one kind.
type raceRow struct{ runs, right, explained, wrong int }

// runStraggler counts ranks that are rightly named, and ranks named although none is
// late.
func runStraggler(w io.Writer, o options) error {
	rows := make([]raceRow, len(races)+1)
	var names []string
	for i := range races {
		names = append(names, races[i].name)
	}
	names = append(names, "ranks of two runs")
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		if i == len(races) {
			return strangers(&rows[i], dir, seed, o)
		}
		k := &races[i]
		rep, err := k.trial(dir, seed)
		if err != nil {
			return nil, err
		}
		return func() { rows[i].add(k, rep.Straggler, seed, o) }, nil
	})
	fmt.Fprintf(w, "| ranks | runs | right rank, or none | with its cause | wrong rank |\n|:--|--:|--:|--:|--:|\n")
	for i, r := range rows {
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s |\n", names[i], r.runs, count{r.right, r.runs}, count{r.explained, r.runs}, count{r.wrong, r.runs})
	}
	return err
}

// add counts one run.
func (r *raceRow) add(k *race, s *straggler.Report, seed int, o options) {
	r.runs++
	named := -1
	if s != nil && s.Rank != nil {
		named = int(*s.Rank)
	}
	explained := named == k.late && (named < 0 || s.Side == k.side && len(s.Causes) > 0 && s.Causes[0] == k.cause)
	r.right += one(named == k.late)
	r.explained += one(explained)
	r.wrong += one(named >= 0 && named != k.late)
	if !explained {
		remark(o.verbose, "%s, seed %d: rank %d: %+v", k.name, seed, named, s)
	}
}

// strangers compares a rank of one run with a rank of another: none may be named.
func strangers(r *raceRow, dir string, seed int, o options) (func(), error) {
	k := &race{name: "ranks of two runs", late: -1}
	c := sim.Default()
	c.Ranks, c.Steps = 2, 40
	files := [2]string{}
	for i := range files {
		c.Seed = uint64(2*seed + i + 1)
		c.UTC += int64(i*(seed%2)) * 100e9
		var err error
		if files[i], err = writeRank(dir, c, i); err != nil {
			return nil, err
		}
	}
	rep, err := readGaps(files[:])
	if err != nil { // gaps refuses them
		rep = &gap.Report{}
	}
	return func() { r.add(k, rep.Straggler, seed, o) }, nil
}
