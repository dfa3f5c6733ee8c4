package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/parquet-go/parquet-go/format"
)

// maxStrings bounds the strings of one page, in bytes: Vector has offsets of 31 bits.
const maxStrings = 1 << 30

var errLength = errors.New("damaged page: length of a text")

// values appends the values of a page to v.
func (r *chunkReader) values(p *page, v *Vector) error {
	if p.values == 0 {
		return nil
	}
	switch p.encoding {
	//lint:ignore SA1019 files of writers before Parquet 2.0 have it
	case format.PlainDictionary, format.RLEDictionary:
		return r.indexed(p, v)
	}
	switch {
	case r.numbered:
		return errNoNumbers
	case r.narrow: // rare, as such columns have a dictionary
		r.page.Reset()
		err := r.direct(p, &r.page)
		v.Int32 = appendNarrow(v.Int32, r.page.Int)
		return err
	}
	return r.direct(p, v)
}

// direct appends the values of a page that contains them.
func (r *chunkReader) direct(p *page, v *Vector) error {
	switch {
	case r.enum != nil:
		return r.enumValues(p, v)
	case r.col.isNumber():
		return r.numbers(p, v)
	}
	return r.decodeStrings(p, &v.Text)
}

// appendNarrow appends values that fit into 32 bits.
func appendNarrow(dst []int32, values []int64) []int32 {
	for _, v := range values {
		dst = append(dst, int32(v))
	}
	return dst
}

// unsupported returns the error of a page in an unsupported encoding. It names encoding
// and type, so that the file's writer can be changed.
func (r *chunkReader) unsupported(e format.Encoding) error {
	return fmt.Errorf("encoding %s of %s is not supported", e, r.col.physical)
}

// numbers appends the values of a page of numbers or booleans to v.Int, booleans as 0
// and 1. Floating point numbers are read in plain encoding only. Dictionary pages are
// read by indexed.
func (r *chunkReader) numbers(p *page, v *Vector) (err error) {
	n, physical := len(v.Int), r.col.physical
	switch {
	case physical == format.Boolean && p.encoding == format.Plain:
		v.Int, err = plainBits(v.Int, p.data, p.values)
	case physical == format.Boolean && p.encoding == format.RLE:
		v.Int, err = rleBits(v.Int, p.data, p.values)
	case physical == format.Boolean:
		return r.unsupported(p.encoding)
	case p.encoding == format.Plain:
		v.Int, err = plainInts(v.Int, p.data, p.values, sizeOf(physical))
	case p.encoding == format.DeltaBinaryPacked && r.col.Type.IsInt():
		v.Int, _, err = deltaInts(v.Int, p.data, p.values)
	default:
		return r.unsupported(p.encoding)
	}
	if err == nil && sizeOf(physical) == 4 {
		widen(v.Int[n:], r.col.Type)
	}
	return err
}

// widen converts values of 32-bit columns to 64 bits. (Narrower types are stored as 32
// bits.)
func widen(values []int64, t Type) {
	for i, v := range values {
		switch t {
		case Uint32:
			values[i] = int64(uint32(v))
		case Float64:
			values[i] = int64(math.Float64bits(float64(math.Float32frombits(uint32(v)))))
		default:
			values[i] = int64(int32(v))
		}
	}
}

// plainInts appends n numbers of size bytes, 4 or 8. widen sets the upper half of those
// of 4 bytes.
func plainInts(dst []int64, src []byte, n, size int) ([]int64, error) {
	if len(src)/size < n {
		return dst, io.ErrUnexpectedEOF
	}
	have := len(dst)
	dst = slices.Grow(dst, n)[:have+n]
	out := dst[have:]
	if size == 4 {
		for i := range out {
			out[i] = int64(binary.LittleEndian.Uint32(src[4*i:]))
		}
		return dst, nil
	}
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return dst, nil
}

// plainBits appends n bits, lowest bit of each byte first, as 0 and 1.
func plainBits(dst []int64, src []byte, n int) ([]int64, error) {
	if 8*len(src) < n {
		return dst, io.ErrUnexpectedEOF
	}
	for i := range n {
		dst = append(dst, int64(src[i>>3]>>(i&7)&1))
	}
	return dst, nil
}

// rleBits appends n bits stored as runs after their length in bytes.
func rleBits(dst []int64, src []byte, n int) ([]int64, error) {
	if len(src) < 4 {
		return dst, io.ErrUnexpectedEOF
	}
	m, err := decodeBits(nil, 0, n, src[4:])
	if err != nil {
		return dst, err
	}
	return plainBits(dst, m, n)
}

