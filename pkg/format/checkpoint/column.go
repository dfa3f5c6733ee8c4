package checkpoint

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// encodings lists the columns that are stored as differences. The others have a
// dictionary, which does not pay if nearly every row has a different value.
var encodings = [event.NumCols]parquet.Encoding{
	event.ColStart:       parquet.Delta,
	event.ColEnd:         parquet.Delta,
	event.ColCorrelation: parquet.Delta,
	event.ColLaunchStart: parquet.Delta,
	event.ColLaunchEnd:   parquet.Delta,
	event.ColStep:        parquet.Delta,
}

// enum returns the values of an enum column by their codes, and nil for other columns
// only. In an enum column without values all rows are null.
func enum(c event.Col, h *event.Header) []string {
	if event.Fields[c].Type != event.Enum {
		return nil
	}
	return append([]string{}, h.Values(c)...)
}

// columns returns the columns of a file of rows with header h, in the order of
// event.Fields.
func columns(h *event.Header) []parquet.Column {
	var cols []parquet.Column
	for c := range h.Columns.All() {
		f := event.Fields[c]
		col := parquet.Column{Name: f.Name, Type: parquet.Int64, Nullable: f.Nullable, Encoding: encodings[c]}
		switch f.Type {
		case event.Int32:
			col.Type = parquet.Int32
		case event.Text, event.Enum:
			col.Type, col.Enum = parquet.Text, enum(c, h)
		}
		cols = append(cols, col)
	}
	return cols
}

// toVector sets v to column c of b. It shares the memory of b where it can, else it
// uses that of own.
func toVector(v, own *parquet.Vector, b *event.Batch, c event.Col) {
	*v = parquet.Vector{}
	if !b.Columns.Has(c) {
		return // all null
	}
	switch col := b.Column(c).(type) {
	case *event.Ints[int64]:
		v.Int, v.Valid = col.Values, col.Valid
	case *event.Ints[int32]:
		own.Int = slices.Grow(own.Int[:0], len(col.Values))[:len(col.Values)]
		for i, x := range col.Values {
			own.Int[i] = int64(x)
		}
		v.Int, v.Valid = own.Int, col.Valid
	case *event.Strings:
		v.Text = col.Flatten(0, b.Len, &own.Text)
	}
}

// Columns that this program does not know are written after the others: integers,
// floating point numbers and strings as such, and anything else as text.

var plainTypes = [...]parquet.Type{
	event.PlainText:  parquet.Text,
	event.PlainInt:   parquet.Int64,
	event.PlainFloat: parquet.Float64,
}

// foreignVector sets v to foreign column k of b.
func foreignVector(v *parquet.Vector, b *event.Batch, k int, typ event.PlainType) {
	*v = parquet.Vector{}
	if k >= len(b.Foreign) {
		return // all null
	}
	p := b.Foreign[k].Plain()
	if p.Type != typ {
		panic("BUG: a column that is not of its field's type")
	}
	*v = toPlain(p)
}

// toPlain returns a plain column as a vector, sharing its memory.
func toPlain(p *event.Plain) parquet.Vector {
	return parquet.Vector{Int: p.Ints, Text: p.Strings, Valid: p.Valid}
}

// foreignFields returns the columns of a file that this program does not know.
func foreignFields(f *parquet.File) event.PlainFields {
	known := map[string]bool{}
	for c := range event.Fields {
		known[event.Fields[c].Name] = true
	}
	var fields event.PlainFields
	for _, c := range f.Columns() {
		switch {
		case known[c.Name]:
		case c.Type.IsInt():
			fields = append(fields, event.PlainField{Name: c.Name, Type: event.PlainInt})
		case c.Type.IsFloat():
			fields = append(fields, event.PlainField{Name: c.Name, Type: event.PlainFloat})
		default:
			fields = append(fields, event.PlainField{Name: c.Name, Type: event.PlainText})
		}
	}
	return fields
}

// fromForeign returns a vector as a plain column, sharing its memory.
func fromForeign(v *parquet.Vector, typ event.PlainType) *event.Plain {
	return &event.Plain{Type: typ, Ints: v.Int, Strings: v.Text, Valid: v.Valid}
}
