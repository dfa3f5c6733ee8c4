package arrow

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Columns that this program does not know are exchanged with other formats as
// event.Plain.

// plainTypes are the Arrow types of plain columns.
var plainTypes = [...]arrow.DataType{
	event.PlainText:  arrow.BinaryTypes.String,
	event.PlainInt:   arrow.PrimitiveTypes.Int64,
	event.PlainFloat: arrow.PrimitiveTypes.Float64,
}

// plainType returns the plain type for a column of type t. A uint64 becomes text, as an
// int64 may not hold it.
func plainType(t arrow.DataType) event.PlainType {
	switch id := t.ID(); {
	case arrow.IsInteger(id) && id != arrow.UINT64:
		return event.PlainInt
	case arrow.IsFloating(id):
		return event.PlainFloat
	}
	return event.PlainText
}

// PlainFields describes the columns as plain ones. Arrow allows several columns with
// the same name, other formats do not: those after the first get a number.
func (f *foreign) PlainFields() event.PlainFields {
	fields := make(event.PlainFields, len(f.fields))
	taken := make(map[string]bool, len(fields))
	for _, field := range f.fields {
		taken[field.Name] = true
	}
	used := make(map[string]bool, len(fields))
	for i, field := range f.fields {
		name := field.Name
		for n := 2; used[name]; n++ {
			if next := fmt.Sprintf("%s_%d", field.Name, n); !taken[next] {
				name = next
			}
		}
		used[name] = true
		fields[i] = event.PlainField{Name: name, Type: plainType(field.Type)}
	}
	return fields
}

// foreignOf returns the unknown fields of a header, as plain columns if it comes from
// another format.
func foreignOf(h *event.Header) (fields []arrow.Field) {
	if f, ok := h.Foreign.(*foreign); ok {
		return f.fields
	}
	if h.Foreign == nil {
		return nil
	}
	for _, f := range h.Foreign.PlainFields() {
		fields = append(fields, arrow.Field{Name: strings.ToValidUTF8(f.Name, "\ufffd"), Type: plainTypes[f.Type]})
	}
	return fields
}

// Plain implements event.Foreign. The result shares no memory with the column. Values
// of damaged arrays are null.
func (c *column) Plain() *event.Plain {
	p, _ := c.plain()
	return p
}

// plain is Plain with an error if an array is damaged. Strings that exceed maxBody
// bytes in total count as damage.
func (c *column) plain() (p *event.Plain, err error) {
	p = &event.Plain{Type: plainType(c.typ)}
	switch p.Type {
	case event.PlainInt:
		p.Ints, p.Valid, err = numbers(c, appendInts)
	case event.PlainFloat:
		p.Ints, p.Valid, err = numbers(c, appendFloats)
	default:
		p.Strings, p.Valid, err = formatted(c, maxBody)
	}
	if p.Valid.Count(0, c.n) == c.n {
		p.Valid = nil
	}
	return p, err
}

// numbers returns the values of a column, 0 for nulls. appendTo appends the values of a
// part whose array is not nil. The error is the first one of an array.
func numbers(c *column, appendTo func(values []int64, p part) []int64) (values []int64, valid event.Bitmap, err error) {
	values = make([]int64, 0, c.n)
	valid = make(event.Bitmap, (c.n+7)/8)
	for _, p := range c.parts {
		at := len(values)
		if p.arr == nil {
			values = append(values, make([]int64, p.to)...)
			continue
		}
		values = appendTo(values, p)
		for i := at; i < len(values); i++ {
			_, ok, damaged := valueOf(p.arr, p.from+i-at, false)
			valid.Fill(i, i+1, ok)
			if !ok {
				values[i] = 0
			}
			err = cmp.Or(err, damaged)
		}
	}
	return values, valid, err
}

