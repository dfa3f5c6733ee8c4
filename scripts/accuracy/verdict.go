package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/event/eventtest"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/verdict"
)

// hostNoise is how host time differs from step to step: a sequence of so many
// factors, whose mean in the long run (of a drift: over the run) is 1.
type hostNoise struct {
	name string
	draw func(rng *rand.Rand, n int) []float64
}

// noiseScale is the relative standard deviation of host time in a step.
const noiseScale = 0.1

var hostNoises = []hostNoise{
	{"independent", normal(0, noiseScale)},
	{"AR(1) 0.3", normal(0.3, noiseScale)},
	{"AR(1) 0.6", normal(0.6, noiseScale)},
	{"AR(1) 0.9", normal(0.9, noiseScale)},
	{"bursts", evenBursts},
	{"two states, 20 steps each", evenStates},
	{"drift of 10 %", evenDrift},
	{"start to start", perStart},
	// Those from here on were added when the method stood.
	{"log-normal, 30 %", normal(0, 0.3)},
	{"mean of the last eight steps", moving(8)},
	{"swinging AR(2)", swinging},
	{"long memory, d = 0.3", longMemory},
	{"three states, eight steps each", threeStates},
	{"half as long again, one step in twenty", slowSteps},
	{"throttling, 30 to 50 steps", over(throttled(noiseScale))},
	{"housekeeping every 10 steps", over(housekeeping)},
}

// over adds a kind of noise to independent steps.
func over(kind func(*rand.Rand, int) []float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		x := normal(0, noiseScale)(rng, n)
		for t, v := range kind(rng, n) {
			x[t] += v - 1
		}
		return x
	}
}

// housekeeping takes a third of a step, every tenth step; the mean is 1.
func housekeeping(rng *rand.Rand, n int) []float64 {
	x := pauses(10, 0.3)(rng, n)
	for t := range x {
		x[t] -= 0.03
	}
	return x
}

// moving is the mean of the last so many independent draws.
func moving(length int) func(rng *rand.Rand, n int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		z := draws(rng, n+length)
		x := make([]float64, n)
		for t := range x {
			sum := 0.0
			for _, v := range z[t : t+length] {
				sum += v
			}
			x[t] = 1 + noiseScale*sum/math.Sqrt(float64(length))
		}
		return x
	}
}

// draws are standard normal.
func draws(rng *rand.Rand, n int) []float64 {
	z := make([]float64, n)
	for t := range z {
		z[t] = rng.NormFloat64()
	}
	return z
}

// swinging goes up and down about every twelve steps, and forgets that within four.
func swinging(rng *rand.Rand, n int) []float64 {
	const first, second, before = 1.35, -0.6, 50
	z := draws(rng, n+before)
	for t := 2; t < len(z); t++ {
		z[t] += first*z[t-1] + second*z[t-2]
	}
	x := make([]float64, n)
	for t := range x {
		x[t] = 1 + noiseScale/2*z[t+before]
	}
	return x
}

// longMemory is fractionally integrated noise: its correlations die out so slowly that
// they have no sum.
func longMemory(rng *rand.Rand, n int) []float64 {
	const d, before = 0.3, 1000
	z := draws(rng, n+before)
	weight := make([]float64, before)
	weight[0] = 1
	for k := 1; k < before; k++ {
		weight[k] = weight[k-1] * (float64(k) - 1 + d) / float64(k)
	}
	x := make([]float64, n)
	for t := range x {
		sum := 0.0
		for k, w := range weight {
			sum += w * z[t+before-k]
		}
		x[t] = 1 + noiseScale*sum
	}
	return x
}

// threeStates are equally frequent, left every eighth step.
func threeStates(rng *rand.Rand, n int) []float64 {
	x := normal(0, noiseScale)(rng, n)
	state := rng.IntN(3)
	for t := range x {
		if rng.Float64() < 1.0/8 {
			state = (state + 1 + rng.IntN(2)) % 3
		}
		x[t] += noiseScale * float64(state-1)
	}
	return x
}

