package gap_test

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/format/nsys"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestLostCPUs has the launching thread lose CPU 3 for 400 us between steps, in the first 5 us of
// which the GPU still works: for half of it
// thread 5 of the rank runs there, then for a quarter a thread of a process without a GPU, then
// nothing does, for which the kernel has a task of number 0. What runs on another CPU, and before
// or after, took nothing; of two reports nobody knows on whose machine a process without a rank ran.
func TestLostCPUs(t *testing.T) {
	const off = 400_000
	for _, reports := range []int{1, 2} {
		e := &engine{now: 1_000}
		var elsewhere []eventtest.Row
		run := func(thread, from, to int64, cpu int32) {
			r := hostRow(event.Run, from, to, "", -1, cpu)
			if r.Thread = thread; thread != 5 {
				r.Rank = -1
				elsewhere = append(elsewhere, r)
				return
			}
			e.rows = append(e.rows, r)
		}
		from := e.now
		e.steps(40, func() { e.layer(); e.layer() }, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
			run(5, e.now, e.now+off/2, 3)
			run(77, e.now+off/2, e.now+off*3/4, 3)
			run(0, e.now+off*3/4, e.now+off, 3)
			run(78, e.now, e.now+off, 4)
			e.now += off
			from = e.now
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		eventtest.Sort(e.rows)
		eventtest.Sort(elsewhere)
		rows := append(e.rows, elsewhere...)
		h := eventtest.Header(rows)
		h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Runs: 81, OSCalls: 1}}
		want := "The CPU that they lost went to thread 5 of rank 0 (49.4 % of that time) and thread 77 of a process without a GPU (25.3 %). For 25.3 %"
		if reports == 2 {
			h.Reports = append(h.Reports, event.Report{File: "other.sqlite"})
			want = "The CPU that they lost went to thread 5 of rank 0 (49.4 % of that time). For 50.6 %"
		}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, rows, 512), isolate.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := has(rep, "AFFINITY")
		if f == nil || !strings.Contains(f.Text, want) || !strings.Contains(f.Do, "system-wide") {
			t.Fatalf("%d reports: %+v", reports, f)
		}
	}
}

// TestLostCPUsOfRuns has each rank lose its CPU to a thread of its own process: both are named with
// their part, and nobody else, and there is nothing more to record.
func TestLostCPUsOfRuns(t *testing.T) {
	c := sim.Default()
	c.Ranks, c.Layers, c.Steps, c.Warmup = 2, 4, 40, 0
	c.Why = sim.HostCause{Kind: "descheduled", US: 2500}
	src, err := nsys.Open(testrun.Simulate(t, c, false), nsys.Options{Host: []event.Kind{event.OS, event.Run}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	rep, err := gap.Compute(testrun.Phased(t, src, isolate.Options{By: "nvtx"}), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := has(rep, "AFFINITY")
	if f == nil {
		t.Fatalf("%+v", rep.Findings)
	}
	_, there, _ := strings.Cut(f.Text, "went to ")
	if strings.Count(there, "thread ") != 2 || strings.Count(there, "of rank 0 (") != 1 || strings.Count(there, "of rank 1 (") != 1 || strings.Contains(f.Text, "no recorded thread") || strings.Contains(f.Do, "system-wide") {
		t.Errorf("%s: %s", f.Text, f.Do)
	}
}
