package metric_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

type span = stat.Span

func spanOf(from, to int64) span { return span{From: from, To: to} }

// within returns the length of the part of the union of spans in w.
func within(spans, w []span) int64 {
	return stat.Length(stat.Intersection(stat.Union(spans), stat.Union(w)))
}

// minus returns what of each span of a is not in b.
func minus(a, b []span) (parts []span) {
	for _, s := range a {
		parts = append(parts, stat.Subtract([]span{s}, stat.Union(b))...)
	}
	return parts
}

func in(t int64, w []span) bool {
	return slices.ContainsFunc(w, func(s span) bool { return s.Has(t) })
}

// referenceStep is a step with its period.
type referenceStep struct {
	eventtest.Row
	period span
	parts  []span // of it that were recorded
	last   bool   // of its segment, or not all recorded
}

// referenceRank is a rank with all its rows.
type referenceRank struct {
	id      int32
	rows    []eventtest.Row
	steps   []referenceStep
	window  *eventtest.Row
	trace   []span
	lost    []span // not recorded
	opt     metric.Options
	devices []int32
	waits   []referenceWait
	// waitsUnknown tells that it has collectives, and none is in a meeting.
	waitsUnknown bool
	// causesUnknown tells that it has collectives, and none was matched.
	causesUnknown bool
	header        *event.Header
}

// referenceWait is a wait in a collective, and the part of it with a host cause.
type referenceWait struct{ all, host span }

