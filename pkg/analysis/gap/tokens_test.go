package gap_test

import (
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestWaitBeforeSampling has two waits by one call in ranges that say nothing: the one ahead of
// the kernels that sample, or after tokens came back, can be left out, and the wait for tokens,
// which is not the longest, is none of the findings.
func TestWaitBeforeSampling(t *testing.T) {
	for _, test := range []struct {
		name           string
		before, behind bool
		lo, hi         float64
	}{{"none", false, false, 0, 0}, {"before sampling", true, false, 190, 230}, {"after tokens", false, true, 0, 0}} {
		e := &engine{}
		wait := func(name string, is bool) {
			e.span(name, event.Range, func() {
				if is {
					e.call("cudaStreamSynchronize", event.APISync, max(0, e.free-e.now)+4_000)
				}
				e.now += 200_000
			})
		}
		e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 400)...) }, func() {
			wait("one", test.before)
			e.launch("argmax", event.Sampling)
			wait("two", true)
			wait("three", test.behind)
		})
		f := has(e.report(t), "SYNC")
		switch {
		case f == nil && test.hi > 0, f != nil && (test.hi == 0 || f.Path != "one" || f.UsStep < test.lo || f.UsStep > test.hi):
			t.Errorf("%s: %+v", test.name, f)
		}
	}
}

// TestWaitRightBeforeTokens has the GPU run dry in a wait outside of all ranges, 200 us ahead of
// that for tokens by the same call: what is idle behind both is not for the first one, which
// would be as idle without it.
func TestWaitRightBeforeTokens(t *testing.T) {
	for call, hi := range map[string]float64{"cudaStreamSynchronize": 215, "cudaEventSynchronize": 750} {
		e := &engine{}
		wait := func(call string) { e.call(call, event.APISync, max(0, e.free-e.now)+4_000) }
		e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 400)...) }, func() {
			wait("cudaStreamSynchronize")
			e.now += 200_000
			e.span("tokens", event.Range, func() { wait(call) })
			e.now += 200_000
		})
		if f := has(e.report(t), "SYNC"); f == nil || f.Path != "" || f.UsStep < 185 || f.UsStep > hi {
			t.Errorf("%s: %+v", call, f)
		}
	}
}

// TestWaitBesideTokens has two waits by one call at one place, outside of any range. What the one
// that brings tokens back idles is not for the other one: that is worth what it idles itself, ahead
// of sampling, and next to nothing right behind.
func TestWaitBesideTokens(t *testing.T) {
	for name, test := range map[string]struct {
		before, copies bool
		lo, hi         float64
	}{
		"before sampling": {true, false, 190, 230}, "behind": {false, false, 0, 20},
		"behind, with copies": {false, true, 0, 40},
	} {
		e := &engine{}
		fetch := func() {
			if test.copies {
				e.call("cudaMemcpyAsync", event.Memop, max(0, e.free-e.now)+24_000)
				e.now += 3_000
			}
			e.call("cudaStreamSynchronize", event.APISync, max(0, e.free-e.now)+4_000)
		}
		e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 400)...) }, func() {
			if test.before {
				fetch()
				e.now += 200_000
			}
			e.launch("argmax", event.Sampling)
			fetch()
			e.now += 400_000
			if !test.before {
				fetch()
			}
		})
		us := 0.0
		if f := has(e.report(t), "SYNC"); f != nil {
			us = f.UsStep
		}
		if us < test.lo || us > test.hi {
			t.Errorf("%s: %.0f us, want %.0f to %.0f", name, us, test.lo, test.hi)
		}
	}
}

// TestMessageAfterTokens has the host wait for a message after tokens came back, which may be made
// of them: that is no work of the host's, and whoever runs ahead of the GPU waits for it as long.
func TestMessageAfterTokens(t *testing.T) {
	for _, message := range []bool{false, true} {
		e := &engine{}
		e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 400)...) }, func() {
			e.launch("argmax", event.Sampling)
			e.call("cudaEventSynchronize", event.APISync, max(0, e.free-e.now)+4_000)
			e.span("update", event.Range, func() { e.now += 200_000 })
			if message {
				e.rows = append(e.rows, hostRow(event.OS, e.now, e.now+500_000, "recv", event.OSIO, -1))
				e.now += 500_000
			}
		})
		rep := e.report(t)
		f := has(rep, "LOOK_AHEAD")
		if (f == nil) != message || (has(rep, "WAIT") == nil) == message || f != nil && f.UsStep < 150 {
			t.Errorf("message %v: %+v", message, rep.Findings)
		}
	}
}
