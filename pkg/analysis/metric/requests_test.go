package metric_test

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestFollowWait has rank 0 blocked for 400 us between kernels while it fetches requests, and
// rank 1 wait meanwhile: blocked in another range, or on a CPU in one that fetches. It waits for
// rank 0 where it goes on soon after that; with their numbers exchanged it fetches for both.
func TestFollowWait(t *testing.T) {
	for _, test := range []struct {
		blocked bool
		late    int64
		first   int32 // number of the rank that is blocked
		want    bool
	}{
		{true, 30_000, 0, true}, {false, 30_000, 0, true}, {true, -30_000, 0, false}, {false, -30_000, 0, false}, {false, 300_000, 0, false},
		{false, 30_000, 1, false},
	} {
		var rows []eventtest.Row
		add := func(kind event.Kind, rank int32, from, to int64, name string, class event.Class) {
			r := eventtest.New(kind, rank, from, to, name)
			if r.Class = class; kind == event.Kernel {
				r.Device, r.Stream = 0, 7
			} else {
				r.Thread = 1
			}
			rows = append(rows, r)
		}
		for rank, late := range []int64{0, test.late} {
			id := int32(rank) ^ test.first
			for now := int64(1_000_000); now < 50_000_000; now += 500_000 {
				at := now + late
				add(event.API, id, at, at+3_000, "cudaLaunchKernel", event.Launch)
				add(event.Kernel, id, at+4_000, at+90_000, "k", event.GEMM)
				if rank == 0 || !test.blocked {
					add(event.NVTX, id, at+95_000, at+499_000, "_fetch_new_requests", event.Range)
				}
				if rank == 0 || test.blocked {
					add(event.OS, id, at+96_000, at+498_000, "poll", event.OSIO)
				}
			}
		}
		add(event.OS, 1, 1, 2, "read", event.OSFile)
		eventtest.Sort(rows)
		h := eventtest.Header(rows)
		eventtest.OneReport(h)
		got := compute(t, h, rows, metric.Options{Window: metric.WindowTrace}, 100).Ranks
		if got[0].FollowWait != nil || (got[1].FollowWait != nil) != test.want {
			t.Errorf("%+v: %+v", test, got)
		} else if us := got[1].FollowWait[metric.Aggregate] / 98 / 1000; test.want && (us < 390 || us > 410) {
			t.Errorf("%+v: %d us per step", test, us)
		}
	}
}
