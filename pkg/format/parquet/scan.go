package parquet

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/parquet-go/parquet-go/format"
)

// Chunk is a number of rows in the columns given to Scan, in that order.
type Chunk struct {
	N    int      // rows
	Cols []Vector // one per column
}

// All is the range of all rows, for Scan.
var All = [2]int64{0, math.MaxInt64}

// readers keeps the memory of readers between calls of ReadColumn.
var readers = sync.Pool{New: func() any { return new(chunkReader) }}

// column returns a column with enum as its Column.Enum, nil for none.
func (f *File) column(name string, enum []string) (*leaf, error) {
	i, ok := f.names[name]
	if !ok {
		return nil, fmt.Errorf("no column %q", name)
	}
	col := f.cols[i]
	if col.Enum = enum; enum != nil && !col.Type.IsText() {
		return nil, fmt.Errorf("column %q is %s instead of text", name, col.Type)
	}
	return &col, nil
}

// ReadColumn reads all values of a column in row group g into v; after an error v is
// undefined. enum becomes Column.Enum: a string that it lacks is an error. In a sealed
// file, bytes other than those written are an error.
func (f *File) ReadColumn(g int, name string, enum []string, v *Vector) error {
	return f.readColumn(g, name, enum, v, func(r *chunkReader) error { return r.readAll(v) })
}

// ReadInt32 is ReadColumn for numbers that fit into 32 bits, which it stores in
// v.Int32.
func (f *File) ReadInt32(g int, name string, enum []string, v *Vector) error {
	return f.readColumn(g, name, enum, v, func(r *chunkReader) error {
		if !r.col.isNumber() || r.col.Type.IsFloat() {
			return fmt.Errorf("%s instead of numbers", r.col.Type)
		}
		r.narrow = true
		return r.readAll(v)
	})
}

// ReadNumbered is ReadColumn for strings. If they are stored as dictionary indexes and
// none is null, it sets v.Int32 to the indexes and returns the dictionary, which is
// read-only. Otherwise it returns nil, and v.Text has the strings.
func (f *File) ReadNumbered(g int, name string, v *Vector) (dict *event.Dict, err error) {
	err = f.readColumn(g, name, nil, v, func(r *chunkReader) error {
		if !r.col.Type.IsText() {
			return errNoNumbers
		}
		r.narrow, r.numbered = true, true
		if err := r.readAll(v); err != nil {
			return err
		}
		if v.Valid != nil || !r.dict.read {
			return errNoNumbers
		}
		dict = &event.Dict{Offsets: r.dict.values.Text.Offsets, Data: r.dict.values.Text.Data}
		r.dict.values.Text = event.Strings{}
		return nil
	})
	if errors.Is(err, errNoNumbers) {
		return nil, f.ReadColumn(g, name, nil, v)
	}
	return dict, err
}

// readAll reads a whole chunk.
func (r *chunkReader) readAll(v *Vector) error {
	r.makeRoom(v, r.left)
	rows := 0
	for r.left > 0 {
		n, _, err := r.nextPage(v, rows, 0)
		if err != nil {
			return err
		}
		rows += n
	}
	if r.narrow && v.Valid != nil {
		v.Int32 = spread(v.Int32, v.Valid, rows)
	} else {
		v.spread(&r.col.Column, rows)
	}
	return nil
}

// readColumn reads a column by calling read with a reader at the beginning of the
// chunk.
func (f *File) readColumn(g int, name string, enum []string, v *Vector, read func(*chunkReader) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("row group %d, column %q: %w", g, name, err)
		}
	}()
	defer recovered(&err)
	v.Reset()
	col, err := f.column(name, enum)
	if err != nil {
		return err
	}
	r := readers.Get().(*chunkReader)
	defer readers.Put(r)
	group := &f.meta.RowGroups[g]
	r.reset(f, group, col)
	if err := r.verify(f, &group.Columns[col.chunk].MetaData); err != nil {
		return err
	}
	return read(r)
}

// verify checks the hash of a chunk if the file is sealed. r is at the beginning of the
// chunk.
func (r *chunkReader) verify(f *File, m *format.ColumnMetaData) error {
	if !f.sealed {
		return nil
	}
	b, err := r.win.peek(int(r.win.left()))
	if err != nil {
		return err
	}
	if hex(Sum64(b)) != chunkHash(m) {
		return errors.New("damaged: these are not the bytes that were written")
	}
	return nil
}

