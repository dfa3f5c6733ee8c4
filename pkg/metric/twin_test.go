package metric_test

import (
	"math"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/event/eventtest"
	"github.com/hostbound/hostbound/pkg/interval"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/stat"
)

type span = interval.Span

func spanOf(from, to int64) span { return span{From: from, To: to} }

// within returns the length of the part of the union of spans in w.
func within(spans, w []span) int64 {
	return interval.Length(interval.Intersection(interval.Union(spans), interval.Union(w)))
}

// minus returns what of each span of a is not in b.
func minus(a, b []span) (parts []span) {
	for _, s := range a {
		parts = append(parts, interval.Difference([]span{s}, interval.Union(b))...)
	}
	return parts
}

func in(t int64, w []span) bool {
	return slices.ContainsFunc(w, func(s span) bool { return s.Has(t) })
}

// twinStep is a step with its period.
type twinStep struct {
	eventtest.Row
	period span
	parts  []span // of it that were recorded
	last   bool   // of its segment, or not all recorded
}

// twinRank is a rank with all its rows.
type twinRank struct {
	id      int32
	rows    []eventtest.Row
	steps   []twinStep
	window  *eventtest.Row
	trace   []span
	lost    []span // not recorded
	opt     metric.Options
	devices []int32
}

// twin is Compute, obviously: it looks at all rows at once.
func twin(h *event.Header, rows []eventtest.Row, opt metric.Options) *metric.Result {
	res := &metric.Result{}
	res.Window, res.HiddenGraphs, res.Warnings = metric.WindowBenchmark, h.Rows(event.Graph), h.Warnings()
	res.Kernels, res.Launches = h.Rows(event.Kernel), h.ClassRows(event.Launch)
	if h.Isolation != nil {
		res.Method = h.Isolation.Method
	}
	var ranks []*twinRank
	steps := 0
	for id := range int32(10) {
		if tw := newTwinRank(h, rows, id, opt); tw != nil {
			ranks = append(ranks, tw)
			steps += len(tw.steps)
		}
	}
	if steps == 0 || opt.Window == metric.WindowTrace {
		res.Window = metric.WindowTrace
	}
	if steps == 0 && res.Method != "" {
		res.Warnings = append(res.Warnings, "no steps were found: the figures are of the whole trace")
		res.Method, res.NoSteps = "", true
	}
	for _, name := range prepNames(opt) {
		any := slices.ContainsFunc(ranks, func(tw *twinRank) bool { return len(tw.prepNamed(name)) > 0 })
		if any && res.Prep == "" {
			res.Prep = name
		}
	}
	var all figures
	for _, tw := range ranks {
		w := tw.aggregate(res.Window)
		all.add(tw, w)
		res.Lanes += len(tw.devices)
		res.Ranks = append(res.Ranks, tw.summary(w))
		res.Markers += int64(len(tw.spans(func(r *eventtest.Row) bool { return r.Kind == event.NVTX && r.Class == event.StepMarker })))
	}
	res.GPUActivity = all.busy > 0
	res.Rows = all.rows(metric.Aggregate)
	requestWait(res, ranks, metric.Aggregate, &all)
	for p, name := range []string{metric.Context, metric.Generation} {
		var f figures
		ph := metric.Phase{Phase: name}
		var periods []float64
		for _, tw := range ranks {
			w, n := tw.inPhase(event.Phase(p))
			f.add(tw, w)
			ph.Steps += n
			ph.Iterations = max(ph.Iterations, n)
			for _, s := range tw.inBenchmark() {
				if s.Phase == event.Phase(p) && !s.last {
					periods = append(periods, float64(s.period.Len()))
				}
			}
			for _, r := range tw.rows {
				if in(r.Start, w) && r.Kind <= event.Memset && (r.GraphNode >= 0 || r.Kind == event.Graph) {
					ph.Replayed++
				}
			}
		}
		if slices.Sort(periods); len(periods) > 0 {
			p50, p90 := stat.Quantile(periods, 0.5), stat.Quantile(periods, 0.9)
			ph.P50, ph.P90 = &p50, &p90
		}
		if ph.Steps > 0 {
			res.Rows = append(res.Rows, f.rows(name)...)
			res.Phases = append(res.Phases, ph)
			requestWait(res, ranks, name, &f)
		}
	}
	res.Steady = twinSteady(ranks)
	for _, tw := range ranks {
		switch w := tw.window; {
		case w == nil || w.Segment < 0:
		case res.Span == nil:
			res.Span = &[2]int64{w.Start, w.End}
		default:
			res.Span = &[2]int64{min(res.Span[0], w.Start), max(res.Span[1], w.End)}
		}
	}
	return res
}