// reference is Compute, obviously: it looks at all rows at once.
func reference(h *event.Header, rows []eventtest.Row, opt metric.Options) *metric.Result {
	res := &metric.Result{}
	res.Window, res.HiddenGraphs, res.Warnings = metric.WindowBenchmark, h.Rows(event.Graph), h.Warnings()
	res.Kernels, res.Launches = h.Rows(event.Kernel), h.ClassRows(event.Launch)
	if h.Isolation != nil {
		res.Method = h.Isolation.Method
	}
	var ranks []*referenceRank
	steps := 0
	for id := range int32(10) {
		if ref := newReferenceRank(h, rows, id, opt); ref != nil {
			ranks = append(ranks, ref)
			steps += len(ref.steps)
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
		any := slices.ContainsFunc(ranks, func(ref *referenceRank) bool { return len(ref.prepNamed(name)) > 0 })
		if any && res.Prep == "" {
			res.Prep = name
		}
	}
	if opt.Prep != "" && res.Prep == "" {
		res.Warnings = append(res.Warnings, fmt.Sprintf("no range has %q in its name (--prep): input preparation is not measured", opt.Prep))
	}
	var all figures
	res.Collectives = referenceWaits(ranks)
	for _, ref := range ranks {
		w := ref.aggregate(res.Window)
		all.add(ref, w)
		res.GPUs += len(ref.devices)
		res.Ranks = append(res.Ranks, ref.summary(w))
		rankWait(&res.Ranks[len(res.Ranks)-1], ref, w, metric.Aggregate)
		res.Markers += ref.markers()
	}
	res.GPUActivity = all.busy > 0
	res.Rows = all.rows(metric.Aggregate)
	requestWait(res, ranks, metric.Aggregate, &all)
	for p, name := range []string{metric.Context, metric.Generation} {
		var f figures
		ph := metric.Phase{Phase: name}
		var periods []float64
		for k, ref := range ranks {
			w, n := ref.inPhase(event.Phase(p))
			f.add(ref, w)
			rankWait(&res.Ranks[k], ref, w, name)
			ph.Steps += n
			ph.Iterations = max(ph.Iterations, n)
			for _, s := range ref.inBenchmark() {
				if s.Phase == event.Phase(p) && !s.last {
					periods = append(periods, float64(s.period.Len()))
				}
			}
			for _, r := range ref.rows {
				if in(r.Start, w) && r.Kind <= event.Memset && (r.GraphNode >= 0 || r.Kind == event.Graph) {
					ph.Replayed++
				}
				if in(r.Start, w) && r.Kind == event.Kernel {
					ph.Kernels++
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
	res.Steady = referenceSteady(ranks)
	for _, ref := range ranks {
		switch w := ref.window; {
		case w == nil || w.Segment < 0:
		case res.Span == nil:
			res.Span = &[2]int64{w.Start, w.End}
		default:
			res.Span = &[2]int64{min(res.Span[0], w.Start), max(res.Span[1], w.End)}
		}
	}
	return res
}

func newReferenceRank(h *event.Header, rows []eventtest.Row, id int32, opt metric.Options) *referenceRank {
	ref := &referenceRank{id: id, opt: opt, header: h}
	for _, r := range rows {
		switch {
		case r.Rank != id:
		case r.Kind == event.Step:
			ref.steps = append(ref.steps, referenceStep{Row: r})
		case r.Kind == event.Window:
			ref.window = &r
		default:
			ref.rows = append(ref.rows, r)
			if ref.isBusy(&r) && !slices.Contains(ref.devices, r.Device) {
				ref.devices = append(ref.devices, r.Device)
			}
		}
	}
	if len(ref.rows) == 0 {
		return nil
	}
	for _, u := range h.Span(id).Unrecorded {
		ref.lost = append(ref.lost, spanOf(u[0], u[1]))
	}
	for i := range ref.steps {
		s := &ref.steps[i]
		s.period = spanOf(s.Start, s.End)
		for _, o := range ref.steps {
			if o.Segment == s.Segment {
				s.period.To = max(s.period.To, o.End)
			}
		}
		s.last = i+1 == len(ref.steps) || ref.steps[i+1].Segment != s.Segment
		if !s.last {
			s.period.To = ref.steps[i+1].Start
		}
		s.parts = minus([]span{s.period}, ref.lost)
		s.last = s.last || stat.Length(s.parts) < s.period.To-s.period.From
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range ref.rows {
		if r := &ref.rows[i]; ref.isBusy(r) {
			first, last = min(first, r.Start), max(last, r.End)
		}
	}
	ref.trace = minus([]span{spanOf(first, last)}, ref.lost)
	return ref
}

func (ref *referenceRank) isBusy(r *eventtest.Row) bool {
	switch r.Kind {
	case event.Kernel, event.Graph:
		return r.End > r.Start
	case event.Memcpy, event.Memset:
		return ref.opt.BusyAll && r.End > r.Start
	}
	return false
}

// inBenchmark returns the steps of the benchmark segment, or all of them.
func (ref *referenceRank) inBenchmark() (steps []referenceStep) {
	for _, s := range ref.steps {
		if ref.window.Segment < 0 || s.Segment == ref.window.Segment {
			steps = append(steps, s)
		}
	}
	return steps
}

// outside returns what lies outside of the benchmark segment.
func (ref *referenceRank) outside() *step.Remainder {
	last := ref.steps[len(ref.steps)-1].Segment
	if ref.window.Segment < 0 || last == 0 {
		return nil
	}
	var pauses []span
	for k := range last {
		end, start := int64(-1), int64(1<<62)
		for _, s := range ref.steps {
			switch s.Segment {
			case k:
				end = max(end, s.End)
			case k + 1:
				start = min(start, s.Start)
			}
		}
		pauses = append(pauses, spanOf(end, start))
	}
	o := &step.Remainder{Steps: int64(len(ref.steps) - len(ref.inBenchmark())), Of: int64(len(ref.steps))}
	o.PauseUs = float64(stat.Length(minus(pauses, ref.lost))) / 1e3
	return o
}

func (ref *referenceRank) aggregate(window string) []span {
	if window == metric.WindowTrace {
		return ref.trace
	}
	if ref.window == nil {
		return nil
	}
	return minus([]span{spanOf(ref.window.Start, ref.window.End)}, ref.lost)
}

func (ref *referenceRank) inPhase(p event.Phase) (w []span, n int64) {
	for _, s := range ref.inBenchmark() {
		if s.Phase == p {
			w = append(w, s.period)
			n++
		}
	}
	w = minus(w, ref.lost)
	return w, n
}

// spans returns the spans of the rows for which keep holds.
func (ref *referenceRank) spans(keep func(*eventtest.Row) bool) (spans []span) {
	for i := range ref.rows {
		if keep(&ref.rows[i]) {
			spans = append(spans, spanOf(ref.rows[i].Start, ref.rows[i].End))
		}
	}
	return spans
}

// markers counts forward-step markers; those with the number of the numbered one before that
// start within 100 us of the first with it are one.
func (ref *referenceRank) markers() (n int64) {
	number, first := "", int64(0)
	for _, r := range ref.rows {
		if r.Kind != event.NVTX || r.Class != event.StepMarker {
			continue
		}
		m := regexp.MustCompile(`^(?:\[Executor\] )?_forward_step (\d+):`).FindStringSubmatch(r.Name)
		if m != nil && m[1] == number && r.Start-first <= 100_000 {
			continue
		}
		if n++; m != nil {
			number, first = m[1], r.Start
		}
	}
	return n
}

// prepNames are the names of input preparation, the preferred one first.
func prepNames(opt metric.Options) []string {
	if opt.Prep != "" {
		return []string{opt.Prep}
	}
	return []string{"_prepare_tp_inputs", "_prepare_inputs", "prepare_inputs"}
}

// prepNamed returns the ranges with a text in their name.
func (ref *referenceRank) prepNamed(name string) []span {
	return ref.spans(func(r *eventtest.Row) bool { return r.Kind == event.NVTX && strings.Contains(r.Name, name) })
}

// prep returns the ranges of input preparation.
func (ref *referenceRank) prep() []span {
	for _, name := range prepNames(ref.opt) {
		if found := ref.prepNamed(name); len(found) > 0 {
			return found
		}
	}
	return nil
}

func (ref *referenceRank) summary(w []span) metric.Rank {
	s := metric.Rank{Rank: ref.id, Total: int64(len(ref.steps)), Whole: new(int64)}
	if ref.window != nil {
		for _, one := range ref.inBenchmark() {
			if !one.last {
				*s.Whole++
			}
		}
		s.Outside = ref.outside()
		s.CommonSize = ref.window.Size
		s.Segments = ref.steps[len(ref.steps)-1].Segment + 1
		if n := int64(len(ref.inBenchmark())); ref.window.Segment >= 0 {
			s.Benchmark = &n
		}
	}
	first := map[int64]bool{}
	for _, r := range ref.rows {
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

	waits, waitCapacity, hostWaits, causeCapacity, host, hostCapacity int64
}

func (f *figures) add(ref *referenceRank, w []span) {
	f.wall += stat.Length(stat.Union(w))
	prep := ref.prep()
	for _, device := range ref.devices {
		onGPU := func(keep func(*eventtest.Row) bool) []span {
			return ref.spans(func(r *eventtest.Row) bool { return r.Device == device && ref.isBusy(r) && keep(r) })
		}
		busy := onGPU(func(*eventtest.Row) bool { return true })
		f.capacity += stat.Length(stat.Union(w))
		f.busy += within(busy, w)
		f.nccl += within(onGPU(func(r *eventtest.Row) bool {
			return r.Kind == event.Kernel && strings.Contains(strings.ToLower(r.Name), "nccl")
		}), w)
		f.comm += within(onGPU(func(r *eventtest.Row) bool {
			return r.Class == event.Allreduce || r.Class == event.Comm
		}), w)
		f.prep += within(prep, w)
		overlap := stat.Intersection(stat.Union(prep), stat.Union(busy))
		f.exposed += within(prep, w) - within(overlap, w)
		f.requests += within(minus(stat.Union(ref.requests()), busy), w)
	}
	f.addHost(ref, w)
	for thread := range int64(10) {
		onThread := func(class event.Class) []span {
			return ref.spans(func(r *eventtest.Row) bool {
				return r.Kind == event.API && r.Class == class && r.Thread == thread
			})
		}
		full := ref.spans(func(r *eventtest.Row) bool {
			return r.Kind == event.Overhead && r.Thread == thread && r.Name == "Command Buffer Full"
		})
		waited := stat.Length(stat.Intersection(stat.Intersection(stat.Union(full), stat.Union(onThread(event.Launch))), stat.Union(w)))
		f.waited += waited
		f.launch += within(onThread(event.Launch), w) - waited
		f.graphLaunch += within(onThread(event.GraphLaunch), w)
	}
}

// addHost adds waits and what has a host cause.
func (f *figures) addHost(ref *referenceRank, w []span) {
	capacity := int64(len(ref.devices)) * stat.Length(stat.Union(w))
	hidden := ref.waitsUnknown || slices.ContainsFunc(ref.rows, func(r eventtest.Row) bool { return r.Kind == event.Graph && in(r.Start, w) })
	silent := !slices.ContainsFunc(ref.rows, func(r eventtest.Row) bool {
		return r.Kind == event.API && (r.Class == event.Launch || r.Class == event.GraphLaunch)
	})
	if !hidden {
		f.waitCapacity += capacity
	}
	if !silent {
		f.hostCapacity += capacity
		if !hidden && !ref.causesUnknown {
			f.causeCapacity += capacity
		}
	}
	for _, wait := range ref.waits {
		if !hidden {
			f.waits += within([]span{wait.all}, w)
		}
		if !silent {
			f.host += within([]span{wait.host}, w)
			if !hidden && !ref.causesUnknown {
				f.hostWaits += within([]span{wait.host}, w)
			}
		}
	}
	windowEnd := int64(math.MaxInt64)
	if ref.window != nil && len(w) > 0 && !slices.Equal(w, ref.trace) {
		windowEnd = ref.window.End
	}
	for _, device := range ref.devices {
		for _, g := range ref.gaps(device) {
			if g.to < windowEnd && !silent {
				for _, s := range g.host {
					f.host += within([]span{s}, w)
				}
			}
		}
	}
}

// referenceGap is an idle gap of a GPU, and the parts of it with a host cause; row is the number
// of that which ends it.
type referenceGap struct {
	from, to int64
	host     []span
	row      int
}

// gaps returns the idle gaps of a GPU that an activity ends.
func (ref *referenceRank) gaps(device int32) (gaps []referenceGap) {
	origin := int64(math.MaxInt64)
	for _, s := range ref.trace {
		origin = min(origin, s.From)
	}
	for _, s := range ref.steps {
		if !in(s.Start, ref.lost) {
			origin = min(origin, s.Start)
		}
		for _, p := range s.parts {
			origin = min(origin, p.From)
		}
	}
	end, replay, passed := int64(math.MinInt64), int64(-1), 0
	requests := stat.Union(ref.requests())
	for i := range ref.rows {
		r := &ref.rows[i]
		if r.Device != device || !ref.isBusy(r) {
			continue
		}
		for ; passed < len(ref.lost) && ref.lost[passed].To <= r.Start; passed++ {
			end, replay = max(end, ref.lost[passed].To), -1
		}
		from := max(end, origin)
		own := int64(-1)
		if r.Kind == event.Graph || r.GraphNode >= 0 {
			own = r.Correlation
		}
		if from < r.Start && !in(r.Start, ref.lost) {
			g := referenceGap{from: from, to: r.Start, row: i}
			until := r.Start
			if r.LaunchEnd >= 0 {
				until = min(until, max(from, r.LaunchEnd))
			}
			if own >= 0 && own == replay {
				until = from
			}
			g.host = minus([]span{spanOf(from, until)}, requests)
			gaps = append(gaps, g)
		}
		if r.End >= max(end, from) {
			replay = own
		}
		end = max(end, r.End)
	}
	return gaps
}

// referenceWaits divides the collectives of all ranks. That is package collective's business; here
// it is what goes in, and where the waits lie.
func referenceWaits(ranks []*referenceRank) *metric.Collectives {
	store := spill.NewStore(1 << 20)
	defer store.Close()
	names := collective.NewNames()
	var lanes []collective.Lane
	var of []*referenceRank
	for _, ref := range ranks {
		for _, device := range ref.devices {
			l := collective.NewLog(store)
			gaps, steps, since := ref.gaps(device), 0, int64(math.MinInt64)
			for i := range ref.rows {
				r := &ref.rows[i]
				for steps < len(ref.steps) && ref.steps[steps].Start <= r.Start {
					if s := &ref.steps[steps]; steps == 0 || ref.steps[steps-1].Segment != s.Segment {
						since = s.Start
						l.Segment(since)
					}
					steps++
				}
				if r.Device != device || !ref.isBusy(r) {
					continue
				}
				for _, g := range gaps {
					if g.row == i && g.to > since {
						host := stat.Length(stat.Intersection(stat.Union(g.host), []span{spanOf(since, g.to)}))
						l.Idle(0, host)
						l.Idle(1, g.to-max(g.from, since)-host)
					}
				}
				if r.Kind == event.Kernel && (r.Class == event.Allreduce || r.Class == event.Comm) {
					l.Collective(collective.Collective{Step: int32(steps - 1), Name: names.Of([]byte(r.Name)), Allreduce: r.Class == event.Allreduce, Start: r.Start, End: r.End})
				} else {
					l.Work(r.Start, r.End)
				}
			}
			if l.Seal(); l.Len() > 0 {
				lane := collective.NewLane(ref.header, ref.id, device, l, nil, names.Text)
				lane.Kind = func(k int32) (int64, int64) {
					s := &ref.steps[k]
					if s.Phase == event.Context {
						return int64(s.Phase), s.Ctx
					}
					return int64(s.Phase), s.Gen
				}
				lanes, of = append(lanes, lane), append(of, ref)
				ref.waitsUnknown, ref.causesUnknown = true, true
			}
		}
	}
	if len(lanes) == 0 {
		return nil
	}
	m := collective.New(lanes)
	m.Each(func(ev *collective.Meeting) {
		for _, w := range ev.Members {
			of[w.Lane].waitsUnknown = false
			of[w.Lane].causesUnknown = of[w.Lane].causesUnknown && ev.Estimated
			one := referenceWait{all: spanOf(w.At, w.At+w.Wait), host: spanOf(w.At, w.At)}
			for _, p := range w.Parts {
				if p.Key < 0 {
					one.host = spanOf(one.host.From+p.Ns, one.host.From+p.Ns)
				} else if p.Key == 0 {
					one.host.To += p.Ns
				}
			}
			of[w.Lane].waits = append(of[w.Lane].waits, one)
		}
	})
	c := &metric.Collectives{Coverage: m.Coverage()}
	for _, g := range m.Groups {
		c.Matched += g.Matched
	}
	return c
}

// requests returns when threads wait for requests that have launched a tenth of all there
// was, or waited for a full queue.
func (ref *referenceRank) requests() (waits []span) {
	launching, fetching := map[int64]bool{}, map[int64]int64{}
	launches, all := map[int64]int64{}, int64(0)
	for _, r := range ref.rows {
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

// requestWait sets the waits for requests of a scope, where calls of the system are known
// of all ranks.
func requestWait(res *metric.Result, ranks []*referenceRank, scope string, f *figures) {
	for _, ref := range ranks {
		if !slices.ContainsFunc(ref.rows, func(r eventtest.Row) bool { return r.Kind == event.OS }) {
			return
		}
	}
	if res.RequestWait == nil {
		res.RequestWait = map[string]int64{}
	}
	res.RequestWait[scope] = f.requests
}

// rankWait sets the waits for requests of one rank.
func rankWait(s *metric.Rank, ref *referenceRank, w []span, scope string) {
	var f figures
	if f.add(ref, w); f.requests == 0 {
		return
	}
	if s.RequestWait == nil {
		s.GPUs, s.RequestWait = int64(len(ref.devices)), map[string]int64{}
	}
	s.RequestWait[scope] = f.requests
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
		{Scope: scope, Metric: "collective_wait_ratio", Numerator: f.waits, Denominator: f.waitCapacity, Applicable: f.waitCapacity > 0},
		{Scope: scope, Metric: "host_wait_ratio", Numerator: f.hostWaits, Denominator: f.causeCapacity, Applicable: f.causeCapacity > 0},
		{Scope: scope, Metric: "host_bound_ratio", Numerator: f.host, Denominator: f.hostCapacity, Applicable: f.hostCapacity > 0},
	}
}

// steadySteps returns the steady steps; if whole, without the last of a segment.
func (ref *referenceRank) steadySteps(whole bool) (steady []referenceStep) {
	counted, most := false, int64(-1)
	for _, s := range ref.inBenchmark() {
		if s.last && whole {
			continue
		}
		counted = counted || s.Ctx >= 0
		if s.Ctx == 0 {
			most = max(most, s.Gen)
		}
	}
	for _, s := range ref.inBenchmark() {
		if !(s.last && whole) && (!counted && s.Phase != event.Context || counted && s.Ctx == 0 && s.Gen == most) {
			steady = append(steady, s)
		}
	}
	return steady
}

func referenceSteady(ranks []*referenceRank) *metric.Steady {
	var steady []referenceStep
	kernels, whole := 0, 0
	for _, ref := range ranks {
		if ref.window == nil {
			continue
		}
		chosen := ref.steadySteps(true)
		if len(chosen) == 0 {
			chosen = ref.steadySteps(false)
		}
		for _, s := range chosen {
			steady = append(steady, s)
			for _, r := range ref.rows {
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
		wall += stat.Length(s.parts)
		if gap := stat.Length(s.parts) - (s.End - s.Start); gap > 0 {
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
