package sim

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// parquetBatch is the number of rows passed to the library at once.
const parquetBatch = 1024

// parquetSink writes each table into a file of its own.
type parquetSink struct {
	dir    string
	tables []*parquetTable
}

// add begins a table in a file of its own. Step and close return its errors.
func (s *parquetSink) add(name string, columns []column) rowSink {
	t := &parquetTable{row: make(parquet.Row, len(columns)), columns: columns}
	s.tables = append(s.tables, t)
	for i := range columns {
		t.Null(i)
	}
	if t.file, t.err = os.Create(filepath.Join(s.dir, name+".parquet")); t.err != nil {
		return t
	}
	t.buffer = bufio.NewWriterSize(t.file, 1<<18)
	schema := parquet.NewSchema(name, parquet.SchemaOf(reflect.New(rowType(columns)).Interface()))
	t.writer = parquet.NewWriter(t.buffer, schema, parquet.MaxRowsPerRowGroup(1<<17), parquet.Compression(&parquet.Snappy))
	return t
}

// close closes all files and returns their errors.
func (s *parquetSink) close() error {
	var errs []error
	for _, t := range s.tables {
		errs = append(errs, t.close())
	}
	return errors.Join(errs...)
}

// rowType returns a struct type with the columns in order. parquet.Group would sort them.
func rowType(columns []column) reflect.Type {
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		tag := `parquet:"` + c.name
		if c.optional {
			tag += ",optional"
		}
		fields[i] = reflect.StructField{
			Name: "F" + c.name,
			Type: goTypes[c.width],
			Tag:  reflect.StructTag(tag + `"`),
		}
	}
	return reflect.StructOf(fields)
}

// goTypes are the types from which the library derives a column. Widths below 32 bits
// become 32 bits.
var goTypes = [...]reflect.Type{
	i64: reflect.TypeFor[int64](),
	i32: reflect.TypeFor[int32](),
	u64: reflect.TypeFor[uint64](),
	u32: reflect.TypeFor[uint32](),
	u16: reflect.TypeFor[uint16](),
	u8:  reflect.TypeFor[uint8](),
	f64: reflect.TypeFor[float64](),
	str: reflect.TypeFor[string](),
}

// parquetTable is one file. The first error is kept.
type parquetTable struct {
	columns []column
	file    *os.File
	buffer  *bufio.Writer
	//lint:ignore SA1019 the columns are known at run time, GenericWriter takes a Go type
	writer *parquet.Writer
	row    parquet.Row
	batch  []parquet.Row
	err    error
}

// Int sets a column to a number, of which the column's width keeps 32 or 64 bits.
func (t *parquetTable) Int(i int, v int64) {
	if i < 0 {
		return
	}
	switch t.columns[i].width {
	case i64, u64:
		t.set(i, parquet.Int64Value(v))
	default:
		t.set(i, parquet.Int32Value(int32(v)))
	}
}

// Text sets a column to a string, which is copied.
func (t *parquetTable) Text(i int, s string) {
	if i >= 0 {
		t.set(i, parquet.ByteArrayValue([]byte(s)))
	}
}

// Null sets a column to NULL.
func (t *parquetTable) Null(i int) {
	if i >= 0 {
		t.row[i] = parquet.NullValue().Level(0, 0, i)
	}
}

// set sets a value with the definition level that says it is not null.
func (t *parquetTable) set(i int, v parquet.Value) {
	level := 0
	if t.columns[i].optional {
		level = 1
	}
	t.row[i] = v.Level(0, level, i)
}

// Step ends the row. It keeps a copy until there are parquetBatch rows.
func (t *parquetTable) Step() error {
	if t.err != nil {
		return t.err
	}
	t.batch = append(t.batch, t.row.Clone())
	if len(t.batch) == parquetBatch {
		t.flush()
	}
	return t.err
}

// flush passes the collected rows to the library.
func (t *parquetTable) flush() {
	if _, err := t.writer.WriteRows(t.batch); err != nil && t.err == nil {
		t.err = err
	}
	t.batch = t.batch[:0]
}

// close completes the file. After an error the file is useless.
func (t *parquetTable) close() error {
	if t.file == nil {
		return t.err
	}
	if t.err == nil {
		t.flush()
	}
	if t.err == nil {
		t.err = errors.Join(t.writer.Close(), t.buffer.Flush())
	}
	return errors.Join(t.err, t.file.Close())
}
