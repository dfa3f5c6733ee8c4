package arrow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

const allCols = event.BaseCols | event.StepCols | event.PhaseCols | event.HostCols | event.StackCols

// testHeader returns a header with something in every field.
func testHeader(columns event.Set) *event.Header {
	start, end := int64(-5), int64(1<<60)
	return &event.Header{
		Stage:   "nsys2arrow",
		Columns: columns,
		Domains: []string{"NCCL", "", "PyTorch ☃"},
		Stacks:  stacks(columns),
		Reports: []event.Report{{
			File: "a.sqlite", Recorder: event.Recorder{Source: "nsys", Version: "2025.1.1", Capture: "node"}, Clock: event.Clock{Offset: -3}, Ranks: []int32{0, 1},
			Extent:   event.Extent{Rows: map[string]int64{"kernel": 5, "api": 7}, Classes: map[string]int64{"step": 2}, GPUStart: &start, GPUEnd: &end},
			Warnings: []string{"odd"},
		}},
		Isolation: &event.Isolation{Method: "nvtx", Gap: 1e6, SegmentGap: 1e8, Busy: "kernels"},
	}
}

// stacks are the stacks of streams that have any.
func stacks(columns event.Set) []string {
	if columns.Has(event.ColStack) {
		return []string{"main", "main;step", "", "main;f☃"}
	}
	return nil
}

// randomBatch returns n rows; of the columns that may be null, one in four
// holds no null and one in four nothing else.
func randomBatch(rng *rand.Rand, n int, columns event.Set, domains int) *event.Batch {
	b := new(event.Batch)
	b.Reset(columns)
	for range n {
		b.AppendNulls()
	}
	for c := range event.NumCols {
		if !columns.Has(c) {
			continue
		}
		chance := rng.IntN(4)
		null := func() bool { return event.Fields[c].Nullable && rng.IntN(3) < chance }
		switch col := b.Column(c).(type) {
		case *event.Ints[int64]:
			for i := range n {
				if !null() {
					col.Set(i, rng.Int64()-rng.Int64())
				}
			}
		case *event.Ints[int32]:
			limit := codes(c, domains)
			for i := range n {
				if !null() && limit > 0 {
					col.Set(i, rng.Int32N(limit))
				}
			}
		}
	}
	for i := range n {
		b.Start.Values[i], b.End.Values[i] = rng.Int64N(1000), 1000+rng.Int64N(1000)
	}
	if columns.Has(event.ColName) {
		b.Name = event.Strings{Offsets: []int32{0}}
		for range n {
			b.Name.Append(fmt.Sprintf("%.*s", rng.IntN(20), "kernel, \"quoted\" näme"))
		}
	}
	return b
}

// codes returns how many values column c has.
func codes(c event.Col, domains int) int32 {
	switch c {
	case event.ColKind:
		return int32(len(event.Kinds))
	case event.ColClass:
		return int32(len(event.Classes))
	case event.ColPhase:
		return int32(len(event.Phases))
	case event.ColDomain:
		return int32(domains)
	case event.ColStack:
		return 4
	}
	return 1 << 20
}

// encode writes batches as a stream.
func encode(t testing.TB, h *event.Header, batches ...*event.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, h)
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// openEvents opens a stream of events.
func openEvents(r io.Reader) (*Reader, error) { return eventsOf(newMessages(r)) }

func eventsOf(m *messages) (*Reader, error) {
	in, t, err := open(m)
	if t != nil {
		err = errors.New("a table")
	}
	return in, err
}

// readAll reads a stream to its end into one batch.
func readAll(r io.Reader) (*event.Header, *event.Batch, error) {
	in, err := openEvents(r)
	if err != nil {
		return nil, nil, err
	}
	all := new(event.Batch)
	all.Reset(in.Header().Columns)
	for {
		b, err := in.Next()
		if err == io.EOF {
			return in.Header(), all, nil
		}
		if err != nil {
			return in.Header(), all, err
		}
		if b.Len < 1 || b.Len > event.MaxBatchRows {
			return nil, nil, errors.New("a batch of a size that Next excludes")
		}
		all.AppendRange(b, 0, b.Len)
	}
}

// join returns the rows of batches as one batch.
func join(columns event.Set, batches ...*event.Batch) *event.Batch {
	all := new(event.Batch)
	all.Reset(columns)
	for _, b := range batches {
		all.AppendRange(b, 0, b.Len)
	}
	return all
}

// differ says where two batches do not hold the same rows.
func differ(got, want *event.Batch) error {
	if got.Len != want.Len || got.Columns != want.Columns {
		return fmt.Errorf("%d rows of columns %b, want %d of %b", got.Len, got.Columns, want.Len, want.Columns)
	}
	for c := range event.NumCols {
		for i := range want.Len {
			if g, w := cellOf(got, c, i), cellOf(want, c, i); g != w {
				return fmt.Errorf("row %d column %s: %v, want %v", i, event.Fields[c].Name, g, w)
			}
		}
	}
	return nil
}

// cellOf returns a value, nil for null and for a column that is not there.
func cellOf(b *event.Batch, c event.Col, i int) any {
	if !b.Columns.Has(c) {
		return nil
	}
	switch col := b.Column(c).(type) {
	case *event.Ints[int32]:
		if v, ok := col.Get(i); ok {
			return v
		}
	case *event.Ints[int64]:
		if v, ok := col.Get(i); ok {
			return v
		}
	case *event.Strings:
		return string(col.Get(i))
	}
	return nil
}

func sameHeader(t testing.TB, got, want *event.Header) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("header %+v, want %+v", got, want)
	}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }
