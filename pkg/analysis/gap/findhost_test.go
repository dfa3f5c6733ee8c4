package gap_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// hostRow is a row of what the operating system did with the launching thread.
func hostRow(kind event.Kind, start, end int64, name string, class event.Class, cpu int32) eventtest.Row {
	r := eventtest.New(kind, 0, start, end, name)
	r.Thread, r.Class, r.CPU = 1, class, cpu
	return r
}

// TestHostFindings has the launching thread off its CPU for 400 us between steps, for
// different reasons: each is named first, with its time, and nothing is where it runs.
func TestHostFindings(t *testing.T) {
	const steps, off = 40, 400_000
	patterns := []string{"SERIALIZE", "IO", "SLEEP", "AFFINITY", "WAIT", "LOW_LOAD"}
	for _, test := range []struct {
		call, span string
		class      event.Class
		runs       bool // all the time; or, in a call, nobody knows when
		pattern    string
		why        string
	}{
		{"pthread_mutex_lock", "", event.OSLock, false, "SERIALIZE", "blocked:lock"},
		{"fsync", "", event.OSFile, false, "IO", "blocked:file"},
		{"flock", "", event.Other, false, "WAIT", "blocked:other"},
		{"nanosleep", "", event.OSSleep, false, "SLEEP", "blocked:sleep"},
		{"", "", -1, false, "AFFINITY", "descheduled"},
		{"pthread_cond_wait", "", event.OSWait, false, "WAIT", "blocked:wait"},
		{"poll", "_fetch_new_requests", event.OSIO, false, "LOW_LOAD", "blocked:io"},
		{"poll", "_process_outputs", event.OSIO, false, "WAIT", "blocked:io"},
		{"", "_update_requests", -1, true, "", "running"},
		{"poll", "_process_outputs", event.OSIO, true, "WAIT", "in:io"},
		{"poll", "_fetch_new_requests", event.OSIO, true, "LOW_LOAD", "in:io"},
		{"pthread_mutex_lock", "", event.OSLock, true, "SERIALIZE", "in:lock"},
		{"write", "", event.OSFile, true, "", "in:file"}, // it may run there
	} {
		e := &engine{}
		e.now = 1_000
		from := e.now
		e.steps(steps, func() { e.layer(); e.layer() }, func() {
			pause := func() {
				if !test.runs {
					e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
				}
				if test.call != "" {
					e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+off, test.call, test.class, -1))
				}
				e.now += off
				if !test.runs {
					from = e.now
				}
			}
			if test.span != "" {
				e.span(test.span, event.Range, pause)
			} else {
				pause()
			}
		})
		if e.rows = append(e.rows, hostRow(event.OS, 0, 1, "read", event.OSFile, -1)); test.call == "" || !test.runs {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
		}
		eventtest.Sort(e.rows)
		rep := e.report(t)
		name := test.call + " in " + test.span
		found := ""
		for _, f := range all(rep) {
			if slices.Contains(patterns, f.Pattern) {
				if found += f.Pattern; f.UsStep < 0.95*off/1e3 || f.UsStep > 1.05*off/1e3 {
					t.Errorf("%s: %s is worth %v us per step, want 400: %s", name, f.Pattern, f.UsStep, f.Text)
				}
			}
		}
		if found != test.pattern {
			t.Errorf("%s: found %q, want %q", name, found, test.pattern)
		}
		var most gap.Why
		for _, c := range rep.Idle.Causes {
			for _, w := range c.Why {
				if w.Ns > most.Ns {
					most = w
				}
			}
		}
		if most.Why != test.why {
			t.Errorf("%s: most is %+v, want %s", name, most, test.why)
		}
	}
}

