package compare

import (
	"fmt"
	"math"
	"slices"
)

// minSteps is how many steps of a rank a comparison needs.
const minSteps = 5

// mixDiffers is the share of steps that must have other numbers of requests than
// on the other side for the workloads to be different ones.
const mixDiffers = 0.1

// Pair is the figures of both runs; Target is nil where there is one only.
type Pair struct {
	Baseline *Figures `json:"baseline"` // never nil
	Target   *Figures `json:"target"`
}

// Figures are means over the rank-steps of a run that were compared, times in us; null
// where there are no samples.
type Figures struct {
	Name     string   `json:"name"`           // of the run
	Method   string   `json:"method"`         // by which its steps were isolated
	Ranks    int      `json:"ranks"`          // with steps; of repeated runs all of them
	Lanes    int      `json:"lanes"`          // pairs of rank and device
	Steps    int      `json:"steps"`          // rank-steps
	Ctx      *float64 `json:"ctx"`            // context requests, null where not known of all steps
	Gen      *float64 `json:"gen"`            // generation requests, likewise
	Wall     *float64 `json:"wall_us"`        // period
	Busy     *float64 `json:"busy_us"`        // GPU activity of the rank's lanes in the period
	Idle     *float64 `json:"idle_us"`        // the rest of lanes x period
	Duration *float64 `json:"duration_us"`    // extent, as Method.Duration says
	Gap      Spread   `json:"gap_us"`         // as Method.Gap says
	Eager    *float64 `json:"eager_kernels"`  // launched one by one
	Graph    *float64 `json:"graph_kernels"`  // run by recorded graph replays
	Replays  *float64 `json:"graph_launches"` // replays with one row for all their kernels
	GPU      *float64 `json:"gpu_us"`         // full durations of kernels and such replays
	WallP50  *float64 `json:"wall_p50_us"`    // median of the period
	WallP90  *float64 `json:"wall_p90_us"`
}

// Spread is how N samples lie; all is null where there are none.
type Spread struct {
	N    int      `json:"n"`
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	Max  *float64 `json:"max"`
}

// pair returns the figures of a side.
func (s *side) pair() *Figures {
	get := func(name string) *float64 { return number(s.figures[name].mean) }
	f := &Figures{
		Name: s.run.Name, Method: s.run.Method, Ranks: len(s.run.ranks), Steps: len(s.samples.step),
		Wall: get(wall), Busy: get(busyTime), Idle: get(idleTime), Duration: get(duration),
		Eager: get(eagerKernels), Graph: get(graphKernels), Replays: get(graphLaunches), GPU: get(gpuTime),
		Gap: Spread{
			N: len(s.gaps.Sorted()), Mean: get(gap),
			P50: s.gaps.quantile(0.5), P90: s.gaps.quantile(0.9), Max: s.gaps.quantile(1),
		},
		WallP50: s.walls.quantile(0.5), WallP90: s.walls.quantile(0.9),
	}
	for _, p := range s.run.ranks {
		f.Lanes += p.lanes
	}
	f.Ctx = s.request(func(st *step) int32 { return st.ctx })
	f.Gen = s.request(func(st *step) int32 { return st.gen })
	return f
}

// request is the mean number of requests of a step, nil where a step's is not
// known.
func (s *side) request(of func(*step) int32) *float64 {
	sum := 0.0
	for _, st := range s.samples.step {
		if of(st) == unknown {
			return nil
		}
		sum += float64(of(st))
	}
	return number(sum / float64(len(s.samples.step)))
}

// examine finds out whether the runs can be compared, before any row is.
func (c *Comparison) examine() {
	for _, s := range c.sides() {
		for _, w := range s.run.Warnings {
			c.warn("%s: %s", s.run.Name, w)
		}
		c.examineSide(s)
	}
	if c.target != nil {
		c.examinePair()
	}
}

// sides returns the baseline and, where there is one, the target.
func (c *Comparison) sides() []*side {
	if c.target == nil {
		return []*side{c.base}
	}
	return []*side{c.base, c.target}
}

// refuse says why the runs cannot be compared.
func (c *Comparison) refuse(format string, args ...any) {
	c.Comparable = false
	c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
}

// perRank is the largest number of chosen steps of a rank, of the run that has the
// fewest.
func (s *side) perRank() int {
	n := make([]int, s.samples.runs)
	for _, run := range s.samples.runOf {
		n[run]++
	}
	return slices.Min(n)
}

// examineSide refuses a run that has nothing to compare, and warns of what it lacks.
func (c *Comparison) examineSide(s *side) {
	name := s.run.Name
	switch n := s.perRank(); {
	case len(s.run.ranks) == 0:
		c.refuse("%s has no steps", name)
	case n == 0 && c.opt.Match == MatchBatch:
		c.refuse("%s has no steps with the numbers of requests that the other side has", name)
	case n == 0:
		c.refuse("%s has no %s steps", name, c.opt.Phase)
	case n < minSteps:
		c.refuse("%s has %d %s steps a rank: a comparison needs %d at least, and 20 to see much", name, n, c.opt.Phase, minSteps)
	}
	c.examineSizes(s)
	if lanes := c.lanes(s); lanes == 0 && len(s.run.ranks) > 0 {
		c.refuse("%s has no GPU activity", name)
	}
	if !s.run.Ranges {
		c.warn("%s has no NVTX ranges: profile with -t cuda,nvtx to see operations", name)
	}
	if replays := s.figures[graphLaunches].mean; replays > 0 {
		c.warn("%s holds whole graph replays: the kernels in them are not in the figures of kernels", name)
	}
}

