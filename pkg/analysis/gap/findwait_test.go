package gap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
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
		f := has(rep, "GIL_CONTENTION")
		if (f != nil) != test.gil || (has(rep, "WAIT") != nil) == test.gil {
			t.Fatalf("%+v: found %+v", test, rep.Findings)
		}
		if f != nil && (f.UsStep < 380 || f.UsStep > 401 || strings.Contains(f.Text, "according to their call stacks") == test.ranges) {
			t.Errorf("%+v: %v us per step, %s", test, f.UsStep, f.Text)
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
		f := has(rep, "AFFINITY")
		if len(rep.Idle.Placement) > 0 || (len(rep.Idle.Meanwhile) == 1) != (call != "") || (f != nil) == (call != "") || f != nil && strings.Contains(f.Text, "the one they had") {
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
	for waits, pattern := range map[string]string{"lock": "GIL_CONTENTION", "poll": "WAIT", "flock": "WAIT"} {
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
		if rep := e.report(t); has(rep, pattern) == nil {
			t.Errorf("%s: %+v", waits, rep.Findings)
		}
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
	f := has(rep, "AFFINITY")
	if f == nil || f.UsStep > 500 {
		t.Errorf("%+v", f)
	}
	if f := has(rep, "GIL_CONTENTION"); f == nil || f.UsStep > 500 || !strings.Contains(f.Text, "of that time thread 2 (rank 0) holds it") {
		t.Errorf("%+v", f)
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
