// Package table holds small results: rows with typed columns that flow from one filter
// to the next (metric rows, differences, findings) or are shown to people. Package
// arrow sends tables over pipes, package checkpoint stores them as Parquet, and Writer
// writes them as text for other programs.
package table

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Type is the type of a column.
type Type int

// The types.
const (
	Text  Type = iota // UTF-8, escaped where it is shown
	Int               // int64
	Float             // float64; NaN and infinities are null in JSON
	Bool              // true or false
)

var typeNames = [...]string{"text", "int", "float", "bool"}

// String is the name of the type in errors.
func (t Type) String() string { return typeNames[t] }

// Field describes a column.
type Field struct {
	Name string // unique in its table
	Type Type   // of its values
}

// Fields parses the columns of a table, each a name and a type:
//
//	name text, count int, share float, found bool
//
// An unknown type panics.
func Fields(line string) (fields []Field) {
	for column := range strings.SplitSeq(line, ",") {
		name, typ, _ := strings.Cut(strings.TrimSpace(column), " ")
		k := slices.Index(typeNames[:], typ)
		if k < 0 {
			panic("BUG: no type of the column " + column)
		}
		fields = append(fields, Field{name, Type(k)})
	}
	return fields
}

// OrNull returns a text for Append, nil (null) if it is empty.
func OrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Column is a column of a table, with one value per row. A Bool is 0 or 1 among the
// Ints. A null row holds zero or "".
type Column struct {
	Field
	Values event.Plain // of the plain type that holds the column's type
}

// plainTypes are the types that hold the values of each Type.
var plainTypes = [...]event.PlainType{Text: event.PlainText, Int: event.PlainInt, Float: event.PlainFloat, Bool: event.PlainInt}

// NewColumn returns a column without rows.
func NewColumn(f Field) Column {
	return Column{f, event.Plain{Type: plainTypes[f.Type], Strings: event.Strings{Offsets: []int32{0}}}}
}

// Table holds rows as columns of equal length. Every column may have nulls: missing is
// not zero.
type Table struct {
	// Schema names what the rows are; Version is the schema's version. Rows and reports
	// in JSON carry both under the key "schema", and no report shares its name with
	// rows.
	Schema  string
	Version int
	// Meta has further values about the whole table.
	Meta    map[string]string
	Columns []Column // in the order of the table
	rows    int
}

// New returns an empty table.
func New(schema string, version int, fields ...Field) *Table {
	t := &Table{Schema: schema, Version: version, Meta: map[string]string{}}
	for _, f := range fields {
		t.Columns = append(t.Columns, NewColumn(f))
	}
	return t
}

// Name returns the schema with its version, as rows in JSON state it.
func (t *Table) Name() string { return fmt.Sprintf("%s/%d", t.Schema, t.Version) }

// Len returns the number of rows.
func (t *Table) Len() int { return t.rows }

// SetLen sets the number of rows, for callers that fill columns directly.
func (t *Table) SetLen(n int) { t.rows = n }

// Append appends a row with a value for each column, in order. A value is a string,
// signed integer, float or bool, a pointer to one of these (nil for null), or nil for
// null. It panics if their number or a type does not fit.
func (t *Table) Append(values ...any) {
	if len(values) != len(t.Columns) {
		panic(fmt.Sprintf("BUG: %d values for the %d columns of table %s", len(values), len(t.Columns), t.Schema))
	}
	for i, v := range values {
		t.Columns[i].append(t.rows, v)
	}
	t.rows++
}

// append appends a value as row number row.
func (c *Column) append(row int, value any) {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var one event.Foreign // nil for null
	if v.IsValid() {
		one = c.plain(v)
	}
	c.Extend(row, one, 1)
}

// plain returns one value as a column of its own. It panics if the type is not the
// column's.
func (c *Column) plain(v reflect.Value) *event.Plain {
	one := &event.Plain{Type: c.Values.Type}
	switch {
	case c.Type == Text && v.Kind() == reflect.String:
		one.Strings.Append(v.String())
	case c.Type == Int && v.CanInt():
		one.Ints = []int64{v.Int()}
	case c.Type == Float && v.CanFloat():
		one.Ints = []int64{int64(math.Float64bits(v.Float()))}
	case c.Type == Bool && v.Kind() == reflect.Bool:
		one.Ints = []int64{0}
		if v.Bool() {
			one.Ints[0] = 1
		}
	default:
		panic(fmt.Sprintf("BUG: a %s in column %s of type %s", v.Type(), c.Name, c.Type))
	}
	return one
}

// Extend appends the first n values, or n nulls if values is nil, to a column of rows
// rows.
func (c *Column) Extend(rows int, values event.Foreign, n int) {
	if n > 0 {
		c.Values = *c.Values.Append(rows, values, 0, n).(*event.Plain)
	}
}

// Null reports whether row i is null.
func (c *Column) Null(i int) bool { return !c.Values.Valid.Get(i) }

// Value returns the value of row i: a string, int64, float64 or bool, or nil for null.
func (c *Column) Value(i int) any {
	switch {
	case c.Null(i):
		return nil
	case c.Type == Text:
		return string(c.Values.Strings.Get(i))
	case c.Type == Int:
		return c.Values.Ints[i]
	case c.Type == Float:
		return c.Values.Float(i)
	}
	return c.Values.Ints[i] != 0
}

// Column returns the column with that name, nil if there is none.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// Value returns the value of a row in the named column, nil if it is null or there is
// no such column.
func (t *Table) Value(row int, name string) any {
	if c := t.Column(name); c != nil {
		return c.Value(row)
	}
	return nil
}

// Text returns a text, "" if it is null or there is no such text column.
func (t *Table) Text(row int, name string) string {
	v, _ := t.Value(row, name).(string)
	return v
}

// Int returns an integer, and false if it is null or there is no such column.
func (t *Table) Int(row int, name string) (int64, bool) {
	v, ok := t.Value(row, name).(int64)
	return v, ok
}

// Float returns a number, also from an integer column, and false if it is null or there
// is no such column.
func (t *Table) Float(row int, name string) (float64, bool) {
	switch v := t.Value(row, name).(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// Bool returns a truth value, and false if it is null or there is no such column.
func (t *Table) Bool(row int, name string) (v, ok bool) {
	v, ok = t.Value(row, name).(bool)
	return v, ok
}

// Check returns an error unless the table has the given columns. Their order does not
// matter, and there may be others.
func (t *Table) Check(fields ...Field) error {
	for _, f := range fields {
		switch c := t.Column(f.Name); {
		case c == nil:
			return fmt.Errorf("table %s lacks the column %s", t.Schema, f.Name)
		case c.Type != f.Type:
			return fmt.Errorf("table %s: column %s is %s, want %s", t.Schema, f.Name, c.Type, f.Type)
		}
	}
	return nil
}