// formatted returns the values of a column as strings, "" for nulls, up to limit bytes
// in total. The error is the first one of an array.
func formatted(c *column, limit int) (values event.Strings, valid event.Bitmap, err error) {
	values = event.Strings{Offsets: make([]int32, 1, c.n+1)}
	valid = make(event.Bitmap, (c.n+7)/8)
	row := 0
	for _, p := range c.parts {
		for i := p.from; i < p.to; i++ {
			text, ok, damaged := valueOf(p.arr, i, true)
			if len(values.Data)+len(text) > limit {
				text, ok, damaged = "", false, errShort
			}
			values.Append(text)
			valid.Fill(row, row+1, ok)
			err = cmp.Or(err, damaged)
			row++
		}
	}
	return values, valid, err
}

// valueOf returns value i of an array, as a string if wanted, and false if it is null
// or the array is damaged.
func valueOf(arr arrow.Array, i int, wanted bool) (text string, ok bool, damaged error) {
	defer caught(&damaged)
	if missing(arr, i) {
		return "", false, nil
	}
	if wanted {
		text = arr.ValueStr(i)
	}
	return text, true, nil
}

// missing reports whether value i of an array is null, also if a child array says so.
func missing(arr arrow.Array, i int) bool {
	if arr == nil || arr.IsNull(i) {
		return true
	}
	switch a := arr.(type) {
	case *array.Null:
		return true
	case *array.Dictionary:
		return missing(a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		return missing(a.Values(), a.GetPhysicalIndex(i))
	case array.Union:
		return a.GetOneForMarshal(i) == nil
	}
	return false
}

// appendInts appends the values of a part of an integer array.
func appendInts(values []int64, p part) []int64 {
	switch a := p.arr.(type) {
	case *array.Int8:
		return widen(values, a.Int8Values()[p.from:p.to])
	case *array.Int16:
		return widen(values, a.Int16Values()[p.from:p.to])
	case *array.Int32:
		return widen(values, a.Int32Values()[p.from:p.to])
	case *array.Int64:
		return append(values, a.Int64Values()[p.from:p.to]...)
	case *array.Uint8:
		return widen(values, a.Uint8Values()[p.from:p.to])
	case *array.Uint16:
		return widen(values, a.Uint16Values()[p.from:p.to])
	case *array.Uint32:
		return widen(values, a.Uint32Values()[p.from:p.to])
	}
	panic(fmt.Sprintf("BUG: %s is no type of whole numbers", p.arr.DataType()))
}

// appendFloats appends the values of a part of a floating point array, as bits of a
// float64.
func appendFloats(values []int64, p part) []int64 {
	var of func(i int) float64
	switch a := p.arr.(type) {
	case *array.Float16:
		of = func(i int) float64 { return float64(a.Value(i).Float32()) }
	case *array.Float32:
		of = func(i int) float64 { return float64(a.Value(i)) }
	case *array.Float64:
		of = a.Value
	}
	for i := p.from; i < p.to; i++ {
		values = append(values, int64(math.Float64bits(of(i))))
	}
	return values
}

// widen appends integers as int64.
func widen[S integer](values []int64, src []S) []int64 {
	for _, v := range src {
		values = append(values, int64(v))
	}
	return values
}

// plainArray returns the first n rows of a plain column as an array, sharing its
// memory.
func plainArray(p *event.Plain, n int) arrow.Array {
	var cleared event.Bitmap
	valid, nulls := bitmap(p.Valid, n, &cleared)
	buffers := []*memory.Buffer{valid}
	switch p.Type {
	case event.PlainInt, event.PlainFloat:
		buffers = append(buffers, buffer(p.Ints[:n]))
	default:
		var moved []int32
		offsets, text := rebase(validStrings(&p.Strings, n), n, &moved)
		buffers = append(buffers, buffer(offsets), buffer(text))
	}
	return array.MakeFromData(array.NewData(plainTypes[p.Type], n, buffers, nil, nulls, 0))
}

// validStrings returns n strings as valid UTF-8, which utf8 columns require: col itself
// if it is valid.
func validStrings(col *event.Strings, n int) *event.Strings {
	i := 0
	for i < n && utf8.Valid(col.Get(i)) {
		i++
	}
	if i == n {
		return col
	}
	out := new(event.Strings)
	for i := range n {
		out.AppendBytes(bytes.ToValidUTF8(col.Get(i), []byte("\ufffd")))
	}
	return out
}
