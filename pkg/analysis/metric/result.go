package metric

import (
	"fmt"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Metrics, in display order. NCCL and those after it have no vote in the verdict.
const (
	GPUIdle         = "gpu_idle_ratio"             // idle GPU time / GPU time
	Launch          = "launch_overhead_ratio"      // kernel-launch calls that do not wait for a full queue / wall time
	PrepExposed     = "host_prep_exposed_ratio"    // input preparation while GPUs are idle / input preparation
	PrepImpact      = "host_prep_perf_impact"      // input preparation while GPUs are idle / GPU time
	PrepAttribution = "host_prep_idle_attribution" // input preparation while GPUs are idle / idle GPU time
	GPUUtilization  = "gpu_utilization"            // busy GPU time / GPU time
	NCCL            = "nccl_ratio"
	GraphLaunch     = "graph_launch_ratio"        // graph-launch calls / wall time
	Comm            = "comm_ratio"                // collectives / busy GPU time
	Backpressure    = "launch_backpressure_ratio" // launch calls that wait for a full queue / wall time
	CollectiveWait  = "collective_wait_ratio"     // waits in collectives for a late rank / GPU time
	HostWait        = "host_wait_ratio"           // these waits, if with a host cause / GPU time
	HostBound       = "host_bound_ratio"          // idle time and these waits, both with a host cause / GPU time
)

// Names lists the metrics, in display order.
var Names = []string{GPUIdle, Launch, PrepExposed, PrepImpact, PrepAttribution, GPUUtilization, NCCL, GraphLaunch, Comm, Backpressure, CollectiveWait, HostWait, HostBound}

// Meanings say briefly what the metrics of Names are ratios of, in the same order. The package
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

// Scopes are the parts of the run that are measured.
const (
	Aggregate  = "aggregate"  // the whole window
	Context    = "context"    // context steps in it
	Generation = "generation" // generation steps in it
)

// Scopes lists the scopes.
var Scopes = []string{Aggregate, Context, Generation}

// Row is one metric of one scope. Numerators and denominators of the parts of a run add up to
// those of the run.
type Row struct {
	Scope, Metric string // one of Scopes, one of Names
	// Numerator and Denominator are in ns.
	Numerator, Denominator int64
	// Applicable is false if the scope has nothing that the metric is about: no windows, no
	// input preparation, or no known waits in collectives.
	Applicable bool
	// Interval is nil if there are fewer than MinSteps steps, or if parts of a run were added
	// up.
	Interval *Interval
}

// Value returns the ratio, NaN if it is not applicable. If the denominator is 0 (no idle time to
// explain, no busy time to share), it returns 0.
func (r *Row) Value() float64 {
	switch {
	case !r.Applicable:
		return math.NaN()
	case r.Denominator == 0:
		return 0
	}
	return float64(r.Numerator) / float64(r.Denominator)
}

// Result is the result of Compute.
type Result struct {
	// Rows hold the metrics of Aggregate, and of the other scopes if they have steps, in the
	// order of Scopes and Names.
	Rows []Row
	// Samples are the steps that count, rank by rank and in order. They are nil without
	// Options.Samples. A table does not hold them.
	Samples []Sample
	Run
}

// figures are the sums that the metrics of a scope are ratios of, in ns.
type figures struct {
	wall, capacity, busy, nccl, comm, launch, graphLaunch, waited, prep, exposed, waiting int64

	// Each of these covers only some ranks and comes with their capacity. waits covers ranks
	// whose waits in collectives are known, hostWaits those for which the causes are known, too.
	// host, the idle time and waits with a host cause, covers ranks with recorded launches.
	waits, waitCapacity, hostWaits, causeCapacity, host, hostCapacity int64
}

// add adds a tally of rank r.
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

// applicable sets Applicable of the metrics of a scope, which are in the order of Names.
func applicable(rows []Row) {
	windows, prep := rows[0].Denominator > 0, rows[2].Denominator > 0
	for i := range rows {
		rows[i].Applicable = windows && (prep || i < 2 || i > 4)
		if ofWaits(rows[i]) {
			rows[i].Applicable = windows && rows[i].Denominator > 0
		}
	}
}

// prepName returns the text by which input preparation was found, the preferred one of all
// ranks', "" for none.
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

// result makes the result from the ranks. Ranks whose steps could not be identified are kept
// apart from the aggregate of the others, because their window is a different one.
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

// warn logs a warning, and adds it to the result.
func (c *computer) warn(res *Result, w string) {
	c.opt.Log(w)
	res.Warnings = append(res.Warnings, w)
}

// markers returns the number of marker ranges to compare the steps of a rank with. It is the
// header's count of preset markers in the whole report. If rows were selected, it is the count
// in these rows or, if steps had been identified before, in proportion to the selected steps:
// a part must not seem more certain than the whole. Ranges of one step count once.
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
	// again counts ranges with the number of the previous one that belong to the same step, such
	// as those of one thread per GPU.
	again  int64
	number int64 // of the last one that has a number
	since  int64 // start of the first one with that number
	some   bool  // there is one with a number
}

// add counts a preset marker range. Ranges must come in order of start.
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

// run returns what the header says of the run.
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

// phases adds the rows and the description of each phase with steps.
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

// aggregate returns the tally of the rank's window.
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

// inPhase returns the tally of the steps of a phase that count, and their number.
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

// summary describes the rank; w is the tally of its window.
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
