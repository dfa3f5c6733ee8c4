package main

import (
	"fmt"
	"io"

	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// architecture is a kind of model.
type architecture struct {
	name   string
	layers int
	set    func(*sim.Config)
}

// architectures are the kinds of models in the section layers.
var architectures = []architecture{
	{"dense", 32, nil},
	{"dense, fused", 22, func(c *sim.Config) { c.Fused = true }},
	{"one GPU", 28, func(c *sim.Config) { c.Ranks = 1 }},
	{"Mamba hybrid, attention in one of eight", 32, func(c *sim.Config) { c.Model.AttentionEvery = 8 }},
	{"Mamba hybrid with experts", 40, func(c *sim.Config) { c.Model.AttentionEvery, c.Model.Experts = 5, true }},
	{"one dense layer, then experts", 28, func(c *sim.Config) { c.Model.Experts, c.Model.DenseFirst = true, 1 }},
	{"three dense layers, shared expert", 61, func(c *sim.Config) {
		c.Model.Experts, c.Model.DenseFirst, c.Model.Shared = true, 3, true
	}},
	{"experts by all-to-all, attention DP", 48, func(c *sim.Config) {
		c.Model.Experts, c.Model.AllToAll, c.Model.AttentionDP = true, true, true
	}},
	{"draft model inside the graph", 32, func(c *sim.Config) { c.Draft = sim.Draft{Tokens: 3, Layers: 1, Inside: true} }},
	{"draft model of its own", 32, func(c *sim.Config) { c.Draft = sim.Draft{Tokens: 5, Layers: 2} }},
	{"piecewise graphs", 24, func(c *sim.Config) { c.Engine.Piecewise = true }},
	{"collectives on a second stream", 24, func(c *sim.Config) { c.Model.SideStream = true }},
}

// layerRow counts the answers for one kind.
type layerRow struct{ runs, right, untold, wrong int }

// runLayers counts models whose number of layers is found.
func runLayers(w io.Writer, o options) error {
	rows := make([]layerRow, len(architectures))
	var names []string
	for i := range architectures {
		names = append(names, architectures[i].name)
	}
	err := eachRun(names, o, func(dir string, i, seed int) (func(), error) {
		a := &architectures[i]
		c := sim.Default()
		c.Seed, c.Layers, c.Steps = uint64(seed+1), a.layers, 16
		c.Mode = []sim.Mode{sim.Node, sim.Eager, sim.Whole}[seed%3]
		c.Noise = noises[seed%len(noises)]
		if seed%4 == 3 {
			c.Dropped = 0.05
		}
		if a.set != nil {
			a.set(&c)
		}
		rep, err := gapsOf(dir, c, false)
		if err != nil {
			return nil, err
		}
		return func() {
			r := &rows[i]
			r.runs++
			p := rep.Pattern
			switch {
			case p == nil || p.Layers == nil:
				r.untold++
			case *p.Layers == a.layers:
				r.right++
				return
			default:
				r.wrong++
			}
			remark(o.verbose, "%s, seed %d: %+v", a.name, seed, p)
		}, nil
	})
	fmt.Fprintf(w, "| model | runs | layers right | cannot tell | wrong |\n|:--|--:|--:|--:|--:|\n")
	for i, r := range rows {
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s |\n", names[i], r.runs, count{r.right, r.runs}, count{r.untold, r.runs}, count{r.wrong, r.runs})
	}
	return err
}
