package parquet

import (
	"math/bits"
	"slices"
)

// Vector is rows of one column. Which of Int, Float and Text holds the values
// is told by the column's type; the values of null rows are 0 or "".
type Vector struct {
	Int   []int64   // of whole numbers and booleans, and of an Enum
	Int32 []int32   // of ReadInt32 and ReadNumbered, instead of Int
	Float []float64 // of floating point numbers
	Text  Strings   // of Text and Bytes
	// Valid has a bit a row, the lowest of a byte first; nil where no row is
	// null. Bits after the last row may be anything.
	Valid []byte
	spare []byte // the memory of Valid while that is nil
}

// Strings is strings one after the other: string i is Data[Offsets[i]:Offsets[i+1]]. An
// empty one may have no offsets at all.
type Strings struct {
	Offsets []int32 // one more than there are strings
	Data    []byte  // their bytes
}

// Len returns the number of strings.
func (s *Strings) Len() int { return max(len(s.Offsets)-1, 0) }

// Get returns text i, which shares the memory of s.
func (s *Strings) Get(i int) []byte { return s.Data[s.Offsets[i]:s.Offsets[i+1]] }

// Append appends a text.
func (s *Strings) Append(text []byte) {
	if len(s.Offsets) == 0 {
		s.Offsets = append(s.Offsets, 0)
	}
	s.Data = append(s.Data, text...)
	s.Offsets = append(s.Offsets, int32(len(s.Data)))
}

// Reset empties s and keeps its memory.
func (s *Strings) Reset() { s.Offsets, s.Data = append(s.Offsets[:0], 0), s.Data[:0] }

// IsNull reports whether row i is null.
func (v *Vector) IsNull(i int) bool { return v.Valid != nil && v.Valid[i>>3]>>(i&7)&1 == 0 }

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() {
	v.Int, v.Int32, v.Float = v.Int[:0], v.Int32[:0], v.Float[:0]
	v.Text.Reset()
	if v.Valid != nil {
		v.Valid, v.spare = nil, v.Valid
	}
}

// count returns the number of values in v, of column c.
func (v *Vector) count(c *Column) int {
	switch {
	case c.isInt():
		return len(v.Int)
	case c.Type.IsFloat():
		return len(v.Float)
	}
	return v.Text.Len()
}

// needValid makes sure that the n rows of v have a bitmap.
func (v *Vector) needValid(n int) {
	if v.Valid == nil {
		v.Valid = appendBits(v.spare[:0], 0, n, true)
	}
}

// appendRows appends rows i to j of src, both of column c, to the n rows of v.
func (v *Vector) appendRows(c *Column, n int, src *Vector, i, j int) {
	switch {
	case c.isInt():
		v.Int = append(v.Int, src.Int[i:j]...)
	case c.Type.IsFloat():
		v.Float = append(v.Float, src.Float[i:j]...)
	default:
		v.Text.appendRange(&src.Text, i, j)
	}
	switch {
	case src.Valid != nil:
		v.needValid(n)
		v.Valid = appendBitRange(v.Valid, n, src.Valid, i, j)
	case v.Valid != nil:
		v.Valid = appendBits(v.Valid, n, j-i, true)
	}
}

// appendRange appends strings i to j of src.
func (s *Strings) appendRange(src *Strings, i, j int) {
	if len(s.Offsets) == 0 {
		s.Offsets = append(s.Offsets, 0)
	}
	if i == j {
		return
	}
	shift := int32(len(s.Data)) - src.Offsets[i]
	s.Data = append(s.Data, src.Data[src.Offsets[i]:src.Offsets[j]]...)
	for _, o := range src.Offsets[i+1 : j+1] {
		s.Offsets = append(s.Offsets, o+shift)
	}
}

// spread moves the values of v, which are those of the rows that are not null
// one after the other, to their rows.
func (v *Vector) spread(c *Column, rows int) {
	if v.Valid == nil {
		return
	}
	switch {
	case c.isInt():
		v.Int = spread(v.Int, v.Valid, rows)
	case c.Type.IsFloat():
		v.Float = spread(v.Float, v.Valid, rows)
	default:
		v.Text.spread(v.Valid, rows)
	}
}