// sizeOf returns the number of bytes of a number.
func sizeOf(t format.Type) int {
	if t == format.Int32 || t == format.Float {
		return 4
	}
	return 8
}

// decodeStrings appends the strings of a page.
func (r *chunkReader) decodeStrings(p *page, dst *event.Strings) error {
	if len(dst.Offsets) == 0 {
		dst.Offsets = append(dst.Offsets, 0)
	}
	if len(dst.Data)+len(p.data) > maxStrings {
		return errLength
	}
	switch p.encoding {
	case format.Plain:
		return plainStrings(dst, p.data, p.values)
	case format.DeltaLengthByteArray:
		return deltaLengthStrings(dst, p.data, p.values)
	}
	return r.unsupported(p.encoding)
}

// plainStrings appends n strings, each preceded by its length in four bytes. It grows
// dst only by what src can contain.
func plainStrings(dst *event.Strings, src []byte, n int) error {
	if n <= len(src)/4 {
		dst.Offsets = slices.Grow(dst.Offsets, n)
		dst.Data = slices.Grow(dst.Data, len(src)-4*n)
	}
	for range n {
		if len(src) < 4 {
			return io.ErrUnexpectedEOF
		}
		size := binary.LittleEndian.Uint32(src)
		if uint64(size) > uint64(len(src)-4) {
			return errLength
		}
		dst.AppendBytes(src[4 : 4+size])
		src = src[4+size:]
	}
	return nil
}

// deltaLengthStrings appends n strings of DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes.
func deltaLengthStrings(dst *event.Strings, src []byte, n int) error {
	lengths, src, err := deltaInts(nil, src, n)
	if err != nil {
		return err
	}
	for _, size := range lengths {
		if size = int64(int32(size)); size < 0 || size > int64(len(src)) {
			return errLength
		}
		dst.AppendBytes(src[:size])
		src = src[size:]
	}
	return nil
}

// deltaInts appends the n numbers in DELTA_BINARY_PACKED at the start of src and
// returns the rest of src. The encoding has a header (numbers per block, parts per
// block, total numbers, first number) and blocks. A block has the least difference, a
// byte per part with the bit width of its numbers, and the differences less the least
// one. Sums wrap around, as writers' do.
func deltaInts(dst []int64, src []byte, n int) (_ []int64, rest []byte, err error) {
	var head [3]uint64 // numbers per block, parts per block, total numbers
	for i := range head {
		var size int
		if head[i], size = binary.Uvarint(src); size <= 0 {
			return dst, nil, io.ErrUnexpectedEOF
		}
		src = src[size:]
	}
	first, size := binary.Varint(src)
	if size <= 0 {
		return dst, nil, io.ErrUnexpectedEOF
	}
	src = src[size:]
	if head[0] == 0 || head[0] > 1<<16 || head[1] == 0 || head[0]%head[1] != 0 || head[0]/head[1]%8 != 0 || head[2] != uint64(n) {
		return dst, nil, errors.New("damaged page: head of the differences")
	}
	if n == 0 {
		return dst, src, nil
	}
	dst = slices.Grow(dst, n)
	have := len(dst)
	dst = dst[:have+n]
	dst[have] = first
	rest, err = deltaBlocks(dst[have:], src, int(head[0]/head[1]), int(head[1]))
	return dst, rest, err
}

// deltaBlocks reads the blocks of differences from out[0] to the numbers after it. part
// is the number of values in each part of a block.
func deltaBlocks(out []int64, src []byte, part, parts int) ([]byte, error) {
	last := out[0]
	for out = out[1:]; len(out) > 0; {
		least, size := binary.Varint(src)
		if size <= 0 || len(src)-size < parts {
			return nil, io.ErrUnexpectedEOF
		}
		widths := src[size : size+parts]
		src = src[size+parts:]
		for _, width := range widths {
			if len(out) == 0 {
				break // widths of missing parts may have any value
			}
			size := part / 8 * int(width)
			if width > 64 || size > len(src) {
				return nil, io.ErrUnexpectedEOF
			}
			n := min(part, len(out))
			unpack(out[:n], src[:size], uint(width))
			for i, d := range out[:n] {
				last += least + d
				out[i] = last
			}
			out, src = out[n:], src[size:]
		}
	}
	return src, nil
}
