package isolate

import (
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// replays returns the rows of that many graph replays, a ms apart and with
// 40 kernels each, five eager kernels after each, and as many more as extra says.
func replays(steps int, extra func(step int) int) (rows []eventtest.Row) {
	kernel := func(at, launch int64, node bool) {
		k := eventtest.New(event.Kernel, 0, at, at+1000, "k")
		k.Device, k.Thread, k.Class, k.Correlation = 0, -1, event.Other, launch
		k.LaunchStart, k.LaunchEnd, k.LaunchThread = at-900, at-800, 1
		if node {
			k.GraphNode, k.LaunchStart = 1, launch
		}
		rows = append(rows, k)
	}
	for n := range steps {
		at := int64(n+1) * 1_000_000
		for i := range int64(40) {
			kernel(at+2000*i, at, true)
		}
		for i := range int64(5 + extra(n)) {
			kernel(at+100_000+2000*i, at+1+i, false)
		}
	}
	return rows
}

// Where each replay begins with an embedding, each is a step for certain.
func TestWholeReplays(t *testing.T) {
	rows := replays(30, func(int) int { return 0 })
	for n := 0; n < 30; n++ {
		rows[45*n].Name = "vectorized_gather_kernel"
	}
	if _, warnings, err := found(t, rows, Options{By: step.Graph}); err != nil || len(warnings) > 0 {
		t.Errorf("%v %q", err, warnings)
	}
}

// Steps by graph of which more than one in twenty has no marker are told.
func TestMarkersBesideReplays(t *testing.T) {
	for without, want := range map[int]int{0: 0, 1: 1, 2: 1} {
		var all []eventtest.Row
		for n, rows := 0, replays(16, func(int) int { return 0 }); n < 16; n++ {
			if n >= without {
				m := eventtest.New(event.NVTX, 0, rows[45*n].Start-5000, rows[45*n].Start+300_000, "execute_context_0(0)_generation_8(8)")
				m.Class, m.Thread = event.StepMarker, 1
				all = append(all, m)
			}
			all = append(all, rows[45*n:45*(n+1)]...)
		}
		if _, warnings, err := found(t, all, Options{By: step.Graph}); err != nil || len(warnings) != want {
			t.Errorf("%d without: %v %q", without, err, warnings)
		}
	}
}

// An eager prefill and the draft model's replays that follow it are one step.
func TestDraftAfterPrefill(t *testing.T) {
	for _, every := range []int{12, 1000} {
		e := &engine{rng: rand.New(rand.NewPCG(3, 4)), host: 1_000_000}
		for i := range 48 {
			e.host += 200_000
			e.copy("memcpy HtoD")
			for r := range 3 {
				eager := r == 0 && (i+1)%every == 0
				if !eager {
					e.replay(100 * int64(r+1))
				}
				for k := range 30 {
					e.kernel([]string{"norm", "gemm"}[k%2], event.GEMM, 4)
				}
				e.eager()
			}
			e.kernel("argmax_kernel", event.Sampling, 4)
			e.copy("memcpy DtoH")
			e.wait(e.gpu)
		}
		eventtest.Sort(e.rows)
		steps, warnings, err := found(t, e.rows, Options{By: step.Graph})
		if err != nil || len(steps) != 48 || len(warnings) > 0 {
			t.Errorf("every %d: %d steps, warnings %q, error %v", every, len(steps), warnings, err)
		}
	}
}

// A step is one replay in decoding, and where it has prompts one of each piece with eager
// attention between: what the host does once a step says so.
func TestPiecesAndWholeGraphs(t *testing.T) {
	for _, every := range []int{4, 13, 1000} {
		e := &engine{rng: rand.New(rand.NewPCG(3, 4)), host: 1_000_000}
		for i := range 120 {
			e.host += 200_000
			before := e.gpu
			e.copy("memcpy HtoD")
			pieces := 1
			if (i+1)%every == 0 {
				pieces = 9
			}
			for p := range pieces {
				e.replay(100 * int64(p+1))
				for range 6 {
					e.kernel("gemm", event.GEMM, 4)
				}
				e.eager()
				if pieces > 1 {
					e.kernel("flash_fwd", event.Attention, 9)
				}
			}
			e.kernel("argmax_kernel", event.Sampling, 4)
			e.copy("memcpy DtoH")
			e.wait(before)
		}
		eventtest.Sort(e.rows)
		steps, warnings, err := found(t, e.rows, Options{By: step.Graph})
		if err != nil || len(steps) != 120 || len(warnings) > 0 {
			t.Errorf("every %d: %d steps, warnings %q, error %v", every, len(steps), warnings, err)
		}
	}
}

// Where a draft model replays its graph as often as it likes before the model's, so that
// nothing recurs but the host's wait, a step is what lies between two of them.
func TestDraftsOfAnyNumber(t *testing.T) {
	for _, wait := range []bool{true, false} {
		e := &engine{rng: rand.New(rand.NewPCG(3, 4)), host: 1_000_000}
		n := 0
		for range 60 {
			e.host += 200_000
			drafts := 2 + e.rng.IntN(4)
			for d := range drafts {
				if n++; d > 0 && wait {
					e.wait(e.gpu)
				}
				e.replay(100)
				e.kernel("gemm", event.GEMM, 9)
				e.eager()
				e.kernel([]string{"argmax_kernel", "rejection_kernel"}[b2i(d == drafts-1)], event.Sampling, 4)
			}
			e.wait(e.gpu)
		}
		eventtest.Sort(e.rows)
		steps, warnings, err := found(t, e.rows, Options{By: step.Graph})
		want := 60
		if wait {
			want = n
		}
		if err != nil || len(steps) != want || len(warnings) > 0 {
			t.Errorf("wait %v: %d steps of %d, warnings %q, error %v", wait, len(steps), want, warnings, err)
		}
	}
}

// Where a step has any number of replays of a draft after an eager pass, a prefill without a
// draft is a step, too.
func TestEagerTargetDrafts(t *testing.T) {
	var rows []eventtest.Row
	at, correlation := int64(0), int64(0)
	kernel := func(name string, launch, replay int64) {
		k := eventtest.New(event.Kernel, 0, at, at+1000, name)
		k.Device, k.Thread, k.Class, k.Correlation = 0, -1, event.Other, launch
		k.LaunchStart, k.LaunchEnd, k.LaunchThread = at-900, at-800, 1
		if replay != 0 {
			k.GraphNode, k.LaunchStart, k.Correlation = 1, replay, replay
		}
		rows, at = append(rows, k), at+2000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	steps, prefills := 0, 0
	for n := range 120 {
		at += 500_000
		wait := eventtest.New(event.API, 0, at-400_000, at-10_000, "cudaEventSynchronize")
		wait.Class, wait.Thread = event.APISync, 1
		rows = append(rows, wait)
		copied := eventtest.New(event.Memcpy, 0, at, at+500, "memcpy HtoD")
		copied.Device, copied.LaunchStart, copied.LaunchEnd, copied.LaunchThread = 0, at-900, at-800, 1
		rows, at = append(rows, copied), at+2000
		kernel("embedding_kernel", 0, 0)
		for range 40 {
			correlation++
			kernel("k", -correlation, 0)
		}
		kernel("topk_sampling", 0, 0)
		if n%15 == 7 {
			prefills++
			continue
		}
		steps++
		for range 1 + rng.IntN(4) {
			replay := at
			for range 8 {
				kernel("draft", replay, replay)
			}
			kernel("argmax", 0, 0)
		}
	}
	got, _ := stepsOf(t, eventtest.Header(rows), rows, Options{By: step.Graph}, 0)
	_, warnings, err := found(t, rows, Options{By: step.Graph})
	marked := 0
	for _, s := range got {
		marked += b2i(s.Class == event.Launch)
	}
	if len(got) != steps+prefills || marked != prefills || len(warnings) > 0 || err != nil {
		t.Errorf("%d steps, %d of them eager, want %d and %d; warnings %q, %v", len(got), marked, steps+prefills, prefills, warnings, err)
	}
}