// Verify reads a sealed file and returns an error unless its column chunks are as
// written.
func (f *File) Verify() error {
	if !f.sealed {
		return errors.New("it has no checksum")
	}
	r := readers.Get().(*chunkReader)
	defer readers.Put(r)
	for g := range f.meta.RowGroups {
		group := &f.meta.RowGroups[g]
		for i := range f.cols {
			r.reset(f, group, &f.cols[i])
			if err := r.verify(f, &group.Columns[f.cols[i].chunk].MetaData); err != nil {
				return fmt.Errorf("row group %d, column %q: %w", g, f.cols[i].Name, err)
			}
		}
	}
	return nil
}

// Scan reads columns and calls fn with rows rows[0] up to, but not including, rows[1],
// in chunks of chunk rows, fewer at the end. A chunk is valid until fn returns. Scan
// does not verify the hashes of a sealed file: it returns rows before it has read all
// of a column chunk.
func (f *File) Scan(columns []string, rows [2]int64, chunk int, fn func(*Chunk) error) (err error) {
	cols := make([]*leaf, len(columns))
	for i, name := range columns {
		if cols[i], err = f.column(name, nil); err != nil {
			return err
		}
	}
	s := scan{f: f, cols: cols, readers: make([]chunkReader, len(cols)), out: Chunk{Cols: make([]Vector, len(cols))}, size: chunk, fn: fn}
	first := int64(0)
	for g := range f.meta.RowGroups {
		n := f.meta.RowGroups[g].NumRows
		from, to := max(rows[0]-first, 0), min(rows[1]-first, n)
		if from < to {
			if err := s.group(g, from, to); err != nil {
				return err
			}
		}
		first += n
	}
	return s.flush()
}

// scan is a running Scan. A chunk may span row groups. Beside the chunk, it holds a
// page of each column.
type scan struct {
	f       *File
	cols    []*leaf
	readers []chunkReader
	out     Chunk
	size    int
	fn      func(*Chunk) error
}

// group reads rows from to to of row group g. Pages before from are skipped whole where
// possible.
func (s *scan) group(g int, from, to int64) error {
	for i := range s.readers {
		s.readers[i].reset(s.f, &s.f.meta.RowGroups[g], s.cols[i])
		if err := s.read(g, i, from, 0); err != nil {
			return err
		}
	}
	for row := from; row < to; {
		n := int(min(int64(s.size-s.out.N), to-row))
		for i := range s.readers {
			if err := s.read(g, i, 0, n); err != nil {
				return err
			}
		}
		s.out.N, row = s.out.N+n, row+int64(n)
		if s.out.N == s.size {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// read skips skip rows of column i and appends n rows to the chunk.
func (s *scan) read(g, i int, skip int64, n int) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("row group %d, column %q: %w", g, s.cols[i].Name, err)
		}
	}()
	defer recovered(&err)
	return s.readers[i].read(&s.out.Cols[i], s.out.N, skip, n)
}

// flush calls fn with the pending rows, if any, and drops them.
func (s *scan) flush() error {
	if s.out.N == 0 {
		return nil
	}
	err := s.fn(&s.out)
	s.out.N = 0
	for i := range s.out.Cols {
		s.out.Cols[i].Reset()
	}
	return err
}

// read skips skip rows and appends the n rows after them to v, which has have rows.
// Pages of only skipped rows are not decompressed.
func (r *chunkReader) read(v *Vector, have int, skip int64, n int) error {
	for skip > 0 || n > 0 {
		if r.pos == r.rows {
			rows, skipped, err := r.readPage(skip)
			if err != nil {
				return err
			}
			if skipped {
				skip -= int64(rows)
				continue
			}
		}
		over := int(min(skip, int64(r.rows-r.pos)))
		r.pos += over
		skip -= int64(over)
		rows := min(n, r.rows-r.pos)
		if skip > 0 {
			rows = 0
		}
		if len(v.Text.Data)+len(r.page.Text.Data) > maxStrings {
			return errLength
		}
		v.appendRows(&r.col.Column, have, &r.page, r.pos, r.pos+rows)
		r.pos, have, n = r.pos+rows, have+rows, n-rows
	}
	return nil
}

// readPage reads the next page into r.page.
func (r *chunkReader) readPage(skip int64) (rows int, skipped bool, err error) {
	if r.left == 0 {
		return 0, false, errors.New("damaged: too few rows")
	}
	r.page.Reset()
	r.rows, r.pos = 0, 0
	rows, skipped, err = r.nextPage(&r.page, 0, skip)
	if err == nil && !skipped {
		r.page.spread(&r.col.Column, rows)
		r.rows = rows
	}
	return rows, skipped, err
}
