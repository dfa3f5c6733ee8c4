// Packed holds long lists of numbers, such as the measurements of each step of a run,
// in a fraction of their size. All elements but the last ones are stored as differences
// between neighbours, in as few bytes as these need.

package spill

import (
	"encoding/binary"
	"slices"
)

// BlockLen is how many elements are packed at a time, and at least how many of the last
// ones stay unpacked.
const BlockLen = 1024

// Element is a pointer to a T that consists of a fixed number of integers.
type Element[T any] interface {
	*T
	// Put appends the integers to a slice and returns it.
	Put(numbers []int64) []int64
	// Take sets the element from the integers that Put appended.
	Take(numbers []int64)
}

// Packed is a list that grows. The zero value is empty.
type Packed[T any, P Element[T]] struct {
	packed [][]byte // blocks of the first elements
	open   []T      // the elements after those
}

// Len returns the number of elements.
func (l *Packed[T, P]) Len() int { return BlockLen*len(l.packed) + len(l.open) }

// Last returns the last element. It may be changed until the next Append.
func (l *Packed[T, P]) Last() P { return &l.open[len(l.open)-1] }

// Append appends an element.
func (l *Packed[T, P]) Append(one T) {
	if len(l.open) == 2*BlockLen {
		l.packed = append(l.packed, packAll[T, P](l.open[:BlockLen]))
		l.open = l.open[:copy(l.open, l.open[BlockLen:])]
	}
	l.open = append(l.open, one)
}

// packAll packs the elements of a block.
func packAll[T any, P Element[T]](all []T) []byte {
	b := make([]byte, 0, 32*len(all))
	var last, now []int64
	for k := range all {
		now = P(&all[k]).Put(now[:0])
		last = slices.Grow(last, len(now))[:len(now)]
		for i, v := range now {
			b = binary.AppendVarint(b, v-last[i])
		}
		last, now = now, last
	}
	return slices.Clip(slices.Clone(b))
}

// PackedReader reads a list, which must not grow meanwhile. A list can have several
// readers.
type PackedReader[T any, P Element[T]] struct {
	List  *Packed[T, P] // must not grow
	block int           // the unpacked one, plus 1
	room  []T           // its elements
}

// Reader returns a reader of the list.
func (l *Packed[T, P]) Reader() *PackedReader[T, P] { return &PackedReader[T, P]{List: l} }

// At returns element k, which is valid until the next call. Reading in order is
// fastest.
func (r *PackedReader[T, P]) At(k int) P {
	if n := BlockLen * len(r.List.packed); k >= n {
		return &r.List.open[k-n]
	}
	if block := k / BlockLen; r.block != block+1 {
		r.unpack(block)
	}
	return &r.room[k%BlockLen]
}

// unpack unpacks a block.
func (r *PackedReader[T, P]) unpack(block int) {
	var zero T
	numbers := P(&zero).Put(nil)
	clear(numbers)
	r.room, r.block = slices.Grow(r.room[:0], BlockLen)[:BlockLen], block+1
	b, n := r.List.packed[block], 0
	for k := range r.room {
		for i := range numbers {
			// As binary.Varint, but without a call: most values take one byte.
			u := uint64(b[n])
			if n++; u >= 0x80 {
				u &= 0x7f
				for shift := 7; ; shift += 7 {
					c := b[n]
					n++
					if u |= uint64(c&0x7f) << shift; c < 0x80 {
						break
					}
				}
			}
			numbers[i] += int64(u>>1) ^ -int64(u&1)
		}
		P(&r.room[k]).Take(numbers)
	}
}
