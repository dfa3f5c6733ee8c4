package compare_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// The reference computes the figures of one run from all rows at once, as they are
// defined and with no thought of speed.

type span = stat.Span

func spanOf(from, to int64) span { return span{From: from, To: to} }

// within returns the length of the part of the union of spans in w.
func within(spans []span, w span) int64 {
	return stat.Length(stat.Intersection(stat.Union(spans), []span{w}))
}

type referenceStep struct {
	rank   int32
	number int64
	row    eventtest.Row
	period span
	whole  bool // the period ends with another step
}

type reference struct {
	rows   []eventtest.Row
	steps  []referenceStep            // steady
	gpus   map[int32]map[int32][]span // by rank and device
	copies map[int32]map[int32][]span // the same of copies and fills, after the first activity
	totals map[string]float64
	ops    map[string]*[3]float64 // inclusive, self, exposed
	kernel map[string]float64
	class  map[string]float64
	api    map[string]float64
	gaps   []float64
}

func newReference(rows []eventtest.Row) *reference {
	w := &reference{rows: rows, gpus: map[int32]map[int32][]span{}, copies: map[int32]map[int32][]span{}, totals: map[string]float64{}, ops: map[string]*[3]float64{},
		kernel: map[string]float64{}, class: map[string]float64{}, api: map[string]float64{}}
	for _, r := range rows {
		if r.Rank >= 0 && (r.Kind == event.Kernel || r.Kind == event.Graph) && r.End > r.Start {
			if w.gpus[r.Rank] == nil {
				w.gpus[r.Rank], w.copies[r.Rank] = map[int32][]span{}, map[int32][]span{}
			}
			w.gpus[r.Rank][r.Device] = append(w.gpus[r.Rank][r.Device], spanOf(r.Start, r.End))
		}
		if r.Rank >= 0 && r.Kind.IsCopy() && len(w.gpus[r.Rank][r.Device]) > 0 {
			w.copies[r.Rank][r.Device] = append(w.copies[r.Rank][r.Device], spanOf(r.Start, r.End))
		}
	}
	for _, r := range rows {
		if r.Kind == event.Window {
			w.choose(r)
		}
	}
	w.measure()
	return w
}

// choose finds the steady steps of a rank.
func (w *reference) choose(window eventtest.Row) {
	var all []referenceStep
	for _, r := range w.rows {
		if r.Kind == event.Step && r.Rank == window.Rank {
			all = append(all, referenceStep{rank: r.Rank, number: r.Step, row: r})
		}
	}
	for i := range all {
		s := &all[i]
		s.period.From = s.row.Start
		if i+1 < len(all) && all[i+1].row.Segment == s.row.Segment {
			s.period.To, s.whole = all[i+1].row.Start, true
			continue
		}
		for _, other := range all {
			if other.row.Segment == s.row.Segment {
				s.period.To = max(s.period.To, other.row.End)
			}
		}
	}
	whole := slices.DeleteFunc(slices.Clone(all), func(s referenceStep) bool { return !s.whole })
	chosen := steadyOf(whole, window)
	if len(chosen) == 0 {
		chosen = steadyOf(all, window)
	}
	w.steps = append(w.steps, chosen...)
}