// A rank that waits for requests which another one, that runs, passes on does not show that
// there are none: both have to wait.
func TestRequestsOfRanks(t *testing.T) {
	for _, test := range []struct {
		both, together bool
		pattern        string
	}{{true, true, "LOW_LOAD"}, {false, false, "LOW_LOAD"}} {
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, e.layer, func() {
			e.span("_fetch_new_requests", event.Range, func() {
				e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, e.now, e.now+400_000, "poll", event.OSIO, -1))
				e.now += 400_000
				from = e.now
			})
		})
		for _, r := range slices.Clone(e.rows) {
			if r.Rank = 1; r.Kind == event.OS && !test.both {
				r.Kind, r.Name, r.Class, r.CPU = event.Run, "", -1, 4 // it is on a CPU instead
			}
			e.rows = append(e.rows, r)
		}
		for i := range e.rows {
			if r := &e.rows[i]; test.together && r.Kind == event.Kernel && r.Class == event.Norm {
				r.Class = event.Allreduce
			}
		}
		eventtest.Sort(e.rows)
		rep := e.report(t)
		found := ""
		for _, f := range all(rep) {
			if f.Pattern == "LOW_LOAD" || f.Pattern == "WAIT" {
				found += f.Pattern
			}
		}
		if found != test.pattern {
			t.Errorf("%+v: found %q", test, found)
		}
	}
}

// Who is off its CPU because it waits for the interpreter lock does not wait for a message,
// nor has it lost its CPU to others; unless nobody holds that lock, where holders are
// recorded: then who is in no call lacks a CPU, and does not contend.
func TestOffForTheLock(t *testing.T) {
	for _, test := range []struct {
		call     string
		holders  bool // are recorded
		affinity bool
	}{
		{"pthread_cond_timedwait", false, false}, {"", false, false},
		{"pthread_cond_timedwait", true, false}, {"", true, true},
	} {
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, e.layer, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
			if test.call != "" {
				e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+400_000, test.call, event.OSWait, -1))
			}
			e.span("Waiting for GIL", event.GIL, func() { e.now += 400_000 })
			from = e.now
		})
		e.rows = append(e.rows, hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		if test.holders {
			hold := eventtest.New(event.NVTX, 0, 1, 2, "Holding GIL")
			hold.Class, hold.Thread = event.GIL, 9
			e.rows = append(e.rows, hold)
		}
		eventtest.Sort(e.rows)
		rep := e.report(t)
		if (has(rep, "GIL_CONTENTION") == nil) != test.affinity || has(rep, "WAIT") != nil || (has(rep, "AFFINITY") != nil) != test.affinity {
			t.Errorf("%+v: found %+v", test, rep.Findings)
		}
	}
}

// TestHolderOff has thread 2 hold the interpreter lock for the 400 us of each step in which
// the launching thread waits for it, in two pieces, and be off its CPU in the second: it is blocked
// in a call that may wait, and not in others.
func TestHolderOff(t *testing.T) {
	for call, want := range map[string]string{
		"": "", "pthread_cond_signal": "", "pthread_cond_wait": "The holder itself is blocked for 75.7 % of that time",
	} {
		e := &engine{now: 1_000}
		from := e.now
		e.steps(40, e.layer, func() {
			e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3))
			hold := eventtest.New(event.NVTX, 0, e.now, e.now+400_000, "Holding GIL")
			hold.Class, hold.Thread = event.GIL, 2
			run := hostRow(event.Run, e.now, e.now+100_000, "", -1, 3)
			run.Thread = 2
			e.rows = append(e.rows, hold, run)
			if call != "" {
				r := hostRow(event.OS, e.now+100_000, e.now+400_000, call, event.OSWait, -1)
				r.Thread = 2
				e.rows = append(e.rows, r)
			}
			wait := eventtest.New(event.NVTX, 0, e.now, e.now+400_000, "Waiting for GIL")
			wait.Class, wait.Thread = event.GIL, 1
			e.rows = append(e.rows, wait)
			e.now += 400_000
			from = e.now
		})
		e.rows = append(e.rows, hostRow(event.Run, from, e.now, "", -1, 3), hostRow(event.OS, 0, 1, "read", event.OSFile, -1))
		eventtest.Sort(e.rows)
		f := has(e.report(t), "GIL_CONTENTION")
		if f == nil || !strings.Contains(f.Text, "For 100.0 % of that time thread 2 (rank 0) holds it") || !strings.Contains(f.Text, want) || want == "" && strings.Contains(f.Text, "The holder itself") || strings.Contains(f.Text, "do less") {
			t.Errorf("%q: %+v", call, f)
		}
	}
}

