package step_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/testkit/cases"
	"github.com/hostbound/hostbound/pkg/testkit/eventtest"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// isolatedBy returns a random trace with steps.
func isolatedBy(t *testing.T, seed uint64, by string) (*event.Header, []eventtest.Row) {
	t.Helper()
	h, rows := eventtest.Random(seed)
	for i := range h.Reports {
		delete(h.Reports[i].Rows, "graph")
	}
	it, err := isolate.New(eventtest.Source(h, rows, 50), isolate.Options{
		By: by, Gap: 3 * eventtest.Unit, SegmentGap: 12 * eventtest.Unit,
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := eventtest.Collect(it)
	if err != nil {
		t.Fatal(err)
	}
	return it.Header(), out
}

// referencePhases is the same, obviously: it looks up the step of each row.
func referencePhases(rows []eventtest.Row, unnamed event.Phase) []eventtest.Row {
	type key struct {
		rank int32
		step int64
	}
	steps := map[key]eventtest.Row{}
	for _, r := range rows {
		if r.Kind != event.Step {
			continue
		}
		r.Phase = unnamed
		if c, ok := marker.Parse(r.Name); ok && c.HasCounts {
			r.Ctx, r.Gen, r.Phase = c.Ctx, c.Gen, event.Unknown
			if c.Gen > 0 {
				r.Phase = event.Generation
			}
			if c.Ctx > 0 {
				r.Phase = event.Context
			}
		}
		switch c, ok := marker.Parse(r.Name); {
		case r.Class == event.GraphLaunch && ok && c.HasCounts:
			r.Ctx, r.Gen, r.Phase = -1, -1, event.Unknown
		case r.Class == event.GraphLaunch, r.Class == event.Launch && !(ok && c.HasCounts):
			r.Phase = event.Context
		}
		steps[key{r.Rank, r.Step}] = r
	}
	out := make([]eventtest.Row, len(rows))
	for i, r := range rows {
		s, ok := steps[key{r.Rank, r.Step}]
		switch {
		case r.Kind == event.Window || !ok:
		case r.Kind == event.Step:
			r = s
		default:
			r.Phase = s.Phase
		}
		out[i] = r
	}
	return out
}

func TestPhasesAgainstReference(t *testing.T) {
	phases := map[event.Phase]int{}
	for seed := range uint64(cases.Few(200, 200, 600)) {
		by := step.Methods[1+seed%3]
		h, rows := isolatedBy(t, seed, by)
		unnamed := event.Unknown
		if by == step.Graph {
			unnamed = event.Generation
		}
		want := referencePhases(rows, unnamed)
		for _, batch := range []int{1, 7, 8, 9, 8192} {
			tagged, err := step.NewTagger(eventtest.Source(h, rows, batch), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := eventtest.Collect(tagged)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d rows, want %d", seed, len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("seed %d, by %s, batches of %d: row %d\n got %+v\nwant %+v", seed, by, batch, i, got[i], want[i])
				}
			}
		}
		for _, r := range want {
			phases[r.Phase]++
		}
	}
	for _, p := range []event.Phase{-1, event.Context, event.Generation, event.Unknown} {
		if phases[p] < 300 {
			t.Errorf("phase %d has %d rows: the traces show too little", p, phases[p])
		}
	}
}

// In a stream in which every row is in a step the column step has no bitmap.
func TestAllInSteps(t *testing.T) {
	h := &event.Header{Columns: event.BaseCols | event.StepCols, Isolation: &event.Isolation{Method: step.NVTX}}
	b := &event.Batch{}
	b.Reset(h.Columns)
	s := eventtest.New(event.Step, 0, 0, 9, "_forward_step: 0 ctx reqs, 1 gen reqs")
	s.Step, s.Segment, s.Size = 0, 0, 1
	k := eventtest.New(event.Kernel, 0, 1, 2, "k")
	k.Step = 0
	eventtest.Append(b, s, k)
	b.Step.Valid = nil
	tagged, err := step.NewTagger(&one{h, b}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tagged.Next()
	if err != nil {
		t.Fatal(err)
	}
	rows := eventtest.Rows(out)
	if rows[0].Phase != event.Generation || rows[1].Phase != event.Generation || rows[0].Gen != 1 || rows[1].Gen != -1 {
		t.Errorf("%+v", rows)
	}
	if &out.Start.Values[0] != &b.Start.Values[0] {
		t.Error("the column start was copied")
	}
	if b.Columns != h.Columns || b.Phase.Values != nil {
		t.Error("the batch that came in was changed")
	}
}

// one is a source of one batch, again and again.
type one struct {
	h *event.Header
	b *event.Batch
}

func (o *one) Header() *event.Header       { return o.h }
func (o *one) Next() (*event.Batch, error) { return o.b, nil }

func TestMarkerOfTheStream(t *testing.T) {
	h := &event.Header{Columns: event.BaseCols | event.StepCols, Isolation: &event.Isolation{
		Method: step.NVTX, Marker: `iter (?P<step>\d+): p=(?P<ctx>\d+) d=(?P<gen>\d+)`,
	}}
	s := eventtest.New(event.Step, 0, 0, 9, "iter 7: p=2 d=3")
	s.Step, s.Segment, s.Size = 0, 0, 1
	tagged, err := step.NewTagger(eventtest.Source(h, []eventtest.Row{s}, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := eventtest.Collect(tagged)
	if err != nil || rows[0].Ctx != 2 || rows[0].Gen != 3 || rows[0].Phase != event.Context {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestLog(t *testing.T) {
	for method, want := range map[string]string{step.Graph: "graph replays", step.Allreduce: "phase of all steps is unknown"} {
		h := &event.Header{Columns: event.BaseCols | event.StepCols, Isolation: &event.Isolation{Method: method}}
		s := eventtest.New(event.Step, 0, 0, 9, "step")
		s.Step, s.Segment, s.Size = 0, 0, 1
		var said []string
		tagged, err := step.NewTagger(eventtest.Source(h, []eventtest.Row{s}, 1), func(s string) { said = append(said, s) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eventtest.Collect(tagged); err != nil {
			t.Fatal(err)
		}
		if len(said) != 1 || !strings.Contains(said[0], want) {
			t.Errorf("%s: said %q", method, said)
		}
	}
}

func TestErrors(t *testing.T) {
	steps := &event.Isolation{}
	for want, h := range map[string]*event.Header{
		"no steps":          {Columns: event.BaseCols},
		"phases already":    {Columns: event.BaseCols | event.StepCols | event.PhaseCols, Isolation: steps},
		"no column step":    {Columns: event.BaseCols, Isolation: steps},
		"marker expression": {Columns: event.BaseCols | event.StepCols, Isolation: &event.Isolation{Marker: "("}},
	} {
		_, err := step.NewTagger(eventtest.Source(h, nil, 1), nil)
		var advice *event.Error
		if !errors.As(err, &advice) || !strings.Contains(err.Error(), want) || advice.Hint() == "" {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func BenchmarkTag(b *testing.B) {
	h, rows := eventtest.Decode(500)
	it, err := isolate.New(eventtest.Source(h, rows, event.BatchRows), isolate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	in, err := eventtest.Ready(it)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.Rewind()
		tagged, err := step.NewTagger(in, nil)
		for err == nil {
			_, err = tagged.Next()
		}
	}
	b.ReportMetric(float64(in.Len)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
