package gap_test

import (
	"io"
	"runtime"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/sim"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// repeat hands out the rows of a run of decoding steps several times over, each time
// later: a long trace that costs no memory and little time to make. It notes how
// much memory is in use.
type repeat struct {
	header  *event.Header
	rows    []*event.Batch
	window  *event.Batch
	span    int64 // of a round, ns
	steps   int64
	rounds  int64
	round   int64
	next    int
	out     event.Batch
	total   int64
	before  uint64
	highest uint64
}

func newRepeat(t testing.TB, steps int, rounds int64) *repeat {
	h, rows := eventtest.Decode(steps)
	src := testrun.Phased(t, eventtest.Source(h, rows, event.BatchRows), isolate.Options{By: "nvtx"})
	r := &repeat{header: src.Header(), steps: int64(steps), rounds: rounds, span: int64(steps) * 4_000_000}
	for {
		b, err := src.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c := &event.Batch{}
		c.Reset(b.Columns)
		c.AppendRange(b, 0, b.Len)
		if c.Kind.Values[0] == event.Window {
			r.window = c
		} else {
			r.rows = append(r.rows, c)
		}
	}
	return r
}

func (r *repeat) rewind() {
	r.round, r.next, r.total, r.highest = 0, 0, 0, 0
	runtime.GC()
	r.before = inUse()
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func (r *repeat) Header() *event.Header { return r.header }

func (r *repeat) Next() (*event.Batch, error) {
	if r.round == r.rounds {
		if r.window == nil || r.next > 0 {
			return nil, io.EOF
		}
		r.next++
		r.out.Reset(r.window.Columns)
		r.out.AppendRange(r.window, 0, r.window.Len)
		r.out.End.Values[0] += (r.rounds - 1) * r.span
		return &r.out, nil
	}
	src := r.rows[r.next]
	r.out.Reset(src.Columns)
	r.out.AppendRange(src, 0, src.Len)
	for _, c := range []*event.Ints[int64]{&r.out.Start, &r.out.End, &r.out.LaunchStart, &r.out.LaunchEnd} {
		for i := range c.Values {
			c.Values[i] += r.round * r.span
		}
	}
	for i := range r.out.Step.Values {
		r.out.Step.Values[i] += r.round * r.steps
		r.out.Correlation.Values[i] += r.round * 100 * r.steps
	}
	if r.total += int64(src.Len); r.next%8 == 0 {
		r.highest = max(r.highest, inUse())
	}
	if r.next++; r.next == len(r.rows) {
		r.next = 0
		r.round++
	}
	return &r.out, nil
}

func BenchmarkCompute(b *testing.B) {
	h, rows := eventtest.Decode(500)
	in, err := eventtest.Ready(testrun.Phased(b, eventtest.Source(h, rows, event.BatchRows), isolate.Options{By: "auto"}))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.Rewind()
		if _, err := gap.Compute(in, gap.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(in.Len)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// BenchmarkLong computes a trace of five million rows; the source's copying counts.
func BenchmarkLong(b *testing.B) {
	r := newRepeat(b, 200, 30)
	var highest uint64
	for b.Loop() {
		r.rewind()
		rep, err := gap.Compute(r, gap.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if rep.Idle.Steps != 200*30 {
			b.Fatalf("%d steps", rep.Idle.Steps)
		}
		highest = max(highest, r.highest-min(r.before, r.highest))
	}
	b.ReportMetric(float64(r.total)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(highest)/(1<<20), "MiB")
}

// BenchmarkEager computes a run of three ranks without graphs, in which each kernel
// is a launch and there are gaps everywhere.
func BenchmarkEager(b *testing.B) {
	c := sim.Default()
	c.Mode, c.Ranks, c.Events, c.Warmup = sim.Eager, 3, 400_000, 0
	c.GCEvery, c.GIL, c.SlowRank, c.Slow = 20, 30, 1, 300
	in, err := eventtest.Ready(testrun.Open(b, "nvtx", testrun.Simulate(b, c, true)...))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.Rewind()
		rep, err := gap.Compute(in, gap.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if rep.Straggler == nil || rep.Straggler.Rank == nil {
			b.Fatal("no straggler")
		}
	}
	b.ReportMetric(float64(in.Len)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
