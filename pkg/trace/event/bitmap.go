package event

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Bitmap holds one bit per row, least significant bit first, as Arrow does. nil stands
// for all ones. Bits after the last row are undefined.
type Bitmap []byte

// Get returns bit i.
func (m Bitmap) Get(i int) bool { return m == nil || m[i>>3]>>(i&7)&1 != 0 }

// all reports whether bits i to j are set.
func (m Bitmap) all(i, j int) bool {
	for ; m != nil && i < j; i++ {
		if i&7 == 0 && i+8 <= j && m[i>>3] == 0xff { // Fast path
			i += 7
		} else if !m.Get(i) {
			return false
		}
	}
	return true
}

// Count returns how many of bits i to j are set.
func (m Bitmap) Count(i, j int) int {
	if m == nil {
		return j - i
	}
	n := 0
	for ; i < j && i&7 != 0; i++ {
		n += int(m[i>>3] >> (i & 7) & 1)
	}
	for ; i+64 <= j; i += 64 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(m[i>>3:]))
	}
	for ; i < j; i++ {
		n += int(m[i>>3] >> (i & 7) & 1)
	}
	return n
}

// allValid returns n ones. It is never nil, because nil would ignore what is appended.
func allValid(n int) Bitmap { return Bitmap{}.AppendSame(0, n, true) }

// Fill sets bits i to j to v.
func (m Bitmap) Fill(i, j int, v bool) {
	if i >= j {
		return
	}
	first, last := i>>3, (j-1)>>3
	head, tail := byte(0xff)<<(i&7), byte(0xff)>>(7-(j-1)&7)
	if first == last {
		m.mask(first, head&tail, v)
		return
	}
	m.mask(first, head, v)
	b := byte(0)
	if v {
		b = 0xff
	}
	for k := first + 1; k < last; k++ {
		m[k] = b
	}
	m.mask(last, tail, v)
}

// mask sets the given bits of byte k to v.
func (m Bitmap) mask(k int, bits byte, v bool) {
	if v {
		m[k] |= bits
	} else {
		m[k] &^= bits
	}
}

func (m Bitmap) set(i int, v bool) {
	if v {
		m[i>>3] |= 1 << (i & 7)
	} else {
		m[i>>3] &^= 1 << (i & 7)
	}
}

// grow returns m with room for n bits; new bytes are zero.
func (m Bitmap) grow(n int) Bitmap {
	size, have := (n+7)>>3, len(m)
	if size <= have {
		return m
	}
	m = slices.Grow(m, size-have)[:size]
	clear(m[have:])
	return m
}

// AppendSame appends count bits of value v to the n bits of m.
func (m Bitmap) AppendSame(n, count int, v bool) Bitmap {
	m = m.grow(n + count)
	m.Fill(n, n+count, v)
	return m
}

// AppendRange appends bits i to j of src to the n bits of m.
func (m Bitmap) AppendRange(n int, src Bitmap, i, j int) Bitmap {
	m = m.grow(n + j - i)
	for ; i < j && n&7 != 0; i, n = i+1, n+1 {
		m.set(n, src.Get(i))
	}
	shift := uint(i & 7)
	for ; i+64 <= j && i>>3+9 <= len(src); i, n = i+64, n+64 {
		v := binary.LittleEndian.Uint64(src[i>>3:])>>shift | uint64(src[i>>3+8])<<1<<(63-shift)
		binary.LittleEndian.PutUint64(m[n>>3:], v)
	}
	for ; i+8 <= j; i, n = i+8, n+8 {
		v := src[i>>3] >> shift
		if shift != 0 {
			v |= src[i>>3+1] << (8 - shift)
		}
		m[n>>3] = v
	}
	for ; i < j; i, n = i+1, n+1 {
		m.set(n, src.Get(i))
	}
	return m
}
