package gap_test

import (
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/gap"
)

// Where no finding is worth as much, what to begin with is the operation that most idle time is
// in, with what to do about it.
func TestOperation(t *testing.T) {
	e := &engine{now: 1_000_000}
	e.steps(20, func() { e.replay("nvjet_a", "nvjet_b", "nvjet_c") }, func() {
		e.call("cudaEventSynchronize", event.APISync, 30_000)
		e.span("collate", event.Range, func() { e.now += 400_000 })
		e.span("enqueue", event.Range, func() { e.now += 150_000 })
	})
	rep := e.report(t)
	f := rep.First
	if f == nil || f.Pattern != gap.HostWork || f.Path != "collate" || f.UsStep < 350 || f.UsStep > 450 || !strings.HasSuffix(f.Evidence, "is in collate: do less of host:collate") {
		t.Fatalf("first %+v", f)
	}
	if target := rep.Handoff.FirstTarget; target == nil || *target != "collate" {
		t.Errorf("first target %v", target)
	}
}
