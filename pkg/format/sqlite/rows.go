package sqlite

import (
	"math"
	"runtime"
	"unsafe"
)

// reader decodes the wanted columns of the rows of a table.
type reader struct {
	cursor
	fields []field // in table order
	texts  []*Vector
	ids    []*Vector // row id columns
	keep   keeper
	block  *Block
	shapes [1 << shapeBits]shape // by the hash of their prefix
	prefix int                   // bytes of a header up to the last wanted field, if each type has one byte
	last   int                   // offset in a header of the last part of a prefix
	mask   prefix                // the bits of a prefix that are used

	nulls [BlockRows]uint64 // by row of the block: nulls of its shape
	some  uint64            // fields that are null in some of these rows

	id       rowID
	found    [maxFound]found
	overflow payload // of the current row
	header   []byte  // of the shape being resolved, with pagePad bytes
	value    []byte  // a value that spans several pages
}

// begin prepares the reader to read rows low to high of the table with this root into
// the block.
func (r *reader) begin(root uint32, low, high int64, fields []field, ids []*Vector, b *Block) (err error) {
	defer r.guard(&err)
	r.fields, r.ids, r.block = fields, ids, b
	r.texts, r.keep = r.texts[:0], keeper{}
	if len(fields) > 0 && fields[0].skip == 0 {
		r.keep.wanted = fields[0].keep
	}
	for _, f := range fields {
		if !f.number {
			r.texts = append(r.texts, f.vector)
		}
	}
	for _, v := range ids {
		clear(v.Null)
		v.Full = true
	}
	for i := range r.shapes {
		r.shapes[i].known = false
	}
	r.prefix = 1
	for _, f := range fields {
		r.prefix += f.skip + 1
	}
	r.last, r.mask = max(r.prefix, prefixSize)-8, prefixOf(ones, r.prefix)
	r.some, r.id.word = 0, math.MaxUint32
	return r.start(root, low, high)
}

// fill appends rows to the block until it has size rows or there are no more.
func (r *reader) fill(size int) (more bool, err error) {
	defer r.guard(&err)
	for r.block.N < size {
		if r.cell == r.cells {
			if ok, err := r.next(); !ok {
				return false, err
			}
		}
		if done, err := r.rows(size); done || err != nil {
			return false, err
		}
	}
	return true, nil
}

// guard turns an index out of range into an error, in case the decoder uses an
// unchecked number of a damaged file.
func (r *reader) guard(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = &damage{r.number, p.Error()}
	default:
		panic(p)
	}
}

// rows appends rows of the leaf until the block is full or the leaf ends. It returns
// true after the last wanted row of the table.
func (r *reader) rows(size int) (done bool, err error) {
	n, done, err := r.find(min(size-r.block.N, len(r.found)))
	if err != nil {
		return false, err
	}
	for i := range r.found[:n] {
		if err := r.row(&r.found[i]); err != nil {
			return false, err
		}
	}
	return done, nil
}

// keeper decides which rows are wanted by the number in their first column.
type keeper struct {
	wanted func(int64) bool // nil if all are
	last   int64            // the number asked for last
	answer bool             // the answer for it
	asked  bool
}

// has reports whether a record is wanted. Its header has length bytes, the first of
// which is the header's whole size. It caches the last answer, as neighbours mostly
// have the same number. At least 8 bytes must follow the header.
func (k *keeper) has(record []byte, length int) bool {
	t := record[1]
	if t > 9 || numbers[t].null || length < 2 {
		return true
	}
	v := int64(numbers[t].or)
	if numbers[t].width > 0 {
		v = numbers[t].number(record[length:])
	}
	if v != k.last || !k.asked {
		k.last, k.answer, k.asked = v, k.wanted(v), true
	}
	return k.answer
}

// find locates the next rows of the leaf, at most limit. It returns true after the last
// wanted row of the table. (Locating rows before decoding them lets their loads from
// memory overlap.)
func (r *reader) find(limit int) (n int, done bool, err error) {
	first, last := leafHeader+2*r.cells, r.usable-4 // range of valid cell offsets
	leaf, largest := r.leaf, uint64(r.pages)*uint64(r.size)
	cell, cells, id, from := r.cell, r.cells, r.id, r.from
	for ; n < limit && cell < cells; cell++ {
		at := be16(leaf[leafHeader+2*cell:])
		if at < first || at > last {
			return 0, false, &damage{r.number, "a cell lies outside of the page"}
		}
		size, k := short(leaf[at:])
		at += k
		if size > largest {
			return 0, false, &damage{r.number, "a row is larger than the file"}
		}
		if w := be32(leaf[at:]) >> (id.shift & 31); w == id.word+1 && w&0x7f != 0 { // Fast path
			id.id, id.word = id.id+1, w
			at += 4 - int(id.shift>>3)
		} else {
			id, k = decodeRowID(leaf[at:])
			at += k
		}
		if id.id < from || id.id > r.to || id.id == r.to && cell+1 < cells {
			return 0, false, &damage{r.number, "row ids out of order"}
		}
		if id.id > r.high {
			done = true
			break
		}
		if from = id.id + 1; id.id < r.low {
			continue
		}
		r.found[n&(maxFound-1)] = found{at, int(size), id.id}
		n++
	}
	r.cell, r.id, r.from = cell, id, from
	return n, done, nil
}

