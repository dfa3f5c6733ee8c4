package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
)

// bulk makes the pages of a table and appends them to the file, which SQLite has closed
// meanwhile. page.go, cursor.go and record.go say what they look like.
type bulk struct {
	file *os.File
	out  *bufio.Writer // appends pages
	last uint32        // number of the last page
	root uint32

	values       []value // of the columns
	header, body []byte  // of the record of a row
	rows         int64
	leaf         [bulkPage]byte
	cells        int
	content      int // where in the leaf the cells begin
	leaves       []child
}

// value is one of a column as it is stored.
type value struct {
	kind   uint64 // the type, as in the header of a record
	number uint64 // of a type up to 7
	text   string // of any other
}

// child is a page and the largest row id below it.
type child struct {
	page uint32
	id   int64
}

const (
	// bulkPage is the size of a page where nobody says another one.
	bulkPage = 4096
	// maxChildren is how many children an interior page has room for, whatever their ids.
	maxChildren = (bulkPage-interiorHeader)/(2+4+9) + 1
)

// newBulk opens the database in a file for the rows of a table without any.
func newBulk(path string, root uint32, columns int) (*bulk, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	var h header
	size, err := f.Seek(0, 2)
	if _, read := f.ReadAt(h[:], 0); err != nil || read != nil {
		f.Close()
		return nil, errors.Join(err, read)
	}
	if h.pageSize() != bulkPage || h[atReserved] != 0 || int64(h.pages())*bulkPage != size {
		f.Close()
		return nil, errors.New("SQLite has made pages of another kind")
	}
	b := &bulk{file: f, out: bufio.NewWriterSize(f, 1<<20), last: h.pages(), root: root, values: make([]value, columns)}
	b.clear()
	return b, nil
}

// clear begins a leaf.
func (b *bulk) clear() {
	clear(b.leaf[:])
	b.cells, b.content = 0, bulkPage
}

// step adds a row.
func (b *bulk) step() error {
	b.header, b.body = b.header[:0], b.body[:0]
	for i := range b.values {
		v := &b.values[i]
		b.header = appendVarint(b.header, v.kind)
		if v.kind >= 12 {
			b.body = append(b.body, v.text...)
		} else if n := numbers[v.kind].width; n > 0 {
			b.body = binary.BigEndian.AppendUint64(b.body, v.number<<(64-8*n))
			b.body = b.body[:len(b.body)-8+int(n)]
		}
	}
	length := uint64(len(b.header) + 1)
	if length > 127 { // of a header of 126 bytes the size takes one, of up to 16381 two
		length++
	}
	size := int(length) + len(b.body)
	b.rows++
	var start [32]byte
	cell := appendVarint(appendVarint(start[:0], uint64(size)), uint64(b.rows))
	cell = appendVarint(cell, length)
	if size > bulkPage-35 {
		return b.long(cell, size)
	}
	at, err := b.room(len(cell) + len(b.header) + len(b.body))
	if err != nil {
		return err
	}
	copy(b.leaf[at+copy(b.leaf[at:], cell):], b.header)
	copy(b.leaf[at+len(cell)+len(b.header):], b.body)
	return nil
}

// room makes room for a cell of n bytes and returns where in the leaf it begins.
func (b *bulk) room(n int) (at int, err error) {
	if leafHeader+2*(b.cells+1)+n > b.content {
		if err := b.endLeaf(b.rows - 1); err != nil {
			return 0, err
		}
	}
	b.content -= n
	binary.BigEndian.PutUint16(b.leaf[leafHeader+2*b.cells:], uint16(b.content))
	b.cells++
	return b.content, nil
}

// long adds a row of size bytes that takes overflow pages. What stands before the header of
// the record is in cell.
func (b *bulk) long(cell []byte, size int) error {
	all := append(append(append([]byte(nil), cell...), b.header...), b.body...)
	c := cursor{pager: pager{usable: bulkPage}}
	n := len(all) - size + c.local(size)
	at, err := b.room(n + 4)
	if err != nil {
		return err
	}
	copy(b.leaf[at:], all[:n])
	binary.BigEndian.PutUint32(b.leaf[at+n:], pageAfter(b.last))
	for rest := all[n:]; len(rest) > 0; {
		var page [bulkPage]byte
		if rest = rest[copy(page[4:], rest):]; len(rest) > 0 {
			binary.BigEndian.PutUint32(page[:], pageAfter(pageAfter(b.last)))
		}
		if err := b.put(page[:]); err != nil {
			return err
		}
	}
	return nil
}

// lockPage is never used: in its place in the file SQLite puts its locks.
const lockPage = 1<<30/bulkPage + 1

// pageAfter returns the number of the page that is appended after one.
func pageAfter(n uint32) uint32 {
	if n+1 == lockPage {
		return lockPage + 1
	}
	return n + 1
}

