// Package table holds small results: rows with typed columns that flow from
// one filter to the next (metric rows, differences, findings) or are shown to
// people. Package arrow carries tables over pipes, package checkpoint keeps
// them as Parquet; Writer writes them for programs without either.
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
	Text  Type = iota // plain UTF-8, escaped where it is shown
	Int               // int64
	Float             // float64; what is no number is null in JSON
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

// Fields reads columns as they are written in a line, each with its type:
//
//	name text, count int, share float, found bool
//
// A type that there is not is our own mistake.
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

// OrNull is a text for Append, null where it is empty.
func OrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Column is a column of a table. Its Values are one a row, those of a Bool 0 and 1 among
// the Ints; a row that is null has a zero, or "".
type Column struct {
	Field
	Values event.Plain // of the type that holds those of the column's
}

// plainTypes are what holds the values of each type.
var plainTypes = [...]event.PlainType{Text: event.PlainText, Int: event.PlainInt, Float: event.PlainFloat, Bool: event.PlainInt}

// NewColumn returns a column without rows.
func NewColumn(f Field) Column {
	return Column{f, event.Plain{Type: plainTypes[f.Type], Strings: event.Strings{Offsets: []int32{0}}}}
}

// Table is a number of rows as columns, all of the same length. Every column
// may have nulls: missing is not zero.
type Table struct {
	// Schema names what the rows are, Version the version of that. No report in JSON has the
	// name of rows: both have it, with the version, under the key "schema".
	Schema  string
	Version int
	// Meta are further values about the whole table, by key.
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

// Name is the schema with its version: what a row says of itself as JSON.
func (t *Table) Name() string { return fmt.Sprintf("%s/%d", t.Schema, t.Version) }

// Len returns the number of rows.
func (t *Table) Len() int { return t.rows }

// SetLen says how many rows the columns hold, for who fills them directly.
func (t *Table) SetLen(n int) { t.rows = n }

// Append appends a row, a value for each column: of a kind of string, of signed whole
// number, of floating point number or bool, a pointer to one of these (nil for null), or
// nil for null.
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

// plain is one value of the column. One of another type than the column's is our own mistake.
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

// Extend appends n values, nulls where values is nil, to a column of so many rows.
func (c *Column) Extend(rows int, values event.Foreign, n int) {
	if n > 0 {
		c.Values = *c.Values.Append(rows, values, 0, n).(*event.Plain)
	}
}

// Null reports whether row i is null.
func (c *Column) Null(i int) bool { return !c.Values.Valid.Get(i) }

// Value returns the value of row i: a string, int64, float64 or bool, nil for
// null.
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

// Column returns the column of that name, nil where there is none.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}
	return nil
}

// Value returns the value of a row in the column of that name, nil for null
// and where there is no such column.
func (t *Table) Value(row int, name string) any {
	if c := t.Column(name); c != nil {
		return c.Value(row)
	}
	return nil
}

// Text returns a text, "" for null and where there is no such column of text.
func (t *Table) Text(row int, name string) string {
	v, _ := t.Value(row, name).(string)
	return v
}

// Int returns a whole number and whether it is there.
func (t *Table) Int(row int, name string) (int64, bool) {
	v, ok := t.Value(row, name).(int64)
	return v, ok
}

// Float returns a number, also out of a column of whole numbers, and whether
// it is there.
func (t *Table) Float(row int, name string) (float64, bool) {
	switch v := t.Value(row, name).(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// Bool returns a truth value and whether it is there.
func (t *Table) Bool(row int, name string) (v, ok bool) {
	v, ok = t.Value(row, name).(bool)
	return v, ok
}

// Check reports whether the table has the columns of fields, in any order and
// among others.
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
