package arrow

import "encoding/binary"

// flat reads a flatbuffer that may hold anything. The generated readers believe
// every length and offset in it; this one does not. What lies outside the
// buffer reads as zero and makes the buffer bad for good, so that a caller may
// read all it wants and ask once at the end.
//
// Offsets may lead to one place many times, which makes a small buffer as
// large as one likes for whoever copies what it finds. The budget ends that:
// all that is visited costs about the memory that it takes once read.
type flat struct {
	buf    []byte
	budget int
	bad    bool
}

// reset makes f read buf. Honest buffers share a string or a table now and
// then, so the budget is a multiple of the size.
func (f *flat) reset(buf []byte) { *f = flat{buf: buf, budget: 8*len(buf) + 1024} }

// spend takes n bytes, none negative, from the budget.
func (f *flat) spend(n int) bool {
	if n > f.budget || f.bad {
		f.bad = true
		return false
	}
	f.budget -= n
	return true
}

// at returns the n bytes at pos, nil where they are not all there.
func (f *flat) at(pos, n int) []byte {
	if pos < 0 || n < 0 || pos > len(f.buf)-n {
		f.bad = true
		return nil
	}
	return f.buf[pos : pos+n]
}

// u16 returns the number of two bytes at pos, 0 outside of the buffer, as u32 and i64 do.
func (f *flat) u16(pos int) int {
	if b := f.at(pos, 2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (f *flat) u32(pos int) int {
	if b := f.at(pos, 4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (f *flat) i64(pos int) int64 {
	if b := f.at(pos, 8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// root returns the table that the buffer is about.
func (f *flat) root() flatTable { return f.table(f.u32(0)) }

// table returns the table at pos. Sizes that an honest writer never has are bad:
// the generated readers would find fields there that we do not see.
func (f *flat) table(pos int) flatTable {
	vtable := pos - int(int32(f.u32(pos)))
	size := f.u16(vtable)
	if size < 4 || size%2 != 0 || f.at(vtable, size) == nil || !f.spend(64) {
		f.bad = true
		return flatTable{f: f}
	}
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
	if n >= t.fields || t.f.bad {
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
		if b := t.f.at(p, 1); b != nil {
			return b[0]
		}
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
	sub := t.f.table(p + t.f.u32(p))
	return sub, !t.f.bad
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
	if count > len(t.f.buf)/size || t.f.at(start, count*size) == nil || !t.f.spend(4+count*size) {
		t.f.bad = true
		return 0, 0
	}
	return start, count
}

// tables returns the tables in the vector of field n.
func (t flatTable) tables(n int) []flatTable {
	start, count := t.vector(n, 4)
	if count == 0 {
		return nil
	}
	all := make([]flatTable, 0, count)
	for i := 0; i < count && !t.f.bad; i++ {
		p := start + 4*i
		all = append(all, t.f.table(p+t.f.u32(p)))
	}
	return all
}
