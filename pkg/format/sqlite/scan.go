package sqlite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// BlockRows is the most rows of a block.
const BlockRows = 4096

// maxText is the length in bytes to which text is cut, so that long text does not
// decide how much memory a block takes.
const maxText = 64 << 10

// Type is the type that a column is read as. In SQLite every value may have its own
// type: a value of another type than requested is read as null.
type Type int

// The types.
const (
	Int  Type = iota // an integer
	Text             // text; blobs are read as text
)

// Column names a column of a table and the type to read it as.
type Column struct {
	Name string // case is ignored
	Type Type   // values of other types read as null
	// Keep, if not nil, reports whether rows with a value of an Int column are wanted.
	// Rows that are not may be left out, if the column is the first of the table.
	Keep func(int64) bool
}

// Block holds rows as columns. It belongs to the scan that made it and is valid until
// the function that received it returns.
type Block struct {
	N    int      // at most BlockRows
	Cols []Vector // in the order requested

	numbers []int64 // of all Int columns
}

// Vector is a column of a block; null rows hold 0 or "".
type Vector struct {
	Null []bool  // by row
	Full bool    // no row is null
	Int  []int64 // of an Int column

	// Of a Text column: row i is Data[Offsets[i]:Offsets[i+1]].
	Offsets []int32
	Data    []byte

	at int // offset of the column in the block's numbers
}

// Text returns the text in row i, valid as long as the block.
func (v *Vector) Text(i int) []byte { return v.Data[v.Offsets[i]:v.Offsets[i+1]] }

// Scan reads columns of the rows of a table with row ids low to high, both included, in
// row id order, and calls fn block by block.
func (d *DB) Scan(table string, columns []Column, low, high int64, fn func(*Block) error) error {
	l, err := d.layout(table)
	if err != nil {
		return err
	}
	block := d.spare
	if d.spare = nil; block == nil {
		block = &Block{}
	}
	defer func() { d.spare = block }()
	block.begin(typesOf(columns), BlockRows)
	if fields, ids, ok := l.fields(columns, block); ok {
		return d.decode(uint32(l.root), fields, ids, low, high, block, fn)
	}
	return d.step(table, l.rowID, columns, low, high, fn)
}

func typesOf(columns []Column) []Type {
	types := make([]Type, len(columns))
	for i, c := range columns {
		types[i] = c.Type
	}
	return types
}

// decode is Scan by the decoder in record.go.
func (d *DB) decode(root uint32, fields []field, ids []*Vector, low, high int64, b *Block, fn func(*Block) error) error {
	r := d.idle // reuses the last reader's pages and buffers, if any
	d.idle = nil
	if r == nil {
		r = &reader{cursor: cursor{pager: d.file}}
	}
	defer func() { d.idle = r }()
	if err := r.begin(root, low, high, fields, ids, b); err != nil {
		return d.damage(err)
	}
	for {
		more, err := r.fill(BlockRows)
		if err != nil {
			return d.damage(err)
		}
		if b.N > 0 {
			r.note()
			if err := fn(b); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		b.reset()
	}
}

// step is Scan by SQLite.
func (d *DB) step(table, rowID string, columns []Column, low, high int64, fn func(*Block) error) error {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = quote(c.Name)
	}
	sql := fmt.Sprintf("SELECT %s FROM %s WHERE %s BETWEEN %d AND %d ORDER BY %s",
		strings.Join(names, ","), quote(table), rowID, low, high, rowID)
	return d.query(sql, typesOf(columns), BlockRows, fn)
}

// Query runs a SELECT and passes its rows to fn block by block, like Scan. It is for
// joins and sorting, which SQLite does in temporary files if they are large, much
// slower than Scan. The caller must check that the names are tables (Tables): a view
// may be any other SELECT.
func (d *DB) Query(sql string, types []Type, fn func(*Block) error) error {
	return d.query(sql, types, BlockRows, fn)
}

