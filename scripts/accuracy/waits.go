package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// held is a kind of run whose ranks wait for one another, by what makes a host late.
type held struct {
	name string
	set  func(c *sim.Config, seed int)
}

// helds are the kinds of the section waits.
var helds = []held{
	{"launch cost", func(c *sim.Config, seed int) { c.LaunchCost = []float64{2, 5.5, 9.3}[seed%3] }},
	{"one operation", func(c *sim.Config, seed int) { c.SetHost(c.SlowOp, []float64{100, 800, 2000}[seed%3]) }},
	{"a wait", func(c *sim.Config, seed int) {
		c.Faults = []sim.Fault{{Kind: sim.FaultPageable, Rank: -1, US: []float64{5, 20, 60}[seed%3]}}
	}},
	{"garbage collection", func(c *sim.Config, seed int) {
		c.GCEvery, c.GC = 2, []float64{300, 1500, 4000}[seed%3]
	}},
	{"one slow rank", func(c *sim.Config, seed int) { c.SlowRank, c.Slow = 1, []float64{200, 1000, 3000}[seed%3] }},
	{"a lock", func(c *sim.Config, seed int) { c.GIL = []float64{100, 1000, 3000}[seed%3] }},
	{"a slow GPU", func(c *sim.Config, seed int) {
		c.Faults = []sim.Fault{{Kind: sim.FaultSlowGPU, Rank: 1, Factor: []float64{1.2, 1.5, 2}[seed%3]}}
	}},
}

// waitsConfig returns a run of a kind. The seed selects ranks, graphs, scheduling and the
// speed of kernels.
func waitsConfig(k *held, seed int) sim.Config {
	c := sim.Default()
	c.Seed, c.Steps, c.ContextEvery, c.Frontend = uint64(seed+1), 60, 0, true
	c.Markers, c.Host, c.SlowOp = sim.VLLM, sim.HostOps(sim.VLLM), "gpu_model_runner: preprocess" // it has no ranges of input preparation, which would decide alone
	c.Ranks = []int{2, 4, 8}[seed/3%3]
	c.Overlap = seed/2%2 == 0
	switch seed % 5 {
	case 0, 1:
		c.Mode = sim.Eager
	case 2, 3:
		c.Engine.Piecewise = true
	}
	c.Collective = []string{"vllm", "nccl", "trtllm"}[seed%3]
	c.KernelScale = []float64{1, 2, 4, 8}[seed%4]
	k.set(&c, seed)
	return c
}

// freeHost returns the same run on a host that takes almost no time.
func freeHost(c sim.Config) sim.Config {
	c.LaunchCost, c.GraphCost, c.GCEvery, c.GIL, c.SlowRank, c.AllocEvery = 0.05, 0.5, 0, 0, -1, 0
	c.Host = slices.Clone(c.Host)
	for i := range c.Host {
		c.Host[i].Mean /= 1000
	}
	c.Faults = slices.DeleteFunc(slices.Clone(c.Faults), func(f sim.Fault) bool { return f.Kind != sim.FaultSlowGPU })
	return c
}

// waitsRow counts the verdicts on one kind.
type waitsRow struct {
	runs, clear, right, raised int
	error                      float64 // sum of the absolute errors of host_bound_ratio
	worst                      float64
}

// runWaits compares verdicts on runs of several ranks with the same runs on a host
// without cost. A late host may be visible in collectives only.
func runWaits(w io.Writer, o options) error {
	rows := make([]waitsRow, len(helds))
	var names []string
	for i := range helds {
		names = append(names, helds[i].name)
	}
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		c := waitsConfig(&helds[i], seed)
		res, err := metricsOf(dir, c)
		if err != nil {
			return nil, err
		}
		free, err := metricsOf(dir, freeHost(c))
		if err != nil {
			return nil, err
		}
		return func() { rows[i].add(names[i], res, free, seed, o) }, nil
	})
	fmt.Fprintf(w, "| what makes hosts late | runs | far from the limit | of these, right verdict | raised by waits | mean error of host_bound_ratio | largest |\n|:--|--:|--:|--:|--:|--:|--:|\n")
	for i, r := range rows {
		fmt.Fprintf(w, "| %s | %d | %d | %s | %d | %.3f | %.3f |\n", names[i], r.runs, r.clear, count{r.right, r.clear}, r.raised, r.error/float64(max(1, r.runs)), r.worst)
	}
	return err
}

// limitOf returns the share of lost time above which generation is host-bound. It is the
// limit of gpu_utilization, that of gpu_idle_ratio if another metric votes, and 0 if two
// do.
func limitOf(m *verdict.Metrics) float64 {
	limits, votes := verdict.Defaults().Generation, 0
	for _, m := range [][2]*float64{{m.Launch, &limits.Launch}, {m.PrepExposed, &limits.PrepExposed}, {m.PrepImpact, &limits.PrepImpact}, {m.PrepAttribution, &limits.PrepAttribution}} {
		votes += one(m[0] != nil && *m[0] > *m[1])
	}
	return []float64{1 - limits.GPUUtilization, limits.GPUIdle, 0, 0, 0}[votes]
}

// add counts one run. Its true share of lost time is by how much a step is longer than on
// a free host.
func (r *waitsRow) add(name string, res, free *metric.Result, seed int, o options) {
	rep := verdict.Decide(res, verdict.Defaults())
	truth := 1 - free.Steady.Wall/res.Steady.Wall
	g := rep.Phases.Generation
	limit := limitOf(&g.Metrics)
	miss := math.Abs(*g.Reported.HostBound - truth)
	r.runs++
	r.error, r.worst = r.error+miss, max(r.worst, miss)
	r.raised += one(g.RaisedBy != nil)
	far, right := math.Abs(truth-limit) > farShare*limit, (g.Verdict == verdict.Yes) == (truth > limit)
	if far {
		r.clear++
		r.right += one(right)
	}
	if far && !right {
		remark(o.verbose, "%s, seed %d: %s (raised %v), truth %.3f, idle %.3f, wait %.3f, host wait %.3f, host_bound %.3f, launch %.3f", name, seed, g.Verdict, g.RaisedBy != nil, truth,
			*g.Metrics.GPUIdle, *g.Reported.CollectiveWait, *g.Reported.HostWait, *g.Reported.HostBound, *g.Metrics.Launch)
	}
}

// farShare is by how much a truth must differ from the limit, as a share of it, for the
// verdict to be judged.
const farShare = 0.2

// metricsOf simulates and measures a run.
func metricsOf(dir string, c sim.Config) (res *metric.Result, err error) {
	traces, err := sim.Simulate(c)
	if err != nil {
		return nil, err
	}
	path, err := writeTrace(dir, traces)
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	err = inProcess(&command.Verdict, []string{path}, func(p *command.Plan) error {
		src, err := p.Events(source.Phased, true)
		if err != nil {
			return err
		}
		res, err = metric.Compute(src, metric.Options{})
		return err
	})
	return res, err
}
