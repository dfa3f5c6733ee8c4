package arrow

import (
	"encoding/binary"
	"errors"
)

// flat reads an untrusted flatbuffer. The generated readers trust every length and
// offset in it; this one does not. An access outside the buffer panics with errFlat,
// which metadata turns into an error.
//
// Many offsets may lead to the same place, which makes a small buffer arbitrarily large
// for a reader that copies what it finds. The budget prevents that: each visit costs
// about the memory that the result takes.
type flat struct {
	buf    []byte
	budget int
}

var errFlat = errors.New("bad metadata")

// reset makes f read buf. Valid buffers sometimes share a string or a table, so the
// budget is a multiple of the size.
func (f *flat) reset(buf []byte) { *f = flat{buf: buf, budget: 8*len(buf) + 1024} }

// spend takes n bytes from the budget. n must not be negative.
func (f *flat) spend(n int) {
	if f.budget -= n; f.budget < 0 {
		panic(errFlat)
	}
}

// at returns the n bytes at pos.
func (f *flat) at(pos, n int) []byte {
	if pos < 0 || n < 0 || pos > len(f.buf)-n {
		panic(errFlat)
	}
	return f.buf[pos : pos+n]
}

// Numbers at pos, little-endian as in all flatbuffers.
func (f *flat) u16(pos int) int   { return int(binary.LittleEndian.Uint16(f.at(pos, 2))) }
func (f *flat) u32(pos int) int   { return int(binary.LittleEndian.Uint32(f.at(pos, 4))) }
func (f *flat) i64(pos int) int64 { return int64(binary.LittleEndian.Uint64(f.at(pos, 8))) }

// root returns the root table of the buffer.
func (f *flat) root() flatTable { return f.table(f.u32(0)) }

// table returns the table at pos. Sizes that no valid writer produces are refused: the
// generated readers would see fields there that this one does not.
func (f *flat) table(pos int) flatTable {
	vtable := pos - int(int32(f.u32(pos)))
	size := f.u16(vtable)
	if f.at(vtable, size); size < 4 || size%2 != 0 {
		panic(errFlat)
	}
	f.spend(64)
	return flatTable{f: f, pos: pos, vtable: vtable, fields: (size - 4) / 2}
}

// flatTable is a table in a flatbuffer, with fields by number. The zero table has no
// fields.
type flatTable struct {
	f                   *flat
	pos, vtable, fields int
}

// field returns the position of field n, 0 if the table lacks it.
func (t flatTable) field(n int) int {
	if n >= t.fields {
		return 0
	}
	if o := t.f.u16(t.vtable + 4 + 2*n); o != 0 {
		return t.pos + o
	}
	return 0
}

// byte returns the one-byte field n, 0 if it is missing.
func (t flatTable) byte(n int) byte {
	if p := t.field(n); p != 0 {
		return t.f.at(p, 1)[0]
	}
	return 0
}

// i16 returns the two-byte field n, 0 if it is missing.
func (t flatTable) i16(n int) int {
	if p := t.field(n); p != 0 {
		return int(int16(t.f.u16(p)))
	}
	return 0
}

// i64 returns the eight-byte field n, 0 if it is missing.
func (t flatTable) i64(n int) int64 {
	if p := t.field(n); p != 0 {
		return t.f.i64(p)
	}
	return 0
}

// table returns the table in field n and whether there is one.
func (t flatTable) table(n int) (flatTable, bool) {
	p := t.field(n)
	if p == 0 {
		return flatTable{f: t.f}, false
	}
	return t.f.table(p + t.f.u32(p)), true
}

// vector returns the position and number of the elements of field n, each of size
// bytes. All of them are in the buffer.
func (t flatTable) vector(n, size int) (start, count int) {
	p := t.field(n)
	if p == 0 {
		return 0, 0
	}
	start = p + t.f.u32(p)
	count = t.f.u32(start)
	start += 4
	if count > len(t.f.buf)/size {
		panic(errFlat)
	}
	t.f.at(start, count*size)
	t.f.spend(4 + count*size)
	return start, count
}

// tables returns the tables in the vector of field n.
func (t flatTable) tables(n int) []flatTable {
	start, count := t.vector(n, 4)
	all := make([]flatTable, count)
	for i := range all {
		p := start + 4*i
		all[i] = t.f.table(p + t.f.u32(p))
	}
	return all
}
