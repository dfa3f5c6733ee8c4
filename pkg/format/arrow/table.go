package arrow

import (
	"fmt"
	"io"
	"maps"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// tableTypes are the Arrow types of a table's columns.
var tableTypes = [...]arrow.DataType{
	table.Text:  arrow.BinaryTypes.String,
	table.Int:   arrow.PrimitiveTypes.Int64,
	table.Float: arrow.PrimitiveTypes.Float64,
	table.Bool:  arrow.FixedWidthTypes.Boolean,
}

// WriteTable writes t as a stream. It writes the end-of-stream marker if and only if it
// returns nil.
func WriteTable(w io.Writer, t *table.Table) error {
	meta := maps.Clone(t.Meta)
	if meta == nil {
		meta = map[string]string{}
	}
	meta[event.KeySchema], meta[event.KeyVersion] = t.Schema, strconv.Itoa(t.Version)
	fields := make([]arrow.Field, len(t.Columns))
	for i := range t.Columns {
		fields[i] = arrow.Field{Name: t.Columns[i].Name, Type: tableTypes[t.Columns[i].Type], Nullable: true}
	}
	schema := arrow.NewSchema(fields, new(sortedMetadata(meta)))
	out := newOutput(w)
	stream := ipc.NewWriterWithPayloadWriter(out, ipc.WithSchema(schema))
	for from := 0; from < t.Len(); from += event.MaxBatchRows {
		if err := stream.Write(tableRecord(schema, t, from)); err != nil {
			return err
		}
	}
	return out.finish(stream, t.Len() > 0, nil, tableRecord(schema, t, t.Len()))
}

// tableRecord returns the rows of one batch, from row from on.
func tableRecord(schema *arrow.Schema, t *table.Table, from int) arrow.Record {
	to := min(t.Len(), from+event.MaxBatchRows)
	arrays := make([]arrow.Array, len(t.Columns))
	for i := range t.Columns {
		values := t.Columns[i].Values.Slice(from, to).(*event.Plain)
		if t.Columns[i].Type == table.Bool {
			arrays[i] = boolArray(values)
		} else {
			arrays[i] = plainArray(values, to-from)
		}
	}
	return array.NewRecord(schema, arrays, int64(to-from))
}

// boolArray returns truth values, which a table stores as numbers.
func boolArray(p *event.Plain) arrow.Array {
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	values, valid := make([]bool, len(p.Ints)), make([]bool, len(p.Ints))
	for i, v := range p.Ints {
		values[i], valid[i] = v != 0, p.Valid.Get(i)
	}
	b.AppendValues(values, valid)
	return b.NewArray()
}

// Open reads a stream of events up to its header, or a result table up to its checked
// end. The other result is nil.
func Open(r io.Reader) (events *Reader, t *table.Table, err error) {
	return open(newMessages(r))
}

// open is Open for messages, on which a test may set a limit.
func open(m *messages) (events *Reader, t *table.Table, err error) {
	defer caught(&err)
	head, err := readHead(m)
	if err != nil {
		return nil, nil, err
	}
	if head.meta[event.KeySchema] == event.SchemaName {
		events, err = newEventReader(m, head)
	} else {
		t, err = readTable(m, head)
	}
	return events, t, err
}

// maxTableBody is the most bytes of a batch of a result table, whose rows take more
// memory than their bodies.
const maxTableBody = 64 << 20

// readTable reads all rows of a result table, whose size is limited. It reads columns
// like unknown ones of events: a table is small.
func readTable(m *messages, head *head) (*table.Table, error) {
	m.limit = min(m.limit, maxTableBody)
	t, err := newTable(head)
	if err != nil {
		return nil, err
	}
	in := &others{head: head, limit: m.limit}
	for i := range head.fields {
		in.at = append(in.at, i)
	}
	head.feed.next = m.next
	for {
		if err := in.advance(); err == io.EOF {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		if err := appendRecord(t, in); err != nil {
			return nil, fmt.Errorf("damaged batch after %s: %w", rows(int64(t.Len())), err)
		}
	}
}

// appendRecord appends the rows of the current record batch.
func appendRecord(t *table.Table, in *others) error {
	columns, err := in.columns(nil)
	if err != nil {
		return err
	}
	n := int(in.head.arrow.Record().NumRows())
	for k := range t.Columns {
		p, err := columns[k].(*column).plain(maxBody)
		if err == nil {
			p, err = numbered(p, t.Columns[k].Type)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", t.Columns[k].Name, err)
		}
		t.Columns[k].Extend(t.Len(), p, n)
	}
	t.SetLen(t.Len() + n)
	return nil
}

// numbered converts a column to table type typ. Truth values and numbers of type uint64
// arrive as text.
func numbered(p *event.Plain, typ table.Type) (_ *event.Plain, err error) {
	if p.Type != event.PlainText || typ == table.Text {
		return p, nil
	}
	numbers := &event.Plain{Type: event.PlainInt, Ints: make([]int64, p.Len()), Valid: p.Valid}
	for i := range numbers.Ints {
		switch text, ok := p.Text(i); {
		case !ok || typ == table.Bool && text == "false":
		case typ == table.Bool:
			numbers.Ints[i] = 1
		default:
			if numbers.Ints[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return numbers, nil
}

// newTable returns the empty table that a stream describes.
func newTable(head *head) (*table.Table, error) {
	name, ok := head.meta[event.KeySchema]
	if !ok {
		return nil, fmt.Errorf("not a hostbound stream: its metadata lack %s", event.KeySchema)
	}
	version, err := strconv.Atoi(head.meta[event.KeyVersion])
	if err != nil {
		return nil, fmt.Errorf("not a hostbound stream: %s is %q", event.KeyVersion, head.meta[event.KeyVersion])
	}
	fields := make([]table.Field, len(head.fields))
	for i := range head.fields {
		typ, ok := tableType(head.fields[i].Type)
		if !ok {
			return nil, fmt.Errorf("table %s: column %s is of type %s", name, head.fields[i].Name, head.fields[i].Type)
		}
		fields[i] = table.Field{Name: head.fields[i].Name, Type: typ}
	}
	t := table.New(name, version, fields...)
	for k, v := range head.meta {
		if k != event.KeySchema && k != event.KeyVersion {
			t.Meta[k] = v
		}
	}
	return t, nil
}

// tableType returns the table type for a column of type typ, and false if there is
// none.
func tableType(typ arrow.DataType) (table.Type, bool) {
	if d, ok := typ.(*arrow.DictionaryType); ok {
		return table.Text, d.ValueType.ID() == arrow.STRING || d.ValueType.ID() == arrow.LARGE_STRING
	}
	switch id := typ.ID(); {
	case id == arrow.STRING, id == arrow.LARGE_STRING:
		return table.Text, true
	case id == arrow.FLOAT64:
		return table.Float, true
	case id == arrow.BOOL:
		return table.Bool, true
	default:
		return table.Int, arrow.IsInteger(id)
	}
}
