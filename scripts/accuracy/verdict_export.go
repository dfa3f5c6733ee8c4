package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/hostbound/hostbound/pkg/filter"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/sim"
)

// verdictExports are the kinds of exports, each 60 steps of two ranks.
var verdictExports = []struct {
	name  string
	noise sim.Noise
}{
	{"none but that of each operation", sim.Noise{}},
	{"independent", sim.Noise{Kind: "normal", Scale: 0.1}},
	{"AR(1) 0.6", sim.Noise{Kind: "ar1", Scale: 0.1, Rho: 0.6}},
	{"AR(1) 0.6, of each rank its own", sim.Noise{Kind: "ar1", Scale: 0.1, Rho: 0.6, Private: true}},
	{"AR(1) 0.9", sim.Noise{Kind: "ar1", Scale: 0.1, Rho: 0.9}},
	{"bursts", sim.Noise{Kind: "bursty", Scale: 0.1}},
	{"two states", sim.Noise{Kind: "sticky", Scale: 0.1, Rho: 0.95}},
	{"drift", sim.Noise{Kind: "drift", Scale: 0.05}},
}

// verdictExport is one kind of simulated export.
type verdictExport struct {
	mu   sync.Mutex
	name string
	// Idle time and the rest of the generation steps of each run, and its interval.
	idle, window []float64
	intervals    []*[2]float64
}

// coverage is how often the interval of one run holds what all others come to.
func (e *verdictExport) coverage() (c count) {
	var idle, window float64
	for i := range e.idle {
		idle += e.idle[i]
		window += e.window[i]
	}
	for i, in := range e.intervals {
		c.add(holds(in, (idle-e.idle[i])/(window-e.window[i])))
	}
	return c
}

// runVerdictExports asks the same of whole exports, through the commands' own code.
func runVerdictExports(w io.Writer, o options) error {
	fmt.Fprintf(w, "\nSimulated exports of 60 steps and two ranks, %d of each kind; the truth is what all others of the kind come to.\n\n", o.seeds)
	fmt.Fprintln(w, "| noise | idle in its interval |")
	fmt.Fprintln(w, "|:--|--:|")
	for _, kind := range verdictExports {
		e := &verdictExport{name: kind.name}
		seeds := make([]int, o.seeds)
		for i := range seeds {
			seeds[i] = i
		}
		var failed error
		forEach(seeds, func(seed int) {
			if err := e.add(seed, kind.noise); err != nil {
				e.mu.Lock()
				failed = err
				e.mu.Unlock()
			}
		})
		if failed != nil {
			return failed
		}
		fmt.Fprintf(w, "| %s | %s |\n", e.name, e.coverage())
	}
	return nil
}

// add measures one export.
func (e *verdictExport) add(seed int, noise sim.Noise) error {
	c := sim.Default()
	c.Seed, c.Steps, c.Tail, c.ContextEvery, c.Layers, c.Noise = uint64(seed+1), 61, 0, 0, 4, noise
	trace, err := sim.Simulate(c)
	if err != nil {
		return err
	}
	dir, files, err := export([]*sim.Trace{trace}, sim.Options{})
	defer os.RemoveAll(dir)
	if err != nil {
		return err
	}
	flags := filter.Flags(filter.IsolateFlags(), filter.MetricsFlags(), filter.SelectFlags())
	return command(flags, files, func(c *filter.Context) error {
		res, err := c.Measure()
		if err != nil {
			return err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for i := range res.Rows {
			if r := &res.Rows[i]; r.Scope == metric.Generation && r.Metric == metric.GPUIdle {
				e.idle, e.window = append(e.idle, float64(r.Numerator)), append(e.window, float64(r.Denominator))
				var in *[2]float64
				if r.Interval != nil {
					in = &[2]float64{r.Interval.Low, r.Interval.High}
				}
				e.intervals = append(e.intervals, in)
			}
		}
		return nil
	})
}
