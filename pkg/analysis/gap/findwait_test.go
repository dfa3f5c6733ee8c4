package gap_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestLockStacks has the launching thread wait for 400 us between steps in a call whose stack is
// that of Python's interpreter lock, while thread 2 runs as it always does: that is GIL_CONTENTION,
// not what another sends. Other stacks are not, and where ranges tell of the lock these are believed.
func TestLockStacks(t *testing.T) {
	const off = 400_000
	for _, test := range []struct {
		family event.Class
		ranges bool
		gil    bool
	}{{event.GIL, false, true}, {event.Libc, false, false}, {event.GIL, true, true}} {
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, e.layer, func() {
			stack := hostRow(event.Backtrace, e.now, e.now+off, "", test.family, -1)
			stack.Stack = 0
			e.rows = append(e.rows, stack, hostRow(event.Run, from, e.now, "", -1, 3),
				hostRow(event.OS, e.now, e.now+off, "pthread_cond_timedwait", event.OSWait, -1))
			if test.ranges {
				e.span("Waiting for GIL", event.GIL, func() { e.now += off })
			} else {
				e.now += off
			}
			from = e.now
		})
		other := hostRow(event.Run, 0, e.now, "", -1, 5)
		other.Thread = 2
		e.rows = append(e.rows, other, hostRow(event.Run, from, e.now, "", -1, 3))
		eventtest.Sort(e.rows)
		rep := e.report(t)
		f := has(rep, gap.GIL)
		if (f != nil) != test.gil || (has(rep, gap.Wait) != nil) == test.gil {
			t.Fatalf("%+v: found %+v", test, rep.Findings)
		}
		if by := "by the stacks of their calls (meanwhile thread 2 of rank 0 runs:"; f != nil && (f.UsStep < 380 || f.UsStep > 401 || strings.Contains(f.Evidence, by) == test.ranges) {
			t.Errorf("%+v: %v us per step, %s", test, f.UsStep, f.Evidence)
		}
	}
}

// TestRanBeside has the launching thread wait for nearly all of the window, in which thread 2
// cannot run much more than in the whole of it: it is named if it rests elsewhere, and is not if
// it runs there, too.
func TestRanBeside(t *testing.T) {
	for n, always := range []bool{false, true, false, true} {
		call, class, pattern := "pthread_cond_wait", event.OSWait, gap.Wait
		if n >= 2 { // at the end of a pipe
			call, class, pattern = "read", event.OSFile, gap.IO
		}
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, e.layer, func() {
			end := e.now + 20_000_000
			other := hostRow(event.Run, e.now, end, "", -1, 5)
			if other.Thread = 2; always {
				other.Start = from
			}
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, e.now, end, call, class, -1), other)
			e.now, from = end, end
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
		eventtest.Sort(e.rows)
		rep := e.report(t)
		f := has(rep, pattern)
		if f == nil || strings.Contains(f.Evidence, "(meanwhile thread 2 of rank 0 runs: for 100.0 % of such time, and for 1.2 % of the rest)") == always {
			t.Errorf("%s, always %v: %+v", call, always, f)
		}
	}
}

// TestSomeCPU has the launching thread wait, or lose its CPU, while thread 2 runs, in a recording
// that says when threads ran and not on which CPUs: who ran is told, and not where.
func TestSomeCPU(t *testing.T) {
	for _, call := range []string{"pthread_cond_wait", ""} {
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, e.layer, func() {
			other := hostRow(event.Run, e.now, e.now+400_000, "", -1, event.SomeCPU)
			other.Thread = 2
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, event.SomeCPU), other)
			if call != "" {
				e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+400_000, call, event.OSWait, -1))
			}
			e.now += 400_000
			from = e.now
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, event.SomeCPU), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		eventtest.Sort(e.rows)
		rep := e.report(t)
		f := has(rep, gap.Affinity)
		if len(rep.Idle.Placement) > 0 || (len(rep.Idle.Meanwhile) == 1) != (call != "") || (f != nil) == (call != "") || f != nil && strings.Contains(f.Evidence, "the one they had") {
			t.Errorf("%q: %+v, %+v, %+v", call, rep.Idle.Placement, rep.Idle.Meanwhile, f)
		}
	}
}

