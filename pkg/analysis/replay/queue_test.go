package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
)

// launched is a thread that launches kernels as fast as it can, each call 3 us, each kernel so long.
// The queue has room for 1,021 that have not started: a call waits until there is.
func launched(t *testing.T, n int, us float64) (all []moved) {
	t.Helper()
	var called, free float64
	var starts []float64
	for k := range n {
		begin, end := called, called+3
		start := max(begin+5, free)
		starts = append(starts, start)
		free = start + us
		if k >= 1021 {
			end = max(end, starts[k-1021]+1)
		}
		for _, line := range []string{
			fmt.Sprintf("api t1 %.3f %.3f cudaLaunchKernel c%d", begin, end, k+1),
			fmt.Sprintf("kernel s7 %.3f %.3f gemm c%d", start, free, k+1),
		} {
			all = append(all, parseRow(t, len(all), strings.Fields(line)))
		}
		if k > 0 { // parseText joins them otherwise
			all[2*k-1].row.LaunchStart, all[2*k-1].row.LaunchEnd, all[2*k-1].row.LaunchThread = all[2*k-2].row.Start, all[2*k-2].row.End, 1
		}
		called = end + 1
	}
	return all
}

// A launch waits where the GPU's queue is full, also where nothing was recorded that says so: with
// a GPU twice as fast the host, which the GPU held up, takes half as long.
func TestFullQueue(t *testing.T) {
	const n = 4000
	now, then := launched(t, n, 10), launched(t, n, 5)
	c, err := replay.Parse("gpu", "0.5")
	if err != nil {
		t.Fatal(err)
	}
	last := func(all []moved) *moved { return &all[2*n-4] }
	got := move(t, now, replay.Scenario{Changes: []replay.Change{c}}, 8192)[identity(&last(now).row)][1]
	if was, want := last(now).row.End, last(then).row.End; float64(got) < 0.98*float64(want) || float64(got) > 1.02*float64(want) {
		t.Errorf("the last call ends at %d ns, not at %d (now %d)", got, want, was)
	}
}