// query runs a statement and passes its rows to fn in blocks of at most size rows.
func (d *DB) query(sql string, types []Type, size int, fn func(*Block) error) error {
	stmt, err := d.prepare(sql)
	if err != nil {
		return err
	}
	defer sqlite3.Xsqlite3_finalize(d.tls, stmt)
	block := newBlock(types, size)
	for {
		rc := sqlite3.Xsqlite3_step(d.tls, stmt)
		if rc != sqlite3.SQLITE_ROW {
			if rc != sqlite3.SQLITE_DONE {
				return d.fail(rc)
			}
			if block.N == 0 {
				return nil
			}
			block.note()
			return fn(block)
		}
		d.readRow(stmt, block, types)
		if block.N == size {
			block.note()
			if err := fn(block); err != nil {
				return err
			}
			block.reset()
		}
	}
}

func (d *DB) prepare(sql string) (uintptr, error) {
	text, err := libc.CString(sql)
	if err != nil {
		return 0, err
	}
	defer libc.Xfree(d.tls, text)
	slot := d.tls.Alloc(8)
	defer d.tls.Free(8)
	if rc := sqlite3.Xsqlite3_prepare_v2(d.tls, d.db, text, -1, slot, 0); rc != sqlite3.SQLITE_OK {
		return 0, d.fail(rc)
	}
	return *(*uintptr)(pointer(slot)), nil
}

// readRow appends the statement's current row to the block.
func (d *DB) readRow(stmt uintptr, b *Block, types []Type) {
	n := b.N
	for i := range types {
		v := &b.Cols[i]
		value := sqlite3.Xsqlite3_column_value(d.tls, stmt, int32(i))
		kind := sqlite3.Xsqlite3_value_type(d.tls, value)
		if types[i] == Int {
			v.Null[n], v.Int[n] = kind != sqlite3.SQLITE_INTEGER, 0
			if !v.Null[n] {
				v.Int[n] = sqlite3.Xsqlite3_value_int64(d.tls, value)
			}
			continue
		}
		v.Null[n] = kind != sqlite3.SQLITE_TEXT && kind != sqlite3.SQLITE_BLOB
		if !v.Null[n] {
			text := sqlite3.Xsqlite3_value_text(d.tls, value)
			size := sqlite3.Xsqlite3_value_bytes(d.tls, value)
			if text != 0 {
				v.Data = append(v.Data, unsafe.Slice((*byte)(pointer(text)), min(size, maxText))...)
			}
		}
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
	}
	b.N++
}

// columnPad is the gap between columns, in numbers: the values of a row should not all
// fall into one set of the processor's cache.
const columnPad = 24

func newBlock(types []Type, size int) *Block {
	b := &Block{}
	b.begin(types, size)
	return b
}

// begin makes the block empty, with columns of the given types, reusing its memory.
// size must be the same every time.
func (b *Block) begin(types []Type, size int) {
	stride := size + columnPad
	b.Cols = slices.Grow(b.Cols[:0], len(types))[:len(types)]
	if len(b.numbers) < len(types)*stride {
		b.numbers = make([]int64, len(types)*stride)
	}
	for i, t := range types {
		v := &b.Cols[i]
		if v.Null == nil {
			v.Null = make([]bool, size)
		}
		switch v.Int, v.at = nil, i*stride; {
		case t == Int:
			v.Int = b.numbers[v.at:][:size:size]
		case v.Offsets == nil:
			v.Offsets = make([]int32, 1, size+1)
		}
	}
	b.reset()
}

// note sets the columns' properties as a whole.
func (b *Block) note() {
	for i := range b.Cols {
		v := &b.Cols[i]
		nulls := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.Null))), b.N)
		v.Full = bytes.IndexByte(nulls, 1) < 0
	}
}

func (b *Block) reset() {
	b.N = 0
	for i := range b.Cols {
		v := &b.Cols[i]
		if v.Int == nil {
			v.Offsets, v.Data = v.Offsets[:1], v.Data[:0]
		}
	}
}