// put appends a page to the file.
func (b *bulk) put(page []byte) error {
	if b.last >= math.MaxUint32-2 {
		return errors.New("more pages than a database has")
	}
	n := pageAfter(b.last)
	if n != b.last+1 {
		var unused [bulkPage]byte
		if _, err := b.out.Write(unused[:]); err != nil {
			return err
		}
	}
	b.last = n
	_, err := b.out.Write(page)
	return err
}

// endLeaf ends a leaf whose last row has a row id.
func (b *bulk) endLeaf(id int64) error {
	b.finishLeaf()
	err := b.put(b.leaf[:])
	b.leaves = append(b.leaves, child{b.last, id})
	b.clear()
	return err
}

// finishLeaf fills in the header of the leaf.
func (b *bulk) finishLeaf() {
	b.leaf[0] = leafPage
	binary.BigEndian.PutUint16(b.leaf[atCells:], uint16(b.cells))
	binary.BigEndian.PutUint16(b.leaf[5:], uint16(b.content))
}

// close ends the table and the file.
func (b *bulk) close() error {
	root, err := b.tree()
	if err == nil {
		err = b.out.Flush()
	}
	if err == nil {
		_, err = b.file.WriteAt(root, int64(b.root-1)*bulkPage)
	}
	if err == nil {
		_, err = b.file.WriteAt(binary.BigEndian.AppendUint32(nil, b.last), atPages)
	}
	return errors.Join(err, b.file.Close())
}

// tree puts the interior pages above the leaves and returns the root.
func (b *bulk) tree() (root []byte, err error) {
	if len(b.leaves) == 0 {
		b.finishLeaf()
		return b.leaf[:], nil
	}
	if err := b.endLeaf(b.rows); err != nil {
		return nil, err
	}
	for level := b.leaves; ; {
		groups := (len(level) + maxChildren - 1) / maxChildren
		var above []child
		for g := range groups { // of about the same size, as no page may have a single child
			of := level[g*len(level)/groups : (g+1)*len(level)/groups]
			page := interior(of)
			if groups == 1 {
				return page, nil
			}
			if err := b.put(page); err != nil {
				return nil, err
			}
			above = append(above, child{b.last, of[len(of)-1].id})
		}
		level = above
	}
}

// interior is the page above some children.
func interior(of []child) []byte {
	page, content := make([]byte, bulkPage), bulkPage
	for i, c := range of[:len(of)-1] {
		cell := appendVarint(binary.BigEndian.AppendUint32(nil, c.page), uint64(c.id))
		content -= len(cell)
		copy(page[content:], cell)
		binary.BigEndian.PutUint16(page[interiorHeader+2*i:], uint16(content))
	}
	page[0] = interiorPage
	binary.BigEndian.PutUint16(page[atCells:], uint16(len(of)-1))
	binary.BigEndian.PutUint16(page[5:], uint16(content))
	binary.BigEndian.PutUint32(page[atRightmost:], of[len(of)-1].page)
	return page
}

// setInt makes a value a number.
func (v *value) setInt(n int64) {
	v.number = uint64(n)
	if n == 0 || n == 1 {
		v.kind = 8 + uint64(n)
		return
	}
	v.kind = uint64(kinds[bits.Len64(uint64(n^n>>63))])
}

// kinds are the types of numbers by their bits, without that of the sign.
var kinds = func() (of [64]uint8) {
	for n := range of {
		for kind := 6; kind > 0; kind-- {
			if n < 8*int(numbers[kind].width) {
				of[n] = uint8(kind)
			}
		}
	}
	return of
}()

// appendVarint appends a number below 1<<56 as varint decodes it.
func appendVarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	for shift := (bits.Len64(v) - 1) / 7 * 7; shift > 0; shift -= 7 {
		b = append(b, byte(v>>shift)|0x80)
	}
	return append(b, byte(v)&0x7f)
}

// Bulk is Table for a table that gets very many rows, whose pages are made here, at several
// times the rate of SQLite. It has no key, and what is set is stored as it is, whatever the
// type of the column. Tables from before it take no more rows, and it takes none once the
// next one is begun.
func (w *Writer) Bulk(name string, columns []string) *Inserter {
	in := w.Table(name, columns)
	if w.err != nil {
		return in
	}
	var root int64
	db := DB{path: w.path, tls: w.tls, db: w.db}
	err := db.query("SELECT rootpage FROM sqlite_master WHERE name = "+literal(name), []Type{Int}, 1, func(b *Block) error {
		root = b.Cols[0].Int[0]
		return nil
	})
	if err == nil {
		err = w.commit()
	}
	if err == nil {
		w.bulk, err = newBulk(w.file, uint32(root), len(columns))
	}
	if err != nil {
		w.keep(err)
		return in
	}
	in.bulk = w.bulk
	return in
}

// endBulk ends the table whose pages are made here, if there is one.
func (w *Writer) endBulk() {
	if w.bulk == nil {
		return
	}
	err := w.bulk.close()
	if w.bulk = nil; err != nil {
		w.keep(err)
	}
}

// keep keeps the first error.
func (w *Writer) keep(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("write %s: %w", w.path, err)
	}
}
