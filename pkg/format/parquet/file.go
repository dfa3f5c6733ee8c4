package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// maxFooter is the most bytes of a footer that is read. It suffices for half a million
// column chunks.
const maxFooter = 64 << 20

// magic is at both ends of a file.
const magic = "PAR1"

// File is an open Parquet file. Its methods may be used concurrently.
type File struct {
	r      io.ReaderAt
	closer io.Closer
	meta   format.FileMetaData
	cols   []leaf
	names  map[string]int // indexes in cols
	sealed bool
}

// leaf is a column and its place in the file.
type leaf struct {
	Column
	physical format.Type
	chunk    int // index among the chunks of a row group
}

// Open opens a file and reads its footer.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would block until someone writes to it
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := NewFile(r, info.Size())
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.closer = r
	return f, nil
}

// NewFile opens a file of the given size. Every offset and size in the footer is
// checked against it before use.
func NewFile(r io.ReaderAt, size int64) (f *File, err error) {
	defer recovered(&err)
	footer, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	f = &File{r: r, names: map[string]int{}}
	n, err := unmarshal(footer, &f.meta)
	if err == nil && n != len(footer) {
		err = errors.New("bytes after it")
	}
	if err != nil {
		return nil, fmt.Errorf("damaged footer: %w", err)
	}
	if f.sealed, err = checkSeal(footer, f); err != nil {
		return nil, err
	}
	chunks, err := f.readSchema()
	if err != nil {
		return nil, err
	}
	return f, f.checkGroups(chunks, size-int64(len(footer))-8)
}

// readFooter returns the bytes of the footer. It allocates at most maxFooter, and no
// more than the file has.
func readFooter(r io.ReaderAt, size int64) ([]byte, error) {
	if size < int64(2*len(magic)+4) {
		return nil, errors.New("not a Parquet file: too short")
	}
	var head [4]byte
	var tail [8]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, err
	}
	switch {
	case string(head[:]) == "PARE" || string(tail[4:]) == "PARE":
		return nil, errors.New("the file is encrypted, which is not supported")
	case string(head[:]) != magic:
		return nil, errors.New("not a Parquet file")
	case string(tail[4:]) != magic:
		return nil, errors.New("file is truncated: it does not end in PAR1")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-12 || n > maxFooter {
		return nil, fmt.Errorf("damaged: footer of %d bytes in a file of %d", n, size)
	}
	footer := make([]byte, n)
	_, err := r.ReadAt(footer, size-8-n)
	return footer, err
}

// Close closes the file.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Columns returns the columns that can be read, in file order.
func (f *File) Columns() []Column {
	cols := make([]Column, len(f.cols))
	for i := range f.cols {
		cols[i] = f.cols[i].Column
	}
	return cols
}

// Has reports whether the file has a readable column with that name.
func (f *File) Has(name string) bool { _, ok := f.names[name]; return ok }

// Rows returns the number of rows in the file.
func (f *File) Rows() int64 { return f.meta.NumRows }

// Groups returns the number of row groups.
func (f *File) Groups() int { return len(f.meta.RowGroups) }

// GroupRows returns the number of rows in row group g.
func (f *File) GroupRows(g int) int64 { return f.meta.RowGroups[g].NumRows }

// Sealed reports whether the file was written with Options.Sealed. If so, what has been
// read of it is as written.
func (f *File) Sealed() bool { return f.sealed }

