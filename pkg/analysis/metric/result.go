package metric

import (
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Metrics, in the order in which they are shown. The last six have no vote,
// nor has NCCL.
const (
	GPUIdle         = "gpu_idle_ratio"             // idle GPU time by GPU time
	Launch          = "launch_overhead_ratio"      // launch calls by wall time
	PrepExposed     = "host_prep_exposed_ratio"    // input preparation while GPUs idle, of all of it
	PrepImpact      = "host_prep_perf_impact"      // that, by GPU time
	PrepAttribution = "host_prep_idle_attribution" // that, by idle time
	GPUUtilization  = "gpu_utilization"            // busy GPU time by GPU time
	NCCL            = "nccl_ratio"
	GraphLaunch     = "graph_launch_ratio"        // graph launch calls by wall time
	Comm            = "comm_ratio"                // collectives, of busy GPU time
	Backpressure    = "launch_backpressure_ratio" // launch calls that wait for a full queue, by wall time
	CollectiveWait  = "collective_wait_ratio"     // waits in collectives for a late rank, by GPU time
	HostWait        = "host_wait_ratio"           // those with a host cause
	HostBound       = "host_bound_ratio"          // idle time and those waits, with a host cause
)

// Names lists the metrics.
var Names = []string{GPUIdle, Launch, PrepExposed, PrepImpact, PrepAttribution, GPUUtilization, NCCL, GraphLaunch, Comm, Backpressure, CollectiveWait, HostWait, HostBound}

// Meanings say what the metrics of Names are ratios of, in a few words each; the package
// comment defines them.
var Meanings = []string{
	"idle GPU time / GPU time", "kernel-launch calls / wall time",
	"input preparation while GPUs idle / all input preparation", "input preparation while GPUs idle / GPU time",
	"input preparation while GPUs idle / idle GPU time",
	"busy GPU time / GPU time", "NCCL kernels / busy GPU time", "graph-launch calls / wall time",
	"collectives / busy GPU time", "launch calls that wait for a full queue / wall time",
	"waits for a late rank in collectives / GPU time", "the part of these waits with a host cause / GPU time",
	"idle GPU time and these waits, both with a host cause / GPU time",
}

// Scopes, sets of windows that are measured.
const (
	Aggregate  = "aggregate"  // all of the window
	Context    = "context"    // context steps in it
	Generation = "generation" // generation steps in it
)

// Scopes lists the scopes.
var Scopes = []string{Aggregate, Context, Generation}

// Row is one metric of one scope. Numerators and denominators of the parts of a
// run add up to those of the run.
type Row struct {
	Scope, Metric string // one of Scopes, one of Names
	// Numerator and Denominator are in ns.
	Numerator, Denominator int64
	// Applicable is false where the scope has nothing that the metric is about:
	// no windows, or no input preparation.
	Applicable bool
	// Interval is null where there are fewer than MinSteps steps, or parts of a
	// run were added up.
	Interval *Interval
}

// Value returns the ratio, NaN where it is not applicable. A ratio to nothing (no
// idle time to explain, no busy time to share) is 0.
func (r *Row) Value() float64 {
	switch {
	case !r.Applicable:
		return math.NaN()
	case r.Denominator == 0:
		return 0
	}
	return float64(r.Numerator) / float64(r.Denominator)
}

// Result is what Compute measured.
type Result struct {
	// Rows hold the metrics of Aggregate, and of the other scopes where there are
	// such steps, in the order of Scopes and Names.
	Rows []Row
	// Samples are the steps that count, those of a rank in order and together; nil where
	// nobody asked for them, and of rows that were read. They are not among the rows that
	// are written.
	Samples []Sample
	Run
}

// figures are what the metrics of a scope are made of, ns.
type figures struct {
	wall, capacity, busy, nccl, comm, launch, graphLaunch, waited, prep, exposed, waiting int64

	// waits are of ranks whose collectives are known, hostWaits of those of which it is known, too,
	// what they wait for, and host is the idle time with a host cause of ranks whose launches were
	// recorded; with their capacities.
	waits, waitCapacity, hostWaits, causeCapacity, host, hostCapacity int64
}

// add adds what was measured of a rank.
func (f *figures) add(t *tally, r *rank) {
	gpus := int64(len(r.gpus))
	f.wall += t.wall
	f.capacity += gpus * t.wall
	f.busy += t.busy
	f.nccl += t.nccl
	f.comm += t.comm
	f.launch += t.launch
	f.graphLaunch += t.graphLaunch
	f.waited += t.waited
	f.prep += gpus * t.during[preparing].ns
	f.exposed += t.during[preparing].idleOf(len(r.gpus))
	f.waiting += t.during[step.Fetching].idleOf(len(r.gpus))
	if t.whole == 0 && !r.waitsUnknown {
		f.waits += t.waits
		f.waitCapacity += gpus * t.wall
	}
	if r.launches == 0 && t.busy > 0 {
		return
	}
	f.hostCapacity += gpus * t.wall
	if t.whole == 0 && !r.waitsUnknown && !r.causesUnknown {
		f.hostWaits += t.hostWaits
		f.causeCapacity += gpus * t.wall
	}
	f.host += t.host + t.hostWaits
	if r.walk.Benchmark() < 0 {
		f.host += t.hostTail
	}
	if r.requests.follows {
		f.host -= t.following
	}
}

// rows returns the metrics of the scope.
func (f *figures) rows(scope string) []Row {
	idle := f.capacity - f.busy
	rows := []Row{
		{Metric: GPUIdle, Numerator: idle, Denominator: f.capacity},
		{Metric: Launch, Numerator: f.launch - f.waited, Denominator: f.wall},
		{Metric: PrepExposed, Numerator: f.exposed, Denominator: f.prep},
		{Metric: PrepImpact, Numerator: f.exposed, Denominator: f.capacity},
		{Metric: PrepAttribution, Numerator: f.exposed, Denominator: idle},
		{Metric: GPUUtilization, Numerator: f.busy, Denominator: f.capacity},
		{Metric: NCCL, Numerator: f.nccl, Denominator: f.busy},
		{Metric: GraphLaunch, Numerator: f.graphLaunch, Denominator: f.wall},
		{Metric: Comm, Numerator: f.comm, Denominator: f.busy},
		{Metric: Backpressure, Numerator: f.waited, Denominator: f.wall},
		{Metric: CollectiveWait, Numerator: f.waits, Denominator: f.waitCapacity},
		{Metric: HostWait, Numerator: f.hostWaits, Denominator: f.causeCapacity},
		{Metric: HostBound, Numerator: f.host, Denominator: f.hostCapacity},
	}
	for i := range rows {
		rows[i].Scope = scope
	}
	applicable(rows)
	return rows
}

// applicable says which of the metrics of a scope are applicable, in the order of
// Names.
func applicable(rows []Row) {
	windows, prep := rows[0].Denominator > 0, rows[2].Denominator > 0
	for i := range rows {
		rows[i].Applicable = windows && (prep || i < 2 || i > 4)
		if ofWaits(rows[i]) {
			rows[i].Applicable = windows && rows[i].Denominator > 0
		}
	}
}

// prepName is the name by which input preparation was found, the preferred one of those that
// any rank has, "" for none.
func (c *computer) prepName() string {
	best := len(c.prep)
	for _, r := range c.ranks {
		best = min(best, r.name)
	}
	if best == len(c.prep) {
		return ""
	}
	return c.prep[best]
}

// result makes the result out of what the ranks measured. Ranks without steps are kept apart
// from the aggregate of those that have some: their window is another one.
func (c *computer) result() *Result {
	slices.SortFunc(c.ranks, func(a, b *rank) int { return int(a.id) - int(b.id) })
	res := &Result{Run: c.run()}
	res.Prep = c.prepName()
	steps := 0
	for _, r := range c.ranks {
		steps += r.walk.Steps.Len()
	}
	if steps == 0 || c.opt.Window == WindowTrace {
		res.Window = WindowTrace
	}
	if steps == 0 && res.Method != "" {
		c.warn(res, "no steps were found: the figures are of the whole trace")
		res.Method, res.NoSteps = "", true
	}
	res.NoSteps = res.NoSteps || c.opt.NoSteps
	if c.anyRange && res.Prep == "" {
		c.warn(res, fmt.Sprintf("no range has %q in its name (--prep): input preparation is not measured", c.prep[0]))
	}
	var all, apart figures
	c.divide(res)
	c.follow(res.Window)
	for _, r := range c.ranks {
		w := r.aggregate(res.Window)
		all.add(&w, r)
		apart.add(&r.apart, r)
		if r.apart.wall == 0 || res.Window == WindowTrace {
			res.GPUs += len(r.gpus)
		}
		facts := c.header.RankFacts(r.id)
		res.Ranks = append(res.Ranks, r.summary(&w, facts))
		res.Ranks[len(res.Ranks)-1].addRequestWait(Aggregate, &w, r)
		res.Markers += c.markers(r, facts)
	}
	res.GPUActivity = all.busy > 0
	res.Rows = all.rows(Aggregate)
	c.requestWait(res, Aggregate, &all)
	if res.Window == WindowBenchmark {
		if apart.wall > 0 {
			res.Apart = apart.rows(Aggregate)
		}
		newSeries(c.ranks, func(*rank, int) bool { return true }).intervals(&c.est, res.Rows)
	}
	if c.header.Columns&event.PhaseCols == event.PhaseCols {
		c.phases(res)
	}
	if c.opt.Samples {
		res.Samples = samples(c.ranks)
	}
	res.Steady = steady(c.ranks)
	res.Span = span(c.ranks)
	return res
}

// warn says something at once, and in what is made of the result.
func (c *computer) warn(res *Result, w string) {
	c.opt.Log(w)
	res.Warnings = append(res.Warnings, w)
}

// markers is the number of marker ranges that the steps of a rank are to be compared with:
// the presets', as the header counts them in all of a report's rows. Of rows that were chosen
// it is what there are of them, or, if steps had been identified before, as large a share as
// of the steps, so that a part is no surer than the whole. Ranges that are one step count once.
func (c *computer) markers(r *rank, facts *event.RankFacts) int64 {
	report, isolation := c.header.Report(r.id), c.header.Isolation
	switch {
	case facts == nil || isolation != nil && isolation.Marker != "":
		return 0
	case report == nil || !report.Chosen:
		return facts.Markers - r.markers.again
	case isolation == nil || isolation.Chosen || r.walk.Window == nil || r.walk.Window.Steps == 0:
		return r.markers.ranges - r.markers.again
	}
	return facts.Markers * int64(r.walk.Steps.Len()) / r.walk.Window.Steps
}

// markers counts forward-step marker ranges among the rows.
type markers struct {
	ranges int64
	// again is how many of them have the number of the one before and are one step with it,
	// as those of a thread for each GPU are.
	again  int64
	number int64 // of the last one that has a number
	since  int64 // start of the first one with that number
	some   bool  // there was one
}

// add counts a range of the presets, which starts no earlier than those before.
func (m *markers) add(text string, start int64) {
	m.ranges++
	counts, ok := marker.Presets.Parse(text)
	if !ok || !counts.HasStep {
		return
	}
	if m.some && counts.Step == m.number && start-m.since <= step.MergeMarkers {
		m.again++
		return
	}
	m.number, m.since, m.some = counts.Step, start, true
}

// run is what the header says of the run.
func (c *computer) run() Run {
	h := c.header
	run := Run{
		About: About{
			Source: h.Source(), Of: h.Provenance(), Workload: h.Workload(), Platform: h.Platform(), PythonFunctions: h.PythonFunctions(),
		},
		Window: WindowBenchmark, Warnings: h.Warnings(),
		Recorded: Recorded{
			HiddenGraphs: h.Rows(event.Graph), Kernels: h.Rows(event.Kernel), Launches: h.ClassRows(event.Launch),
			LostEvents: h.LostEvents(), StartOnly: h.StartOnly(),
		},
	}
	if h.Isolation != nil {
		run.Method = h.Isolation.Method
	}
	for i := range h.Reports {
		if t := h.Reports[i].Origin; t != 0 && (run.Time == 0 || t < run.Time) {
			run.Time = t
		}
	}
	return run
}

// phases adds the rows and the description of each phase that has steps.
func (c *computer) phases(res *Result) {
	for _, p := range []event.Phase{event.Context, event.Generation} {
		name := p.String()
		var f figures
		phase := Phase{Phase: name}
		for k, r := range c.ranks {
			t, n := r.inPhase(p)
			f.add(&t, r)
			res.Ranks[k].addRequestWait(name, &t, r)
			phase.Steps += n
			phase.Iterations = max(phase.Iterations, n)
			phase.Replayed += t.replayed
			phase.Kernels += t.kernels
		}
		if phase.Steps > 0 {
			rows := f.rows(name)
			newSeries(c.ranks, func(r *rank, k int) bool { return r.walk.Steps.At(k).Phase == p }).intervals(&c.est, rows)
			res.Rows = append(res.Rows, rows...)
			c.requestWait(res, name, &f)
			phase.P50, phase.P90 = periods(c.ranks, p)
			res.Phases = append(res.Phases, phase)
		}
	}
}

// aggregate returns what was measured in the rank's window.
func (r *rank) aggregate(window string) tally {
	if window == WindowTrace {
		return r.trace
	}
	var sum tally
	from, to := r.walk.BenchmarkSteps()
	for _, t := range r.steps.between(from, to) {
		sum.add(t)
	}
	if r.walk.Benchmark() < 0 {
		sum.add(&r.gaps)
	}
	return sum
}

// inPhase returns what was measured in the steps of a phase that count, and their
// number.
func (r *rank) inPhase(p event.Phase) (sum tally, steps int64) {
	from, to := r.walk.BenchmarkSteps()
	for k, t := range r.steps.between(from, to) {
		if r.walk.Steps.At(k).Phase == p {
			sum.add(t)
			steps++
		}
	}
	return sum, steps
}

// summary describes the rank, of whose window w was measured.
func (r *rank) summary(w *tally, facts *event.RankFacts) Rank {
	s := Rank{
		Rank: r.id, Total: int64(r.walk.Steps.Len()), Segments: int64(len(r.walk.Segments)), Apart: r.apart.wall > 0,
		GraphLaunches: w.calls, Replays: w.replays,
	}
	if facts != nil {
		s.TraceGraphLaunches, s.TraceReplays = facts.GraphLaunches, facts.Graphs+facts.Replays
	}
	if r.walk.Window != nil {
		s.CommonSize = r.walk.Window.CommonSize
	}
	whole := int64(0)
	from, to := r.walk.BenchmarkSteps()
	for _, one := range r.walk.Steps.Between(from, to) {
		if one.Whole {
			whole++
		}
	}
	s.Whole = &whole
	if k := r.walk.Benchmark(); k >= 0 {
		s.Benchmark = new(int64(r.walk.Segments[k].Steps))
		if o := r.walk.Remainder(); o.Steps > 0 {
			s.Outside = &o
		}
	}
	return s
}
