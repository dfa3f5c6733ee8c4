package spill

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unsafe"
)

const (
	nullable   = 0x80 // beside the width of a column
	headerSize = 4
	pad        = 8 // bytes after a block
)

// packer packs the rows of a block. Its columns are those that are stored.
type packer struct {
	loose   bool // keys are in any order
	columns []packing
	size    int        // bytes of the block
	order   [2][]int64 // memory for what is stored of Then and Seq
	first   [1]int64   // likewise, of Seq that is nil
	rows    int
}

// packing is how the values of a column are stored.
type packing struct {
	values []int64 // any one of them, where all are the same
	width  int     // bytes of a value
	low    int64   // the least one
	null   bool    // some are None, and not all
}

// columnHead is the size of what stands before the values of a column.
const columnHead = 9

// noValue stands for a column that is nil.
var noValue = [1]int64{None}

// plan finds out how rows, of which there are BlockRows at most, are packed. first is
// the place of the first one in its run.
func (p *packer) plan(rows Rows, first int64) {
	p.columns, p.rows, p.size = p.columns[:0], rows.Len(), headerSize+pad
	for c, v := range rows {
		switch {
		case c == Key && !p.loose: // Fast path: they are in order.
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

// differences returns what is stored of Then, and all bits that occur in it.
func (p *packer) differences(then, keys []int64) (v []int64, seen int64) {
	v, keys = p.memory(0, len(then))[:len(then)], keys[:len(then)]
	for i, t := range then {
		d := t - keys[i]
		v[i] = d
		seen |= d
	}
	return v, seen
}

// memory returns memory for n values: small blocks, of which there are many writers, need
// little.
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

// pack writes values less shift, of width bytes each. After the values are pad bytes.
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
	default: // the bytes of a value beyond its width are written over by the next one
		at := unsafe.Pointer(unsafe.SliceData(to[:width*len(v)+pad]))
		for i, x := range v {
			binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(at, width*i))[:], uint64(x)-shift)
		}
	}
}

// packNullable is pack for values of which some are None.
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

// bounds returns the least and the largest value, and whether some values are
// None and others not; where all are, they are the bounds.
func bounds(v []int64, hasNone bool) (low, high int64, null bool) {
	n := 1
	for n < len(v) && v[n] == v[0] {
		n++
	}
	if n == len(v) { // Fast path: many a column has one value.
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

// extremes returns the least and the largest value: those of every fourth one first, so
// that one comparison need not wait for the one before.
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

// decode decodes the columns of a block that are in the set into rows, which has
// memory for all of them. Those that are of one value it leaves as they are where
// same says that they hold it already.
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

// constant is the value of all rows of a column, if rows is not 0.
type constant struct {
	value int64
	rows  int
}

// fill makes all rows of a column a value.
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

// decodeNullable decodes the values of a column with some that are None.
func decodeNullable(v []int64, b []byte, width int, low uint64) {
	mask := maskOf(width)
	for i := range v {
		code := binary.LittleEndian.Uint64(b[i*width:]) & mask
		if v[i] = int64(code + low - 1); code == 0 {
			v[i] = None
		}
	}
}

// maskOf returns the bits of a value of so many bytes, 1 to 8.
func maskOf(width int) uint64 { return uint64(1<<64-1) >> (64 - 8*width) }

// finish makes the columns that say the order of what is stored of them.
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
