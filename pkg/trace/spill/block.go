package spill

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unsafe"
)

const (
	nullable   = 0x80 // flag, beside the width of a column
	headerSize = 4
	pad        = 8 // bytes after a block
)

// packer packs the rows of a block, column by column.
type packer struct {
	loose   bool // keys may be in any order
	columns []packing
	size    int        // bytes of the block
	order   [2][]int64 // memory for the stored form of Then and Seq
	first   [1]int64   // the same for a Seq that is nil
	rows    int
}

// packing is how the values of a column are stored.
type packing struct {
	values []int64 // just one of them if all are equal
	width  int     // bytes of a value
	low    int64   // the minimum
	null   bool    // some values are None, but not all
}

// columnHead is the size in bytes of the head of a column.
const columnHead = 9

// noValue stands for a column that is nil.
var noValue = [1]int64{None}

// plan decides how to pack rows, at most BlockRows. first is the place of the first row
// in its run.
func (p *packer) plan(rows Rows, first int64) {
	p.columns, p.rows, p.size = p.columns[:0], rows.Len(), headerSize+pad
	for c, v := range rows {
		switch {
		case c == Key && !p.loose: // Fast path: keys are in order.
			p.column(v, v[0], v[len(v)-1], false)
			continue
		case c == Then:
			then, seen := p.differences(v, rows[Key])
			if seen >= 0 { // Fast path: no row ends before it starts.
				p.column(then, 0, seen, false)
				continue
			}
			v = then
		case c == Seq && v == nil:
			p.first[0] = first
			v = p.first[:]
		case c == Seq:
			seq := p.memory(1, len(v))
			for i := range v {
				seq[i] = v[i] - int64(i)
			}
			v = seq
		case v == nil:
			v = noValue[:]
		}
		low, high, null := bounds(v, c >= Payload)
		p.column(v, low, high, null)
	}
}

// column plans a column with values from low to high.
func (p *packer) column(v []int64, low, high int64, null bool) {
	size := uint64(high) - uint64(low)
	if null {
		size++
	}
	width := (bits.Len64(size) + 7) / 8
	p.columns = append(p.columns, packing{v, width, low, null})
	p.size += columnHead + width*p.rows
}

// differences returns the stored form of Then, and the union of all its bits.
func (p *packer) differences(then, keys []int64) (v []int64, seen int64) {
	v, keys = p.memory(0, len(then))[:len(then)], keys[:len(then)]
	for i, t := range then {
		d := t - keys[i]
		v[i] = d
		seen |= d
	}
	return v, seen
}

// memory returns memory for n values. It grows on demand: there are many writers of
// small blocks, and these need little.
func (p *packer) memory(which, n int) []int64 {
	if cap(p.order[which]) < n {
		p.order[which] = make([]int64, n)
	}
	return p.order[which][:n]
}

// pack writes the block, of p.size bytes.
func (p *packer) pack(to []byte) {
	binary.LittleEndian.PutUint16(to, uint16(p.rows))
	binary.LittleEndian.PutUint16(to[2:], uint16(len(p.columns)))
	to = to[headerSize:]
	for i := range p.columns {
		k := &p.columns[i]
		to[0] = byte(k.width)
		if k.null {
			to[0] |= nullable
		}
		binary.LittleEndian.PutUint64(to[1:], uint64(k.low))
		to = to[columnHead:]
		switch {
		case k.width == 0:
		case k.null:
			packNullable(to, k.values, k.width, uint64(k.low)-1)
		default:
			pack(to, k.values, k.width, uint64(k.low))
		}
		to = to[k.width*p.rows:]
	}
	clear(to)
}

// pack writes values less shift, width bytes each. to has pad bytes after the values.
func pack(to []byte, v []int64, width int, shift uint64) {
	switch width {
	case 1:
		to = to[:len(v)]
		for i, x := range v {
			to[i] = byte(uint64(x) - shift)
		}
	case 2:
		at := unsafe.Pointer(unsafe.SliceData(to[:2*len(v)]))
		for i, x := range v {
			binary.LittleEndian.PutUint16((*[2]byte)(unsafe.Add(at, 2*i))[:], uint16(uint64(x)-shift))
		}
	default: // the next value overwrites the bytes of a value beyond its width
		at := unsafe.Pointer(unsafe.SliceData(to[:width*len(v)+pad]))
		for i, x := range v {
			binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(at, width*i))[:], uint64(x)-shift)
		}
	}
}

// packNullable is pack for values some of which are None.
func packNullable(to []byte, v []int64, width int, shift uint64) {
	for _, x := range v {
		code := uint64(0)
		if x != None {
			code = uint64(x) - shift
		}
		binary.LittleEndian.PutUint64(to, code)
		to = to[width:]
	}
}

