package parquet

import (
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Vector is rows of one column. Which of Int, Float and Text holds the values
// is told by the column's type; the values of null rows are 0 or "".
type Vector struct {
	Int   []int64       // of whole numbers and booleans, of an Enum, and the bits of floating point numbers
	Int32 []int32       // of ReadInt32 and ReadNumbered, instead of Int
	Text  event.Strings // of Text and Bytes
	// Valid has a bit a row, the lowest of a byte first; nil where no row is
	// null. Bits after the last row may be anything.
	Valid event.Bitmap
	spare event.Bitmap // the memory of Valid while that is nil
}

// IsNull reports whether row i is null.
func (v *Vector) IsNull(i int) bool { return !v.Valid.Get(i) }

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() {
	v.Int, v.Int32 = v.Int[:0], v.Int32[:0]
	v.Text.Reset()
	if v.Valid != nil {
		v.Valid, v.spare = nil, v.Valid
	}
}

// count returns the number of values in v, of column c.
func (v *Vector) count(c *Column) int {
	if c.isNumber() {
		return len(v.Int)
	}
	return v.Text.Len()
}

// needValid makes sure that the n rows of v have a bitmap.
func (v *Vector) needValid(n int) {
	if v.Valid == nil {
		v.Valid = v.spare[:0].AppendSame(0, n, true)
	}
}

// appendRows appends rows i to j of src, both of column c, to the n rows of v.
func (v *Vector) appendRows(c *Column, n int, src *Vector, i, j int) {
	if c.isNumber() {
		v.Int = append(v.Int, src.Int[i:j]...)
	} else {
		v.Text.AppendRange(&src.Text, i, j)
	}
	switch {
	case src.Valid != nil:
		v.needValid(n)
		v.Valid = v.Valid.AppendRange(n, src.Valid, i, j)
	case v.Valid != nil:
		v.Valid = v.Valid.AppendSame(n, j-i, true)
	}
}

// spread moves the values of v, which are those of the rows that are not null
// one after the other, to their rows.
func (v *Vector) spread(c *Column, rows int) {
	switch {
	case v.Valid == nil:
	case c.isNumber():
		v.Int = spread(v.Int, v.Valid, rows)
	default:
		spreadStrings(&v.Text, v.Valid, rows)
	}
}

// spread moves values to the rows whose bit in valid is set, and makes the others 0. It
// works from the end, where the room is, so that it needs no copy: up to row i, from
// values are still to be moved.
func spread[T int32 | int64](values []T, valid []byte, rows int) []T {
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
			var in [16]T // all is read before any is written, as both may overlap
			*(*[8]T)(in[:]) = *(*[8]T)(values[from:])
			to := (*[8]T)(values[i:])
			for k, place := range &places[b] {
				to[k] = in[place&15]
			}
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

// spreadStrings does for strings what spread does for numbers: rows without a bit get the
// offset of the string after them, so they are empty.
func spreadStrings(s *event.Strings, valid []byte, rows int) {
	from := len(s.Offsets) - 1
	s.Offsets = slices.Grow(s.Offsets, rows-from)[:rows+1]
	for i := rows; i > 0; i-- {
		s.Offsets[i] = s.Offsets[from]
		if valid[(i-1)>>3]>>((i-1)&7)&1 != 0 {
			from--
		}
	}
}