// lanes is the number of lanes of all ranks.
func (c *Comparison) lanes(s *side) int {
	n := 0
	for _, p := range s.run.ranks {
		n += p.lanes
	}
	return n
}

// examinePair compares what must be alike for a difference to mean something.
func (c *Comparison) examinePair() {
	a, b := c.base, c.target
	if len(a.samples.step) == 0 || len(b.samples.step) == 0 {
		return
	}
	if x, y := len(a.run.ranks), len(b.run.ranks); x != y {
		c.refuse("the baseline has %d ranks with steps and the target %d: a step does another share of the work", x, y)
	}
	if x, y := c.lanes(a), c.lanes(b); x != y && len(a.run.ranks) == len(b.run.ranks) {
		c.refuse("the baseline runs on %d GPUs and the target on %d", x, y)
	}
	switch x, y := a.run.hasCounts(), b.run.hasCounts(); {
	case x != y:
		without := a
		if x {
			without = b
		}
		c.refuse("%s has no forward-step markers with numbers of requests: its steps cannot be told to be of the same kind", without.run.Name)
	case !x:
		c.warn("neither side has forward-step markers with numbers of requests: all steps were compared, whatever they did")
	default:
		c.examineWorkload()
	}
	if x, y := a.run.Method, b.run.Method; x != y {
		c.refuse("steps were isolated by %s in the baseline and by %s in the target: isolate both with the same --by", x, y)
	}
	if a.wholeGraphs() != b.wholeGraphs() && (a.nodes() || b.nodes()) {
		c.refuse("one side was recorded with --cuda-graph-trace=node and the other with whole graphs: recording kernel by kernel slows replays down, so their times cannot be compared")
	}
	c.examineLengths()
	c.examineSetup()
	if a.run.Ranges != b.run.Ranges {
		c.refuse("only one side has NVTX ranges: every operation would be new or gone")
	}
}

// examineLengths says what too few steps, or unlike numbers of them, cannot tell.
func (c *Comparison) examineLengths() {
	a, b := c.base.samples, c.target.samples
	if why := c.short(); why != "" {
		c.warn("%s: only what is new, gone, or changed by more than +%d or %d %% has a status", why, regressionPercent, improvedPercent)
	}
	for _, s := range []*side{c.base, c.target} {
		if n := s.perRank(); n < fewTails {
			c.warn("%s has %d %s steps a rank: of what happens in one step of twenty, P99 and the maximum nothing can be told", s.run.Name, n, c.opt.Phase)
		}
	}
	if n, m := a.slots, b.slots; a.runs == 1 && b.runs == 1 && max(n, m) > unlikeSteps*min(n, m) {
		c.warn("one side has over %d times as many steps as the other: what the shorter run has not seen is not in its noise", unlikeSteps)
	}
}

// wholeGraphs and nodes tell whether graph replays were recorded as one row each, or
// kernel by kernel.
func (s *side) wholeGraphs() bool { return s.figures[graphLaunches].mean > 0 }
func (s *side) nodes() bool       { return s.figures[graphKernels].mean > 0 }

// examineWorkload refuses sides whose steps have other numbers of requests. With
// matched batches they are alike already.
func (c *Comparison) examineWorkload() {
	if c.opt.Match == MatchBatch {
		return
	}
	x, y := c.base.samples.c.batches(), c.target.samples.c.batches()
	apart := 0.0
	for b, n := range x {
		apart += math.Abs(float64(n)/float64(c.base.samples.c.n) - float64(y[b])/float64(c.target.samples.c.n))
	}
	for b, m := range y {
		if x[b] == 0 {
			apart += float64(m) / float64(c.target.samples.c.n)
		}
	}
	if apart /= 2; apart <= mixDiffers {
		return
	}
	advice := "there are no steps in common: profile both with the same load"
	all, others := c.base.run.phase(All), c.target.run.phase(All)
	if common(all.batches(), others.batches()) {
		advice = "--match batch compares the steps that have equal numbers"
	}
	if c.opt.Phase == Steady {
		c.refuse("the steady steps are not of the same workload: %s in the baseline, %s in the target; %s", spelled(x), spelled(y), advice)
		return
	}
	c.refuse("%.0f %% of the %s steps have other numbers of requests than on the other side; %s", 100*apart, c.opt.Phase, advice)
}

// common tells whether there are batches with some steps on both sides.
func common(x, y map[batch]int) bool {
	for b, n := range x {
		if n >= minSteps && y[b] >= minSteps {
			return true
		}
	}
	return false
}

// spelled says what numbers of requests there are.
func spelled(of map[batch]int) string {
	var gens []int32
	for b := range of {
		if !slices.Contains(gens, b.gen) {
			gens = append(gens, b.gen)
		}
	}
	slices.Sort(gens)
	switch len(gens) {
	case 0:
		return "no generation requests"
	case 1:
		return fmt.Sprintf("%d generation requests", gens[0])
	}
	return fmt.Sprintf("%d to %d generation requests", gens[0], gens[len(gens)-1])
}
