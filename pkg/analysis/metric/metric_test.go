package metric_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/testkit/testrun"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// withPhases isolates the steps of rows, whose times are in units of 20 us, and
// tells their phases.
func withPhases(t *testing.T, h *event.Header, rows []eventtest.Row, by string, all bool) (*event.Header, []eventtest.Row) {
	t.Helper()
	return testrun.PhasedRows(t, h, rows, isolate.Options{
		By: by, Gap: 3 * eventtest.Unit, SegmentGap: 12 * eventtest.Unit, BusyAll: all,
	})
}

func compute(t *testing.T, h *event.Header, rows []eventtest.Row, opt metric.Options, batch int) *metric.Result {
	t.Helper()
	res, err := metric.Compute(eventtest.Source(h, rows, batch), opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// random returns a random trace in which threads wait for full queues.
func random(seed uint64) (*event.Header, []eventtest.Row) {
	_, rows := eventtest.Random(seed)
	rng := rand.New(rand.NewPCG(seed, 5))
	for i, r := range slices.Clone(rows) {
		if seed%2 == 0 && r.Kind == event.NVTX && r.Class == event.Range && rng.IntN(2) == 0 {
			rows[i].Name = "_fetch_new_requests"
			for range 1 + rng.IntN(3) {
				call := eventtest.New(event.OS, r.Rank, r.Start+rng.Int64N(3*eventtest.Unit)-eventtest.Unit, 0, "poll")
				call.End, call.Thread = call.Start+rng.Int64N(4*eventtest.Unit), r.Thread
				call.Class = []event.Class{event.OSIO, event.OSWait, event.OSFile}[rng.IntN(3)]
				rows = append(rows, call)
			}
		}
		if r.Kind != event.API || r.Class != event.Launch || seed%3 == 0 || rng.IntN(3) > 0 {
			continue
		}
		full := eventtest.New(event.Overhead, r.Rank, r.Start+rng.Int64N(eventtest.Unit), 0, "Command Buffer Full")
		full.End, full.Thread = full.Start+rng.Int64N(2*eventtest.Unit), r.Thread
		if rng.IntN(8) == 0 {
			full.Name = "Lazy Function Loading"
		}
		rows = append(rows, full)
	}
	eventtest.Sort(rows)
	h := eventtest.Header(rows)
	for i := range h.Reports {
		delete(h.Reports[i].Rows, "graph")
	}
	return h, rows
}

// setFacts makes the header say of each rank what its GPU activity spans, and of
// some spans that they were not recorded.
func setFacts(h *event.Header, rows []eventtest.Row, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range h.Reports {
		for _, rank := range h.Reports[i].Ranks {
			own := slices.DeleteFunc(slices.Clone(rows), func(r eventtest.Row) bool { return r.Rank != rank })
			span := eventtest.Header(own).Reports[min(1, rank)]
			f := event.RankFacts{Rank: rank, Markers: span.Classes["step"], RankSpan: event.RankSpan{
				GPUStart: span.GPUStart, GPUEnd: span.GPUEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
			}}
			for at := rng.Int64N(100); at < 300 && seed%4 == 0; at += 1 + rng.Int64N(150) {
				n := 1 + rng.Int64N(20)
				f.Unrecorded = append(f.Unrecorded, [2]int64{at * eventtest.Unit, (at + n) * eventtest.Unit})
				at += n
			}
			for _, r := range own {
				if r.Kind == event.OS {
					f.OSCalls++
				}
			}
			h.Reports[i].RankFacts = append(h.Reports[i].RankFacts, f)
		}
	}
}

func TestAgainstReference(t *testing.T) {
	seeds := uint64(840) // each of the choices below with each other, twice
	if os.Getenv("HOSTBOUND_ALL") == "" {
		seeds = 105
	}
	applicable, unsegmented, replays, waits := 0, 0, 0, 0
	for seed := range seeds {
		h, rows := random(seed)
		all := seed%4 == 0
		by := step.Methods[1+seed%3]
		opt := metric.Options{BusyAll: all, Samples: true}
		if seed%5 == 0 {
			opt.Window = metric.WindowTrace
		}
		if seed%7 == 0 {
			opt.Prep = "_async"
		}
		setFacts(h, rows, seed)
		tagged, isolated := withPhases(t, h, rows, by, all)
		for _, in := range []struct {
			h    *event.Header
			rows []eventtest.Row
		}{{tagged, isolated}, {h, rows}} {
			want := reference(in.h, in.rows, opt)
			want.Of = in.h.Provenance()
			for _, batch := range eventtest.BatchSizes(seed / 3) {
				got := compute(t, in.h, in.rows, opt, batch)
				checkSamples(t, got)
				got.Samples = nil
				for i := range got.Rows {
					got.Rows[i].Interval = nil // see TestIntervals
				}
				if d := diff(got, want); d != "" {
					t.Fatalf("seed %d, by %s, batches of %d: %s", seed, by, batch, d)
				}
			}
			if want.RequestWait[metric.Aggregate] > 0 {
				waits++
			}
			for _, r := range want.Rows {
				if r.Applicable && r.Metric == metric.PrepExposed && r.Numerator > 0 {
					applicable++
				}
			}
			for _, r := range want.Ranks {
				if r.Total > 0 && r.Benchmark == nil && r.Segments > 1 {
					unsegmented++
				}
				replays += int(r.Replays)
			}
		}
	}
	if n := int(seeds); applicable < n*3/2 || unsegmented < n/3 || replays < 3*n || waits < n/8 {
		t.Errorf("%d scopes with exposed preparation, %d ranks without a benchmark, %d replays, %d traces with waits for requests: the traces show too little",
			applicable, unsegmented, replays, waits)
	}
}

// checkSamples wants the steps to add up to the aggregate, where that is of steps alone.
func checkSamples(t *testing.T, res *metric.Result) {
	t.Helper()
	if res.Window != metric.WindowBenchmark || slices.ContainsFunc(res.Ranks, func(r metric.Rank) bool { return r.Benchmark == nil }) {
		return
	}
	var capacity, busy, exposed int64
	for _, s := range res.Samples {
		capacity, busy, exposed = capacity+s.Capacity, busy+s.Busy, exposed+s.Exposed
	}
	if idle, impact := &res.Rows[0], &res.Rows[3]; idle.Denominator != capacity || idle.Numerator != capacity-busy || impact.Numerator != exposed {
		t.Fatalf("%d steps come to %d ns, %d busy, %d exposed; want %+v, %+v", len(res.Samples), capacity, busy, exposed, *idle, *impact)
	}
}

// diff compares two results, whose figures are all exact.
func diff(got, want *metric.Result) string {
	a, _ := json.MarshalIndent(got, "", " ")
	b, _ := json.MarshalIndent(want, "", " ")
	if string(a) == string(b) {
		return ""
	}
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			from := max(0, i-6)
			return "\n got …" + strings.Join(x[from:i+1], "\n") + "\nwant …" + strings.Join(y[from:i+1], "\n")
		}
	}
	return "one is longer"
}