// slowSteps take half as long again, one in twenty.
func slowSteps(rng *rand.Rand, n int) []float64 {
	const chance, more = 0.05, 0.5
	x := normal(0, noiseScale)(rng, n)
	for t := range x {
		if x[t] -= chance * more; rng.Float64() < chance {
			x[t] += more
		}
	}
	return x
}

// evenBursts are five steps that take longer, one time in fifty.
func evenBursts(rng *rand.Rand, n int) []float64 {
	const chance, length, more = 0.02, 5, 0.35
	x := normal(0, noiseScale)(rng, n)
	// From the start of one burst to that of the next it is 1/chance + length steps.
	const share = chance * length / (1 + chance*length)
	left := 0
	if rng.Float64() < share {
		left = 2 + rng.IntN(length)
	}
	for t := range x {
		if left == 0 && rng.Float64() < chance {
			left = length
		} else if left > 0 {
			left--
		}
		if x[t] -= more * share; left > 0 {
			x[t] += more
		}
	}
	return x
}

// evenStates are two, equally frequent, left every twentieth step.
func evenStates(rng *rand.Rand, n int) []float64 {
	x := normal(0, noiseScale)(rng, n)
	state := float64(2*rng.IntN(2) - 1)
	for t := range x {
		if rng.Float64() < 1.0/20 {
			state = -state
		}
		x[t] += noiseScale / 2 * state
	}
	return x
}

// evenDrift goes from 5 % less to 5 % more over the run.
func evenDrift(rng *rand.Rand, n int) []float64 {
	x := normal(0, noiseScale)(rng, n)
	for t := range x {
		x[t] += 0.1 * ((float64(t)+0.5)/float64(n) - 0.5)
	}
	return x
}

// perStart is the same factor in all steps of a run: the interval is of this start.
func perStart(rng *rand.Rand, n int) []float64 { return normal(0, noiseScale)(rng, n) }

// hostRun is a run whose truth is known: in the long run the GPU idles the share
// idle of the time, and kernel launches take the share launch.
type hostRun struct{ idle, launch float64 }

// gpuTime is how long the GPU is busy in a step, ns.
const gpuTime = 2_000_000

// rows makes generation steps with so much host time each: the GPU idles, then it
// runs a kernel. Launches take their share of the host's noise.
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

// measured is what verdict says of a run with so much host time in its steps.
func (r hostRun) measured(rng *rand.Rand, factors []float64) *verdict.Report {
	rows := r.rows(rng, factors)
	h := &event.Header{Columns: event.BaseCols | event.StepCols | event.PhaseCols, Isolation: &event.Isolation{Method: "nvtx"}}
	h.Reports = []event.Report{{Ranks: []int32{0}, Rows: map[string]int64{}, Classes: map[string]int64{}}}
	res, err := metric.Compute(eventtest.Source(h, rows, event.BatchRows), metric.Options{})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return verdict.Decide(res, verdict.Defaults())
}

// limitsOfIdle are those of gpu_idle_ratio, and of gpu_utilization as idle time, in
// any scope; limitOfLaunch is that of the launches.
var limitsOfIdle = []float64{0.15, 0.2, 0.3, 0.4}

const limitOfLaunch = 0.1

// clear tells whether the truth is a fifth away from every limit.
func (r hostRun) clear() bool {
	for _, l := range limitsOfIdle {
		if math.Abs(r.idle-l) < l/5 {
			return false
		}
	}
	return math.Abs(r.launch-limitOfLaunch) >= limitOfLaunch/5
}

// verdictTally is what became of the runs of one kind of noise and length.
type verdictTally struct {
	idle, launch    count // the interval holds the truth
	wide            width // of the interval of the idle time
	disagree, clear count // of them borderline
}

// verdictCell is one kind of noise and length.
type verdictCell struct {
	noise, steps int
	tally        verdictTally
}

var verdictSteps = []int{60, 120, 400}

// runsPerSeed is how many runs of each kind a seed stands for.
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

// run measures so many runs.
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

// holds tells whether an interval holds the truth.
func holds(i *[2]float64, truth float64) bool { return i != nil && i[0] <= truth && truth <= i[1] }