// spread moves values to the rows whose bit in valid is set, and makes the others 0. It
// works from the end, where the room is, so that it needs no copy: up to row i, from
// values are still to be moved.
func spread[T int32 | int64 | float64](values []T, valid []byte, rows int) []T {
	from, i := len(values), rows
	values = slices.Grow(values, rows-from)[:rows]
	for ; i&7 != 0; i-- {
		v := T(0)
		if valid[i>>3]>>((i-1)&7)&1 != 0 {
			from--
			v = values[from]
		}
		values[i-1] = v
	}
	for i > 0 && from < i { // rows of as many values stand where they belong
		b := valid[i>>3-1]
		if b != 0 && b != 0xff {
			i -= 8
			from -= bits.OnesCount8(b)
			spread8((*[8]T)(values[i:]), (*[8]T)(values[from:]), b)
			continue
		}
		j := i - 8
		for j > 0 && valid[j>>3-1] == b {
			j -= 8
		}
		if b == 0 {
			clear(values[j:i])
		} else {
			copy(values[j:i], values[from-(i-j):from])
			from -= i - j
		}
		i = j
	}
	return values
}

// spread8 moves values from src to the rows of dst that have a bit in valid, and
// makes the others 0.
// Both arrays may overlap: all of src is read before dst is written.
func spread8[T int32 | int64 | float64](dst, src *[8]T, valid byte) {
	var in [16]T
	*(*[8]T)(in[:]) = *src
	for k, place := range &places[valid] {
		dst[k] = in[place&15]
	}
}

// places says for each byte of a bitmap which of its values each of 8 rows has,
// 8 for none.
var places = func() (all [256][8]uint8) {
	for b := range all {
		n := uint8(0)
		for k := range all[b] {
			all[b][k] = 8
			if b>>k&1 != 0 {
				all[b][k] = n
				n++
			}
		}
	}
	return all
}()

// spread does for strings what the function does for numbers: rows without a bit get the
// offset of the string after them, so they are empty.
func (s *Strings) spread(valid []byte, rows int) {
	from := len(s.Offsets) - 1
	s.Offsets = slices.Grow(s.Offsets, rows-from)[:rows+1]
	for i := rows; i > 0; i-- {
		s.Offsets[i] = s.Offsets[from]
		if valid[(i-1)>>3]>>((i-1)&7)&1 != 0 {
			from--
		}
	}
}

// appendBits appends count equal bits to the n bits in m.
// Bits of the last byte beyond them may be anything.
func appendBits(m []byte, n, count int, v bool) []byte {
	m = growBits(m, n+count)
	fill := byte(0)
	if v {
		fill = 0xff
	}
	end := n + count
	for ; n < end && n&7 != 0; n++ {
		m[n>>3] = m[n>>3]&^(1<<(n&7)) | fill&(1<<(n&7))
	}
	for ; n < end; n += 8 {
		m[n>>3] = fill
	}
	return m
}

// appendBitRange appends bits i to j of src to the n bits in m.
func appendBitRange(m []byte, n int, src []byte, i, j int) []byte {
	m = growBits(m, n+j-i)
	for ; i < j && n&7 != 0; i, n = i+1, n+1 {
		m[n>>3] = m[n>>3]&^(1<<(n&7)) | src[i>>3]>>(i&7)&1<<(n&7)
	}
	shift := i & 7
	for ; i < j; i, n = i+8, n+8 {
		b := src[i>>3] >> shift
		if shift != 0 && i>>3+1 < len(src) {
			b |= src[i>>3+1] << (8 - shift)
		}
		m[n>>3] = b
	}
	return m
}

// growBits returns m with a length of at least n bits. New ones may be anything.
func growBits(m []byte, n int) []byte {
	size := (n + 7) >> 3
	if size <= len(m) {
		return m
	}
	return slices.Grow(m, size-len(m))[:size]
}
