package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/parquet-go/bitpack"
)

// The hybrid of run lengths and bit packing in which Parquet stores levels, dictionary
// indexes and, after a length, booleans. A run has a header (count<<1 for one repeated
// value, groups<<1|1 for groups of 8 packed values) and its values. The last group may
// go on after the last value.

// run is one run.
type run struct {
	count  int // of values, at most as many as are wanted
	packed bool
	data   []byte // the packed values, or the repeated one
}

// nextRun decodes a run of values of the given width from src and returns the rest of
// src. want is the number of values still wanted.
func nextRun(src []byte, width uint, want int) (run, []byte, error) {
	head, n := binary.Uvarint(src)
	if n <= 0 {
		return run{}, nil, io.ErrUnexpectedEOF
	}
	src = src[n:]
	count := head >> 1
	if count == 0 || count > 1<<31 {
		return run{}, nil, errors.New("damaged page: length of a run")
	}
	if head&1 == 0 {
		size := int(width+7) / 8
		if size > len(src) {
			return run{}, nil, io.ErrUnexpectedEOF
		}
		return run{count: int(min(count, uint64(want))), data: src[:size]}, src[size:], nil
	}
	size := min(count*uint64(width), uint64(len(src))) // some writers omit the end of the last group
	r := run{count: int(min(count*8, uint64(want))), packed: true, data: src[:size]}
	if uint64(r.count)*uint64(width) > 8*size {
		return run{}, nil, io.ErrUnexpectedEOF
	}
	return r, src[size:], nil
}

// decodeBits appends count one-bit values to the n bits of m. A packed run is a piece
// of bitmap.
func decodeBits(m event.Bitmap, n, count int, src []byte) (event.Bitmap, error) {
	for count > 0 {
		r, rest, err := nextRun(src, 1, count)
		if err != nil {
			return nil, err
		}
		if r.packed {
			m = m.AppendRange(n, r.data, 0, r.count)
		} else {
			m = m.AppendSame(n, r.count, r.data[0]&1 != 0)
		}
		src, n, count = rest, n+r.count, count-r.count
	}
	return m, nil
}

// unpackPadding is how far beyond its input bitpack.Unpack may read.
const unpackPadding = bitpack.PaddingInt64

// unpack reads len(dst) numbers of width bits, lowest bit first. src must contain all
// of them; with unpackPadding bytes of capacity after them it need not be copied.
func unpack[T uint32 | int64](dst []T, src []byte, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	need := bitpack.ByteCount(uint(len(dst))*width) + unpackPadding
	if cap(src) < need {
		padded := make([]byte, need)
		copy(padded, src)
		src = padded
	}
	bitpack.Unpack(dst, src[:need], width)
}
