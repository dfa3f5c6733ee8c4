package metric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// steps makes ranks of a number of generation steps, each with a kernel, and
// returns what the whole ones idle and last, added up over the ranks.
func steps(n int, ranks int32) (rows []eventtest.Row, idle, period []float64) {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	idle, period = make([]float64, max(0, n-1)), make([]float64, max(0, n-1))
	for rank := range ranks {
		at := int64(1000)
		for k := range n {
			busy, length := 20_000+rng.Int64N(9_000), 100_000+rng.Int64N(50_000)
			mark := eventtest.New(event.Step, rank, at, at+length/2, "step")
			mark.Step, mark.Segment, mark.Size, mark.Phase, mark.Ctx, mark.Gen = int64(k), 0, 1, event.Generation, 0, 4
			kernel := eventtest.New(event.Kernel, rank, at, at+busy, "k")
			kernel.Device, kernel.Class = rank, event.GEMM
			rows = append(rows, mark, kernel)
			if k < n-1 {
				idle[k] += float64(length - busy)
				period[k] += float64(length)
			}
			at += length
		}
	}
	for rank := range ranks {
		w := eventtest.New(event.Window, rank, 0, math.MaxInt64, "window")
		w.Segment, w.Size, w.Step = 0, 1, int64(n)
		rows = append(rows, w)
	}
	return rows, idle, period
}

func TestIntervals(t *testing.T) {
	for _, n := range []int{1, 8, 9, 60, 1025, 1500} {
		for _, ranks := range []int32{1, 3} {
			rows, idle, period := steps(n, ranks)
			h := eventtest.Header(rows)
			h.Columns |= event.StepCols | event.PhaseCols
			h.Isolation = &event.Isolation{Method: "nvtx"}
			res := compute(t, h, rows, metric.Options{}, 100)
			var est stat.Estimator
			lo, hi, _ := est.Ratio(idle, period, float64(len(idle)))
			for i := range res.Rows {
				r := &res.Rows[i]
				if known := r.Interval != nil; known != (n-1 >= metric.MinSteps && r.Applicable && r.Denominator > 0) {
					t.Fatalf("%d steps: %s.%s has interval %v", n, r.Scope, r.Metric, r.Interval)
				} else if !known {
					continue
				}
				if v := r.Value(); r.Interval.Low > v || v > r.Interval.High || r.Interval.Low < 0 {
					t.Errorf("%d steps: %s.%s is %v in %v", n, r.Scope, r.Metric, v, *r.Interval)
				}
				if r.Metric == metric.GPUIdle && n <= 1025 {
					moved := r.Value() - stat.Mean(idle)/stat.Mean(period)
					want := metric.Interval{Low: lo + min(0, moved), High: hi + max(0, moved)}
					if math.Abs(r.Interval.Low-want.Low) > 1e-12 || math.Abs(r.Interval.High-want.High) > 1e-12 {
						t.Errorf("%d steps of %d ranks: %s in %v, want %v", n, ranks, r.Metric, *r.Interval, want)
					}
				}
			}
			back, err := metric.FromTable(res.Table())
			if err != nil {
				t.Fatal(err)
			}
			if d := diff(back, res); d != "" {
				t.Errorf("%d steps: through a table: %s", n, d)
			}
			if traced := compute(t, h, rows, metric.Options{Window: metric.WindowTrace}, 100); traced.Rows[0].Interval != nil {
				t.Error("the whole trace has an interval")
			}
		}
	}
}

// The figures of a rank whose steps could not be identified are apart: with them the others'
// are those of all, and where no rank is left the figures are of the whole trace.
func TestApart(t *testing.T) {
	rows, _, _ := steps(30, 2)
	h := eventtest.Header(rows)
	h.Columns |= event.StepCols | event.PhaseCols
	h.Isolation = &event.Isolation{Method: "allreduce"}
	whole := compute(t, h, rows, metric.Options{}, 100)
	rows[len(rows)-1].Step = -1 // the window of rank 1
	res := compute(t, h, rows, metric.Options{}, 100)
	if res.Window != metric.WindowBenchmark || res.GPUs != 1 || res.NoSteps || res.Ranks[0].Apart || !res.Ranks[1].Apart || res.Ranks[1].Total != 0 || res.Ranks[0].Total != 30 {
		t.Errorf("%s, %d GPUs, %+v", res.Window, res.GPUs, res.Ranks)
	}
	with, err := res.WithApart(metric.Aggregate)
	if err != nil {
		t.Fatal(err)
	}
	for i := range with {
		a, b := with[i], whole.Rows[i]
		if a.Metric != b.Metric || a.Numerator != b.Numerator || a.Denominator != b.Denominator || res.Rows[i].Numerator > b.Numerator || res.Rows[i].Interval == nil && a.Metric == metric.GPUIdle {
			t.Errorf("%+v with rank 1, want %+v; without %+v", a, b, res.Rows[i])
		}
	}
	if back, err := metric.FromTable(res.Table()); err != nil || diff(back, res) != "" {
		t.Errorf("through a table: %v", err)
	}
	if traced := compute(t, h, rows, metric.Options{Window: metric.WindowTrace}, 100); traced.Apart != nil || traced.GPUs != 2 {
		t.Errorf("of the whole trace %d GPUs, apart %v", traced.GPUs, traced.Apart)
	}
	rows[len(rows)-2].Step = -1
	if none := compute(t, h, rows, metric.Options{}, 100); none.Window != metric.WindowTrace || !none.NoSteps || none.Apart != nil || none.GPUs != 2 {
		t.Errorf("no steps at all: %+v", none.Run)
	}
}
