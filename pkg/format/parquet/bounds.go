package parquet

import (
	"bytes"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// IntBounds returns the minimum and maximum of an integer column in row group g. It
// returns false if the file does not state them, or if all values are null. They are
// reliable only in a sealed file.
func (f *File) IntBounds(g int, column string) (low, high int64, ok bool) {
	s, col := f.statistics(g, column)
	if s == nil || !col.Type.IsInt() || col.Type == Bool || col.Type == Uint64 {
		return 0, 0, false
	}
	size := sizeOf(col.physical)
	if len(s.MinValue) != size || len(s.MaxValue) != size {
		return 0, 0, false
	}
	bounds, err := plainInts(nil, slices.Concat(s.MinValue, s.MaxValue), 2, size)
	if err != nil {
		return 0, 0, false
	}
	if size == 4 {
		widen(bounds, col.Type)
	}
	return bounds[0], bounds[1], true
}

// TextBounds is IntBounds for columns of strings.
func (f *File) TextBounds(g int, column string) (low, high string, ok bool) {
	s, col := f.statistics(g, column)
	if s == nil || !col.Type.IsText() || s.MinValue == nil || s.MaxValue == nil {
		return "", "", false
	}
	return string(s.MinValue), string(s.MaxValue), true
}

// statistics returns the file's statistics of a column in row group g and the column,
// or nil if there is no such column. They are not checked.
func (f *File) statistics(g int, column string) (*format.Statistics, *leaf) {
	i, ok := f.names[column]
	if !ok {
		return nil, nil
	}
	col := &f.cols[i]
	return &f.meta.RowGroups[g].Columns[col.chunk].MetaData.Statistics, col
}

// statistics returns the number of nulls, and the bounds of integers and strings.
// Bounds of numbers are encoded as in the column; booleans and floats have none.
func (c *encoder) statistics(rows int) format.Statistics {
	s := format.Statistics{NullCount: int64(rows - c.v.count(c.col))}
	if c.v.count(c.col) == 0 {
		return s
	}
	switch {
	case c.col.Type == Bool:
	case c.col.Type.IsText():
		s.MinValue, s.MaxValue = c.textBounds()
	case c.col.Type.IsInt():
		s.MinValue = appendPlain(nil, []int64{slices.Min(c.v.Int)}, c.meta.Type)
		s.MaxValue = appendPlain(nil, []int64{slices.Max(c.v.Int)}, c.meta.Type)
	}
	return s
}

// maxBound is the most bytes of a string in statistics.
const maxBound = 64

// textBounds returns the least and the greatest string, nil if one is longer than
// maxBound: shortened, it would not be a bound.
func (c *encoder) textBounds() (low, high []byte) {
	values := &c.v.Text
	if c.indexed {
		values = &c.dict.textValues
	}
	low, high = values.Get(0), values.Get(0)
	for i := range values.Len() {
		if t := values.Get(i); bytes.Compare(t, low) < 0 {
			low = t
		} else if bytes.Compare(t, high) > 0 {
			high = t
		}
	}
	if len(low) > maxBound || len(high) > maxBound {
		return nil, nil
	}
	return bytes.Clone(low), bytes.Clone(high)
}