func newTwinRank(h *event.Header, rows []eventtest.Row, id int32, opt metric.Options) *twinRank {
	tw := &twinRank{id: id, opt: opt}
	for _, r := range rows {
		switch {
		case r.Rank != id:
		case r.Kind == event.Step:
			tw.steps = append(tw.steps, twinStep{Row: r})
		case r.Kind == event.Window:
			tw.window = &r
		default:
			tw.rows = append(tw.rows, r)
			if tw.isBusy(&r) && !slices.Contains(tw.devices, r.Device) {
				tw.devices = append(tw.devices, r.Device)
			}
		}
	}
	if len(tw.rows) == 0 {
		return nil
	}
	for _, u := range h.Span(id).Unrecorded {
		tw.lost = append(tw.lost, spanOf(u[0], u[1]))
	}
	for i := range tw.steps {
		s := &tw.steps[i]
		s.period = spanOf(s.Start, s.End)
		for _, o := range tw.steps {
			if o.Segment == s.Segment {
				s.period.To = max(s.period.To, o.End)
			}
		}
		s.last = i+1 == len(tw.steps) || tw.steps[i+1].Segment != s.Segment
		if !s.last {
			s.period.To = tw.steps[i+1].Start
		}
		s.parts = minus([]span{s.period}, tw.lost)
		s.last = s.last || interval.Length(s.parts) < s.period.To-s.period.From
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range tw.rows {
		if r := &tw.rows[i]; tw.isBusy(r) {
			first, last = min(first, r.Start), max(last, r.End)
		}
	}
	tw.trace = minus([]span{spanOf(first, last)}, tw.lost)
	return tw
}

func (tw *twinRank) isBusy(r *eventtest.Row) bool {
	switch r.Kind {
	case event.Kernel, event.Graph:
		return r.End > r.Start
	case event.Memcpy, event.Memset:
		return tw.opt.BusyAll && r.End > r.Start
	}
	return false
}

// inBenchmark returns the steps of the benchmark segment, or all of them.
func (tw *twinRank) inBenchmark() (steps []twinStep) {
	for _, s := range tw.steps {
		if tw.window.Segment < 0 || s.Segment == tw.window.Segment {
			steps = append(steps, s)
		}
	}
	return steps
}

func (tw *twinRank) aggregate(window string) []span {
	if window == metric.WindowTrace {
		return tw.trace
	}
	if tw.window == nil {
		return nil
	}
	return minus([]span{spanOf(tw.window.Start, tw.window.End)}, tw.lost)
}

func (tw *twinRank) inPhase(p event.Phase) (w []span, n int64) {
	for _, s := range tw.inBenchmark() {
		if s.Phase == p {
			w = append(w, s.period)
			n++
		}
	}
	w = minus(w, tw.lost)
	return w, n
}

// spans returns the spans of the rows for which keep holds.
func (tw *twinRank) spans(keep func(*eventtest.Row) bool) (spans []span) {
	for i := range tw.rows {
		if keep(&tw.rows[i]) {
			spans = append(spans, spanOf(tw.rows[i].Start, tw.rows[i].End))
		}
	}
	return spans
}

// prepNames are the texts of input preparation, the preferred one first.
func prepNames(opt metric.Options) []string {
	if opt.Prep != "" {
		return []string{opt.Prep}
	}
	return []string{"_prepare_tp_inputs", "_prepare_inputs", "prepare_inputs"}
}

// prepNamed returns the ranges with a text in their name.
func (tw *twinRank) prepNamed(name string) []span {
	return tw.spans(func(r *eventtest.Row) bool { return r.Kind == event.NVTX && strings.Contains(r.Name, name) })
}

// prep returns the ranges of input preparation.
func (tw *twinRank) prep() []span {
	for _, name := range prepNames(tw.opt) {
		if found := tw.prepNamed(name); len(found) > 0 {
			return found
		}
	}
	return nil
}

func (tw *twinRank) summary(w []span) metric.Rank {
	s := metric.Rank{Rank: tw.id, Total: int64(len(tw.steps))}
	if tw.window != nil {
		s.CommonSize = tw.window.Size
		s.Segments = tw.steps[len(tw.steps)-1].Segment + 1
		if n := int64(len(tw.inBenchmark())); tw.window.Segment >= 0 {
			s.Benchmark = &n
		}
	}
	first := map[int64]bool{}
	for _, r := range tw.rows {
		switch {
		case r.Kind == event.API && r.Class == event.GraphLaunch && in(r.Start, w):
			s.GraphLaunches++
		case r.Kind == event.Graph && in(r.Start, w):
			s.Replays++
		case r.Kind <= event.Memset && r.GraphNode >= 0 && !first[r.Correlation]:
			first[r.Correlation] = true
			if in(r.Start, w) {
				s.Replays++
			}
		}
	}
	return s
}

// figures are what the metrics are made of.
type figures struct {
	wall, capacity, busy, nccl, comm, launch, graphLaunch, waited, prep, exposed, requests int64
}

func (f *figures) add(tw *twinRank, w []span) {
	f.wall += interval.Length(interval.Union(w))
	prep := tw.prep()
	for _, device := range tw.devices {
		onLane := func(keep func(*eventtest.Row) bool) []span {
			return tw.spans(func(r *eventtest.Row) bool { return r.Device == device && tw.isBusy(r) && keep(r) })
		}
		busy := onLane(func(*eventtest.Row) bool { return true })
		f.capacity += interval.Length(interval.Union(w))
		f.busy += within(busy, w)
		f.nccl += within(onLane(func(r *eventtest.Row) bool {
			return r.Kind == event.Kernel && strings.Contains(strings.ToLower(r.Name), "nccl")
		}), w)
		f.comm += within(onLane(func(r *eventtest.Row) bool {
			return r.Class == event.Allreduce || r.Class == event.Comm
		}), w)
		f.prep += within(prep, w)
		overlap := interval.Intersection(interval.Union(prep), interval.Union(busy))
		f.exposed += within(prep, w) - within(overlap, w)
		f.requests += within(minus(interval.Union(tw.requests()), busy), w)
	}
	for thread := range int64(10) {
		onThread := func(class event.Class) []span {
			return tw.spans(func(r *eventtest.Row) bool {
				return r.Kind == event.API && r.Class == class && r.Thread == thread
			})
		}
		full := tw.spans(func(r *eventtest.Row) bool {
			return r.Kind == event.Overhead && r.Thread == thread && r.Name == "Command Buffer Full"
		})
		waited := interval.Length(interval.Intersection(interval.Intersection(interval.Union(full), interval.Union(onThread(event.Launch))), interval.Union(w)))
		f.waited += waited
		f.launch += within(onThread(event.Launch), w) - waited
		f.graphLaunch += within(onThread(event.GraphLaunch), w)
	}
}

// requests returns when threads wait for requests that have launched a tenth of all there
// was, or waited for a full queue.
func (tw *twinRank) requests() (waits []span) {
	launching, fetching := map[int64]bool{}, map[int64]int64{}
	launches, all := map[int64]int64{}, int64(0)
	for _, r := range tw.rows {
		switch {
		case r.Kind == event.API && (r.Class == event.Launch || r.Class == event.GraphLaunch), r.Kind == event.Overhead && r.Name == "Command Buffer Full" && r.End > r.Start:
			launching[r.Thread] = true
			if r.Kind == event.API {
				launches[r.Thread]++
				all++
			}
		case r.Kind == event.NVTX && r.Name == "_fetch_new_requests" && launching[r.Thread]:
			fetching[r.Thread] = max(fetching[r.Thread], r.End)
		case r.Kind == event.OS && r.Class != event.OSFile && r.Start < fetching[r.Thread] && 10*launches[r.Thread] >= all:
			waits = append(waits, spanOf(r.Start, min(r.End, fetching[r.Thread])))
		}
	}
	return waits
}

// requestWait sets the waits for requests of a scope, where calls of the system are known.
func requestWait(res *metric.Result, ranks []*twinRank, scope string, f *figures) {
	for _, tw := range ranks {
		if slices.ContainsFunc(tw.rows, func(r eventtest.Row) bool { return r.Kind == event.OS }) {
			if res.RequestWait == nil {
				res.RequestWait = map[string]int64{}
			}
			res.RequestWait[scope] = f.requests
		}
	}
}

func (f *figures) rows(scope string) []metric.Row {
	prep := f.prep > 0
	any := f.capacity > 0
	return []metric.Row{
		{Scope: scope, Metric: "gpu_idle_ratio", Numerator: f.capacity - f.busy, Denominator: f.capacity, Applicable: any},
		{Scope: scope, Metric: "launch_overhead_ratio", Numerator: f.launch, Denominator: f.wall, Applicable: any},
		{Scope: scope, Metric: "host_prep_exposed_ratio", Numerator: f.exposed, Denominator: f.prep, Applicable: prep},
		{Scope: scope, Metric: "host_prep_perf_impact", Numerator: f.exposed, Denominator: f.capacity, Applicable: prep},
		{Scope: scope, Metric: "host_prep_idle_attribution", Numerator: f.exposed, Denominator: f.capacity - f.busy, Applicable: prep},
		{Scope: scope, Metric: "gpu_utilization", Numerator: f.busy, Denominator: f.capacity, Applicable: any},
		{Scope: scope, Metric: "nccl_ratio", Numerator: f.nccl, Denominator: f.busy, Applicable: any},
		{Scope: scope, Metric: "graph_launch_ratio", Numerator: f.graphLaunch, Denominator: f.wall, Applicable: any},
		{Scope: scope, Metric: "comm_ratio", Numerator: f.comm, Denominator: f.busy, Applicable: any},
		{Scope: scope, Metric: "launch_backpressure_ratio", Numerator: f.waited, Denominator: f.wall, Applicable: any},
	}
}

// steadySteps returns the steady steps; if whole, without the last of a segment.
func (tw *twinRank) steadySteps(whole bool) (steady []twinStep) {
	counted, most := false, int64(-1)
	for _, s := range tw.inBenchmark() {
		if s.last && whole {
			continue
		}
		counted = counted || s.Ctx >= 0
		if s.Ctx == 0 {
			most = max(most, s.Gen)
		}
	}
	for _, s := range tw.inBenchmark() {
		if !(s.last && whole) && (!counted && s.Phase != event.Context || counted && s.Ctx == 0 && s.Gen == most) {
			steady = append(steady, s)
		}
	}
	return steady
}

func twinSteady(ranks []*twinRank) *metric.Steady {
	var steady []twinStep
	kernels, whole := 0, 0
	for _, tw := range ranks {
		if tw.window == nil {
			continue
		}
		chosen := tw.steadySteps(true)
		if len(chosen) == 0 {
			chosen = tw.steadySteps(false)
		}
		for _, s := range chosen {
			steady = append(steady, s)
			for _, r := range tw.rows {
				if in(r.Start, s.parts) {
					switch r.Kind {
					case event.Kernel:
						kernels++
					case event.Graph:
						whole++
					}
				}
			}
		}
	}
	if len(steady) == 0 {
		return nil
	}
	var wall int64
	var gaps []int64
	for _, s := range steady {
		wall += interval.Length(s.parts)
		if gap := interval.Length(s.parts) - (s.End - s.Start); gap > 0 {
			gaps = append(gaps, gap)
		}
	}
	n := float64(len(steady))
	res := &metric.Steady{Steps: int64(len(steady)), Wall: float64(wall) / n}
	if mean := float64(kernels) / n; whole == 0 {
		res.Kernels = &mean
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		mid := (float64(gaps[(len(gaps)-1)/2]) + float64(gaps[len(gaps)/2])) / 2
		res.GapP50 = &mid
	}
	return res
}