// off has the launching thread off its CPU from now on, in a call unless that has no name, while
// thread other runs.
func (e *engine) off(from *int64, ns int64, call string, class event.Class, other int64) {
	r := hostRow(event.Run, e.now, e.now+ns, "", -1, 9)
	r.Thread = other
	e.rows = append(e.rows, r, hostRow(event.Run, *from, e.now, "", -1, 3))
	if call != "" {
		e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+ns, call, class, -1))
	}
	e.now += ns
	*from = e.now
}

// TestOtherWaits has the launching thread wait twice in each step, briefly beside thread 3 and for
// long beside thread 2, for what is another finding: what is told of the first wait names no
// thread that runs in the second alone.
func TestOtherWaits(t *testing.T) {
	for waits, pattern := range map[string]string{"lock": gap.GIL, "poll": gap.Wait, "flock": gap.Wait} {
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, e.layer, func() {
			switch waits {
			case "lock":
				stack := hostRow(event.Backtrace, e.now, e.now+100_000, "", event.GIL, -1)
				stack.Stack = 0
				e.rows = append(e.rows, stack)
				e.off(&from, 100_000, "pthread_cond_timedwait", event.OSWait, 3)
				e.off(&from, 900_000, "poll", event.OSIO, 2)
			case "poll":
				e.off(&from, 100_000, "poll", event.OSIO, 3)
				sync := e.call("cudaDeviceSynchronize", event.APISync, 902_000)
				e.now = sync.Start + 1_000
				e.off(&from, 900_000, "poll", event.OSIO, 2)
			case "flock":
				e.off(&from, 400_000, "flock", event.Other, 3)
				e.off(&from, 200_000, "read", event.OSFile, 2)
			}
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
		eventtest.Sort(e.rows)
		if rep := e.report(t); has(rep, pattern) == nil || strings.Contains(has(rep, pattern).Evidence, "meanwhile") {
			t.Errorf("%s: %+v", waits, rep.Findings)
		}
	}
}

// TestSeenNeighbours has the launching thread lose its CPU to ten threads of a process that is no
// rank, one after the other. Of two reports nothing is known of them.
func TestSeenNeighbours(t *testing.T) {
	e := &engine{now: 1_000}
	from := e.now
	var elsewhere []eventtest.Row
	e.steps(40, e.layer, func() {
		for k := range int64(10) {
			r := hostRow(event.Run, e.now+k*40_000, e.now+(k+1)*40_000, "", -1, 3)
			r.Rank, r.Thread = -1, 70+k
			elsewhere = append(elsewhere, r)
		}
		e.off(&from, 400_000, "", 0, 2)
	})
	e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
	eventtest.Sort(e.rows)
	eventtest.Sort(elsewhere)
	rows := append(e.rows, elsewhere...)
	h := eventtest.Header(rows)
	h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Runs: 81, OSCalls: 1}}
	for _, says := range []string{"no other thread of their own process was recorded", ""} {
		if h.Reports = h.Reports[:1]; says != "" {
			h.Reports = append(h.Reports, event.Report{File: "other.sqlite"})
		}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, rows, 512), step.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := has(rep, gap.Affinity); f == nil || strings.Contains(f.Evidence, "was recorded") != (says != "") || !strings.Contains(f.Evidence, says) {
			t.Errorf("%q: %+v", says, f)
		}
	}
}

// TestTaken has two threads of a process lose their CPUs at a time, the first one to thread 5.
func TestTaken(t *testing.T) {
	e := &engine{now: 1_000}
	from := e.now
	e.steps(40, e.layer, func() {
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
		e.now += 400_000
		from = e.now
	})
	e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
	e.twin()
	for i, r := range e.rows {
		switch {
		case r.Kind == event.Run && r.Thread == 2:
			e.rows[i].CPU = 4
		case r.Kind == event.Run:
			r.Thread, r.Start, r.End = 5, r.End, r.End+400_000
			e.rows = append(e.rows, r)
		}
	}
	eventtest.Sort(e.rows)
	p := e.report(t).Idle.Placement
	if len(p) != 2 || p[0].OthersUs != p[0].LostUs || p[1].OthersUs != 0 || p[1].LostUs < 0.9*p[0].LostUs {
		t.Errorf("%+v", p)
	}
}

// TestLockIsNoCPU has the launching thread wait for the interpreter lock, in a call that is not
// recorded, while its holder has the CPU, and then be off its CPU, which nobody has, while it waits
// for a lock that is free or for none: the former is no CPU that it has lost.
func TestLockIsNoCPU(t *testing.T) {
	for _, free := range []int64{0, 100_000} {
		testLockIsNoCPU(t, free)
	}
}

