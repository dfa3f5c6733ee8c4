package compare_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// engine is a run to be drawn: what a step costs, us.
type engine struct {
	name         string
	seed         uint64
	steps, ranks int
	gen          int
	ops          map[string]float64
	busy         float64
	stretch      float64 // of the extent beyond busy
	first        float64 // what the first quarter of the steps takes longer
	gens         func(i int) int
}

func plain(seed uint64) engine {
	return engine{
		name: "plain", seed: seed, steps: 60, ranks: 2, gen: 8, busy: 500,
		ops: map[string]float64{"_schedule": 120, "_update_requests": 400, "_sample_async": 900, "_handle_responses": 300},
	}
}

// with returns the engine with an operation's cost changed; 0 leaves it out.
func (e engine) with(name string, cost float64) engine {
	e.ops = maps.Clone(e.ops)
	e.ops[name] = cost
	if cost == 0 {
		delete(e.ops, name)
	}
	return e
}

func (e engine) run() *compare.Run {
	rng := rand.New(rand.NewPCG(e.seed, 5))
	noisy := func(v float64) float64 { return v * math.Exp(0.05*rng.NormFloat64()) }
	s := compare.Samples{Name: e.name, Gen: e.gen}
	for range e.ranks {
		r := compare.RankSamples{Operations: map[string][]float64{}}
		for i := range e.steps {
			scale := 1.0
			if e.gens != nil {
				r.Gens = append(r.Gens, e.gens(i))
				scale = float64(e.gens(i)) / float64(e.gen)
			}
			busy := noisy(e.busy)
			wall := busy + e.stretch
			for _, name := range slices.Sorted(maps.Keys(e.ops)) {
				x := noisy(e.ops[name] * scale)
				r.Operations[name] = append(r.Operations[name], x)
				wall += x
			}
			if i < e.steps/4 {
				wall += e.first
			}
			r.Wall, r.Busy = append(r.Wall, wall), append(r.Busy, busy)
			r.Duration = append(r.Duration, busy+noisy(20)+e.stretch)
		}
		s.Ranks = append(s.Ranks, r)
	}
	return compare.FromSamples(s)
}

