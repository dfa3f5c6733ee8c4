package checkpoint

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/parquet"
)

// encodings tells which columns are stored as differences; the others have a
// dictionary, which does not pay where nearly every row has a value of its own.
var encodings = [event.NumCols]parquet.Encoding{
	event.ColStart:       parquet.Delta,
	event.ColEnd:         parquet.Delta,
	event.ColCorrelation: parquet.Delta,
	event.ColLaunchStart: parquet.Delta,
	event.ColLaunchEnd:   parquet.Delta,
	event.ColStep:        parquet.Delta,
}

// enum returns the values of an enum column by their codes, nil for other columns
// alone: of an enum column without values all rows are null.
func enum(c event.Col, h *event.Header) []string {
	if event.Fields[c].Type != event.Enum {
		return nil
	}
	return append([]string{}, h.Values(c)...)
}

// columns returns the columns of a file of rows after h, in the order of event.Fields.
func columns(h *event.Header) []parquet.Column {
	var cols []parquet.Column
	for _, c := range members(h.Columns) {
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

// members returns the columns in a set in their order.
func members(set event.Set) []event.Col {
	var cols []event.Col
	for c := event.Col(0); c < event.NumCols; c++ {
		if set.Has(c) {
			cols = append(cols, c)
		}
	}
	return cols
}

// toVector makes v column c of b. It shares the memory of b where it can, else
// it uses that of own.
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
		mem := event.Strings{Offsets: own.Text.Offsets, Data: own.Text.Data}
		plain := col.Flatten(0, b.Len, &mem)
		own.Text = parquetStrings(&mem)
		v.Text = parquetStrings(&plain)
	}
}

// parquetStrings returns the strings of a column without a dictionary, over its memory.
func parquetStrings(col *event.Strings) parquet.Strings {
	return parquet.Strings{Offsets: col.Offsets, Data: col.Data}
}