// found is a row of the leaf.
type found struct {
	at, size int   // offset and size of its payload
	id       int64 // row id
}

// maxFound is the most rows that are located before they are decoded.
const maxFound = 64

// rowID is the last row id that was decoded. Most row ids are one more than the one
// before. That shows at once: the last byte is one more, and the others are equal.
type rowID struct {
	id    int64
	word  uint32 // its bytes as a number, if there are at most 4
	shift uint32 // surplus bits if 4 bytes are loaded for it
}

// decodeRowID decodes the row id at the beginning of b, which must have at least 9
// bytes, and returns its length in bytes.
//
//go:noinline
func decodeRowID(b []byte) (r rowID, n int) {
	id, n := varint(b)
	r = rowID{int64(id), math.MaxUint32, 0}
	if n <= 4 {
		r.shift = uint32(32 - 8*n)
		r.word = be32(b) >> r.shift
	}
	return r, n
}

// row appends a row, if it is wanted.
func (r *reader) row(f *found) error {
	n, leaf, at, size := r.block.N, r.leaf, f.at, f.size
	for _, v := range r.ids {
		v.Int[n] = f.id
	}
	if size > r.usable-35 {
		return r.long(at, size, n)
	}
	if at+size > r.usable {
		return &damage{r.number, "a cell runs over the end of the page"}
	}
	record := leaf[at:]
	header, _ := short(record)
	if header == 0 || header > uint64(size) {
		return r.contradiction()
	}
	if r.keep.wanted != nil && header < 0x80 && !r.keep.has(record, int(header)) {
		return nil
	}
	s, err := r.shape(record, int(header), size)
	if err != nil {
		return err
	}
	r.nulls[n] = s.nulls
	r.some |= s.nulls
	r.block.N++
	if len(s.numbers) > 0 {
		setNumbers(&r.block.numbers[n], s.numbers, &record[0])
	}
	for i, v := range r.texts {
		p := &s.others[i]
		v.addText(p.null, record[p.at:p.at+p.width]) // a page is not larger than maxText
	}
	return nil
}

// setNumbers copies numbers of a record to the columns that begin at into. shape has
// checked that the places are in the record, and begin that the columns are in the
// block. pagePad bytes follow the record. The decoder spends most of its time in this
// loop; inlined, it would have too few registers.
//
//go:noinline
func setNumbers(into *int64, places []place, record *byte) {
	for i := range places {
		p := &places[i]
		v := p.number((*[8]byte)(unsafe.Add(unsafe.Pointer(record), p.at))[:])
		*(*int64)(unsafe.Add(unsafe.Pointer(into), p.to)) = v
	}
}

// note sets which rows of the block's columns are null.
func (r *reader) note() {
	nulls := r.nulls[:r.block.N]
	for i, f := range r.fields {
		v := f.vector
		null := v.Null[:len(nulls)]
		switch {
		case r.some>>i&1 == 0 && v.Full: // already set
		case r.some>>i&1 == 0:
			clear(v.Null)
		default:
			for n, bits := range nulls {
				null[n] = bits>>i&1 != 0
			}
		}
		v.Full = r.some>>i&1 == 0
	}
	r.some = 0
}

// addText appends a row to a Text column.
func (v *Vector) addText(null bool, text []byte) {
	if !null {
		v.Data = append(v.Data, text...)
	}
	v.Offsets = append(v.Offsets, int32(len(v.Data)))
}

// long appends row n of the block from a payload with overflow pages. It reads the
// header and then the columns in order, so these pages are read once, forwards, and
// only up to the last wanted column.
func (r *reader) long(at, size, n int) error {
	if err := r.open(at, size); err != nil {
		return err
	}
	length, _ := varint(r.leaf[at:])
	if length == 0 || length > uint64(min(size, maxHeader)) {
		return r.contradiction()
	}
	header, err := r.bytes(0, int(length))
	if err != nil {
		return err
	}
	r.header = append(append(r.header[:0], header...), zeros[:]...)
	s, err := r.shape(r.header, len(header), size)
	if err != nil {
		return err
	}
	r.nulls[n] = s.nulls
	r.some |= s.nulls
	if err := r.longValues(s, n); err != nil {
		return err
	}
	r.block.N++
	return nil
}

// longValues reads the values of such a row, once its shape is known.
func (r *reader) longValues(s *shape, n int) error {
	numbers, texts := 0, 0
	for _, f := range r.fields {
		p := &place{}
		if f.number {
			p, numbers = &s.numbers[numbers], numbers+1
		} else {
			p, texts = &s.others[texts], texts+1
		}
		var load [8]byte
		if f.number && p.shift == noBytes {
			f.vector.Int[n] = p.number(load[:])
			continue
		}
		value, err := r.bytes(int(p.at), min(int(p.width), maxText))
		if err != nil {
			return err
		}
		if !f.number {
			f.vector.addText(p.null, value)
			continue
		}
		copy(load[:], value)
		f.vector.Int[n] = p.number(load[:])
	}
	return nil
}
