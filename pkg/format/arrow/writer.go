package arrow

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Writer writes a stream of events. It copies no columns: they are written as they are.
type Writer struct {
	out    *sink
	begun  bool // a record batch was written
	ipc    *ipc.Writer
	schema *arrow.Schema
	cols   []event.Col
	extra  []arrow.Field // unknown columns, after the known ones
	dicts  [event.NumCols]arrow.ArrayData

	nulls   event.Bitmap // zeros, for columns that a batch lacks
	zeros   []int64
	offsets []int32
	text    event.Strings // names without a dictionary
	tails   [event.NumCols]event.Bitmap
	err     error // the first one; nothing is written after it

	warnings []string
}

// NewWriter prepares a stream with header h to w. The schema is written with the first
// batch.
func NewWriter(w io.Writer, h *event.Header) *Writer {
	if err := complete(h.Columns); err != nil {
		panic("BUG: " + err.Error())
	}
	meta := encodeHeader(h)
	wr := &Writer{out: newOutput(w)}
	var fields []arrow.Field
	for c, f := range event.Fields {
		if c := event.Col(c); h.Columns.Has(c) {
			wr.cols = append(wr.cols, c)
			fields = append(fields, arrow.Field{Name: f.Name, Type: arrowType(c), Nullable: f.Nullable})
			if f.Type == event.Enum {
				// All batches share it: the Arrow writer writes a dictionary again
				// unless it is the same object.
				b := array.NewStringBuilder(memory.DefaultAllocator)
				b.AppendValues(validUTF8(h.Values(c)), nil)
				wr.dicts[c] = b.NewArray().Data()
			}
		}
	}
	for _, f := range foreignOf(h) {
		f.Nullable = true // our own rows have no values in it
		wr.extra = append(wr.extra, f)
	}
	wr.schema = arrow.NewSchema(append(fields, wr.extra...), &meta)
	wr.ipc = ipc.NewWriterWithPayloadWriter(wr.out, ipc.WithSchema(wr.schema))
	return wr
}

// Write writes the rows of b, in record batches of at most event.MaxBatchRows rows. It
// does not retain b.
func (w *Writer) Write(b *event.Batch) error {
	if extra := b.Columns &^ w.set(); extra != 0 && b.Len > 0 {
		panic(fmt.Sprintf("BUG: a batch with columns %b that its header lacks", extra))
	}
	for i := 0; i < b.Len && w.err == nil; {
		j := cutAt(b, i, maxText)
		part := b
		if i > 0 || j < b.Len {
			part = b.Slice(i, j)
		}
		w.err = w.write(part)
		i = j
	}
	return w.err
}

// set returns the columns that are written.
func (w *Writer) set() (s event.Set) {
	for _, c := range w.cols {
		s |= 1 << c
	}
	return s
}

// maxText is the most bytes of text in one record batch: other readers refuse bodies of
// 256 MiB.
const maxText = 64 << 20

// cutAt returns the end of the record batch that begins with row i. It has at most
// event.MaxBatchRows rows and text bytes of names, or 8 rows.
func cutAt(b *event.Batch, i, text int) int {
	j := min(b.Len, i+event.MaxBatchRows)
	for j-i > 8 && b.Name.Size(i, j) > text {
		j = i + (j-i)/2&^7
	}
	return j
}

// Warn sets the warnings at the end of the stream, besides those of its reports.
func (w *Writer) Warn(warnings []string) { w.warnings = warnings }

// Close writes the seal and the end-of-stream marker. After an error it writes nothing
// and returns the error: the stream stays recognisably cut.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	none := new(event.Batch)
	none.Blank(0, w.set())
	none.Name.Offsets = []int32{0}
	empty, err := w.record(none)
	if err == nil {
		err = w.out.finish(w.ipc, w.begun, w.warnings, empty)
	}
	w.err = errors.New("BUG: written to after Close")
	return err
}

// write writes one record batch and flushes it.
func (w *Writer) write(b *event.Batch) error {
	rec, err := w.record(b)
	if err != nil {
		return err
	}
	w.begun = true
	if err := w.ipc.Write(rec); err != nil {
		return cause(err)
	}
	return w.out.out.Flush()
}

// record returns the rows of b as a record batch, sharing their memory.
func (w *Writer) record(b *event.Batch) (arrow.Record, error) {
	arrays := make([]arrow.Array, 0, len(w.cols)+len(w.extra))
	for _, c := range w.cols {
		arrays = append(arrays, w.array(b, c))
	}
	for k, f := range w.extra {
		arr, err := w.foreign(b, k)
		if err != nil {
			return nil, fmt.Errorf("column %s (%s): %w", f.Name, f.Type, err)
		}
		arrays = append(arrays, arr)
	}
	return array.NewRecord(w.schema, arrays, int64(b.Len)), nil
}

