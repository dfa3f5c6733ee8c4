package gap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestCopies offloads weights: each layer waits, on the GPU, for a copy from the host on another
// stream, which takes long. That is what there is to do, not a host that runs further ahead. A copy
// that is done by then is none.
func TestCopies(t *testing.T) {
	for _, ns := range []int64{400_000, 2_000} {
		e := &engine{now: 1_000}
		copied := int64(0)
		e.steps(40, func() {
			for range 4 {
				call := *e.call("cudaMemcpyAsync", event.Memop, 5_000)
				copied = max(call.Start+4_000, copied) + ns
				r := hostRow(event.Memcpy, copied-ns, copied, "memcpy HtoD", -1, -1)
				r.Thread, r.Device, r.Stream = -1, 0, 20
				r.Correlation, r.LaunchStart, r.LaunchEnd, r.LaunchThread = call.Correlation, call.Start, call.End, 1
				e.rows = append(e.rows, r)
				e.call("cudaStreamWaitEvent", event.Other, 1_000)
				if ns > 100_000 {
					e.free = max(e.free, copied)
				}
				e.layer()
			}
		}, func() {
			end := max(e.now, e.free) + 5_000
			e.call("cudaStreamSynchronize", event.APISync, end-e.now)
		})
		rep := e.report(t)
		f := has(rep, "COPIES")
		if ns < 100_000 {
			if f != nil {
				t.Errorf("copies of %d ns: %+v", ns, f)
			}
			continue
		}
		if f == nil || rep.Findings[0].Pattern != "COPIES" || f.UsStep < 1_300 || f.UsStep > 1_650 {
			t.Fatalf("copies of %d ns: %+v of %+v", ns, f, rep.Findings)
		}
	}
}

// TestNoLength has kernels without a length alone: nothing is idle, and nobody can tell.
func TestNoLength(t *testing.T) {
	e := &engine{now: 1_000}
	e.steps(10, e.layer, func() {})
	for i := range e.rows {
		if r := &e.rows[i]; r.Kind == event.Kernel {
			r.End = r.Start
		}
	}
	rep := e.report(t)
	if !slices.ContainsFunc(rep.Warnings, func(w string) bool { return strings.Contains(w, "no length") }) || !strings.Contains(rep.Brief().Answer, "no length") {
		t.Errorf("%q, %q", rep.Warnings, rep.Brief().Answer)
	}
}
