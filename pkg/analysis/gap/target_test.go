package gap_test

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/findings"
	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Whatever a trace with idle time is to begin with has a name in the hand-off, also where it has
// no place.
func TestEveryFindingHasATarget(t *testing.T) {
	for _, e := range findings.Catalogue() {
		f := &findings.Finding{Pattern: e.Pattern, Target: e.Target}
		if e.Each != "all" {
			f.Site = new("a call")
		}
		if has := gap.TargetOf(f) != ""; has != (e.Pattern != "LOW_LOAD") && len(e.Treat) > 0 {
			t.Errorf("%s, case %v: a target %t", e.Pattern, e.Is, has)
		}
	}
}

// Where no finding is worth as much, what to begin with is the operation that most idle time is
// in, with what to do about it.
func TestOperation(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(20, func() { e.replay("nvjet_a", "nvjet_b", "nvjet_c") }, func() {
		e.call("cudaEventSynchronize", event.APISync, 30_000)
		e.span("collate", event.Range, func() { e.now += 400_000 })
		e.span("enqueue", event.Range, func() { e.now += 150_000 })
	})
	rep := e.report(t)
	f := seenAs(rep.First)
	if f == nil || f.Pattern != "HOST_WORK" || f.Path != "collate" || f.UsStep < 350 || f.UsStep > 450 || !strings.HasSuffix(f.Text, "is in collate") || f.Do != "do less of host:collate" {
		t.Fatalf("first %+v", f)
	}
	if target := rep.Handoff.FirstTarget; target == nil || *target != "collate" {
		t.Errorf("first target %v", target)
	}
}

// Without steps, too, idle time in calls that load code is a finding.
func TestLoadsWithoutSteps(t *testing.T) {
	e := &engine{now: 1_000}
	for range 20 {
		e.call("cuModuleLoadData", event.Other, 300_000)
		e.layer()
	}
	eventtest.Sort(e.rows)
	rep, err := gap.Compute(eventtest.Source(eventtest.Header(e.rows), e.rows, 512), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := has(rep, "JIT"); f == nil || f.UsStep < 0.95*rep.Idle.TotalUs || f.UsStep > rep.Idle.TotalUs {
		t.Errorf("%+v of %v us", f, rep.Idle.TotalUs)
	}
}

// What nsys would have recorded more is no option of PyTorch's profiler.
func TestTorchHasNoOptions(t *testing.T) {
	e := &engine{now: 1_000}
	e.steps(20, e.layer, func() { e.now += 400_000 })
	h := eventtest.Header(e.rows)
	h.Reports[0].Source = "torch"
	rep, err := gap.Compute(eventtest.Source(h, e.rows, 512), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Idle.Unrecorded) == 0 || rep.Idle.Record != "" {
		t.Errorf("%+v, %q", rep.Idle.Unrecorded, rep.Idle.Record)
	}
	for _, m := range rep.Idle.Unrecorded {
		if m.Option != "" {
			t.Errorf("%+v", m)
		}
	}
}

// The hand-off has what is known of kernels.
func TestKernelLevel(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(20, func() {
		for range 6 {
			e.layer()
		}
	}, func() { e.now += 700_000 })
	rep := e.report(t)
	k := rep.Handoff.KernelLevel
	if k == nil || k.GraphCoverage == nil || *k.GraphCoverage != 0 || len(k.Capturable) == 0 || k.LongestGap == nil || *k.LongestGap != rep.Gaps.Top[0].GapUs || k.Straggler != nil {
		t.Fatalf("%+v", k)
	}
	if rep.Pattern != nil && (k.LayerKernels == nil || *k.LayerKernels != rep.Pattern.Length) {
		t.Errorf("%+v, and the layer has %d kernels", k, rep.Pattern.Length)
	}
}