func compared(t *testing.T, a, b engine, opt compare.Options) *compare.Comparison {
	t.Helper()
	c, err := compare.Compare(a.run(), b.run(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConclusions(t *testing.T) {
	slowGPU, stretched := plain(2), plain(2)
	slowGPU.busy = 700
	stretched.stretch = 200
	for name, c := range map[string]struct {
		target engine
		want   string
	}{
		"the same again":          {plain(2), compare.None},
		"work between steps":      {plain(2).with("_update_requests", 700), compare.HostInterStep},
		"a new operation":         {plain(2).with("broadcast_requests", 250), compare.HostInterStep},
		"gaps inside the step":    {stretched, compare.HostInStep},
		"slower kernels":          {slowGPU, compare.GPU},
		"faster":                  {plain(2).with("_sample_async", 300), compare.HostInterStep},
		"more and less, in total": {plain(2).with("_sample_async", 600).with("_update_requests", 700), compare.None},
	} {
		if got := compared(t, plain(1), c.target, compare.Options{}); got.Conclusion != c.want || !got.Comparable {
			t.Errorf("%s: conclusion %s, want %s; %q", name, got.Conclusion, c.want, got.Explanation)
		}
	}
}

func TestStatuses(t *testing.T) {
	c := compared(t, plain(1), plain(2).with("_update_requests", 700).with("_sample_async", 500).with("_handle_responses", 345).
		with("_schedule", 0).with("new", 90), compare.Options{})
	for name, want := range map[string]string{
		"_update_requests": compare.Regression, "_sample_async": compare.Improved, "_handle_responses": "",
		"_schedule": compare.Removed, "new": compare.New,
	} {
		if r := row(t, c.Operations, name); r.Status != want || !r.Significant {
			t.Errorf("%s has status %q, want %q; significant %v", name, r.Status, want, r.Significant)
		}
	}
	if !slices.IsSortedFunc(c.Operations, func(a, b compare.Row) int {
		return int(math.Copysign(1, math.Abs(*b.Delta)-math.Abs(*a.Delta)))
	}) {
		t.Error("operations are not in the order of their change")
	}
	for _, r := range c.Operations {
		if *r.Adjusted < *r.P {
			t.Errorf("%s: p %v is %v for all rows", r.Name, *r.P, *r.Adjusted)
		}
	}
	if r := row(t, c.Operations, "new"); r.Baseline != nil || r.DeltaPercent != nil || *r.Delta != *r.Target {
		t.Errorf("new operation: %+v", r)
	}
}

// TestBadPairs must not conclude anything.
func TestBadPairs(t *testing.T) {
	few, oneRank, other, unmarked, empty := plain(2), plain(2), plain(2), plain(2), plain(2)
	few.steps, oneRank.ranks, other.gen, unmarked.gen, empty.ranks = 4, 1, 16, -1, 0
	for name, c := range map[string]struct {
		target engine
		want   string
	}{
		"few steps":      {few, "4 steady steps per rank"},
		"other ranks":    {oneRank, "steps on 2 and 1 ranks"},
		"other workload": {other, "8 generation requests in the baseline, 16 generation requests in the target"},
		"no markers":     {unmarked, "no forward-step markers"},
		"no steps":       {empty, "has no steps"},
	} {
		for _, e := range []engine{c.target, c.target.with("_update_requests", 2000)} {
			for _, swap := range []bool{false, true} {
				a, b := plain(1), e
				if swap {
					a, b = b, a
				}
				got := compared(t, a, b, compare.Options{})
				if got.Conclusion != compare.NotComparable || got.Comparable {
					t.Errorf("%s: conclusion %s", name, got.Conclusion)
				}
				if !swap && !strings.Contains(strings.Join(got.Warnings, "\n"), c.want) {
					t.Errorf("%s: warnings %q do not say %q", name, got.Warnings, c.want)
				}
				for _, rows := range [][]compare.Row{got.Summary, got.Operations, got.Kernels, got.API} {
					for _, r := range rows {
						if r.Status != "" || r.Significant || r.P != nil {
							t.Errorf("%s: row %+v", name, r)
						}
					}
				}
				gate, _ := compare.ParseGate("regression")
				if failed, _, err := got.Check(gate); failed || err == nil {
					t.Errorf("%s: the gate says %v, %v", name, failed, err)
				}
				var text bytes.Buffer
				if err := report.Markdown(&text, got.Document(), report.Options{}); err != nil || strings.Contains(text.String(), "NaN") {
					t.Errorf("%s: %v\n%s", name, err, text.String())
				}
				if _, err := json.Marshal(got); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestMatchBatch compares runs whose batches are mixed in other shares.
func TestMatchBatch(t *testing.T) {
	small, large := plain(1), plain(2)
	small.steps, large.steps = 120, 120
	small.gens = func(i int) int { return []int{4, 4, 8}[i%3] }
	large.gens = func(i int) int { return []int{4, 8, 8}[i%3] }
	c := compared(t, small, large, compare.Options{Match: compare.MatchBatch})
	if !c.Comparable || c.Conclusion != compare.None {
		t.Errorf("conclusion %s; %q", c.Conclusion, c.Warnings)
	}
	if r := row(t, c.Summary, "wall"); math.Abs(*r.DeltaPercent) > 2 {
		t.Errorf("wall changed by %v %%", *r.DeltaPercent)
	}
	c = compared(t, small, large.with("_update_requests", 440), compare.Options{Match: compare.MatchBatch})
	r := row(t, c.Operations, "_update_requests")
	truth := 40 * (0.5*4 + 0.5*8) / 8.0
	if !r.Significant || r.CI[0] > truth || r.CI[1] < truth {
		t.Errorf("_update_requests: %v, interval %v, want %v", *r.Delta, *r.CI, truth)
	}
	c = compared(t, small, large, compare.Options{Phase: compare.Generation})
	if c.Comparable {
		t.Error("other shares of batches are comparable without a match")
	}
}

// TestLevelShift: a change of level within the runs makes their steps worth few. How many they are
// worth is decided by the steps of each run, and figures stay.
func TestLevelShift(t *testing.T) {
	shifted := func(seed uint64, times float64) engine {
		e := plain(seed)
		e.first = 300
		for name, cost := range e.ops {
			e = e.with(name, cost*times)
		}
		return e
	}
	for times, told := range map[float64]bool{1.1: false, 4: true} {
		c := compared(t, shifted(1, 1), shifted(2, times), compare.Options{})
		w := row(t, c.Summary, "wall")
		if w.Significant != told || (w.Status != "") != told || w.P == nil {
			t.Errorf("%v times as long: %+.0f %%, status %q, significant %v, %q", times, *w.DeltaPercent, w.Status, w.Significant, w.Unknown)
		}
		if told && (w.CI[0] > *w.Delta || w.CI[1] < *w.Delta || w.CI[0] <= 0 && w.CI[1] >= 0) {
			t.Errorf("%v times as long: %v in %v", times, *w.Delta, *w.CI)
		}
	}
}

// TestSelf compares a run with itself, and twice.
func TestSelf(t *testing.T) {
	run := plain(1).run()
	var first []byte
	for range 2 {
		c, err := compare.Compare(run, run, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range append(c.Summary, c.Operations...) {
			if r.Significant || *r.Delta != 0 || *r.P != 1 {
				t.Errorf("%+v", r)
			}
		}
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(data, first) {
			t.Error("the same comparison gives other bytes")
		}
		first = data
	}
}

// TestDifferentLengths compares runs of one engine of other lengths: the cut step
// at the end is another share of each.
func TestDifferentLengths(t *testing.T) {
	short, long := sim60(1), sim60(2)
	short.Steps, long.Steps, short.Tail, long.Tail = 12, 90, 0, 0
	c, err := compare.Compare(simulated(t, short), simulated(t, long), compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Operations {
		if r.Significant || r.CI == nil || r.CI[0] > *r.Delta || r.CI[1] < *r.Delta {
			t.Errorf("%s: %v, interval %v", r.Name, *r.Delta, r.CI)
		}
	}
}

func TestJSONKeys(t *testing.T) {
	two := compared(t, plain(1), plain(2).with("_update_requests", 700), compare.Options{})
	one, err := compare.Compare(plain(1).run(), nil, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*compare.Comparison{two, one} {
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		keys(t, data, "steady", "operations", "kernels", "api", "noise_floor_us", "conclusion", "optimization_handoff", "warnings")
		var pair map[string]json.RawMessage
		json.Unmarshal(doc["steady"], &pair)
		keys(t, pair["baseline"], "steps", "wall_us", "busy_us", "idle_us", "duration_us", "gap_us", "eager_kernels", "graph_kernels", "graph_launches", "gpu_us")
		if got := string(pair["target"]); (got == "null") != (c == one) {
			t.Errorf("target is %s", got)
		}
		var rows []json.RawMessage
		json.Unmarshal(doc["operations"], &rows)
		keys(t, rows[0], "name", "baseline_us", "target_us", "delta_us", "ci_us", "p_value", "status")
		keys(t, doc["optimization_handoff"], "verdict", "primary_bottleneck_phase", "host_prep_confirmed", "top_regressing_ops",
			"recommended_first_target", "wall_time_per_step_us", "inter_step_gap_p50_us", "kernels_per_step")
	}
	if table := two.Table(); table.Len() < 8+3+4 || table.Text(0, "name") != "wall" {
		t.Errorf("table of %d rows", table.Len())
	}
}

func keys(t *testing.T, object []byte, want ...string) {
	t.Helper()
	var have map[string]json.RawMessage
	if err := json.Unmarshal(object, &have); err != nil {
		t.Fatal(err)
	}
	for _, key := range want {
		if _, ok := have[key]; !ok {
			t.Errorf("no key %s in %.60s", key, object)
		}
	}
}

func TestGates(t *testing.T) {
	c := compared(t, plain(1), plain(2).with("_update_requests", 700).with("new", 90), compare.Options{})
	for text, want := range map[string]bool{
		"regression": true, "wall>3%": true, "wall>60%": false, "wall>100us": true, "wall>0.1ms": true, "wall>1ms": false,
		"_update_requests>100us": true, "_update_requests>400us": false, "new>80%": true, "new > 50us": true,
		"_schedule>0us": false, "busy>1%": false, "eager_kernels>2": false,
	} {
		g, err := compare.ParseGate(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		failed, why, err := c.Check(g)
		if err != nil || failed != want || why == "" {
			t.Errorf("%s: %v (%s), %v; want %v", text, failed, why, err, want)
		}
	}
	for _, text := range []string{"", "wall", "wall>", "wall>x%", "wall>3", "wall<3%", ">3%", "eager_kernels>3us", "wall>1.2.3%"} {
		if _, err := compare.ParseGate(text); err == nil {
			t.Errorf("condition %q is accepted", text)
		}
	}
	g, _ := compare.ParseGate("nowhere>1us")
	if _, _, err := c.Check(g); err == nil {
		t.Error("a condition on a row that is not there is accepted")
	}
	same := compared(t, plain(1), plain(2), compare.Options{})
	g, _ = compare.ParseGate("regression")
	if failed, why, err := same.Check(g); failed || err != nil {
		t.Errorf("equal runs fail: %s, %v", why, err)
	}
}

func TestRenames(t *testing.T) {
	c := compared(t, plain(1), plain(2).with("_schedule", 0).with("_schedule_v", 120), compare.Options{})
	if was := row(t, c.Operations, "_schedule_v").Rename; was != "_schedule" {
		t.Errorf("was %q", was)
	}
	if h := c.Handoff; h.FirstTarget != nil || len(h.TopRegressingOps) > 0 {
		t.Errorf("first target %s, operations %+v: a name takes no longer", spelled(h.FirstTarget), h.TopRegressingOps)
	}
	c = compared(t, plain(1), plain(2).with("_schedule", 0).with("other", 600), compare.Options{})
	if was := row(t, c.Operations, "other").Rename; was != "" {
		t.Errorf("was %q", was)
	}
}

// TestStreams refuses streams that lack what it takes, and rows out of order.
func TestStreams(t *testing.T) {
	rows := []eventtest.Row{eventtest.New(event.Kernel, 0, 5, 9, "k")}
	if _, err := compare.Profile(eventtest.Source(eventtest.Header(rows), rows, 8), compare.ProfileOptions{}); err == nil {
		t.Error("a stream without steps is accepted")
	}
	h := eventtest.Header(rows)
	h.Isolation = &event.Isolation{Method: "nvtx"}
	h.Columns |= event.StepCols
	if _, err := compare.Profile(eventtest.Source(h, rows, 8), compare.ProfileOptions{}); err == nil {
		t.Error("a stream without phases is accepted")
	}
	h.Columns |= event.PhaseCols
	rows = append(rows, eventtest.New(event.Kernel, 0, 4, 9, "k"))
	if _, err := compare.Profile(eventtest.Source(h, rows, 8), compare.ProfileOptions{}); err == nil {
		t.Error("rows out of order are accepted")
	}
	run, err := compare.Profile(eventtest.Source(h, nil, 8), compare.ProfileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := compare.Compare(run, nil, compare.Options{}); err != nil || c.Steady.Baseline.Steps != 0 {
		t.Errorf("an empty stream: %v", err)
	}
}
