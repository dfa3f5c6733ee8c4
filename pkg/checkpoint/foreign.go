package checkpoint

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/parquet"
)

// Columns that nobody here knows are written after the others where they are
// whole numbers, floating point numbers or strings, and as text otherwise.

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
	p := b.Foreign[k].Plain()
	if p.Type != typ {
		panic("BUG: a column that is not of its field's type")
	}
	*v = toPlain(p)
}

// toPlain makes a vector of a plain column. It shares its memory.
func toPlain(p *event.Plain) parquet.Vector {
	return parquet.Vector{Int: p.Ints, Float: p.Floats, Text: parquetStrings(&p.Strings), Valid: p.Valid}
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
	return &event.Plain{Type: typ, Ints: v.Int, Floats: v.Float, Strings: event.Strings{Offsets: v.Text.Offsets, Data: v.Text.Data}, Valid: v.Valid}
}
