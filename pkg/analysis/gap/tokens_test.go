package gap_test

import (
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
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
		f := has(e.report(t), gap.Sync)
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
		if f := has(e.report(t), gap.Sync); f == nil || f.Path != "" || f.UsStep < 185 || f.UsStep > hi {
			t.Errorf("%s: %+v", call, f)
		}
	}
}

// TestTokensByPageableCopy has tokens come back by a copy to pageable memory, which blocks though
// its name says that it does not: it is the step's one wait, and two of them are one too many.
func TestTokensByPageableCopy(t *testing.T) {
	for _, before := range []bool{false, true} {
		e := &engine{}
		fetch := func(name string) {
			e.span(name, event.Range, func() {
				e.call("cudaMemcpyAsync", event.Memop, max(0, e.free-e.now)+24_000)
				e.now += 200_000
			})
		}
		e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 400)...) }, func() {
			if before {
				fetch("item")
			}
			e.launch("argmax", event.Sampling)
			for range 10 {
				e.launch("gather", event.Elementwise)
			}
			fetch("tokens")
		})
		if f := has(e.report(t), gap.Sync); (f != nil) != before || f != nil && (f.Path != "item" || f.UsStep < 190 || f.UsStep > 250) {
			t.Errorf("one before: %v: %+v", before, f)
		}
	}
}

// TestTokensBesideQueuedCopies has the inputs copied by the same call that brings tokens back, all
// outside of any range: of the four that a step has, the one that blocks is how tokens come back.
func TestTokensBesideQueuedCopies(t *testing.T) {
	for blocking := 1; blocking <= 2; blocking++ {
		e := &engine{}
		e.steps(20, func() {
			e.replay(slices.Repeat([]string{"gemm"}, 100)...)
		}, func() {
			for range blocking {
				e.call("cudaMemcpyAsync", event.Memop, max(0, e.free-e.now)+24_000)
				e.now += 200_000
			}
			for range 3 {
				e.call("cudaMemcpyAsync", event.Memop, 5_000)
			}
		})
		if f := has(e.report(t), gap.Sync); (f != nil) != (blocking > 1) {
			t.Errorf("%d that block: %+v", blocking, f)
		}
	}
}

// TestTokensByCopyAndWait has tokens come back as PyTorch fetches them, by a copy that blocks and a
// wait for the stream right behind it: once per step that is no finding, and another one, ahead of
// sampling, is worth what the GPU idles because of both.
func TestTokensByCopyAndWait(t *testing.T) {
	for _, test := range []struct {
		ranges, item bool
		path         string
	}{{false, false, ""}, {true, false, ""}, {false, true, ""}, {true, true, "item"}} {
		e := &engine{}
		fetch := func(name string) {
			both := func() {
				e.call("cudaMemcpyAsync", event.Memop, max(0, e.free-e.now)+24_000)
				e.now += 3_000
				e.call("cudaStreamSynchronize", event.APISync, 4_000)
			}
			if test.ranges {
				e.span(name, event.Range, both)
			} else {
				both()
			}
			e.now += 200_000
		}
		e.steps(20, func() { e.replay(slices.Repeat([]string{"gemm"}, 400)...) }, func() {
			if test.item {
				fetch("item")
			}
			e.launch("argmax", event.Sampling)
			fetch("tokens")
		})
		switch f := has(e.report(t), gap.Sync); {
		case (f != nil) != test.item, f != nil && f.Path != test.path, f != nil && test.ranges && (f.UsStep < 190 || f.UsStep > 250):
			t.Errorf("%+v: %+v", test, f)
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
		"before sampling, with copies": {true, true, 190, 250}, "behind, with copies": {false, true, 0, 40},
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
		if f := has(e.report(t), gap.Sync); f != nil {
			us = f.UsStep
		}
		if us < test.lo || us > test.hi {
			t.Errorf("%s: %.0f us, want %.0f to %.0f", name, us, test.lo, test.hi)
		}
	}
}
