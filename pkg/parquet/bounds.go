package parquet

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
)

// IntBounds returns the least and the greatest value that a column of whole
// numbers has in row group g, false where the file does not say or all are
// null. Only those of a sealed file are to be relied on.
func (f *File) IntBounds(g int, column string) (low, high int64, ok bool) {
	s, col := f.statistics(g, column)
	if s == nil || !col.Type.IsInt() || col.Type == Bool || col.Type == Uint64 {
		return 0, 0, false
	}
	size := 8
	if col.physical == format.Int32 {
		size = 4
	}
	if len(s.MinValue) != size || len(s.MaxValue) != size {
		return 0, 0, false
	}
	bounds := [2]int64{}
	for i, b := range [][]byte{s.MinValue, s.MaxValue} {
		if size == 8 {
			bounds[i] = int64(binary.LittleEndian.Uint64(b))
			continue
		}
		bounds[i] = int64(binary.LittleEndian.Uint32(b))
	}
	if size == 4 {
		widen(bounds[:], col.Type)
	}
	return bounds[0], bounds[1], true
}

// TextBounds does for texts what IntBounds does for numbers.
func (f *File) TextBounds(g int, column string) (low, high string, ok bool) {
	s, col := f.statistics(g, column)
	if s == nil || !col.Type.IsText() || s.MinValue == nil || s.MaxValue == nil {
		return "", "", false
	}
	return string(s.MinValue), string(s.MaxValue), true
}

// statistics returns what the file says of a column in row group g, and the column, or nil
// where there is no such column. None of it has been checked.
func (f *File) statistics(g int, column string) (*format.Statistics, *leaf) {
	i, ok := f.names[column]
	if !ok {
		return nil, nil
	}
	col := &f.cols[i]
	return &f.meta.RowGroups[g].Columns[col.chunk].MetaData.Statistics, col
}
