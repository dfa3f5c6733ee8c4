package gap_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

// Models whose layers differ, read from simulated exports.
func TestLayersOfModels(t *testing.T) {
	tests := []struct {
		name   string
		layers int
		change func(*sim.Config)
	}{
		{"mamba hybrid", 32, func(c *sim.Config) { c.Model.AttentionEvery = 8 }},
		{"mamba hybrid with experts", 32, func(c *sim.Config) { c.Model.AttentionEvery = 8; c.Model.Experts = true }},
		{"one dense layer first", 28, func(c *sim.Config) { c.Model.Experts, c.Model.DenseFirst = true, 1 }},
		{"three dense layers first, shared expert", 61, func(c *sim.Config) {
			c.Model.Experts, c.Model.DenseFirst, c.Model.Shared = true, 3, true
		}},
		{"experts reached by all-to-all", 24, func(c *sim.Config) {
			c.Model.Experts, c.Model.DenseFirst, c.Model.AllToAll, c.Model.AttentionDP = true, 1, true, true
		}},
		{"draft model inside the graph", 16, func(c *sim.Config) { c.Draft = sim.Draft{Tokens: 3, Layers: 1, Inside: true} }},
		{"draft model of its own", 16, func(c *sim.Config) { c.Draft = sim.Draft{Tokens: 5, Layers: 2} }},
		{"one GPU", 16, func(c *sim.Config) { c.Ranks = 1 }},
		{"one GPU, hybrid", 32, func(c *sim.Config) { c.Ranks = 1; c.Model.AttentionEvery = 8 }},
		{"one GPU, experts", 28, func(c *sim.Config) { c.Ranks = 1; c.Model.Experts, c.Model.DenseFirst = true, 1 }},
		{"piecewise graphs", 16, func(c *sim.Config) { c.Engine.Piecewise = true }},
		{"logits in the sampler, with a collective", 16, func(c *sim.Config) {
			c.Engine.LogitsOutside, c.Engine.SampleComm, c.Engine.SampleComms = true, "allgather", 2
		}},
		{"a second stream", 16, func(c *sim.Config) { c.Model.SideStream = true }},
	}
	if os.Getenv("HOSTBOUND_ALL") == "" {
		tests = tests[:2]
	}
	for _, test := range tests {
		for _, mode := range []sim.Mode{sim.Eager, sim.Node, sim.Whole} {
			for _, by := range []string{"nvtx", "allreduce"} {
				c := sim.Default()
				c.Layers, c.Mode = test.layers, mode
				c.Warmup, c.Steps, c.Tail = 0, 10, 0
				test.change(&c)
				if by == "allreduce" && (mode == sim.Whole || c.Ranks == 1 || c.Model.AllToAll) {
					continue
				}
				name := fmt.Sprintf("%s, %s, by %s", test.name, mode, by)
				p := compute(t, by, gap.Options{}, testrun.Simulate(t, c, false)...).Pattern
				if p == nil || p.Layers == nil {
					t.Errorf("%s: no layers: %+v", name, p)
					continue
				}
				if *p.Layers != test.layers {
					t.Errorf("%s: %d layers, want %d: %d × %d, %v", name, *p.Layers, test.layers, p.Length, p.Repetitions, p.LayerTypes)
				}
				sum := 0
				for _, lt := range p.LayerTypes {
					sum += lt.Count
				}
				if sum != *p.Layers {
					t.Errorf("%s: types add up to %d of %d", name, sum, *p.Layers)
				}
			}
		}
	}
}
