package sqlite

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// The cell of a leaf is the size of the row's payload and its row id, as
// varints, then the payload, or its beginning and the number of an overflow
// page. An overflow page begins with the number of the next one, 0 on the last.
//
// The payload is a record: a header and then the values of the columns, one
// after the other. The header is its own size and for each column the type of
// its value, as varints:
//
//	0            null; also what stands for the row id's own column
//	1 2 3 4 5 6  a number of 1, 2, 3, 4, 6, 8 bytes
//	7            a float
//	8 9          the numbers 0 and 1, of no bytes
//	10 11        not used; SQLite reads them as null
//	12, 14, …    a blob of (type-12)/2 bytes
//	13, 15, …    a text of (type-13)/2 bytes
//
// A record may have fewer columns than its table: the others were added later.

// maxHeader bounds the header of a record, as SQLite does: 32,767 columns of three
// bytes each.
const maxHeader = 98307

// maxRecord bounds a record, as SQLite does.
const maxRecord = 1<<31 - 1

// field is a wanted column as stored in records.
type field struct {
	skip   int // columns between the wanted one before and this one
	vector *Vector
	number bool             // a column of numbers, else of text
	keep   func(int64) bool // of Column
}

// maxFields bounds the wanted columns: a uint64 has a bit for each.
const maxFields = 64

// place is the position and form of a field's value in a record. A number is
// load>>shift|or, where load is the 8 bytes at the position as a signed integer. This
// needs no branch, which would be unpredictable. A number without bytes of its own is
// made from any byte below 0x80. (The fields are unsigned and 16 bytes in total, which
// compiles to fewer instructions.)
type place struct {
	at, width uint32
	to        uint32 // of a number: offset of its column in the block's numbers, in bytes
	shift, or uint8
	null      bool
}

// noBytes is the shift of a value without bytes.
const noBytes = 63

// numbers are the places of numbers by their type; the last one is for all other types,
// which are null as numbers.
var numbers = [13]place{
	0:  {null: true, shift: noBytes},
	1:  {width: 1, shift: 56},
	2:  {width: 2, shift: 48},
	3:  {width: 3, shift: 40},
	4:  {width: 4, shift: 32},
	5:  {width: 6, shift: 16},
	6:  {width: 8},
	7:  {width: 8, null: true, shift: noBytes},
	8:  {shift: noBytes},
	9:  {or: 1, shift: noBytes},
	10: {null: true, shift: noBytes},
	11: {null: true, shift: noBytes},
	12: {null: true, shift: noBytes},
}

// number returns the number at the beginning of b, which has at least 8 bytes.
func (p *place) number(b []byte) int64 {
	return int64(binary.BigEndian.Uint64(b))>>(p.shift&63) | int64(p.or)
}

// widths are the sizes of values by type, for types of one byte.
var widths = func() (w [128]uint8) {
	for t := range w {
		w[t] = uint8(max(t-12, 0) / 2)
	}
	for t, p := range numbers {
		w[t] = uint8(p.width)
	}
	return w
}()

// shape is where the wanted values lie in all records with the same header prefix. A
// table has few shapes, so a header is decoded only if its shape is new.
type shape struct {
	prefix  prefix
	header  []byte  // all of it, if the prefix does not determine the shape; else nil
	numbers []place // of the number fields
	others  []place // of the other fields
	nulls   uint64  // a bit per field, the first in the lowest bit
	size    int     // of a record up to its last wanted value
	whole   bool    // size is the end of the record
	known   bool
}

// prefix is the beginning of a header, up to the type of the last wanted field if all
// types have one byte: its first bytes, or of a longer header the first 24 and the last
// 8. Unused bytes are 0. (An array would be allocated for each row.)
type prefix struct{ a, b, c, d uint64 }

// prefixSize must not exceed pagePad, so that as many bytes can be read of any header.
const prefixSize = 32

var ones = bytes.Repeat([]byte{0xff}, prefixSize)

// prefixOf returns the prefix of a header, of which n bytes count.
func prefixOf(header []byte, n int) prefix {
	var b [prefixSize]byte
	copy(b[:], header[:min(n, prefixSize)])
	word := binary.LittleEndian.Uint64
	return prefix{word(b[:]), word(b[8:]), word(b[16:]), word(b[24:])}
}

