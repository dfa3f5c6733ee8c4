package wire

import (
	"fmt"
	"io"
	"maps"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/table"
)

// tableTypes are the Arrow types of a table's columns.
var tableTypes = [...]arrow.DataType{
	table.Text:  arrow.BinaryTypes.String,
	table.Int:   arrow.PrimitiveTypes.Int64,
	table.Float: arrow.PrimitiveTypes.Float64,
	table.Bool:  arrow.FixedWidthTypes.Boolean,
}

// WriteTable writes t as a stream, with its end-of-stream marker if and only
// if it returns nil.
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
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range t.Columns {
		c := &t.Columns[i]
		var valid []bool
		if c.Nulls != nil {
			valid = make([]bool, to-from)
			for k := range valid {
				valid[k] = !c.Nulls[from+k]
			}
		}
		switch f := b.Field(i).(type) {
		case *array.StringBuilder:
			f.AppendValues(validUTF8(c.Strings[from:to]), valid)
		case *array.Int64Builder:
			f.AppendValues(c.Ints[from:to], valid)
		case *array.Float64Builder:
			f.AppendValues(c.Floats[from:to], valid)
		case *array.BooleanBuilder:
			f.AppendValues(c.Bools[from:to], valid)
		}
	}
	return b.NewRecord()
}

// Open reads what comes: a stream of events, of which it reads the header, or
// a result table, which it reads to its checked end. The other result is nil.
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

// maxTableBody is the limit on a batch of a result table, whose rows take more
// memory than their bodies do.
const maxTableBody = 64 << 20

// readTable reads all rows of a result table, of which the bytes are limited. Its
// columns are read as those of events that are not ours are: a table is small.
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

// appendRecord appends the rows of the record batch that was read.
func appendRecord(t *table.Table, in *others) error {
	columns, err := in.columns(nil)
	if err != nil {
		return err
	}
	plain := make([]*event.Plain, len(columns))
	for k := range columns {
		if plain[k], err = columns[k].(*column).plain(); err != nil {
			return fmt.Errorf("column %s: %w", t.Columns[k].Name, err)
		}
	}
	row := make([]any, len(columns))
	for i := range int(in.head.arrow.Record().NumRows()) {
		for k, p := range plain {
			if row[k], err = tableValue(p, i, t.Columns[k].Type); err != nil {
				return fmt.Errorf("column %s: %w", t.Columns[k].Name, err)
			}
		}
		t.Append(row...)
	}
	return nil
}

// tableValue returns value i of a column as one of type typ, nil for null. Truth
// values are plain text, and so are numbers of type uint64.
func tableValue(p *event.Plain, i int, typ table.Type) (any, error) {
	switch {
	case !p.Valid.Get(i):
		return nil, nil
	case p.Type == event.PlainInt:
		return p.Ints[i], nil
	case p.Type == event.PlainFloat:
		return p.Floats[i], nil
	case typ == table.Int:
		return strconv.ParseInt(string(p.Strings.Get(i)), 10, 64)
	case typ == table.Bool:
		return strconv.ParseBool(string(p.Strings.Get(i)))
	}
	return string(p.Strings.Get(i)), nil
}

// newTable returns the table without rows that a stream describes.
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

// tableType returns what a column of type typ is in a table.
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
