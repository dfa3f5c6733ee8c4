package gap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/step/isolate"
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
		if f := has(rep, "AFFINITY"); (f != nil) == test.call || f != nil && !strings.Contains(f.Text, "They change CPU") {
			t.Errorf("%s: %+v", test.name, f)
		}
	}
}

// TestMeanwhileElsewhere has the launching thread of rank 0 wait for a thread of a process
// that is no rank, whose rows come at the end: it is named as such. What runs all the time is
// not, and neither is anyone where nobody knows whose machine it ran on.
func TestMeanwhileElsewhere(t *testing.T) {
	const off, other, always = 400_000, 77, 78
	e := &engine{now: 1_000}
	var elsewhere []eventtest.Row
	run := func(thread, from, to int64) {
		r := hostRow(event.Run, from, to, "", -1, 5)
		r.Rank, r.Thread = -1, thread
		elsewhere = append(elsewhere, r)
	}
	from := e.now
	e.steps(40, func() { e.layer(); e.layer() }, func() {
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, e.now, e.now+off, "poll", event.OSIO, -1))
		run(other, e.now+off/4, e.now+off)
		e.now += off
		from = e.now
	})
	e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
	eventtest.Sort(e.rows)
	for len(elsewhere)%8 != 7 { // so that their nulls fill whole bytes of a bitmap
		run(always+1, 0, 1)
	}
	run(always, 0, e.now)
	eventtest.Sort(elsewhere)
	rows := append(e.rows, elsewhere...)
	for reports := 1; reports <= 2; reports++ {
		h := eventtest.Header(rows)
		h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Runs: 41, OSCalls: 40}}
		if reports == 2 {
			h.Reports = append(h.Reports, event.Report{File: "other.sqlite"})
		}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, rows, 512), isolate.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := rep.Idle.Meanwhile
		switch {
		case reports == 2 && len(m) > 0:
			t.Errorf("of two reports: %+v", m)
		case reports == 2:
		case len(m) != 1 || m[0].Thread != other || m[0].Rank != nil || m[0].Share < 0.74 || m[0].Share > 0.76 || m[0].Lift < minLift:
			t.Errorf("%+v", m)
		}
	}
}

// TestNeighbourRank has the launching thread of rank 0 wait in a call for 400 us of each step
// while a thread of rank 1 in the same report runs, then or all the time.
func TestNeighbourRank(t *testing.T) {
	const off = 400_000
	for _, always := range []bool{false, true} {
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, func() { e.layer(); e.layer() }, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
			e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+off, "poll", event.OSIO, -1))
			if !always {
				e.rows = append(e.rows, ofRankOne(hostRow(event.Run, e.now, e.now+off, "", -1, 9)))
			}
			e.now += off
			from = e.now
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		if always {
			e.rows = append(e.rows, ofRankOne(hostRow(event.Run, 0, e.now, "", -1, 9)))
		}
		for _, r := range slices.Clone(e.rows) { // rank 1 works as rank 0 does, and nobody knows when its thread 1 runs
			if r.Kind != event.Run && r.Kind != event.OS {
				e.rows = append(e.rows, ofRankOne(r))
			}
		}
		eventtest.Sort(e.rows)
		h := eventtest.Header(e.rows)
		eventtest.OneReport(h)
		h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Runs: 41, OSCalls: 41}, {Rank: 1, Runs: h.Reports[0].Rows["run"] - 41}}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, e.rows, 512), isolate.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := rep.Idle.Meanwhile
		if always != (len(m) == 0) || !always && (m[0].Rank == nil || *m[0].Rank != 1 || m[0].Thread != 5 || !m[0].Elsewhere || m[0].Share < 0.95) {
			t.Errorf("%v: %+v", always, m)
		}
	}
}

// ofRankOne is a row of rank 1, of thread 5 where it is a run.
func ofRankOne(r eventtest.Row) eventtest.Row {
	if r.Rank = 1; r.Kind == event.Run {
		r.Thread = 5
	}
	return r
}

// minLift is how much more than in the window a thread runs that is named.
const minLift = 1.5

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
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, e.rows, 512), isolate.Options{By: "nvtx"}), gap.Options{})
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
		if f := has(rep, "AFFINITY"); f == nil || !strings.Contains(f.Text, "They change CPU") {
			t.Errorf("%+v: %+v", test, f)
		}
	}
}

// Runs on a CPU without a number, where they are few, change nothing of where threads ran; with more
// that is not known.
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
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, e.rows, 512), isolate.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := rep.Idle.Placement
		if (len(p) == 1) != known {
			t.Fatalf("%d runs without: %+v", unknown, p)
		}
		if known && (p[0].Migrations > 149 || p[0].Migrations < 145) {
			t.Errorf("%d runs without: %d migrations", unknown, p[0].Migrations)
		}
	}
}
