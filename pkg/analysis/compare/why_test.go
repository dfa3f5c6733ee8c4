package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// spent is what the launching thread of a made-up run does for a while in each step, in the
// range that prepares the input.
type spent struct {
	us    int64  // in each step, on average
	call  string // of the system, "" for none
	class event.Class
	off   bool  // it is off its CPU
	gil   bool  // it waits for the interpreter lock, which thread 2 holds
	every int64 // it does so in one of so many steps, 0: in each
}

// gilCall is the call in which a thread waits for the interpreter lock by its stack.
const gilCall = "pthread_cond_timedwait"

// waiting is a run of 120 steps on one GPU in which a thread spends time. Without
// host its rows have nothing of the operating system.
func waiting(t *testing.T, seed uint64, s spent, host bool) *compare.Run {
	t.Helper()
	const us = 1000
	rng := rand.New(rand.NewPCG(seed, 5))
	var rows []eventtest.Row
	add := func(kind event.Kind, thread, from, to int64, name string) *eventtest.Row {
		r := eventtest.New(kind, 0, from, to, name)
		r.Thread = thread
		if kind == event.NVTX {
			r.Class = marker.ClassNVTX(name)
		}
		if host || kind != event.OS && kind != event.Run && kind != event.Backtrace {
			rows = append(rows, r)
		}
		return &r
	}
	run := func(from, to int64) {
		r := eventtest.New(event.Run, 0, from, to, "")
		if r.Thread, r.CPU = 1, 3; host {
			rows = append(rows, r)
		}
	}
	at, on := int64(1000*us), int64(0)
	add(event.OS, 2, 0, 1, "read")
	for k := range int64(120) {
		from := at + 300*us + rng.Int64N(20*us)
		to := from + s.us*us + rng.Int64N(s.us*us/10+1)
		if s.every > 0 && k%s.every == 0 {
			to = from + s.every*(to-from)
		} else if s.every > 0 {
			to = from + 1
		}
		launch := to + 300*us + rng.Int64N(20*us)
		add(event.NVTX, 1, at, launch+10*us, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 8 gen reqs", k+1))
		add(event.NVTX, 1, at+10*us, launch-5*us, "_prepare_tp_inputs")
		if s.gil {
			add(event.NVTX, 1, from, to, "Waiting for GIL")
			add(event.NVTX, 2, from-us, to, "Holding GIL")
			add(event.NVTX, 2, from-2*us, to+us, "detokenize")
		}
		if s.call != "" {
			add(event.OS, 1, from, to, s.call)
			if host {
				rows[len(rows)-1].Class = s.class
			}
			if s.call == gilCall {
				add(event.Backtrace, 1, from, to, "")
				if host {
					rows[len(rows)-1].Stack, rows[len(rows)-1].Class = 0, event.GIL
				}
			}
		}
		if s.off {
			run(on, from)
			on = to
		}
		call := eventtest.New(event.API, 0, launch, launch+5*us, "cudaLaunchKernel")
		call.Thread, call.Class, call.Correlation = 1, event.Launch, k+1
		kernel := eventtest.New(event.Kernel, 0, launch+8*us, launch+308*us, "gemm")
		kernel.Device, kernel.Stream, kernel.Class, kernel.Correlation = 0, 7, event.GEMM, k+1
		kernel.LaunchStart, kernel.LaunchEnd, kernel.LaunchThread = launch, launch+5*us, 1
		rows = append(rows, call, kernel)
		at = launch + 400*us
	}
	run(on, at)
	eventtest.Sort(rows)
	return whyProfile(t, rows, isolate.Options{By: step.NVTX})
}

// What a range takes longer by in every sixth step is not what it does in each: the advice is to look
// for what interrupts it. Where threads are known to wait in it, what it does is no advice either.
func TestAdviceOnPauses(t *testing.T) {
	prepares := "host time in _prepare_tp_inputs +3"
	for name, c := range map[string]struct {
		after spent
		want  []string // beginnings of the advice
		not   string
	}{
		"in each step": {spent{us: 350, class: -1}, []string{prepares}, "interrupts"},
		"in pauses":    {spent{us: 350, class: -1, every: 6}, []string{prepares}, "keep buffers"},
		"a lock":       {spent{us: 350, call: "pthread_mutex_lock", class: event.OSLock, off: true}, []string{"SERIALIZE (launching threads wait for a lock"}, "keep buffers"},
	} {
		got := whyOf(t, waiting(t, 1, spent{us: 50, class: -1}, true), waiting(t, 2, c.after, true))
		if len(got.Mitigations) != len(c.want) || !strings.HasPrefix(got.Mitigations[0], c.want[0]) || strings.Contains(got.Mitigations[0], c.not) {
			t.Errorf("%s: %q", name, got.Mitigations)
		}
		claim := got.Brief().Items[0].Claim
		if !strings.HasPrefix(claim, "host time in _prepare_tp_inputs takes 3") || strings.Count(claim, "_prepare_tp_inputs") != 1 || strings.Count(claim, " per step") != 1 {
			t.Errorf("%s: claim %q", name, claim)
		}
	}
}

func whyProfile(t *testing.T, rows []eventtest.Row, opt isolate.Options) *compare.Run {
	t.Helper()
	r, err := compare.Profile(testrun.Phased(t, eventtest.Source(eventtest.Header(rows), rows, 64), opt), compare.ProfileOptions{Name: "run", Why: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// One thing takes 300 us longer in each step: the headline says what, the rows how much,
// and of runs that are equal, or of which one side has no record, nothing is said.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		spent
		why, holder, headline, advice string
	}{
		{spent{0, "pthread_mutex_lock", event.OSLock, true, false, 0}, "blocked:lock", "", "wait for a lock", "SERIALIZE"},
		{spent{0, "fsync", event.OSFile, true, false, 0}, "blocked:file", "", "do file I/O, or read() and write() on a pipe or socket", "IO"},
		{spent{0, "nanosleep", event.OSSleep, true, false, 0}, "blocked:sleep", "", "sleep", "SLEEP"},
		{spent{0, "", -1, true, false, 0}, "descheduled", "", "runnable but not scheduled", "AFFINITY"},
		{spent{0, "write", event.OSFile, false, false, 0}, "os:write", "", "do file I/O, or read() and write() on a pipe or socket", "IO"},
		{spent{0, "", -1, false, false, 0}, "running", "", "run on a CPU, in host time in _prepare_tp_inputs", ""},
		{spent{0, "", -1, true, true, 0}, "descheduled", "detokenize", "held by the thread in detokenize", ""},
		{spent{0, gilCall, event.OSWait, true, false, 0}, "blocked:wait", compare.ByStacks, "waiting for the interpreter lock (GIL), by the stacks of calls", "GIL_CONTENTION"},
		{spent{0, "pthread_cond_wait", event.OSWait, true, false, 0}, "blocked:wait", "", "block", "WAIT"},
	} {
		before, after := c.spent, c.spent
		before.us, after.us = 50, 350
		a, b, again := waiting(t, 1, before, true), waiting(t, 2, after, true), waiting(t, 3, before, true)
		got := whyOf(t, a, b)
		title := got.Document().Title.String()
		if !strings.Contains(title, c.headline) {
			t.Errorf("%s: %s; want %q", c.why, title, c.headline)
		}
		first := got.IdleWhy[0]
		if first.Why == nil || *first.Why != c.why || !first.Significant || spelled(first.Holder) != nullable(c.holder) ||
			math.Abs(*first.Delta-315) > 20 || first.CI[0] > *first.Delta || first.CI[1] < *first.Delta {
			t.Errorf("%s: first %+v, why %s, holder %s", c.why, first.Row, spelled(first.Why), spelled(first.Holder))
		}
		if c.advice != "" && !strings.HasPrefix(strings.Join(got.Mitigations, "\n"), c.advice) {
			t.Errorf("%s: %q", c.why, got.Mitigations)
		}
		addsUp(t, got)
		if clean := whyOf(t, a, again); clean.Conclusion != compare.None || len(clean.Mitigations) > 0 {
			t.Errorf("%s, equal runs: %s, %q", c.why, clean.Conclusion, clean.Mitigations)
		}
		for _, r := range whyOf(t, a, waiting(t, 2, after, false)).IdleWhy {
			if r.Significant || r.Unknown == "" {
				t.Errorf("%s: %+v, though the target has no record of it", c.why, r.Row)
			}
		}
	}
}

func nullable(s string) string {
	if s == "" {
		return "null"
	}
	return s
}

func whyOf(t *testing.T, a, b *compare.Run) *compare.Comparison {
	t.Helper()
	c, err := compare.Compare(a, b, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// addsUp wants the rows by why to add up to those by site, cause by cause, on both sides.
func addsUp(t *testing.T, c *compare.Comparison) {
	t.Helper()
	sums := map[string]float64{}
	for _, part := range []struct {
		rows []compare.IdleRow
		sign float64
	}{{c.Idle, 1}, {c.IdleWhy, -1}} {
		for _, r := range part.rows {
			for side, v := range map[string]*float64{" baseline": r.Baseline, " target": r.Target} {
				if v != nil {
					sums[r.Cause+side] += part.sign * *v
				}
			}
		}
	}
	for cause, us := range sums {
		if math.Abs(us) > 1e-6 {
			t.Errorf("%s: rows by site have %v us more than those by why", cause, us)
		}
	}
}

// On random traces all rows by why add up to those by site.
func TestWhyAddsUp(t *testing.T) {
	divided := 0
	for seed := range uint64(30) {
		_, rows := eventtest.Random(seed)
		rng := rand.New(rand.NewPCG(seed, 11))
		host := []eventtest.Row{}
		for i := range rows {
			r := &rows[i]
			if r.Kind != event.API || r.Rank < 0 {
				continue
			}
			kind := []event.Kind{event.OS, event.Run, event.Overhead}[rng.IntN(3)]
			h := eventtest.New(kind, r.Rank, r.Start-rng.Int64N(9000), r.End+rng.Int64N(9000), "poll")
			if h.Thread, h.CPU = r.Thread, int32(rng.IntN(3)-1); kind != event.Run {
				h.Class = []event.Class{event.OSIO, event.ByProfiler, event.Load}[rng.IntN(3)]
			}
			host = append(host, h)
		}
		rows = append(rows, host...)
		eventtest.Sort(rows)
		c := whyOf(t, whyProfile(t, rows, isolate.Options{By: step.NVTX}), nil)
		addsUp(t, c)
		for _, r := range c.IdleWhy {
			if r.Why != nil && *r.Why != "unknown" {
				divided++
			}
		}
	}
	if divided < 50 {
		t.Errorf("%d rows were divided: the traces show too little", divided)
	}
}