// Metadata returns the footer's value for a key, and false if it has none.
func (f *File) Metadata(key string) (string, bool) {
	for i := range f.meta.KeyValueMetadata {
		if kv := &f.meta.KeyValueMetadata[i]; kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}

// MetadataKeys returns the keys of the footer's metadata, without this package's own.
func (f *File) MetadataKeys() []string {
	var keys []string
	for i := range f.meta.KeyValueMetadata {
		if key := f.meta.KeyValueMetadata[i].Key; !Reserved(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// ChunkSize returns the compressed bytes of a column in row group g, 0 if there is no
// such column.
func (f *File) ChunkSize(g int, column string) int64 {
	i, ok := f.names[column]
	if !ok {
		return 0
	}
	return f.meta.RowGroups[g].Columns[f.cols[i].chunk].MetaData.TotalCompressedSize
}

// readSchema fills f.cols and returns the number of chunks of a row group. Elements are
// in depth-first order: a group is followed by its children. Chunks are numbered over
// all leaves, including those that are not in f.cols.
func (f *File) readSchema() (chunks int, err error) {
	if len(f.meta.Schema) == 0 {
		return 0, errors.New("damaged footer: no schema")
	}
	top := int(f.meta.Schema[0].NumChildren.V)
	i := 1
	for ; top > 0; top-- {
		if i >= len(f.meta.Schema) {
			return 0, errors.New("damaged footer: the schema ends early")
		}
		e := &f.meta.Schema[i]
		if !e.Type.Valid {
			leaves, next := f.skipGroup(i)
			chunks, i = chunks+leaves, next
			continue
		}
		if typ, ok := typeOf(e); ok && e.RepetitionType.V != format.Repeated {
			f.names[e.Name] = len(f.cols)
			f.cols = append(f.cols, leaf{
				Column:   Column{Name: e.Name, Type: typ, Nullable: e.RepetitionType.V == format.Optional},
				physical: e.Type.V, chunk: chunks,
			})
		}
		chunks, i = chunks+1, i+1
	}
	if i != len(f.meta.Schema) {
		return 0, errors.New("damaged footer: the schema goes on after its end")
	}
	return chunks, nil
}

// skipGroup returns the number of leaves under element i of the schema and the index of
// the element after them.
func (f *File) skipGroup(i int) (leaves, next int) {
	open := 1
	for ; open > 0 && i < len(f.meta.Schema); i++ {
		open--
		if e := &f.meta.Schema[i]; e.Type.Valid {
			leaves++
		} else {
			open += int(max(e.NumChildren.V, 0))
		}
	}
	return leaves, i
}

// typeOf returns the type of a leaf. It returns false for types that are not read:
// decimals, whose integers are not their values, INT96 and FIXED_LEN_BYTE_ARRAY, which
// no file read here uses. Annotations decide whether bytes are text, and the width and
// sign of an integer: Parquet itself has only two widths.
func typeOf(e *format.SchemaElement) (Type, bool) {
	_, decimal := e.LogicalType.Value.(*format.DecimalType)
	if decimal || e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Decimal {
		return 0, false
	}
	switch e.Type.V {
	case format.Boolean:
		return Bool, true
	case format.Int32, format.Int64:
		return intType(e), true
	case format.Float, format.Double:
		return Float64, true
	case format.ByteArray:
		if isText(e) {
			return Text, true
		}
		return Bytes, true
	}
	return 0, false
}

// checkGroups checks that row groups, chunks and rows agree with the rest of the
// footer. end is the offset of the footer.
func (f *File) checkGroups(chunks int, end int64) error {
	var rows int64
	for g := range f.meta.RowGroups {
		group := &f.meta.RowGroups[g]
		if len(group.Columns) != chunks {
			return fmt.Errorf("damaged footer: row group %d has %d columns instead of %d", g, len(group.Columns), chunks)
		}
		if group.NumRows < 0 || group.NumRows > 1<<40 {
			return fmt.Errorf("damaged footer: row group %d has %d rows", g, group.NumRows)
		}
		rows += group.NumRows
		for i := range f.cols {
			if err := f.checkChunk(group, &f.cols[i], end); err != nil {
				return fmt.Errorf("damaged footer: row group %d, column %q: %w", g, f.cols[i].Name, err)
			}
		}
	}
	if rows != f.meta.NumRows {
		return fmt.Errorf("damaged footer: %d rows in the row groups, %d in all", rows, f.meta.NumRows)
	}
	return nil
}

// checkChunk refuses a chunk that is not within the first end bytes of the file, or not
// of its column. After that its sizes and offsets can be trusted.
func (f *File) checkChunk(group *format.RowGroup, col *leaf, end int64) error {
	c := &group.Columns[col.chunk]
	m := &c.MetaData
	start := chunkStart(m)
	switch {
	case c.FilePath != "":
		return errors.New("it is in another file, which is not supported")
	case m.Type != col.physical:
		return fmt.Errorf("type %s instead of %s", m.Type, col.physical)
	case len(m.PathInSchema) != 1 || m.PathInSchema[0] != col.Name:
		return fmt.Errorf("path %q", m.PathInSchema)
	case m.NumValues != group.NumRows:
		return fmt.Errorf("%d values in %d rows", m.NumValues, group.NumRows)
	case m.TotalCompressedSize < 0 || m.TotalUncompressedSize < 0 || m.DataPageOffset < start,
		start < int64(len(magic)) && group.NumRows > 0, start > end, m.TotalCompressedSize > end-start:
		return errors.New("it lies outside of the file")
	}
	return nil
}

// chunkStart returns the offset of a chunk. Writers omit the offset of a missing
// dictionary or set it to 0.
func chunkStart(m *format.ColumnMetaData) int64 {
	if d := m.DictionaryPageOffset; d > 0 && d < m.DataPageOffset {
		return d
	}
	return m.DataPageOffset
}
