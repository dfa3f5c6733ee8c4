package gap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// A distribution that was published of a run with piecewise graphs: the buckets,
// their counts and their shares.
func TestPublishedDistribution(t *testing.T) {
	const ms = 1_000_000
	var rows []eventtest.Row
	at := int64(1000)
	kernel := func(name string) {
		r := eventtest.New(event.Kernel, 0, at, at+2_000, name)
		r.Device, r.Stream, r.Class = 0, 7, event.GEMM
		rows = append(rows, r)
		at += 2_000
	}
	kernel("first")
	add := func(n, total int64) {
		for i := range n {
			at += total / n
			if i < total%n {
				at++
			}
			kernel("next")
		}
	}
	// 956 ms are 39.6 %, so all gaps are 2,414 ms; the rest is in others.
	add(13_543, 956*ms)
	add(200, 313*ms)
	add(21, 237*ms)
	add(4_540, 908*ms)
	rep, err := gap.Compute(eventtest.Source(eventtest.Header(rows), rows, event.BatchRows), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		bucket int
		text   string
	}{
		{4, "13543 gaps, 956 ms, 39.6 %"}, {7, "200 gaps, 313 ms, 13.0 %"}, {8, "21 gaps, 237 ms, 9.8 %"},
	} {
		b := rep.Gaps.Buckets[want.bucket]
		if got := fmt.Sprintf("%d gaps, %.0f ms, %.1f %%", b.Count, b.TotalUs/1e3, 100*b.Share); got != want.text {
			t.Errorf("%s, want %s", got, want.text)
		}
	}
	if !strings.Contains(rep.Gaps.Dominant, "piecewise") {
		t.Errorf("dominant: %q", rep.Gaps.Dominant)
	}
	var page bytes.Buffer
	if err := report.Markdown(&page, rep.Document("gaps"), report.Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "Gaps of 50 µs to 100 µs hold the largest share of the time in gaps, 39.6 %."; !strings.Contains(page.String(), want) || strings.Contains(page.String(), rep.Gaps.Dominant) {
		t.Errorf("no %q, or what gaps of that length come from as a rule is said of these", want)
	}
	if !strings.Contains(page.String(), "|  50 µs to 100 µs | 13543 |        956 | 39.6 % |") {
		t.Errorf("no such line in\n%s", page.String())
	}
}

// Where the GPUs hardly wait there is nothing to do about it.
func TestNegligible(t *testing.T) {
	for idle, want := range map[float64]string{9: "Nothing here: the GPUs work nearly all the time.", 11: "No host operation stands out: the GPUs are busy 98.9 % of the time"} {
		rep := &gap.Report{}
		rep.Idle.WindowUs, rep.Idle.TotalUs, rep.Idle.GPUs, rep.Idle.Steps = 1000, idle, 1, 1
		var page bytes.Buffer
		if err := report.Markdown(&page, rep.Document(""), report.Options{}); err != nil || !strings.Contains(page.String(), want) || !strings.Contains(page.String(), " per step (1 rank-step).") {
			t.Error(idle, err, page.String())
		}
	}
}

// While the replay of a whole graph runs the GPU is not idle.
func TestWholeGraphsAreBusy(t *testing.T) {
	c := sim.Default()
	c.Mode, c.Warmup, c.Steps = sim.Whole, 0, 20
	whole := compute(t, "nvtx", gap.Options{}, testrun.Simulate(t, c, false)...)
	c.Mode = sim.Node
	node := compute(t, "nvtx", gap.Options{}, testrun.Simulate(t, c, false)...)
	if whole.Graph.Whole == 0 || node.Graph.Whole != 0 {
		t.Fatalf("%d and %d whole replays", whole.Graph.Whole, node.Graph.Whole)
	}
	// What is between the kernels of a replay is idle only where it can be seen.
	for _, cause := range whole.Idle.Causes {
		if cause.Cause == "graph" {
			t.Errorf("%v us idle inside of replays that were recorded as a whole", cause.Us)
		}
	}
	inside := 0.0
	for _, cause := range node.Idle.Causes {
		if cause.Cause == "graph" {
			inside = cause.Us
		}
	}
	if d := node.Idle.TotalUs - inside - whole.Idle.TotalUs; d > 0.02*node.Idle.TotalUs || d < -0.02*node.Idle.TotalUs {
		t.Errorf("idle %v us with whole graphs, %v us with their kernels, %v of it inside graphs", whole.Idle.TotalUs, node.Idle.TotalUs, inside)
	}
}

// Replays that were not recorded look like idle time: the report says so.
func TestPartialRecording(t *testing.T) {
	for _, mode := range []sim.Mode{sim.Node, sim.Whole} {
		c := sim.Default()
		c.Mode, c.Dropped, c.Warmup, c.Steps = mode, 0.82, 0, 60
		rep := compute(t, "nvtx", gap.Options{}, testrun.Simulate(t, c, false)...)
		if len(rep.Graph.Partial) != 2 {
			t.Fatalf("%s: partial ranks %+v, want 2", mode, rep.Graph.Partial)
		}
		p := rep.Graph.Partial[0]
		if share := float64(p.Recorded) / float64(p.GraphLaunches); share < 0.08 || share > 0.3 {
			t.Errorf("%s: %v of the replays recorded, want about 0.18", mode, share)
		}
		found := false
		for _, f := range all(rep) {
			found = found || f.Pattern == "RECAPTURE" && strings.Contains(f.Do, "nsys profile")
		}
		if !found {
			t.Errorf("%s: no finding %s in %+v", mode, "RECAPTURE", rep.Findings)
		}
	}
}

func TestRefusesWhatIsNotInOrder(t *testing.T) {
	h, rows := eventtest.Decode(3)
	rows[100], rows[200] = rows[200], rows[100]
	if _, err := gap.Compute(eventtest.Source(h, rows, 64), gap.Options{}); err == nil {
		t.Error("no error for rows out of order")
	}
	if _, err := gap.Compute(eventtest.Source(h, nil, 64), gap.Options{Window: "all"}); err == nil {
		t.Error("no error for a window that there is not")
	}
}

func TestEmpty(t *testing.T) {
	h, _ := eventtest.Decode(1)
	for _, header := range []*event.Header{h, {Columns: event.BaseCols}} {
		rep, err := gap.Compute(eventtest.Source(header, nil, 64), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := report.Markdown(&page, rep.Document(""), report.Options{}); err != nil || page.Len() == 0 {
			t.Error("no page")
		}
		for _, part := range gap.Reports {
			if _, err := rep.Table(part); err != nil {
				t.Error(err)
			}
		}
		if _, err := json.Marshal(rep); err != nil {
			t.Error(err)
		}
	}
}

// The fixed keys of the JSON form, and null where there is nothing to say.
func TestJSON(t *testing.T) {
	c := sim.Default()
	c.Warmup, c.Steps = 0, 12
	rep := compute(t, "auto", gap.Options{PerStep: true, Source: func(s string) string {
		if s == "_prepare_inputs" {
			return "ModelEngine.prepare"
		}
		return ""
	}}, testrun.Simulate(t, c, false)...)
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	var form map[string]any
	if err := json.Unmarshal(data, &form); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"idle.total_us", "idle.causes.0.cause", "idle.causes.0.us", "idle.causes.0.share", "idle.causes.0.us_per_step",
		"gaps.buckets.0.lower_us", "gaps.buckets.0.upper_us", "gaps.buckets.0.count", "gaps.buckets.0.total_us",
		"gaps.buckets.0.share", "gaps.buckets.0.source", "gaps.top.0.gap_us", "gaps.top.0.previous", "gaps.top.0.next",
		"graph.coverage", "graph.kernels", "graph.replayed", "graph.launches", "graph.recorded",
		"graph.eager.0.name", "graph.eager.0.class", "graph.eager.0.count", "graph.eager.0.range",
		"pattern.length", "pattern.repetitions", "pattern.groups.0.group", "pattern.groups.0.first", "pattern.groups.0.last",
		"pattern.groups.0.class", "pattern.groups.0.gap_us", "pattern.groups.0.gap_us_per_step",
		"straggler.rank", "straggler.share_of_steps", "straggler.late_us_per_step", "straggler.causes", "straggler.clock_error_us",
		"findings", "warnings",
	} {
		var at any = form
		for key := range strings.SplitSeq(path, ".") {
			switch v := at.(type) {
			case map[string]any:
				var ok bool
				if at, ok = v[key]; !ok {
					t.Fatalf("no %s", path)
				}
			case []any:
				if len(v) == 0 {
					t.Fatalf("nothing in %s", path)
				}
				at = v[0]
			}
		}
	}
	if rep.Gaps.Buckets[8].UpperUs != nil {
		t.Error("the last bucket has an end")
	}
	var sourced bool
	for _, c := range rep.Idle.Causes {
		sourced = sourced || c.Cause == "host:_prepare_inputs" && c.Source == "ModelEngine.prepare"
	}
	if !sourced {
		t.Error("_prepare_inputs has no source")
	}
	for _, part := range gap.Reports {
		tab, err := rep.Table(part)
		if err != nil || tab.Len() == 0 {
			t.Errorf("%s: %v, %+v", part, err, tab)
			continue
		}
		var out bytes.Buffer
		w := table.NewWriter(&out, table.JSON)
		if err := errors.Join(w.Write(tab), w.Close()); err != nil {
			t.Error(err)
		}
		if err := report.Markdown(&out, rep.Document(part), report.Options{}); err != nil {
			t.Error(err)
		}
	}
}

// What is known where few states are kept adds up to all the same, and what is not known is
// untraced and said to be.
func TestForgotten(t *testing.T) {
	seeds := uint64(300)
	if os.Getenv("HOSTBOUND_ALL") == "" {
		seeds = 60
	}
	said := 0
	for seed := range seeds {
		h, rows := randomRows(seed)
		if len(h.Reports) == 0 {
			continue
		}
		opt := gap.Options{PerStep: true}
		tagged, isolated := smallSteps(t, h, rows, step.NVTX, false)
		for _, in := range []event.Source{eventtest.Source(tagged, isolated, 7), eventtest.Source(h, rows, 7)} {
			gap.SetMaxStates(t, 1<<20)
			all, err := eventtest.Ready(in)
			if err != nil {
				t.Fatal(err)
			}
			want, err := gap.Compute(all, opt)
			if err != nil {
				t.Fatal(err)
			}
			gap.SetMaxStates(t, 4)
			all.Rewind()
			got, err := gap.Compute(all, opt)
			if err != nil {
				t.Fatal(err)
			}
			checkSums(t, got)
			if got.Idle.TotalUs != want.Idle.TotalUs {
				t.Fatalf("seed %d: idle %v us, want %v", seed, got.Idle.TotalUs, want.Idle.TotalUs)
			}
			for i, s := range want.Idle.PerStep {
				if got.Idle.PerStep[i].TotalUs != s.TotalUs {
					t.Fatalf("seed %d, step %d of rank %d: idle %v us, want %v", seed, s.Step, s.Rank, got.Idle.PerStep[i].TotalUs, s.TotalUs)
				}
			}
			causes := map[string]float64{}
			for _, c := range want.Idle.Causes {
				causes[c.Cause] = c.Us
			}
			for _, c := range got.Idle.Causes {
				if c.Cause != "untraced" && c.Us > causes[c.Cause]+0.001 {
					t.Errorf("seed %d: %v us of %s, want at most %v", seed, c.Us, c.Cause, causes[c.Cause])
				}
				if c.Cause == "untraced" && c.Us > causes[c.Cause]+0.001 {
					said++
					if !slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.Contains(w, "what the launching thread did is unknown") }) {
						t.Errorf("seed %d: %q", seed, got.Warnings)
					}
				}
			}
		}
	}
	if said < 20 {
		t.Errorf("only %d runs say so", said)
	}
}
