package gap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// coverageNames names kernels, and paths by their last letter.
type coverageNames struct{}

func (coverageNames) Kernel(name int32) string { return []string{"nvjet", "rms_norm", "argmax"}[name] }
func (coverageNames) Range(path int32) int32 {
	if path < 0 {
		return -1
	}
	return path % 2
}
func (t coverageNames) RangeText(path int32) string {
	if path < 0 {
		return ""
	}
	return []string{"forward", "sample"}[t.Range(path)]
}
func (t coverageNames) PathText(path int32) string {
	return strings.Repeat("x > ", int(max(0, path/2))) + t.RangeText(path)
}
func (coverageNames) Source(int32) string { return "" }

func TestReport(t *testing.T) {
	var first, second, both Kernels
	for range 3 {
		first.Add(EagerSite{0, 0}, event.GEMM, 1, 2000)
		second.Add(EagerSite{0, 1}, event.GEMM, 1, 2000)
		second.Add(EagerSite{0, 2}, event.GEMM, 1, 2000)
	}
	first.Add(EagerSite{2, -1}, event.Sampling, 4, 100)
	both.Merge(&first)
	both.Merge(&second)
	var s Summary
	s.AddRank(0, Counts{Kernels: 30, Replayed: 15, KernelLaunches: 13, GraphLaunches: 5, Recorded: 5}, nil, 10)
	s.AddRank(1, Counts{Kernels: 30, GraphLaunches: 5, Recorded: 1, Whole: 1}, nil, 10)
	s.AddKernels(&both, event.Generation)
	rep := s.Report(coverageNames{}, "nsys")
	if *rep.Coverage != 0.25 || *rep.GraphLaunchesPerStep != 0.5 || len(rep.Partial) != 1 || rep.Partial[0] != (PartialRank{1, 5, 1}) {
		t.Errorf("%+v", rep)
	}
	if !strings.Contains(rep.Recapture, "=node") {
		t.Errorf("record again with %q", rep.Recapture)
	}
	want := []EagerKernel{
		{Name: "nvjet", Class: "gemm", Count: 9, Range: "forward", Path: "forward", Us: 18, Generation: 9, Capturable: true},
		{Name: "argmax", Class: "sampling", Count: 4, Us: 0.1, Generation: 4},
	}
	for i, e := range rep.Eager {
		if e.PerStep = nil; e != want[i] {
			t.Errorf("eager kernel %+v, want %+v", e, want[i])
		}
	}
}

func Example() {
	var k Kernels
	k.Add(EagerSite{Name: 1, Path: 0}, event.Norm, 32, 64_000)
	var s Summary
	s.AddRank(0, Counts{Kernels: 128, Replayed: 96}, nil, 1)
	s.AddKernels(&k, event.Generation)
	rep := s.Report(coverageNames{}, "nsys")
	fmt.Printf("%.0f %% replayed; %d %s launched in %s\n", 100**rep.Coverage, rep.Eager[0].Count, rep.Eager[0].Name, rep.Eager[0].Range)
	// Output: 75 % replayed; 32 rms_norm launched in forward
}