// foreign returns unknown column k of b.
func (w *Writer) foreign(b *event.Batch, k int) (arrow.Array, error) {
	if k >= len(b.Foreign) {
		none := &column{typ: w.extra[k].Type}
		return none.Append(0, nil, 0, b.Len).(*column).array(memory.DefaultAllocator)
	}
	if col, ok := b.Foreign[k].(*column); ok {
		return col.array(memory.DefaultAllocator)
	}
	return plainArray(b.Foreign[k].Plain(), b.Len), nil
}

// array returns column c of b as an array, sharing its memory.
func (w *Writer) array(b *event.Batch, c event.Col) arrow.Array {
	n, t := b.Len, arrowType(c)
	if !b.Columns.Has(c) {
		return w.missing(c, n)
	}
	var data arrow.ArrayData
	switch col := b.Column(c).(type) {
	case *event.Ints[int32]:
		valid, nulls := bitmap(col.Valid, n, &w.tails[c])
		buffers := []*memory.Buffer{valid, buffer(col.Values[:n])}
		if d := w.dicts[c]; d != nil {
			data = array.NewDataWithDictionary(t, n, buffers, nulls, 0, d.(*array.Data))
		} else {
			data = array.NewData(t, n, buffers, nil, nulls, 0)
		}
	case *event.Ints[int64]:
		valid, nulls := bitmap(col.Valid, n, &w.tails[c])
		data = array.NewData(t, n, []*memory.Buffer{valid, buffer(col.Values[:n])}, nil, nulls, 0)
	case *event.Strings:
		offsets, bytes := rebase(new(col.Flatten(0, n, &w.text)), n, &w.offsets)
		data = array.NewData(t, n, []*memory.Buffer{nil, buffer(offsets), buffer(bytes)}, nil, 0, 0)
	}
	return array.MakeFromData(data)
}

// missing returns n nulls for a column that a batch lacks.
func (w *Writer) missing(c event.Col, n int) arrow.Array {
	if !event.Fields[c].Nullable {
		panic("BUG: a batch without column " + event.Fields[c].Name)
	}
	none := &event.Batch{Len: n, Columns: 1 << c}
	w.nulls = slices.Grow(w.nulls[:0], (n+7)/8)[:(n+7)/8]
	w.zeros = slices.Grow(w.zeros[:0], n)[:n]
	switch col := none.Column(c).(type) {
	case *event.Ints[int32]:
		col.Valid = w.nulls
		col.Values = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(w.zeros))), n)
	case *event.Ints[int64]:
		col.Valid, col.Values = w.nulls, w.zeros
	}
	return w.array(none, c)
}

// bitmap returns a bitmap as a buffer, nil if no row is null, and the number of nulls.
// Bits after the last row are undefined in a batch but zero in a stream, so that equal
// rows give equal bytes. A bitmap that must be changed for that is copied into scratch.
func bitmap(m event.Bitmap, n int, scratch *event.Bitmap) (*memory.Buffer, int) {
	count := n - m.Count(0, n)
	if count == 0 {
		return nil, 0
	}
	m = m[:(n+7)/8]
	if rest := n & 7; rest != 0 && m[len(m)-1]>>rest != 0 {
		m = append((*scratch)[:0], m...)
		m[len(m)-1] &= 1<<rest - 1
		*scratch = m
	}
	return memory.NewBufferBytes(m), count
}

// rebase returns the offsets, beginning with 0, and the bytes of n strings. Offsets
// that begin elsewhere are copied into scratch.
func rebase(col *event.Strings, n int, scratch *[]int32) ([]int32, []byte) {
	offsets := col.Offsets[:n+1]
	first := offsets[0]
	bytes := col.Data[first:offsets[n]]
	if first != 0 {
		moved := slices.Grow((*scratch)[:0], n+1)[:n+1]
		for i, o := range offsets {
			moved[i] = o - first
		}
		*scratch, offsets = moved, moved
	}
	return offsets, bytes
}

// buffer returns the memory of a column as a buffer.
func buffer[T byte | int32 | int64](values []T) *memory.Buffer {
	var zero T
	p := (*byte)(unsafe.Pointer(unsafe.SliceData(values)))
	return memory.NewBufferBytes(unsafe.Slice(p, len(values)*int(unsafe.Sizeof(zero))))
}
