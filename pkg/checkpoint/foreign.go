package checkpoint

import (
	"fmt"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/parquet"
)

// Columns that nobody here knows are written after the others where they are
// whole numbers, floating point numbers or strings, and as text otherwise.

// foreignColumns returns the columns that are not ours of what is written
// after header h.
func foreignColumns(h *event.Header) (event.PlainFields, error) {
	switch f := h.Foreign.(type) {
	case nil:
		return nil, nil
	case interface{ PlainFields() event.PlainFields }:
		return f.PlainFields(), nil
	case interface{ Names() []string }:
		var fields event.PlainFields
		for _, name := range f.Names() {
			fields = append(fields, event.PlainField{Name: name})
		}
		return fields, nil
	}
	return nil, fmt.Errorf("columns of another format (%T) cannot be written to a checkpoint", h.Foreign)
}

var plainTypes = [...]parquet.Type{
	event.PlainText:  parquet.Text,
	event.PlainInt:   parquet.Int64,
	event.PlainFloat: parquet.Float64,
}

// foreignSchema is how columns that nobody here knows are kept: all of them may be null.
func foreignSchema(fields event.PlainFields) []parquet.Column {
	var cols []parquet.Column
	for _, f := range fields {
		cols = append(cols, parquet.Column{Name: f.Name, Type: plainTypes[f.Type], Nullable: true})
	}
	return cols
}

// foreignVector makes v column k of the columns of b that are not ours.
func foreignVector(v *parquet.Vector, b *event.Batch, k int, typ event.PlainType) {
	*v = parquet.Vector{}
	if k >= len(b.Foreign) {
		return // all null
	}
	switch col := b.Foreign[k].(type) {
	case interface{ Plain() *event.Plain }:
		p := col.Plain()
		if p.Type != typ {
			panic("BUG: a column that is not of its field's type")
		}
		*v = parquet.Vector{Int: p.Ints, Float: p.Floats, Text: texts(&p.Texts), Valid: p.Valid}
	case interface{ Text(i int) (string, bool) }:
		own := &event.Plain{Type: event.PlainText, Texts: event.Strings{Offsets: []int32{0}}}
		for i := range b.Len {
			text, ok := col.Text(i)
			own.Texts.Append(text)
			if !ok && own.Valid == nil {
				own.Valid = make(event.Bitmap, (b.Len+7)/8)
				own.Valid.Fill(0, i, true)
			}
			if own.Valid != nil {
				own.Valid.Fill(i, i+1, ok)
			}
		}
		*v = parquet.Vector{Text: texts(&own.Texts), Valid: own.Valid}
	}
}

// foreignFields returns the columns of a file that are not ours.
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

// fromForeign makes a column of v. It shares its memory.
func fromForeign(v *parquet.Vector, typ event.PlainType) *event.Plain {
	return &event.Plain{Type: typ, Ints: v.Int, Floats: v.Float, Texts: event.Strings{Offsets: v.Text.Offsets, Data: v.Text.Data}, Valid: v.Valid}
}