// TestSampledFamilies has the launching thread collect garbage for 120 of 400 us between
// steps, while the GPU is idle, which samples alone show: they come ten times as often there as in the rest of
// the step. Without collections nothing is found, and with a sampler that is off in every
// other four steps nothing is told.
func TestSampledFamilies(t *testing.T) {
	for _, test := range []struct{ collects, bursts bool }{{true, false}, {false, false}, {true, true}} {
		collects, step := test.collects, 0
		rng := rand.New(rand.NewPCG(1, 2))
		e := &engine{now: 1_000}
		e.steps(60, func() {
			e.layer()
			r := hostRow(event.Sample, e.now, e.now, "", event.CUDALibrary, -1)
			r.Stack = 0
			e.rows = append(e.rows, r)
			e.layer()
		}, func() {
			start := e.now
			e.span("_update_requests", event.Range, func() { e.now += 400_000 })
			if step++; test.bursts && step/4%2 == 0 {
				return
			}
			for range 40 {
				at := start + rng.Int64N(400_000)
				r := hostRow(event.Sample, at, at, "", event.Interpreter, -1)
				if r.Stack = rng.Int32N(3); collects && at >= start+100_000 && at < start+220_000 {
					r.Class = event.GC
				}
				e.rows = append(e.rows, r)
			}
		})
		e.rows = append(e.rows, hostRow(event.Run, 0, e.now, "", -1, 3))
		eventtest.Sort(e.rows)
		rep := e.report(t)
		f := has(rep, "GC_MGMT")
		if r := rep.Idle.Running; test.bursts {
			if f != nil || len(r.Families) != 0 || !strings.Contains(r.FamiliesUnknown, "bursts") {
				t.Errorf("in bursts: %+v, found %+v", r, f)
			}
			continue
		}
		if (f != nil) != collects {
			t.Fatalf("collects %v: found %+v", collects, f)
		}
		if f != nil && (f.UsStep < 108 || f.UsStep > 132 || !strings.Contains(f.Text, "estimated from CPU samples")) {
			t.Errorf("worth %v us per step, want 120: %s", f.UsStep, f.Text)
		}
		for _, c := range rep.Idle.Causes {
			for _, w := range c.Why {
				for _, f := range w.Families {
					if c.Cause == "host:_update_requests" && f.Family == "gc" && (f.Low*w.Us > 60*120 || f.High*w.Us < 60*120 || f.High-f.Low > 0.1) {
						t.Errorf("%+v of %v us, want 7200 us", f, w.Us)
					}
				}
			}
		}
		if r := rep.Idle.Running; r == nil || len(r.Families) == 0 || r.SampledUs > r.Us || r.SampledUs < 0.5*r.Us {
			t.Errorf("running: %+v", r)
		}
	}
}

// What was not recorded is said, with the option that records it.
func TestNotRecorded(t *testing.T) {
	e := &engine{}
	e.steps(20, e.layer, func() { e.now += 100_000 })
	idle := e.report(t).Idle
	var options []string
	for _, u := range idle.Unrecorded {
		options = append(options, u.Option)
	}
	if want := []string{"--cpuctxsw=process-tree", "-t osrt", "--sample=process-tree", "-t python-gil"}; !slices.Equal(options, want) || idle.Record == "" {
		t.Errorf("not recorded %q, %q, want %q", options, idle.Record, want)
	}
	for _, c := range idle.Causes {
		for _, w := range c.Why {
			if w.Why != "unknown" {
				t.Errorf("%s is %s without any evidence", c.Cause, w.Why)
			}
		}
	}
}

// What the host does for longer than a segment's gap in every step is no pause, which is what
// steps take longer than others.
func TestNoPauseInEveryStep(t *testing.T) {
	const long = 150_000_000
	for name, every := range map[string]int{"every step": 1, "one in ten": 10} {
		e, k := &engine{now: 1_000}, 0
		e.steps(12, e.layer, func() {
			e.span("_update_requests", event.Range, func() {
				if k++; k%every == 0 {
					e.now += long
				}
			})
		})
		eventtest.Sort(e.rows)
		paused := slices.ContainsFunc(all(e.report(t)), func(f seen) bool { return f.Pattern == "PAUSE" })
		if paused != (every > 1) {
			t.Errorf("%s: a pause: %v", name, paused)
		}
	}
}
