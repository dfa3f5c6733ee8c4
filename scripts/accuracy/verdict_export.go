package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
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
	mu    sync.Mutex
	noise sim.Noise
	first uint64 // seed
	// Idle time of a long run, and the intervals of the short ones.
	truth     float64
	intervals []*metric.Interval
}

// longRun is the length of the run that gives the truth, in multiples of all measured
// runs. Its error is a tenth of theirs.
const longRun = 100

// runVerdictExports checks intervals on whole exports, with the commands' own code. The
// truth is that of a long run: the ranks' lead over each other starts at 0, wanders from
// step to step, and takes tens of steps to forget its start.
func runVerdictExports(w io.Writer, o options) error {
	fmt.Fprintf(w, "\nSimulated exports of 60 steps and two ranks, %d of each kind; the truth is what a run of %d steps comes to.\n\n", o.seeds, o.seeds*longRun)
	fmt.Fprintln(w, "| noise | idle in its interval | half of its width |")
	fmt.Fprintln(w, "|:--|--:|--:|")
	for i, kind := range verdictExports {
		e := &verdictExport{noise: kind.noise, first: uint64(i) << 20}
		if err := e.run(o.seeds); err != nil {
			return err
		}
		var c count
		var wide width
		for _, in := range e.intervals {
			c.add(in != nil && in.Low <= e.truth && e.truth <= in.High)
			wide.add(in)
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", kind.name, c, &wide)
	}
	return nil
}

// run measures the given number of exports, and one long run.
func (e *verdictExport) run(runs int) (failed error) {
	long, err := e.measure(0, runs*longRun)
	if err != nil {
		return err
	}
	e.truth = long.Value()
	forEach(numbers(runs), func(k int) {
		row, err := e.measure(k+1, 60)
		e.mu.Lock()
		defer e.mu.Unlock()
		if err != nil {
			failed = err
			return
		}
		e.intervals = append(e.intervals, row.Interval)
	})
	return failed
}

// measure returns the idle time in the generation steps of an export.
func (e *verdictExport) measure(seed, steps int) (row metric.Row, err error) {
	c := sim.Default()
	c.Seed, c.Steps, c.Tail, c.ContextEvery, c.Layers, c.Noise = e.first+uint64(seed+1), steps+1, 0, 0, 4, e.noise
	trace, err := sim.Simulate(c)
	if err != nil {
		return row, err
	}
	dir, files, err := export([]*sim.Trace{trace}, sim.Options{})
	defer os.RemoveAll(dir)
	if err != nil {
		return row, err
	}
	err = inProcess(&command.Metrics, files, func(c *command.Plan) error {
		res, err := c.Measure()
		if err != nil {
			return err
		}
		for _, r := range res.Rows {
			if r.Scope == metric.Generation && r.Metric == metric.GPUIdle {
				row = r
			}
		}
		return nil
	})
	return row, err
}

// width sums up the widths of intervals, in percentage points. unknown counts missing
// ones.
type width struct {
	sum        float64
	n, unknown int
}

func (w *width) add(in *metric.Interval) {
	if in == nil {
		w.unknown++
		return
	}
	w.n++
	w.sum += 50 * (in.High - in.Low)
}

func (w *width) String() string {
	text := fmt.Sprintf("%.2f", w.sum/float64(max(1, w.n)))
	if w.unknown > 0 {
		text += fmt.Sprintf(", none in %d", w.unknown)
	}
	return text
}
