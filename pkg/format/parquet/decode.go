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

// maxStrings bounds the text of one page, which Vector addresses with 31 bits.
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
	case r.narrow: // rare: they are stored with a dictionary
		r.page.Reset()
		err := r.direct(p, &r.page)
		v.Int32 = appendNarrow(v.Int32, r.page.Int)
		return err
	}
	return r.direct(p, v)
}

// direct appends the values of a page that has them itself.
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

// unsupported is the error of a page in an encoding that is not read. It names both, so
// that whoever wrote the file knows what to change.
func (r *chunkReader) unsupported(e format.Encoding) error {
	return fmt.Errorf("encoding %s of %s is not supported", e, r.col.physical)
}

// numbers reads a page of numbers and booleans, and appends them to v.Int, booleans as 0 and 1.
// Of floating point numbers only the plain encoding is read. Dictionary pages go another way
// (indexed).
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

// widen makes values of 32-bit columns what they are in 64 bits. (What is
// narrower is stored as its own value.)
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

// plainInts appends n numbers of size bytes, 4 or 8. What the upper half of those of 4
// is, widen says.
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

// plainBits appends n bits, the lowest of each byte first, as 0 and 1.
func plainBits(dst []int64, src []byte, n int) ([]int64, error) {
	if 8*len(src) < n {
		return dst, io.ErrUnexpectedEOF
	}
	for i := range n {
		dst = append(dst, int64(src[i>>3]>>(i&7)&1))
	}
	return dst, nil
}

// rleBits appends n bits of runs, which stand after their length in bytes.
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

// sizeOf is how many bytes a number takes.
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

// plainStrings appends n strings, each after its length in four bytes. It grows dst only by
// what src can hold.
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

// deltaInts appends the n numbers in DELTA_BINARY_PACKED at the start of src
// and returns what follows them. That is a head (how many numbers a block has, in how many
// parts it comes, how many numbers there are, the first of them) and blocks: the least
// difference, a byte for each part with the bits of a number, and what each difference
// exceeds the least by. Sums wrap around, as those of writers do.
func deltaInts(dst []int64, src []byte, n int) (_ []int64, rest []byte, err error) {
	var head [3]uint64 // numbers of a block, parts of a block, numbers in all
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

// deltaBlocks reads the blocks of differences that lead from out[0] to the
// numbers after it. part is the numbers in each of the parts of a block.
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
				break // widths of parts that are not there may be anything
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
