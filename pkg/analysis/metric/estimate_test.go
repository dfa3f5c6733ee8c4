package metric_test

import (
	"fmt"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestEstimateBySize has one rank of a group, whose all-reduces take 1 us and 250 ns for each request and wait for
// 30 us in every fifth step. Where batches are of 8 and 64 requests by turns, the least duration of all steps
// would count 14 us of each all-reduce of the larger ones as wait: 2.2 times the wait that there is. Where the batch
// is another one in each step, smaller steps are not without an estimate: the least one of the larger is theirs.
func TestEstimateBySize(t *testing.T) {
	const steps, reduces = 81, 10
	for name, test := range map[string]struct {
		batch     func(step int64) int64
		from, to  int64 // of the estimate, of 100 of the wait
		unmatched int64
	}{
		"two sizes":  {func(step int64) int64 { return 8 + step%2*56 }, 100, 100, 0},
		"many sizes": {func(step int64) int64 { return 200 - step }, 90, 100, 3 * reduces},
	} {
		var rows []eventtest.Row
		truth := int64(0)
		for k := range int64(steps) {
			n, at := test.batch(k), 1_000_000*(k+1)
			mark := eventtest.New(event.NVTX, 0, at, at+50_000, fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, 0 ctx tokens, %d gen reqs", k, n))
			mark.Class, mark.Thread = event.StepMarker, 1
			rows = append(rows, mark)
			for i := range int64(reduces) {
				ns := 1000 + 250*n
				if k%5 == 4 {
					ns, truth = ns+30_000, truth+30_000
				}
				r := eventtest.New(event.Kernel, 0, at+60_000+i*90_000, at+60_000+i*90_000+ns, "allreduce")
				r.Class, r.Device, r.Stream = event.Allreduce, 0, 7
				rows = append(rows, r)
			}
		}
		eventtest.Sort(rows)
		h := eventtest.Header(rows)
		eventtest.OneReport(h)
		h, rows = withPhases(t, h, rows, step.NVTX, false)
		res := compute(t, h, rows, metric.Options{}, 100)
		for _, r := range res.Rows {
			if r.Scope != metric.Aggregate || r.Metric != metric.CollectiveWait {
				continue
			}
			if share := 100 * r.Numerator / truth; share < test.from || share > test.to || res.Collectives.Unmatched != test.unmatched {
				t.Errorf("%s: %d ns of wait, want %d; %+v", name, r.Numerator, truth, res.Collectives)
			}
		}
	}
}
