package gap_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// waiting makes steps of 100 us, in each of which the host waits 60 us for the GPU in
// the sampler's range, and launches a kernel of 20 us in the step's.
func waiting(steps int) []eventtest.Row {
	const us = 1000
	var rows []eventtest.Row
	host := func(kind event.Kind, class event.Class, name string, from, to int64) *eventtest.Row {
		r := eventtest.New(kind, 0, from*us, to*us, name)
		r.Thread, r.Class = 1, class
		rows = append(rows, r)
		return &rows[len(rows)-1]
	}
	for i := range int64(steps) {
		at := 1 + 100*i
		host(event.NVTX, event.StepMarker, fmt.Sprintf("_forward_step %d: 0 ctx reqs, 8 gen reqs", i), at, at+20)
		launch := host(event.API, event.Launch, "cudaLaunchKernel", at+5, at+10)
		launch.Correlation = i + 1
		k := eventtest.New(event.Kernel, 0, launch.End, launch.End+20*us, "gemm_kernel")
		k.Device, k.Stream, k.Class, k.Correlation = 0, 7, event.GEMM, launch.Correlation
		k.LaunchStart, k.LaunchEnd, k.LaunchThread = launch.Start, launch.End, 1
		rows = append(rows, k)
		host(event.NVTX, event.Range, "sample", at+20, at+90)
		host(event.API, event.APISync, "cudaDeviceSynchronize", at+25, at+85)
	}
	eventtest.Sort(rows)
	return rows
}

// A wait that is most of the idle time is named by call and by place, in the report
// and in its text.
func TestSites(t *testing.T) {
	rows := waiting(20)
	tagged, isolated := testrun.PhasedRows(t, eventtest.Header(rows), rows, isolate.Options{By: step.NVTX})
	rep, err := gap.Compute(eventtest.Source(tagged, isolated, 64), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, rep)
	cause := rep.Idle.Causes[0]
	// 55 of the 80 us between two kernels, 19 times: the last period ends before.
	if cause.Cause != "sync" || cause.Ns != 19*55_000 || len(cause.Sites) != 1 {
		t.Fatalf("first cause %+v, want sync", cause)
	}
	if s := cause.Sites[0]; s.Site != "cudaDeviceSynchronize" || s.Path != "sample" || s.Ns != cause.Ns || s.Us != cause.Us {
		t.Errorf("site %+v", s)
	}
	// All but what is before the first kernel ends with the first activity of a
	// step; the window begins with that of the first one.
	if inter := *rep.Idle.InterStepUs; inter != rep.Idle.TotalUs {
		t.Errorf("%v of %v us are between steps", inter, rep.Idle.TotalUs)
	}
	var page bytes.Buffer
	if err := report.Markdown(&page, rep.Document(""), report.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"of the benchmark window: ", "`sync`: 100.0 % of that in `cudaDeviceSynchronize`, in `sample`.", "| `sync`   | `cudaDeviceSynchronize` |",
		"All of the benchmark window is 20 generation steps.",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is not in\n%s", want, page.String())
		}
	}
}

// The sites of a cause add up to it.
func TestSitesAddUp(t *testing.T) {
	rep := compute(t, "auto", gap.Options{}, testrun.Simulate(t, eagerRun(), false)...)
	causes := rep.Idle.Causes
	for _, p := range rep.Idle.Phases {
		causes = append(causes, p.Causes...)
	}
	for _, c := range causes {
		sum := int64(0)
		for _, s := range c.Sites {
			sum += s.Ns
		}
		without := slices.Contains([]string{"untraced", "gil", "gc", "tail"}, c.Cause)
		if without != (len(c.Sites) == 0) || !without && sum != c.Ns {
			t.Errorf("%s: %d ns at %d sites, want %d", c.Cause, sum, len(c.Sites), c.Ns)
		}
	}
}

// The same input makes the same bytes.
func TestSameBytes(t *testing.T) {
	paths := testrun.Simulate(t, eagerRun(), false)
	var want string
	for range cases.Few(3, 3, 8) {
		rep := compute(t, "auto", gap.Options{PerStep: true}, paths...)
		data, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(data)
		} else if string(data) != want {
			t.Fatal("not the same bytes")
		}
	}
}

