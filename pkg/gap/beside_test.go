package gap_test

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/event/eventtest"
	"github.com/hostbound/hostbound/pkg/gap"
)

// TestMeanwhile has the launching thread wait for 400 us between steps while thread 2 runs,
// which it does only then, or all the time; or lose its CPU to thread 2, and come back to
// another one.
func TestMeanwhile(t *testing.T) {
	const off = 400_000
	for _, test := range []struct {
		name       string
		call       bool // it waits in a call
		always     bool // thread 2 runs all the time
		cpu        int32
		meanwhile  bool
		neighbours bool
	}{
		{"who is waited for", true, false, 4, true, false},
		{"who runs anyway", true, true, 4, false, false},
		{"a neighbour", false, false, 3, false, true},
		{"no neighbour", false, false, 4, false, false},
	} {
		e := &engine{now: 1_000}
		from, cpu := e.now, int32(3)
		e.steps(40, func() { e.layer(); e.layer() }, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, cpu))
			if test.call {
				e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+off, "pthread_cond_wait", event.OSWait, -1))
			}
			if !test.always {
				other := hostRow(event.Run, e.now, e.now+off, "", -1, cpu-3+test.cpu)
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
		if p.Thread != 1 || *p.PerStep < 0.9 || *p.PerStep > 1.1 || (p.OthersUs > 0) != test.neighbours || (p.LostUs > 0) == test.call {
			t.Errorf("%s: %+v, %v per step", test.name, p, *p.PerStep)
		}
		if f := has(rep, gap.Affinity); (f != nil) == test.call || f != nil && (!strings.Contains(f.Evidence, "changes of the CPU") || strings.Contains(f.Evidence, "other threads") != test.neighbours) {
			t.Errorf("%s: %+v", test.name, f)
		}
	}
}
