// Package eventtest provides events for tests: rows as values, sources of rows in batches
// of any size, and random traces.
package eventtest

import (
	"io"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Row is a row as a value. In nullable columns, -1 is null.
type Row struct {
	Kind                    event.Kind  // what the row is
	Start, End              int64       // ns
	Rank, Device            int32       // as in event.Batch, like all further fields
	Stream, Thread          int64       // CUDA stream, thread id
	Name                    string      // never null
	Class                   event.Class // -1 for null
	Correlation             int64       // CUPTI correlation id
	LaunchStart, LaunchEnd  int64       // of the launching call, ns
	LaunchThread, GraphNode int64       // thread of that call; node id within a graph
	Step, Segment, Size     int64       // added by isolate
	Phase                   event.Phase // added by the tagger of phases, with Ctx and Gen
	Ctx, Gen                int64       // context and generation requests
	CPU                     int32       // for rows of kind run
	Stack                   int32       // index in the header's Stacks, for samples and backtraces
}

// New returns a row with null in all nullable columns.
func New(kind event.Kind, rank int32, start, end int64, name string) Row {
	return Row{
		Kind: kind, Start: start, End: end, Rank: rank, Device: -1, Stream: -1, Thread: -1, Name: name, Class: -1,
		Correlation: -1, LaunchStart: -1, LaunchEnd: -1, LaunchThread: -1, GraphNode: -1,
		Step: -1, Segment: -1, Size: -1, Phase: -1, Ctx: -1, Gen: -1, CPU: -1, Stack: -1,
	}
}

// number is a numeric column and the field of a row with its value.
type number[T int32 | int64] struct {
	col   event.Col
	field func(*Row) *T
}

var small = []number[int32]{
	{event.ColKind, func(r *Row) *int32 { return (*int32)(&r.Kind) }},
	{event.ColRank, func(r *Row) *int32 { return &r.Rank }},
	{event.ColDevice, func(r *Row) *int32 { return &r.Device }},
	{event.ColClass, func(r *Row) *int32 { return (*int32)(&r.Class) }},
	{event.ColPhase, func(r *Row) *int32 { return (*int32)(&r.Phase) }},
	{event.ColCPU, func(r *Row) *int32 { return &r.CPU }},
	{event.ColStack, func(r *Row) *int32 { return &r.Stack }},
}

var large = []number[int64]{
	{event.ColStart, func(r *Row) *int64 { return &r.Start }},
	{event.ColEnd, func(r *Row) *int64 { return &r.End }},
	{event.ColStream, func(r *Row) *int64 { return &r.Stream }},
	{event.ColThread, func(r *Row) *int64 { return &r.Thread }},
	{event.ColCorrelation, func(r *Row) *int64 { return &r.Correlation }},
	{event.ColLaunchStart, func(r *Row) *int64 { return &r.LaunchStart }},
	{event.ColLaunchEnd, func(r *Row) *int64 { return &r.LaunchEnd }},
	{event.ColLaunchThread, func(r *Row) *int64 { return &r.LaunchThread }},
	{event.ColGraphNode, func(r *Row) *int64 { return &r.GraphNode }},
	{event.ColStep, func(r *Row) *int64 { return &r.Step }},
	{event.ColSegment, func(r *Row) *int64 { return &r.Segment }},
	{event.ColSize, func(r *Row) *int64 { return &r.Size }},
	{event.ColCtx, func(r *Row) *int64 { return &r.Ctx }},
	{event.ColGen, func(r *Row) *int64 { return &r.Gen }},
}

// Append appends rows to a batch.
func Append(b *event.Batch, rows ...Row) {
	for k := range rows {
		i := b.AppendNulls()
		set(small, b, i, &rows[k])
		set(large, b, i, &rows[k])
		b.Name.SetLast(rows[k].Name)
	}
}

// set sets the columns that the batch has; a nullable column stays null for -1.
func set[T int32 | int64](columns []number[T], b *event.Batch, i int, r *Row) {
	for _, c := range columns {
		if v := *c.field(r); b.Columns.Has(c.col) && (!event.Fields[c.col].Nullable || v >= 0) {
			b.Column(c.col).(*event.Ints[T]).Set(i, v)
		}
	}
}

// Rows returns the rows of a batch.
func Rows(b *event.Batch) []Row {
	rows := make([]Row, b.Len)
	for i := range rows {
		rows[i] = New(0, -1, 0, 0, string(b.Name.Get(i)))
		get(small, b, i, &rows[i])
		get(large, b, i, &rows[i])
	}
	return rows
}

// get reads the columns that the batch has; a null leaves the field unchanged.
func get[T int32 | int64](columns []number[T], b *event.Batch, i int, r *Row) {
	for _, c := range columns {
		if !b.Columns.Has(c.col) {
			continue
		}
		if v, ok := b.Column(c.col).(*event.Ints[T]).Get(i); ok {
			*c.field(r) = v
		}
	}
}

// BatchSizes returns the batch sizes with which to test the seed-th random trace: one
// that holds all of it, and a small one. An analysis must give the same answer for both.
func BatchSizes(seed uint64) []int { return []int{8192, []int{1, 2, 7}[seed%3]} }

// source returns rows in batches of one size. It reuses the memory of a batch for the
// next one, as a source may.
type source struct {
	header *event.Header
	rows   []Row
	size   int
	batch  event.Batch
}

// Source returns a source of rows in batches of the given size.
func Source(h *event.Header, rows []Row, size int) event.Source {
	return &source{header: h, rows: rows, size: size}
}

// Header implements event.Source.
func (s *source) Header() *event.Header { return s.header }

// Next implements event.Source. The batch is valid until the next call.
func (s *source) Next() (*event.Batch, error) {
	if len(s.rows) == 0 {
		return nil, io.EOF
	}
	n := min(s.size, len(s.rows))
	s.batch.Reset(s.header.Columns)
	Append(&s.batch, s.rows[:n]...)
	s.rows = s.rows[n:]
	return &s.batch, nil
}

// Collect reads a source to its end. It also returns the rows before an error.
func Collect(src event.Source) ([]Row, error) {
	var rows []Row
	for {
		b, err := src.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, Rows(b)...)
	}
}
