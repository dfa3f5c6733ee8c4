package gap_test

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/event/eventtest"
	"github.com/hostbound/hostbound/pkg/gap"
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
		if (f != nil) != test.gil || (has(rep, gap.Comm) != nil) == test.gil {
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
		call, class, pattern := "pthread_cond_wait", event.OSWait, gap.Comm
		if n >= 2 { // at the end of a pipe
			call, class, pattern = "read", event.OSFile, gap.Hoist
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