// steadyOf returns the steady ones of some steps.
func steadyOf(all []referenceStep, window eventtest.Row) (chosen []referenceStep) {
	counts, gen := false, int64(-1)
	for _, s := range all {
		if window.Segment >= 0 && s.row.Segment != window.Segment {
			continue
		}
		if s.row.Ctx >= 0 {
			counts = true
		}
		if s.row.Ctx == 0 {
			gen = max(gen, s.row.Gen)
		}
	}
	for _, s := range all {
		if (window.Segment < 0 || s.row.Segment == window.Segment) && (!counts && s.row.Phase != event.Context || s.row.Ctx == 0 && s.row.Gen == gen) {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

func (w *reference) measure() {
	n := float64(len(w.steps))
	for _, s := range w.steps {
		wall, extent := s.period.To-s.period.From, s.row.End-s.row.Start
		w.totals["wall"] += float64(wall) / 1e3 / n
		w.totals["duration"] += float64(extent) / 1e3 / n
		for device, gpu := range w.gpus[s.rank] {
			busy := within(gpu, s.period)
			w.totals["idle_copies"] += float64(within(append(w.copies[s.rank][device], gpu...), s.period)-busy) / 1e3 / n
			w.totals["busy"] += float64(busy) / 1e3 / n
			w.totals["idle"] += float64(wall-busy) / 1e3 / n
		}
		if wall > extent {
			w.gaps = append(w.gaps, float64(wall-extent)/1e3)
		}
		for i, r := range w.rows {
			if r.Rank == s.rank && r.Start >= s.period.From && r.Start < s.period.To {
				w.row(i, n)
			}
		}
	}
}

// row adds a row of a steady step.
func (w *reference) row(i int, n float64) {
	r := &w.rows[i]
	us := float64(r.End-r.Start) / 1e3 / n
	switch r.Kind {
	case event.Kernel, event.Graph:
		w.totals["gpu"] += us
		w.kernel[r.Name] += us
		class := "graph"
		if r.Kind == event.Kernel {
			class = event.Classes[r.Class]
			if r.GraphNode >= 0 {
				w.totals["graph"] += 1 / n
			} else {
				w.totals["eager"] += 1 / n
			}
		} else {
			w.totals["replays"] += 1 / n
		}
		w.class[class] += us
	case event.API:
		w.api[r.Name] += us
	case event.NVTX:
		if counted(r) {
			w.operation(i, us, n)
		}
	}
}

func counted(r *eventtest.Row) bool {
	return r.Kind == event.NVTX && r.Class != event.StepMarker && r.Class != event.GIL
}

func (w *reference) operation(i int, us, n float64) {
	r := &w.rows[i]
	var nested []span
	for j, o := range w.rows {
		if j > i && counted(&o) && o.Rank == r.Rank && o.Thread == r.Thread && o.Start >= r.Start && o.End <= r.End {
			nested = append(nested, spanOf(o.Start, o.End))
		}
	}
	hidden := 0.0
	for _, gpu := range w.gpus[r.Rank] {
		hidden += float64(within(gpu, spanOf(r.Start, r.End))) / float64(len(w.gpus[r.Rank]))
	}
	name := marker.Fold(r.Name)
	if w.ops[name] == nil {
		w.ops[name] = &[3]float64{}
	}
	op := w.ops[name]
	op[0] += us
	op[1] += us - float64(within(nested, spanOf(r.Start, r.End)))/1e3/n
	op[2] += us - hidden/1e3/n
}

// withRanges adds ranges that nest and overlap to a random trace.
func withRanges(rows []eventtest.Row, seed uint64) []eventtest.Row {
	rng := rand.New(rand.NewPCG(seed, 11))
	last := int64(1)
	for _, r := range rows {
		last = max(last, r.End)
	}
	names := []string{"op 1", "op 22", "outer", "Python GC", "Waiting for GIL"}
	for range rng.IntN(60) {
		r := eventtest.New(event.NVTX, int32(rng.IntN(2)), 0, 0, names[rng.IntN(len(names))])
		r.Start = rng.Int64N(last) / eventtest.Unit * eventtest.Unit
		r.End = r.Start + rng.Int64N(12)*eventtest.Unit
		r.Thread, r.Class = int64(1+rng.IntN(2)), marker.ClassNVTX(r.Name)
		rows = append(rows, r)
	}
	eventtest.Sort(rows)
	return rows
}

// TestReference compares the profile of random traces, in batches of several sizes,
// with the reference.
func TestReference(t *testing.T) {
	used := 0
	for seed := range uint64(cases.Few(200, 200, 600)) {
		_, rows := eventtest.Random(seed)
		if slices.ContainsFunc(rows, func(r eventtest.Row) bool { return r.Rank >= 0 }) {
			rows = withRanges(rows, seed)
		}
		by := []string{"allreduce", "nvtx", "graph"}[seed%3]
		size := []int{1, 7, 64, 1 << 20}[seed%4]
		steps, err := isolate.New(eventtest.Source(eventtest.Header(rows), rows, size), isolate.Options{By: by, Gap: 3 * eventtest.Unit, SegmentGap: 20 * eventtest.Unit})
		if err != nil {
			continue
		}
		phases, err := step.NewTagger(steps, nil)
		if err != nil {
			t.Fatal(err)
		}
		header := phases.Header()
		phased, err := eventtest.Collect(phases)
		if err != nil {
			continue
		}
		run, err := compare.Profile(eventtest.Source(header, phased, size), compare.ProfileOptions{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		c, err := compare.Compare(run, nil, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := newReference(phased)
		if len(w.steps) > 0 {
			used++
		}
		checkReference(t, seed, c, w)
		if t.Failed() {
			t.FailNow()
		}
	}
	if used < 30 {
		t.Fatalf("only %d traces have steady steps", used)
	}
}

func checkReference(t *testing.T, seed uint64, c *compare.Comparison, w *reference) {
	f := c.Steady.Baseline
	if f.Steps != len(w.steps) || f.Gap.N != len(w.gaps) {
		t.Fatalf("seed %d: %d steps, %d gaps; want %d, %d", seed, f.Steps, f.Gap.N, len(w.steps), len(w.gaps))
	}
	if f.Steps == 0 {
		return
	}
	for name, got := range map[string]*float64{
		"wall": f.Wall, "busy": f.Busy, "idle": f.Idle, "duration": f.Duration, "gpu": f.GPU,
		"eager": f.Eager, "graph": f.Graph, "replays": f.Replays,
	} {
		if got == nil || !close9(*got, w.totals[name]) {
			t.Errorf("seed %d: %s is %v, want %v", seed, name, value(got), w.totals[name])
		}
	}
	copies := 0.0
	for _, r := range c.Summary {
		if r.Name == "idle_copies" {
			copies = *r.Baseline
		}
	}
	if !close9(copies, w.totals["idle_copies"]) {
		t.Errorf("seed %d: idle time with copies is %v, want %v", seed, copies, w.totals["idle_copies"])
	}
	for _, r := range c.Operations {
		want := w.ops[r.Name]
		if want == nil {
			t.Errorf("seed %d: no operation %s", seed, r.Name)
			continue
		}
		for k, got := range []float64{*r.Baseline, *r.Self.Baseline, *r.Exposed.Baseline} {
			if !close9(got, want[k]) {
				t.Errorf("seed %d: %s part %d is %v, want %v", seed, r.Name, k, got, want[k])
			}
		}
	}
	if len(c.Operations) != len(w.ops) {
		t.Errorf("seed %d: %d operations, want %d", seed, len(c.Operations), len(w.ops))
	}
	for _, s := range []struct {
		rows []compare.Row
		want map[string]float64
	}{{c.Kernels, w.kernel}, {c.Classes, w.class}, {c.API, w.api}} {
		if len(s.rows) != len(s.want) {
			t.Errorf("seed %d: %d rows, want %v", seed, len(s.rows), s.want)
		}
		for _, r := range s.rows {
			if !close9(*r.Baseline, s.want[r.Name]) {
				t.Errorf("seed %d: %s is %v, want %v", seed, r.Name, *r.Baseline, s.want[r.Name])
			}
		}
	}
}

// close9 allows for sums in another order.
func close9(got, want float64) bool {
	d := got - want
	return max(d, -d) <= 1e-9*max(1, got, want)
}