func testLockIsNoCPU(t *testing.T, free int64) {
	t.Helper()
	e := &engine{now: 1_000}
	from := e.now
	e.steps(40, e.layer, func() {
		hold := eventtest.New(event.NVTX, 0, e.now, e.now+400_000, "Holding GIL")
		hold.Thread, hold.Class = 2, event.GIL
		wait := hold
		wait.Thread, wait.Name, wait.End = 1, "Waiting for GIL", wait.End+free
		run := hostRow(event.Run, e.now, e.now+400_000, "", -1, 3)
		run.Thread = 2
		e.rows = append(e.rows, hold, wait, run, hostRow(event.Run, from, e.now, "", -1, 3))
		e.now += 500_000
		from = e.now
	})
	e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
	eventtest.Sort(e.rows)
	rep := e.report(t)
	f := has(rep, gap.Affinity)
	if p := rep.Idle.Placement[0]; p.OthersUs > 0 || p.LostUs > 41*100 || f == nil || f.UsStep > 101 || !strings.Contains(f.Evidence, "for 100.0 % of it no other thread") {
		t.Errorf("%+v, %+v", p, f)
	}
	if f := has(rep, gap.GIL); f == nil || f.UsStep > 400 || !strings.Contains(f.Evidence, "thread 2 (rank 0) holds it 100 % of that time") {
		t.Errorf("%+v", f)
	}
}

// TestShortThreads has the launching thread wait while one after the other of many threads runs,
// each for 1 % of one wait only, or each of ten for a tenth of all: they are named together, of its
// process or another, unless they run all the time.
func TestShortThreads(t *testing.T) {
	const off = 2_000_000
	for n, named := range []string{" threads of rank 0 run, none of them for long: added up, for 100.0 %", "some of 4000 threads of processes without a GPU run,", "", "", "some of 10 threads of rank 0 run, none of them for long: added up, for 100.0 %", "some of 10 threads of processes without a GPU run,"} {
		short, threads := int64(20_000), int64(math.MaxInt64)
		if n >= 4 {
			short, threads = off/10, 10
		}
		e := &engine{now: 1_000}
		from, id := e.now, int64(0)
		var elsewhere []eventtest.Row
		run := func(from, to int64) {
			for ; from < to; from += short {
				r := hostRow(event.Run, from, min(to, from+short), "", -1, 5)
				r.Thread = 100 + id%threads
				if id++; n%2 == 1 {
					r.Rank = -1
					elsewhere = append(elsewhere, r)
				} else {
					e.rows = append(e.rows, r)
				}
			}
		}
		e.steps(40, e.layer, func() {
			if n == 2 || n == 3 {
				run(from, e.now)
			}
			run(e.now, e.now+off)
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, e.now, e.now+off, "poll", event.OSIO, -1))
			e.now += off
			from = e.now
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
		eventtest.Sort(e.rows)
		for len(elsewhere)%8 != 0 { // so that their nulls fill whole bytes of a bitmap
			elsewhere = append(elsewhere, elsewhere[0])
		}
		eventtest.Sort(elsewhere)
		rows := append(e.rows, elsewhere...)
		h := eventtest.Header(rows)
		h.Reports[0].RankFacts = []event.RankFacts{{Rank: 0, Runs: int64(len(e.rows) / 2)}}
		rep, err := gap.Compute(testrun.Phased(t, eventtest.Source(h, rows, 512), step.Options{By: "nvtx"}), gap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := has(rep, gap.Wait)
		if f == nil || strings.Contains(f.Evidence, "meanwhile") != (named != "") || !strings.Contains(f.Evidence, named) {
			t.Errorf("%q: %+v", named, f)
		}
	}
}

// TestRangeNamedLikeTheLock: waits for the interpreter lock are known by the profiler's ranges of it,
// and by no engine's.
func TestRangeNamedLikeTheLock(t *testing.T) {
	for name, known := range map[string]bool{"AGILE scheduler": false, "Holding GIL": true} {
		e := &engine{now: 1_000}
		e.steps(40, e.layer, func() { e.span(name, event.Range, func() { e.now += 100_000 }) })
		missing := slices.ContainsFunc(e.report(t).Idle.Unrecorded, func(m idle.Missing) bool { return m.Option == "-t python-gil" })
		if missing == known {
			t.Errorf("%s: told missing %v", name, missing)
		}
	}
}
