package arrow

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
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
	p, _ := c.plain(maxBody)
	return p
}

// plain is Plain with an error if an array is damaged, the first one. Strings that exceed
// limit bytes in total count as damage. All values are read as the library formats them,
// which loses none of their bits.
func (c *column) plain(limit int) (p *event.Plain, err error) {
	p = &event.Plain{Type: plainType(c.typ), Valid: make(event.Bitmap, (c.n+7)/8)}
	if p.Type == event.PlainText {
		p.Strings.Offsets = make([]int32, 1, c.n+1)
	} else {
		p.Ints = make([]int64, 0, c.n)
	}
	bits := 32 // in which a float has been formatted
	if c.typ.ID() == arrow.FLOAT64 {
		bits = 64
	}
	row := 0
	for _, part := range c.parts {
		for i := part.from; i < part.to; i++ {
			text, ok, damaged := valueOf(part.arr, i)
			switch p.Type {
			case event.PlainInt:
				n, _ := strconv.ParseInt(text, 10, 64)
				p.Ints = append(p.Ints, n)
			case event.PlainFloat:
				x, _ := strconv.ParseFloat(text, bits)
				p.Ints = append(p.Ints, int64(math.Float64bits(x)))
			default:
				if len(p.Strings.Data)+len(text) > limit {
					text, ok, damaged = "", false, errShort
				}
				p.Strings.Append(text)
			}
			p.Valid.Fill(row, row+1, ok)
			err = cmp.Or(err, damaged)
			row++
		}
	}
	if p.Valid.Count(0, c.n) == c.n {
		p.Valid = nil
	}
	return p, err
}

// valueOf returns value i of an array as a string, and false if it is null or the array
// is damaged.
func valueOf(arr arrow.Array, i int) (text string, ok bool, damaged error) {
	defer caught(&damaged)
	if missing(arr, i) {
		return "", false, nil
	}
	return arr.ValueStr(i), true, nil
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
