package gap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestMeanwhile has the launching thread wait for 400 us between steps while thread 2 runs,
// which it does only then, or all the time; or lose its CPU, and come back to another one.
func TestMeanwhile(t *testing.T) {
	const off = 400_000
	for _, test := range []struct {
		name      string
		call      bool // it waits in a call
		always    bool // thread 2 runs all the time
		meanwhile bool
	}{
		{"who is waited for", true, false, true},
		{"who runs anyway", true, true, false},
		{"no CPU", false, false, false},
	} {
		e := &engine{now: 1_000}
		from, cpu := e.now, int32(3)
		e.steps(40, func() { e.layer(); e.layer() }, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, cpu))
			if test.call {
				e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+off, "pthread_cond_wait", event.OSWait, -1))
			}
			if !test.always {
				other := hostRow(event.Run, e.now, e.now+off, "", -1, cpu+1)
				other.Thread = 2
				e.rows = append(e.rows, other)
			}
			e.now += off
			from, cpu = e.now, 7-cpu
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, cpu), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		if test.always {
			other := hostRow(event.Run, 0, e.now, "", -1, 9)
			other.Thread = 2
			e.rows = append(e.rows, other)
		}
		eventtest.Sort(e.rows)
		rep := e.report(t)
		if found := len(rep.Idle.Meanwhile) == 1 && rep.Idle.Meanwhile[0].Thread == 2; found != test.meanwhile || !found && len(rep.Idle.Meanwhile) > 0 {
			t.Errorf("%s: %+v", test.name, rep.Idle.Meanwhile)
		}
		if len(rep.Idle.Placement) != 1 {
			t.Fatalf("%s: %+v", test.name, rep.Idle.Placement)
		}
		p := rep.Idle.Placement[0]
		if p.Thread != 1 || *p.PerStep < 0.9 || *p.PerStep > 1.1 {
			t.Errorf("%s: %+v, %v per step", test.name, p, *p.PerStep)
		}
		if f := has(rep, "AFFINITY"); (f != nil) == test.call || f != nil && !strings.Contains(f.Text, "changes of CPU per step") {
			t.Errorf("%s: %+v", test.name, f)
		}
	}
}

// TestPlacement has the launching thread change between CPUs 3 and 4 with each step: between
// sockets and away from the GPU, where the recording says so, else that is null.
func TestPlacement(t *testing.T) {
	const off = 400_000
	for _, test := range []struct {
		sockets, nodes, gpus []int32
		crossings, far       bool // known
		text                 string
	}{
		{text: "changes of the CPU per step)"},
		{sockets: []int32{0, 0, 0, 0, 1}, crossings: true, text: "100 % of them to another socket"},
		{sockets: []int32{0, 0, 0, 0, 0}, nodes: []int32{0, 0, 0, 0, 1}, gpus: []int32{1}, crossings: true, far: true, text: "NUMA node"},
		{sockets: []int32{0}, nodes: []int32{0, 0, 0, 0, 1}, crossings: true},
	} {
		e := &engine{now: 1_000}
		from, cpu := e.now, int32(3)
		e.steps(40, func() { e.layer(); e.layer() }, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, cpu))
			e.now += off
			from, cpu = e.now, 7-cpu
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, cpu), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		eventtest.Sort(e.rows)
		h := eventtest.Header(e.rows)
		h.Reports[0].Sockets, h.Reports[0].Nodes = test.sockets, test.nodes
		h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Runs: 41, OSCalls: 1, GPUNodes: test.gpus}}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, e.rows, 512), step.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := rep.Idle.Placement[0]
		if (p.Crossings != nil) != test.crossings || (p.FarUs != nil) != test.far {
			t.Errorf("%+v: %+v", test, p)
		}
		if test.far && (*p.FarUs < 0.4*p.OnCPUUs || *p.FarUs > 0.6*p.OnCPUUs) {
			t.Errorf("%v us of %v us far from the GPU", *p.FarUs, p.OnCPUUs)
		}
		if f := has(rep, "AFFINITY"); f == nil || !strings.Contains(f.Text, "changes of CPU per step") {
			t.Errorf("%+v: %+v", test, f)
		}
	}
}

// Runs on a CPU without a number, where they are few, change nothing of where threads ran; of
// more it is said that this is not known.
func TestFewRunsWithoutCPU(t *testing.T) {
	for unknown, known := range map[int]bool{0: true, 1: true, 8: false} {
		e := &engine{now: 1_000}
		from, cpu, n := e.now, int32(3), 0
		next := func() int32 {
			if n++; n > 20 && n <= 20+unknown {
				return event.SomeCPU
			}
			return cpu
		}
		e.steps(150, func() { e.layer(); e.layer() }, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, next()))
			e.now += 400_000
			from, cpu = e.now, 7-cpu
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, next()), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		eventtest.Sort(e.rows)
		h := eventtest.Header(e.rows)
		h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Runs: 151, OSCalls: 1}}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, e.rows, 512), step.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(rep.Warnings, func(w string) bool { return strings.Contains(w, "it is not recorded on which one") })
		p := rep.Idle.Placement
		if (len(p) == 1) != known || said == known {
			t.Fatalf("%d runs without: %+v, warnings %q", unknown, p, rep.Warnings)
		}
		if known && (p[0].Migrations > 149 || p[0].Migrations < 145) {
			t.Errorf("%d runs without: %d migrations", unknown, p[0].Migrations)
		}
	}
}
