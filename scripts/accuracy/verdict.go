package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// hostRun is a run with known truth: in the long run, the GPU is idle for the share idle
// of the time, and kernel launches take the share launch.
type hostRun struct{ idle, launch float64 }

// gpuTime is how long the GPU is busy per step, in ns.
const gpuTime = 2_000_000

// rows returns generation steps, one per factor on host time. In each, the GPU is idle
// and then runs a kernel. Launches have the same noise as the rest of the host time.
func (r hostRun) rows(rng *rand.Rand, factors []float64) []eventtest.Row {
	host := gpuTime * r.idle / (1 - r.idle)
	call := r.launch * (gpuTime + host)
	var rows []eventtest.Row
	at := int64(1_000_000)
	for k, f := range factors {
		wait := int64(host * f)
		busy := int64(gpuTime * (1 + 0.01*rng.NormFloat64()))
		mark := eventtest.New(event.Step, 0, at, at+wait+busy, "step")
		mark.Step, mark.Segment, mark.Size, mark.Phase, mark.Ctx, mark.Gen = int64(k), 0, 1, event.Generation, 0, 8
		api := eventtest.New(event.API, 0, at, at+int64(call*f), "cudaLaunchKernel")
		api.Class, api.Thread = event.Launch, 1
		kernel := eventtest.New(event.Kernel, 0, at+wait, at+wait+busy, "gemm")
		kernel.Class, kernel.Device = event.GEMM, 0
		rows = append(rows, mark, api, kernel)
		at += wait + busy
	}
	window := eventtest.New(event.Window, 0, 1_000_000, at, "window")
	window.Segment, window.Size, window.Step = 0, 1, int64(len(factors))
	return append(rows, window)
}

// measured returns the verdict on a run with these factors on host time.
func (r hostRun) measured(rng *rand.Rand, factors []float64) *verdict.Report {
	rows := r.rows(rng, factors)
	h := &event.Header{Columns: event.BaseCols | event.StepCols | event.PhaseCols, Isolation: &event.Isolation{Method: "nvtx"}}
	h.Reports = []event.Report{{Ranks: []int32{0}, Extent: event.Extent{Rows: map[string]int64{}, Classes: map[string]int64{}}}}
	res, err := metric.Compute(eventtest.Source(h, rows, event.BatchRows), metric.Options{})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return verdict.Decide(res, verdict.Defaults())
}

// limitsOfIdle are the limits of gpu_idle_ratio, and of gpu_utilization as idle time, in
// any scope. limitOfLaunch is the limit of launches.
var limitsOfIdle = []float64{0.15, 0.2, 0.3, 0.4}

const limitOfLaunch = 0.1

// clear reports whether the truth is at least a fifth away from every limit.
func (r hostRun) clear() bool {
	for _, l := range limitsOfIdle {
		if math.Abs(r.idle-l) < l/5 {
			return false
		}
	}
	return math.Abs(r.launch-limitOfLaunch) >= limitOfLaunch/5
}

// verdictTally counts the results for one kind of noise and length.
type verdictTally struct {
	idle, launch    count // the interval holds the truth
	wide            width // width of the idle time's interval
	disagree, clear count // borderline verdicts: of runs whose halves disagree, and of runs with a clear truth
}

// verdictCell is one kind of noise and length.
type verdictCell struct {
	noise, steps int
	tally        verdictTally
}

var verdictSteps = []int{60, 120, 400}

// runsPerSeed is the number of runs of each kind per seed.
const runsPerSeed = 20

// runVerdict is the section verdict.
func runVerdict(w io.Writer, o options) error {
	var cells []*verdictCell
	for n := range hostNoises {
		for _, steps := range verdictSteps {
			cells = append(cells, &verdictCell{noise: n, steps: steps})
		}
	}
	forEach(cells, func(c *verdictCell) { c.run(o.seeds * runsPerSeed) })
	fmt.Fprintf(w, "%d runs of each kind, host time with a relative standard deviation of %.0f %% per step, GPU time of 1 %%. "+
		"Idle time and launches lie anywhere about their limits; the interval is that of the generation steps, half of its width in points. "+
		"Borderline is asked of runs whose halves, each alone, have another verdict, and of runs whose truth is a fifth away from every limit.\n\n", o.seeds*runsPerSeed, 100*noiseScale)
	fmt.Fprintln(w, "| noise | steps | idle in its interval | half of its width | launches in theirs | halves disagree: borderline | a fifth away: borderline |")
	fmt.Fprintln(w, "|:--|--:|--:|--:|--:|--:|--:|")
	var all verdictTally
	for _, c := range cells {
		t := &c.tally
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s |\n", hostNoises[c.noise].name, c.steps, t.idle, &t.wide, t.launch, t.disagree, t.clear)
		all.idle.sum(t.idle)
		all.launch.sum(t.launch)
		all.disagree.sum(t.disagree)
		all.clear.sum(t.clear)
	}
	fmt.Fprintf(w, "| all | | %s | | %s | %s | %s |\n", all.idle, all.launch, all.disagree, all.clear)
	return runVerdictExports(w, o)
}

// run measures the given number of runs.
func (c *verdictCell) run(runs int) {
	for k := range runs {
		rng := rand.New(rand.NewPCG(uint64(c.noise)<<16|uint64(c.steps), uint64(k)))
		truth := hostRun{idle: 0.06 * math.Pow(10, rng.Float64()), launch: 0.02 + 0.14*rng.Float64()}
		if hostNoises[c.noise].name == "start to start" {
			f := max(0.5, 1+noiseScale*rng.NormFloat64())
			truth.idle = truth.idle * f / (1 - truth.idle + truth.idle*f)
		}
		factors := hostNoises[c.noise].draw(rng, c.steps)
		r := truth.measured(rng, factors)
		g := r.Phases.Generation
		if in := g.Intervals.GPUIdle; in != nil {
			c.tally.wide.add(&metric.Interval{Low: in[0], High: in[1]})
		} else {
			c.tally.wide.add(nil)
		}
		c.tally.idle.add(holds(g.Intervals.GPUIdle, truth.idle))
		c.tally.launch.add(holds(g.Intervals.Launch, truth.launch))
		borderline := len(r.Borderline) > 0
		first, second := truth.measured(rng, factors[:c.steps/2]), truth.measured(rng, factors[c.steps/2:])
		if first.Verdict != second.Verdict {
			c.tally.disagree.add(borderline)
		}
		if truth.clear() {
			c.tally.clear.add(borderline)
		}
	}
}

// holds reports whether an interval contains the truth.
func holds(i *[2]float64, truth float64) bool { return i != nil && i[0] <= truth && truth <= i[1] }
