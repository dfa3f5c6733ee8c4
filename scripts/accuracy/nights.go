package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli/command"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
)

// A rise must be found in the first night after settled ones, a drift within driftNights.
// The noise between starts multiplies the costs of kernels and host by one factor, as the
// state of a machine does; no ratio shows it.
const (
	settled      = metric.MinRuns
	stepRise     = 1.08
	driftNights  = 15
	nightlyDrift = 0.0025 // relative growth per night
)

// startNoises are the simulated noises between starts, as relative standard deviations.
var startNoises = []float64{0.005, 0.012}

// gate counts what verdict --history says about nights.
type gate struct {
	noise              float64
	equal, rise, drift count
}

// runNights asks verdict --history about unchanged nights, about a night that is 8 %
// slower after settled ones, and about a drift.
func runNights(w io.Writer, o options) error {
	n := 10 * o.seeds
	fmt.Fprintf(w, "%d nights in a row in which nothing changed, each compared with the 30 before it; %d times five such nights and one that takes %.0f %% longer; %d times five nights and %d of which each takes %.2f %% longer than the one before. Each night is an export of 60 steps and two ranks.\n\n",
		n, n, 100*(stepRise-1), n/2, driftNights, 100*nightlyDrift)
	fmt.Fprintln(w, "| noise from start to start | nothing changed: red | +8 %: red in the first night | drift: red within 15 nights |")
	fmt.Fprintln(w, "|:--|--:|--:|--:|")
	for i, noise := range startNoises {
		g := gate{noise: noise}
		if err := g.run(uint64(i+1)<<32, n); err != nil {
			return err
		}
		fmt.Fprintf(w, "| %.1f %% | %s | %s | %s |\n", 100*noise, g.equal, g.rise, g.drift)
	}
	return nil
}

// run simulates the nights and counts those reported as worse.
func (g *gate) run(seed uint64, n int) error {
	level, err := g.nights(seed, make([]float64, n+settled))
	if err != nil {
		return err
	}
	for k := settled; k < len(level); k++ {
		g.equal.add(red(level[:k], level[k]))
	}
	risen := make([]float64, n)
	for i := range risen {
		risen[i] = math.Log(stepRise)
	}
	slower, err := g.nights(seed+1<<24, risen)
	if err != nil {
		return err
	}
	for k := range slower {
		g.rise.add(red(level[k:k+settled], slower[k]))
	}
	trials := n / 2
	drifting := make([]float64, trials*driftNights)
	for i := range drifting {
		drifting[i] = nightlyDrift * float64(i%driftNights+1)
	}
	drifted, err := g.nights(seed+2<<24, drifting)
	if err != nil {
		return err
	}
	for k := range trials {
		nights := append(append([]metric.HistoryRun{}, level[k:k+settled]...), drifted[k*driftNights:(k+1)*driftNights]...)
		found := false
		for i := settled; i < len(nights); i++ {
			found = found || red(nights[:i], nights[i])
		}
		g.drift.add(found)
	}
	return nil
}

// red reports whether a night is called worse than those before it.
func red(before []metric.HistoryRun, night metric.HistoryRun) bool {
	return metric.Examine(before, night, metric.HistoryOptions{}).Worse
}

// nights simulates nights whose steps take exp(rise) times as long, apart from noise.
func (g *gate) nights(seed uint64, rises []float64) (runs []metric.HistoryRun, failed error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	factors := make([]float64, len(rises))
	for i, rise := range rises {
		factors[i] = math.Exp(rise + g.noise*rng.NormFloat64())
	}
	runs = make([]metric.HistoryRun, len(rises))
	var mu sync.Mutex
	forEach(numbers(len(rises)), func(i int) {
		run, err := oneNight(seed+uint64(i)+1, factors[i])
		mu.Lock()
		defer mu.Unlock()
		if runs[i] = run; err != nil {
			failed = err
		}
	})
	return runs, failed
}

// oneNight measures an export in which all work of the host and the GPUs takes factor
// times as long.
func oneNight(seed uint64, factor float64) (run metric.HistoryRun, err error) {
	c := sim.Default()
	c.Seed, c.Steps, c.Layers = seed, 60, 4
	c.KernelScale *= factor
	c.LaunchCost *= factor
	c.GraphCost *= factor
	for _, op := range sim.Default().Host {
		c.SetHost(op.Name, op.Mean*factor)
	}
	trace, err := sim.Simulate(c)
	if err != nil {
		return run, err
	}
	dir, files, err := export([]*sim.Trace{trace}, sim.Options{})
	defer os.RemoveAll(dir)
	if err != nil {
		return run, err
	}
	err = inProcess(&command.Metrics, files, func(p *command.Plan) error {
		res, err := p.Measure()
		if err == nil {
			run = metric.Of(fmt.Sprint(seed), res)
		}
		return err
	})
	return run, err
}