// bounds returns the minimum and maximum, and whether some values are None and others
// are not. If all are None, both bounds are None.
func bounds(v []int64, hasNone bool) (low, high int64, null bool) {
	n := 1
	for n < len(v) && v[n] == v[0] {
		n++
	}
	if n == len(v) { // Fast path: many columns have one value only.
		return v[0], v[0], false
	}
	low, high = extremes(v)
	if !hasNone || low != None || high == None {
		return low, high, false
	}
	low = high
	for _, x := range v {
		if x != None {
			low = min(low, x)
		}
	}
	return low, high, true
}

// extremes returns the minimum and maximum. Four interleaved pairs break the dependency
// of each comparison on the one before.
func extremes(v []int64) (low, high int64) {
	low, high = v[0], v[0]
	low2, high2, low3, high3, low4, high4 := low, high, low, high, low, high
	for len(v) >= 4 {
		q := (*[4]int64)(v)
		low, high = min(low, q[0]), max(high, q[0])
		low2, high2 = min(low2, q[1]), max(high2, q[1])
		low3, high3 = min(low3, q[2]), max(high3, q[2])
		low4, high4 = min(low4, q[3]), max(high4, q[3])
		v = v[4:]
	}
	for _, x := range v {
		low, high = min(low, x), max(high, x)
	}
	return min(low, low2, low3, low4), max(high, high2, high3, high4)
}

var errBlock = errors.New("BUG: a block that is none")

// decode decodes the columns of a block that are in the set into rows, which must have
// memory for them. A column with a single value is left alone if same says that rows
// hold it already.
func decode(b []byte, rows Rows, columns uint64, same []constant) error {
	n := int(binary.LittleEndian.Uint16(b))
	if int(binary.LittleEndian.Uint16(b[2:])) != len(rows) || n > BlockRows {
		return errBlock
	}
	b = b[headerSize:]
	for c := range rows {
		width, null, low := int(b[0]&^nullable), b[0]&nullable != 0, binary.LittleEndian.Uint64(b[1:])
		b = b[9:]
		if columns>>c&1 != 0 {
			rows[c] = rows[c][:n]
			if width == 0 && c >= Payload {
				same[c].fill(rows[c], int64(low))
			} else {
				same[c].rows = 0
				decodeColumn(rows[c], b, width, low, null)
				finish(c, rows)
			}
		}
		b = b[n*width:]
	}
	return nil
}

// constant is the value that the first rows rows of a column have.
type constant struct {
	value int64
	rows  int
}

// fill sets all rows of a column to a value.
func (k *constant) fill(v []int64, value int64) {
	if k.value != value {
		*k = constant{value: value}
	}
	for i := k.rows; i < len(v); i++ {
		v[i] = value
	}
	k.rows = max(k.rows, len(v))
}

// decodeColumn decodes the values of a column.
func decodeColumn(v []int64, b []byte, width int, low uint64, null bool) {
	if null {
		decodeNullable(v, b, width, low)
		return
	}
	switch width {
	case 0:
		for i := range v {
			v[i] = int64(low)
		}
	case 1:
		b = b[:len(v)]
		for i := range v {
			v[i] = int64(uint64(b[i]) + low)
		}
	case 2:
		at := unsafe.Pointer(unsafe.SliceData(b[:2*len(v)]))
		for i := range v {
			v[i] = int64(uint64(binary.LittleEndian.Uint16((*[2]byte)(unsafe.Add(at, 2*i))[:])) + low)
		}
	default:
		mask, at := maskOf(width), unsafe.Pointer(unsafe.SliceData(b[:width*len(v)+pad]))
		for i := range v {
			v[i] = int64(binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(at, width*i))[:])&mask + low)
		}
	}
}

// decodeNullable decodes the values of a column in which some are None.
func decodeNullable(v []int64, b []byte, width int, low uint64) {
	mask := maskOf(width)
	for i := range v {
		code := binary.LittleEndian.Uint64(b[i*width:]) & mask
		if v[i] = int64(code + low - 1); code == 0 {
			v[i] = None
		}
	}
}

// maskOf returns the bits of a value of width bytes, 1 to 8.
func maskOf(width int) uint64 { return uint64(1<<64-1) >> (64 - 8*width) }

// finish restores Then and Seq from their stored form.
func finish(c int, rows Rows) {
	switch c {
	case Then:
		then, keys := rows[Then], rows[Key][:len(rows[Then])]
		for i := range then {
			then[i] += keys[i]
		}
	case Seq:
		seq := rows[Seq]
		for i := range seq {
			seq[i] += int64(i)
		}
	}
}