// hash returns the index of a shape in the cache.
func (p prefix) hash() uint64 {
	const factor = 0x9e3779b97f4a7c15
	return (p.a ^ bits.RotateLeft64(p.b, 21) ^ bits.RotateLeft64(p.c, 11) ^ bits.RotateLeft64(p.d, 43)) * factor >> (64 - shapeBits)
}

// shapeBits is the logarithm of the number of cached shapes. Tables of real exports
// have up to 32, and one for each length of a string.
const shapeBits = 10

// shape returns the shape of a record of size bytes whose header has length bytes. At
// least pagePad bytes must follow.
func (r *reader) shape(record []byte, length, size int) (*shape, error) {
	var p prefix
	if length >= r.prefix { // Fast path
		m, b := &r.mask, (*[prefixSize - 8]byte)(record)
		p.a, p.b = binary.LittleEndian.Uint64(b[:])&m.a, binary.LittleEndian.Uint64(b[8:])&m.b
		p.c, p.d = binary.LittleEndian.Uint64(b[16:])&m.c, binary.LittleEndian.Uint64(record[r.last:])&m.d
	} else { // record from before the last columns were added
		p = prefixOf(record, length)
	}
	s := &r.shapes[p.hash()]
	if s.prefix != p || !s.known || s.header != nil && string(s.header) != string(record[:length]) {
		s.prefix = p
		if s.known = r.resolve(s, record[:length]); !s.known {
			return nil, r.contradiction()
		}
	}
	if size != s.size && (s.whole || size < s.size) {
		return nil, r.contradiction()
	}
	return s, nil
}

//go:noinline
func (r *reader) contradiction() error {
	return &damage{r.number, "the size of a row contradicts the types of its values"}
}

// resolve decodes the header of a shape. It returns false if the header is invalid. It
// is called for few rows; inlining it would only take space.
//
//go:noinline
func (r *reader) resolve(s *shape, header []byte) bool {
	r.header = append(append(r.header[:0], header...), zeros[:]...)
	types := r.header[:len(header)]
	v, pos := varint(r.header)
	low := slices.IndexFunc(types, func(b byte) bool { return b < 0x80 }) // the last byte of a varint is below 0x80
	at, largest := int(v), min(int(r.pages)*r.size, maxRecord)
	s.numbers, s.others, s.nulls = s.numbers[:0], s.others[:0], 0
	for i := range r.fields {
		f := &r.fields[i]
		pos, at = r.skip(f.skip, pos, at, types, largest)
		t, width, n := r.typeAt(pos, len(types))
		if pos += n; pos > len(types) || width > largest-at {
			return false
		}
		p := numbers[min(t, 12)]
		p.at, p.width = uint32(at), uint32(width)
		if f.number {
			if p.to = uint32(f.vector.at) * 8; p.shift == noBytes {
				if low < 0 { // No writer uses nine bytes for a smaller type.
					return false
				}
				p.at, p.width = uint32(low), 0
			}
			s.numbers = append(s.numbers, p)
		} else {
			p.null = t < 12
			s.others = append(s.others, p)
		}
		if p.null {
			s.nulls |= 1 << i
		}
		at += width
	}
	s.size, s.whole, s.header = at, pos >= len(types), nil
	if pos > min(r.prefix, prefixSize) {
		s.header = slices.Clone(header)
	}
	return at <= largest
}

// skip skips n columns and returns the new offsets in the header and in the values; the
// latter never exceed largest+1.
func (r *reader) skip(n, pos, at int, types []byte, largest int) (int, int) {
	for range n {
		if pos < len(types) && types[pos] < 0x80 {
			at += int(widths[types[pos]])
			pos++
			continue
		}
		_, width, size := r.typeAt(pos, len(types))
		pos, at = pos+size, at+min(width, largest+1-at)
	}
	return pos, at
}

var zeros [pagePad]byte

// typeAt decodes the type at an offset in a header of length end. It returns the sizes
// of a value of that type and of the type itself. Columns after the end were added to
// the table later: they are null.
func (r *reader) typeAt(pos, end int) (t uint64, width, n int) {
	if pos >= end {
		return 0, 0, 0
	}
	if t, n = varint(r.header[pos:]); t < 128 {
		return t, int(widths[t]), n
	}
	return t, int((t - 12) / 2), n
}
