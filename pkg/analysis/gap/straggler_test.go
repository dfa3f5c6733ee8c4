package gap_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
)

func TestStragglerOfTraces(t *testing.T) {
	dir := filepath.Join(testrun.Folder(t, "TRACES"), "sim")
	rep, err := gap.Compute(testrun.Open(t, "allreduce",
		filepath.Join(dir, "rank0.sqlite"), filepath.Join(dir, "rank1.sqlite"), filepath.Join(dir, "rank2.sqlite")), gap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := rep.Straggler
	if s == nil || s.Rank == nil || *s.Rank != 1 || s.ShareOfSteps != 1 {
		t.Fatalf("straggler %+v, want rank 1 in all steps", s)
	}
	if math.Abs(s.LateUs-476) > 0.05*476 {
		t.Errorf("%v us late a step, want 476", s.LateUs)
	}
	if len(s.Causes) == 0 || s.Causes[0] != "_coordinator_metadata" {
		t.Errorf("causes %q, want _coordinator_metadata first", s.Causes)
	}
	t.Logf("%+v", *s)
}
