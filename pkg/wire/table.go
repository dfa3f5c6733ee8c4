package wire

import (
	"errors"
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
	sorted := sortedMetadata(meta)
	schema := arrow.NewSchema(fields, &sorted)
	out := newOutput(w)
	stream := ipc.NewWriter(out, ipc.WithSchema(schema))
	for from := 0; from < t.Len(); from += event.MaxBatchRows {
		if err := stream.Write(tableRecord(schema, t, from)); err != nil {
			return err
		}
	}
	empty := func() error { return stream.Write(tableRecord(schema, t, t.Len())) }
	return out.finish(t.Len() > 0, nil, empty, stream.Close)
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
			f.AppendValues(validTexts(c.Texts[from:to]), valid)
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

// ReadTable reads a result table, to its checked end.
func ReadTable(r io.Reader) (t *table.Table, err error) {
	defer caught(&err)
	m := newMessages(r)
	head, err := readHead(m)
	if err != nil {
		return nil, err
	}
	return readTable(m, head)
}

// Open reads what comes: a stream of events, of which it reads the header, or
// a result table, which it reads whole. The other result is nil.
func Open(r io.Reader) (events *Reader, t *table.Table, err error) {
	defer caught(&err)
	m := newMessages(r)
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

// readTable reads all rows of a result table, of which the bytes are limited.
func readTable(m *messages, head *head) (*table.Table, error) {
	m.limit = min(m.limit, maxTableBody)
	t, err := newTable(head)
	if err != nil {
		return nil, err
	}
	words := make([]words, len(head.fields))
	for {
		msg, err := m.next()
		switch {
		case err == io.EOF:
			return t, nil
		case err != nil:
			return nil, err
		case msg.kind == dictionaryMessage:
			err = defineWords(msg, head.fields, words)
		case msg.kind == recordMessage:
			err = readRows(t, msg, head.fields, words, m.limit)
		default:
			err = errors.New("damaged stream: a second schema")
		}
		if err != nil {
			return nil, err
		}
	}
}

// newTable returns the table without rows that a stream describes.
func newTable(head *head) (*table.Table, error) {
	name, ok := head.meta[event.KeySchema]
	if !ok {
		return nil, fmt.Errorf("not a hostbound stream: its metadata lack %s", event.KeySchema)
	}
	if name == event.SchemaName {
		return nil, errors.New("a stream of events where a result table is wanted")
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

// defineWords gives the values of a dictionary to the columns that use it.
func defineWords(msg *message, fields []field, words []words) error {
	for i := range fields {
		d, ok := fields[i].Type.(*arrow.DictionaryType)
		if !ok || fields[i].dictionary != msg.dictionary {
			continue
		}
		values, err := dictionaryValues(msg, d.ValueType)
		if err != nil {
			return fmt.Errorf("damaged dictionary of column %s: %w", fields[i].Name, err)
		}
		words[i].define(values, msg.delta)
	}
	return nil
}

// readRows appends the rows of a record batch to t.
func readRows(t *table.Table, msg *message, fields []field, words []words, limit int64) error {
	if msg.rows == 0 {
		return nil
	}
	cur := &cursor{msg: msg, rows: int(msg.rows)}
	for i := range t.Columns {
		if err := readValues(&t.Columns[i], cur, fields[i].Type, &words[i], t.Len(), limit); err != nil {
			return fmt.Errorf("damaged batch after %s: column %s: %w", rows(int64(t.Len())), fields[i].Name, err)
		}
	}
	t.SetLen(t.Len() + cur.rows)
	return nil
}

// readValues appends the values of one column after the have rows of c.
func readValues(c *table.Column, cur *cursor, typ arrow.DataType, w *words, have int, limit int64) error {
	var valid event.Bitmap
	var err error
	switch c.Type {
	case table.Text:
		var texts event.Strings
		if d, ok := typ.(*arrow.DictionaryType); ok {
			texts, valid, err = w.read(cur, d, limit)
		} else {
			texts, valid, err = text(cur, typ, &w.indices)
		}
		for i := 0; i < cur.rows && err == nil; i++ {
			c.Texts = append(c.Texts, string(texts.Get(i)))
		}
	case table.Int:
		var scratch []int64
		var col event.Ints[int64]
		col, err = ints(cur, typ, &scratch)
		c.Ints, valid = append(c.Ints, col.Values...), col.Valid
	case table.Float:
		var b []byte
		if valid, b, err = plain(cur, 64); err == nil {
			c.Floats = append(c.Floats, cast[float64](b, cur.rows)...)
		}
	case table.Bool:
		var b []byte
		if valid, b, err = plain(cur, 1); err == nil {
			for i := range cur.rows {
				c.Bools = append(c.Bools, event.Bitmap(b).Get(i))
			}
		}
	}
	if err == nil {
		appendNulls(c, valid, have, cur.rows)
	}
	return err
}

// plain takes the validity and the values of a column of so many bits a row.
func plain(cur *cursor, bits int) (event.Bitmap, []byte, error) {
	valid, err := cur.validity()
	if err != nil {
		return nil, nil, err
	}
	b, err := cur.nextBuffer((cur.rows*bits + 7) / 8)
	return valid, b, err
}

// appendNulls marks which of n rows after the have rows of c are null, and
// makes their values zero.
func appendNulls(c *table.Column, valid event.Bitmap, have, n int) {
	if c.Nulls == nil && valid == nil {
		return
	}
	if c.Nulls == nil {
		c.Nulls = make([]bool, have)
	}
	for i := range n {
		null := !valid.Get(i)
		c.Nulls = append(c.Nulls, null)
		if null {
			c.SetNull(have + i)
		}
	}
}
