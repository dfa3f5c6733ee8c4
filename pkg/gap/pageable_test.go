package gap_test

import (
	"slices"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/gap"
)

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
