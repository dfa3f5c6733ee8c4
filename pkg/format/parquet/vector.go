package parquet

import (
	"math/bits"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Vector holds rows of one column. The column's type decides which of Int, Int32 and
// Text holds the values; those of null rows are 0 or "".
type Vector struct {
	Int   []int64       // integers, booleans, Enum indexes, and the bits of floating point numbers
	Int32 []int32       // of ReadInt32 and ReadNumbered, instead of Int
	Text  event.Strings // of Text and Bytes
	// Valid has a bit per row, lowest bit of a byte first; nil if no row is null. Bits
	// after the last row are undefined.
	Valid event.Bitmap
	spare event.Bitmap // memory for Valid while that is nil
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

// count returns the number of values in v, a vector of column c.
func (v *Vector) count(c *Column) int {
	if c.isNumber() {
		return len(v.Int)
	}
	return v.Text.Len()
}

// needValid gives the n rows of v a bitmap if there is none.
func (v *Vector) needValid(n int) {
	if v.Valid == nil {
		v.Valid = v.spare[:0].AppendSame(0, n, true)
	}
}

// appendRows appends rows i to j of src to the n rows of v. Both are of column c.
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

// spread moves the values of v, which are contiguous, to the rows that are not null.
func (v *Vector) spread(c *Column, rows int) {
	switch {
	case v.Valid == nil:
	case c.isNumber():
		v.Int = spread(v.Int, v.Valid, rows)
	default:
		spreadStrings(&v.Text, v.Valid, rows)
	}
}

// spread moves values to the rows whose bit in valid is set, and sets the others to 0.
// It works backwards, in place: for the rows before i, from values remain.
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
	for i > 0 && from < i { // if as many values as rows remain, they are in place
		b := valid[i>>3-1]
		if b != 0 && b != 0xff {
			i -= 8
			from -= bits.OnesCount8(b)
			var in [16]T // reads before it writes, since both may overlap
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

// places maps a byte of a bitmap to the index of the value of each of 8 rows, 8 for
// none.
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

// spreadStrings is spread for strings. A row without a bit gets the offset of the
// string after it, which makes it empty.
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
