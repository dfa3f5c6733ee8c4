package arrow

import (
	"encoding/binary"
	"errors"
)

// flat reads a flatbuffer that may hold anything. The generated readers believe
// every length and offset in it; this one does not. What lies outside the
// buffer is a panic of errFlat, which metadata turns into an error.
//
// Offsets may lead to one place many times, which makes a small buffer as
// large as one likes for whoever copies what it finds. The budget ends that:
// all that is visited costs about the memory that it takes once read.
type flat struct {
	buf    []byte
	budget int
}

var errFlat = errors.New("bad metadata")

// reset makes f read buf. Honest buffers share a string or a table now and
// then, so the budget is a multiple of the size.
func (f *flat) reset(buf []byte) { *f = flat{buf: buf, budget: 8*len(buf) + 1024} }

// spend takes n bytes, none negative, from the budget.
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

// The numbers at pos, of the byte order of flatbuffers.
func (f *flat) u16(pos int) int   { return int(binary.LittleEndian.Uint16(f.at(pos, 2))) }
func (f *flat) u32(pos int) int   { return int(binary.LittleEndian.Uint32(f.at(pos, 4))) }
func (f *flat) i64(pos int) int64 { return int64(binary.LittleEndian.Uint64(f.at(pos, 8))) }

// root returns the table that the buffer is about.
func (f *flat) root() flatTable { return f.table(f.u32(0)) }

// table returns the table at pos. Sizes that an honest writer never has are bad:
// the generated readers would find fields there that we do not see.
func (f *flat) table(pos int) flatTable {
	vtable := pos - int(int32(f.u32(pos)))
	size := f.u16(vtable)
	if f.at(vtable, size); size < 4 || size%2 != 0 {
		panic(errFlat)
	}
	f.spend(64)
	return flatTable{f: f, pos: pos, vtable: vtable, fields: (size - 4) / 2}
}

// flatTable is a table in a flatbuffer, with its fields by number; the zero
// table has none.
type flatTable struct {
	f                   *flat
	pos, vtable, fields int
}

// field returns where field n is, 0 where the table has none.
func (t flatTable) field(n int) int {
	if n >= t.fields {
		return 0
	}
	if o := t.f.u16(t.vtable + 4 + 2*n); o != 0 {
		return t.pos + o
	}
	return 0
}

// byte returns the one-byte field n, 0 where it is missing.
func (t flatTable) byte(n int) byte {
	if p := t.field(n); p != 0 {
		return t.f.at(p, 1)[0]
	}
	return 0
}

// i16 returns the two-byte field n, 0 where it is missing.
func (t flatTable) i16(n int) int {
	if p := t.field(n); p != 0 {
		return int(int16(t.f.u16(p)))
	}
	return 0
}

// i64 returns the eight-byte field n, 0 where it is missing.
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

// vector returns where the elements of field n, each size bytes, begin and how
// many there are; all of them lie in the buffer.
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