func TestInterleavedRanks(t *testing.T) {
	for seed := range uint64(cases.Few(60, 60, 200)) {
		h, rows := eventtest.Random(seed)
		tagged, isolated := withPhases(t, h, rows, step.NVTX, false)
		mixed := slices.Clone(isolated)
		slices.SortStableFunc(mixed, func(a, b eventtest.Row) int {
			if (a.Kind == event.Window) != (b.Kind == event.Window) {
				return int(a.Kind) - int(b.Kind)
			}
			return cmp.Compare(a.Start, b.Start)
		})
		for _, batch := range []int{1, 64} {
			want := compute(t, tagged, isolated, metric.Options{}, batch)
			if d := diff(compute(t, tagged, mixed, metric.Options{}, batch), want); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
}

// The parts of a run, a rank each, add up to the run.
func TestMerge(t *testing.T) {
	parts, apart := 0, 0
	for seed := range uint64(cases.Few(100, 100, 300)) {
		h, rows := eventtest.Random(seed)
		tagged, isolated := withPhases(t, h, rows, step.NVTX, false)
		want := compute(t, tagged, isolated, metric.Options{}, 100)
		if want.Window == metric.WindowTrace {
			continue
		}
		var sum *metric.Result
		waiting := 0 // parts with collectives
		for _, rank := range want.Ranks {
			var part []eventtest.Row
			for _, r := range isolated {
				if r.Rank == rank.Rank {
					part = append(part, r)
				}
			}
			res := compute(t, tagged, part, metric.Options{}, 100)
			if res.Window != want.Window {
				sum = nil
				break // a rank without steps is measured over the trace when alone
			}
			if res.Collectives != nil {
				waiting++
			}
			if sum == nil {
				sum = res
				continue
			}
			parts++
			if err := sum.Add(res); err != nil {
				t.Fatal(err)
			}
		}
		if sum == nil {
			continue
		}
		// These do not follow from those of the parts.
		if len(want.Ranks) > 1 {
			if sum.Span != nil {
				t.Fatalf("seed %d: a sum has a span", seed)
			}
			want.Span = nil
			for i := range want.Phases {
				want.Phases[i].P50, want.Phases[i].P90 = nil, nil
			}
			for i := range sum.Phases {
				sum.Phases[i].P50, sum.Phases[i].P90 = nil, nil // of a phase that one part alone has they are its own
			}
		}
		// These are of the header, which is that of the run.
		sum.HiddenGraphs, sum.Kernels, sum.Launches = want.HiddenGraphs, want.Kernels, want.Launches
		if len(want.Ranks) > 1 {
			reasons := 1 // for the lack of intervals
			if waiting > 1 {
				// Ranks wait for one another, of which a rank by itself knows nothing.
				reasons++
				apart++
				want.Rows = slices.DeleteFunc(want.Rows, func(r metric.Row) bool {
					return r.Metric == metric.CollectiveWait || r.Metric == metric.HostWait || r.Metric == metric.HostBound
				})
			}
			for i := range sum.Rows {
				if sum.Rows[i].Interval != nil {
					t.Fatalf("seed %d: a sum has intervals", seed)
				}
			}
			for i := range want.Rows {
				want.Rows[i].Interval = nil
			}
			if len(sum.Warnings) != len(want.Warnings)+reasons {
				t.Fatalf("seed %d: nobody says why there are no intervals, or no waits: %q", seed, sum.Warnings)
			}
			sum.Warnings = want.Warnings
		}
		if sum.Steady != nil && want.Steady != nil {
			a, b := sum.Steady.Kernels, want.Steady.Kernels
			if math.Abs(sum.Steady.Wall-want.Steady.Wall) > 1e-6 || (a == nil) != (b == nil) || a != nil && math.Abs(*a-*b) > 1e-9 {
				t.Errorf("seed %d: steady %+v, want %+v", seed, sum.Steady, want.Steady)
			}
		}
		sum.Steady, want.Steady = nil, nil
		sum.Collectives, want.Collectives = nil, nil
		if d := diff(sum, want); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
	if parts < 50 || apart < 10 {
		t.Errorf("only %d parts were added, to %d runs with waits", parts, apart)
	}
}

func TestTable(t *testing.T) {
	for seed := range uint64(100) {
		h, rows := eventtest.Random(seed)
		tagged, isolated := withPhases(t, h, rows, step.NVTX, false)
		want := compute(t, tagged, isolated, metric.Options{}, 100)
		got, err := metric.FromTable(want.Table())
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(got, want); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func TestErrors(t *testing.T) {
	kernel := eventtest.New(event.Kernel, 0, 5, 6, "k")
	before := eventtest.New(event.Kernel, 0, 4, 6, "k")
	// Where rows were chosen, segments may be missing, but not come back.
	later := eventtest.New(event.Step, 0, 5, 6, "step")
	later.Segment, later.Step, later.Size = 3, 0, 1
	earlier := later
	earlier.Segment = 2
	isolated := &event.Header{Columns: event.BaseCols | event.StepCols, Isolation: &event.Isolation{Method: "nvtx"}}
	tests := []struct {
		h    *event.Header
		rows []eventtest.Row
		opt  metric.Options
		err  string
	}{
		{h: isolated, rows: []eventtest.Row{kernel, before}, err: "not in the order"},
		{h: isolated, rows: []eventtest.Row{later, earlier}, err: "segments of rank 0 are not in order"},
		{h: isolated, opt: metric.Options{Window: "day"}, err: "unknown window"},
		{h: &event.Header{Columns: event.BaseCols, Isolation: &event.Isolation{}}, err: "no column step"},
	}
	for _, test := range tests {
		_, err := metric.Compute(eventtest.Source(test.h, test.rows, 10), test.opt)
		if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("error %v, want %s", err, test.err)
		}
		var advice *event.Error
		if !errors.As(err, &advice) {
			t.Errorf("error %v has no advice", err)
		}
	}
}