// Rows may be chosen: the first segments missing, or the window row.
func TestChosenRows(t *testing.T) {
	h, rows := eventtest.Decode(30)
	tagged, isolated := testrun.PhasedRows(t, h, rows, isolate.Options{By: step.Allreduce})
	from, segment := int64(0), int64(0)
	for i := range isolated {
		if r := &isolated[i]; r.Kind == event.Step && r.Step == 12 {
			from = r.Start
		}
		if r := &isolated[i]; r.Kind == event.Step || r.Kind == event.Window {
			r.Segment += 3
			segment = r.Segment
		}
	}
	for _, window := range []bool{true, false} {
		var chosen []eventtest.Row
		for _, r := range isolated {
			if r.Kind == event.Window && window || r.Kind != event.Window && r.Start >= from {
				chosen = append(chosen, r)
			}
		}
		rep, err := gap.Compute(eventtest.Source(tagged, chosen, 100), gap.Options{})
		if err != nil {
			t.Fatalf("from segment %d, window row %v: %v", segment, window, err)
		}
		checkSums(t, rep)
		if rep.Idle.Steps == 0 || rep.Idle.WindowUs == 0 || rep.Idle.TotalUs == 0 {
			t.Errorf("window row %v: %d steps, idle %v of %v us", window, rep.Idle.Steps, rep.Idle.TotalUs, rep.Idle.WindowUs)
		}
		warned := slices.ContainsFunc(rep.Warnings, func(s string) bool { return strings.Contains(s, "all of its steps count") })
		if warned == window {
			t.Errorf("window row %v: warnings %q", window, rep.Warnings)
		}
	}
}

// Where no steps were found the figures are of the whole trace, and say so.
func TestNoSteps(t *testing.T) {
	h, rows := eventtest.Decode(6)
	want, err := gap.Compute(eventtest.Source(h, rows, 100), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	isolated := *h
	isolated.Isolation = &event.Isolation{Method: step.Graph}
	isolated.Columns |= event.StepCols
	got, err := gap.Compute(eventtest.Source(&isolated, rows, 100), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got.Warnings, "no steps were found: the figures are of the whole trace") {
		t.Errorf("warnings %q", got.Warnings)
	}
	got.Warnings = want.Warnings
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) || got.Idle.TotalUs == 0 || got.Idle.Window != gap.WindowTrace {
		t.Errorf("%s, want %s", a, b)
	}
	isolated.Isolation.Method = step.None // which the stream's own warnings say
	if got, err = gap.Compute(eventtest.Source(&isolated, rows, 100), gap.Options{}); err != nil {
		t.Fatal(err)
	}
	if a, _ = json.Marshal(got); string(a) != string(b) {
		t.Errorf("without a method %s, want %s", a, b)
	}
}

// What was not recorded is in no window and no gap.
func TestUnrecorded(t *testing.T) {
	rows := waiting(40)
	h := eventtest.Header(rows)
	const from, to = 1_935_000, 3_001_000 // between two steps; 2 us before, 0 after
	rows = slices.DeleteFunc(rows, func(r eventtest.Row) bool { return r.Start >= from && r.Start < to })
	span := h.Span(0)
	span.Unrecorded = [][2]int64{{from, to}}
	h.Reports[0].RankFacts = []event.RankFacts{{RankSpan: span, Markers: 30, Launches: 30, Kernels: 30}}
	tagged, isolated := testrun.PhasedRows(t, h, rows, isolate.Options{By: step.NVTX})
	for _, window := range []string{gap.WindowBenchmark, gap.WindowTrace} {
		rep, err := gap.Compute(eventtest.Source(tagged, isolated, 64), gap.Options{Window: window})
		if err != nil {
			t.Fatal(err)
		}
		checkSums(t, rep)
		for _, g := range rep.Gaps.Top {
			if g.GapUs > 80 {
				t.Errorf("%s: a gap of %v us", window, g.GapUs)
			}
		}
		if whole := 4000.0; rep.Idle.WindowUs > whole-(to-from)/1e3 {
			t.Errorf("%s: window of %v us, %v us were not recorded", window, rep.Idle.WindowUs, (to-from)/1e3)
		}
	}
}
