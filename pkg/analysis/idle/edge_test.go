package idle

import (
	"github.com/hostbound/hostbound/pkg/names/marker"
	"testing"

	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// kernels makes kernels of one GPU that are busy between pairs of times.
func kernels(spans ...int64) (rows []eventtest.Row) {
	for i := 0; i < len(spans); i += 2 {
		k := eventtest.New(event.Kernel, 0, spans[i], spans[i+1], "k")
		k.Device, k.Stream = 0, 7
		rows = append(rows, k)
	}
	return rows
}

// interOf returns the inter-step idle time of each slice, a slice and a step
// beginning at each start; ends are those of the steps.
func interOf(t *testing.T, method string, rows []eventtest.Row, starts, ends []int64) []int64 {
	t.Helper()
	r := NewRank(NewSites(), Options{Store: spill.NewStore(1 << 20), Method: method})
	b, err := eventtest.Source(eventtest.Header(rows), rows, len(rows)).Next()
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for i := range b.Len {
		for k < len(starts) && starts[k] <= b.Start.Values[i] {
			r.Cut(starts[k], true)
			r.Step(starts[k], ends[k])
			k++
		}
		r.Observe(b, i, i+1)
	}
	r.Close()
	inter := make([]int64, len(starts))
	total := int64(0)
	r.Each(never, func(s Sample) {
		if s.Key != Key(Tail) {
			total += s.Ns
		}
		if s.Inter {
			inter[s.Slice-1] += s.Ns
		}
	})
	want, end := int64(0), rows[0].Start
	for _, row := range rows {
		want += max(0, row.Start-max(end, starts[0]))
		end = max(end, row.End)
	}
	if total != want {
		t.Errorf("%s: %d ns idle, want %d", method, total, want)
	}
	return inter
}

// Without markers, under allreduce: steps from 10 to 40 and from 100 to 130, a
// sampler's kernel at 60 between them, so that gaps of 20, 35 and, in the second
// step, 15 lie there.
func TestInterStepWithoutMarkers(t *testing.T) {
	rows := kernels(10, 20, 25, 40, 60, 65, 100, 110, 125, 130, 200, 210)
	starts, ends := []int64{10, 100, 200}, []int64{40, 130, 210}
	for _, test := range []struct {
		method string
		want   [3]int64
	}{
		{"allreduce", [3]int64{35, 70, 0}},
		{"graph", [3]int64{35, 70, 0}},
		{"nvtx", [3]int64{}},
	} {
		if got := interOf(t, test.method, rows, starts, ends); [3]int64(got) != test.want {
			t.Errorf("%s: %v ns inter-step, want %v", test.method, got, test.want)
		}
	}
	// The longer gap is the one before the sampler's kernel: allreduce takes that,
	// graph the one before the first kernel of the step.
	rows = kernels(10, 20, 25, 40, 80, 85, 100, 110)
	if got := interOf(t, "allreduce", rows, starts[:2], ends[:2]); got[0] != 40 || got[1] != 0 {
		t.Errorf("allreduce: %v ns inter-step, want 40", got)
	}
	if got := interOf(t, "graph", rows, starts[:2], ends[:2]); got[0] != 15 || got[1] != 0 {
		t.Errorf("graph: %v ns inter-step, want 15", got)
	}
	// What runs right before the graph is the step's, as kernels are that prepare its input.
	rows = kernels(10, 20, 25, 40, 50, 55, 95, 99, 105, 110)
	starts, ends = []int64{10, 105}, []int64{40, 110}
	if got := interOf(t, "graph", rows, starts, ends); got[0] != 40 || got[1] != 0 {
		t.Errorf("graph after a kernel: %v ns inter-step, want 40", got)
	}
}

// However many markers come, the last ones are remembered, and each is seen once.
func TestRangesForgotten(t *testing.T) {
	const waiting = maxRanges / 2 // launches
	e := edges{set: marker.Presets}
	var l gpuEdge
	for k := range int64(3 * maxRanges) {
		if e.marker(1e6*k, 1e6*k+900_000, []byte("step")); k < waiting {
			continue
		}
		at := 1e6 * (k - waiting)
		for i, want := range []bool{true, false} {
			if got := e.first(&l, &Activity{LaunchStart: at + int64(i)}); got != want {
				t.Fatalf("after %d markers launch %d of the one %d before is the first: %v", k, i, waiting, got)
			}
		}
		if n := len(e.ranges); n > maxRanges*9/8 {
			t.Fatalf("%d markers are remembered", n)
		}
	}
}
