package arrow

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// cursor walks over the arrays of a record batch and returns them, without a copy if
// their bytes are as needed. A batch lists its arrays (nodes) and their buffers depth
// first, in schema order. Each array has a validity bitmap, then offsets, then values,
// as far as its type needs them. The results use the message's memory and are valid as
// long as it is.
type cursor struct {
	msg                    *message
	rows                   int
	node, buffer, variadic int
}

var errShort = errors.New("its buffers are too short")

// nextNode returns the description of the next array.
func (c *cursor) nextNode() (node, error) {
	if c.node >= len(c.msg.nodes) {
		return node{}, errors.New("it is missing")
	}
	c.node++
	return c.msg.nodes[c.node-1], nil
}

// nextBuffer returns the next buffer, which must have at least size bytes.
func (c *cursor) nextBuffer(size int) ([]byte, error) {
	b, err := c.anyBuffer()
	if err == nil && len(b) < size {
		err = errShort
	}
	return b, err
}

// anyBuffer returns the next buffer, of any length. The body is known to contain it.
func (c *cursor) anyBuffer() ([]byte, error) {
	if c.buffer >= len(c.msg.buffers) {
		return nil, errors.New("it is missing")
	}
	s := c.msg.buffers[c.buffer]
	c.buffer++
	return c.msg.body[s.offset : s.offset+s.length], nil
}

// validity reads the node and the bitmap of an array, which must have the batch's
// length. It returns nil if no row is null. Writers may not know the number of nulls
// (nulls < 0), or may have a bitmap of ones.
func (c *cursor) validity() (event.Bitmap, error) {
	n, err := c.nextNode()
	if err != nil {
		return nil, err
	}
	if n.rows != int64(c.rows) {
		return nil, fmt.Errorf("it has %d rows, its batch %d", n.rows, c.rows)
	}
	if n.nulls == 0 {
		_, err := c.anyBuffer()
		return nil, err
	}
	b, err := c.anyBuffer()
	if err != nil || len(b) == 0 && n.nulls < 0 {
		return nil, err
	}
	if len(b) < (c.rows+7)/8 {
		return nil, errShort
	}
	valid := event.Bitmap(b[:(c.rows+7)/8])
	if valid.Count(0, c.rows) == c.rows {
		return nil, nil
	}
	return valid, nil
}

// integer is an element type of integer columns.
type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// cast returns the first n numbers in b, in place if they are aligned, else copied.
// Their byte order is the machine's; the schema was checked for that.
func cast[T integer](b []byte, n int) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if n == 0 {
		return nil
	}
	b = b[:n*size]
	if uintptr(unsafe.Pointer(&b[0]))%uintptr(size) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
	}
	moved := make([]T, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&moved[0])), len(b)), b)
	return moved
}

// ints reads an integer column of type t. Numbers of other types are converted into
// scratch; a value that T cannot hold is an error unless the row is null.
func ints[T int32 | int64](c *cursor, t arrow.DataType, scratch *[]T) (event.Ints[T], error) {
	var col event.Ints[T]
	valid, err := c.validity()
	if err != nil {
		return col, err
	}
	width := t.(arrow.FixedWidthDataType).Bytes()
	b, err := c.nextBuffer(c.rows * width)
	if err != nil {
		return col, err
	}
	col.Valid = valid
	switch t.ID() {
	case arrow.INT8:
		err = convert(&col, cast[int8](b, c.rows), scratch)
	case arrow.INT16:
		err = convert(&col, cast[int16](b, c.rows), scratch)
	case arrow.INT32:
		err = convert(&col, cast[int32](b, c.rows), scratch)
	case arrow.INT64:
		err = convert(&col, cast[int64](b, c.rows), scratch)
	case arrow.UINT8:
		err = convert(&col, cast[uint8](b, c.rows), scratch)
	case arrow.UINT16:
		err = convert(&col, cast[uint16](b, c.rows), scratch)
	case arrow.UINT32:
		err = convert(&col, cast[uint32](b, c.rows), scratch)
	case arrow.UINT64:
		err = convert(&col, cast[uint64](b, c.rows), scratch)
	default:
		err = fmt.Errorf("it is of type %s", t)
	}
	return col, err
}

// convert sets the values of col from src. Null rows may have any value.
func convert[T int32 | int64, S integer](col *event.Ints[T], src []S, scratch *[]T) error {
	if same, ok := any(src).([]T); ok { // Fast path: streams of this program.
		col.Values = same
		return nil
	}
	dst := slices.Grow((*scratch)[:0], len(src))[:len(src)]
	for i, s := range src {
		v := T(s)
		if S(v) != s || (v < 0) != (s < 0) {
			if col.Valid.Get(i) {
				return fmt.Errorf("%d in row %d is out of range", s, i)
			}
			v = 0
		}
		dst[i] = v
	}
	*scratch, col.Values = dst, dst
	return nil
}

// text reads a column of utf8 or large_utf8. Offsets of 64 bits are converted into
// scratch.
func text(c *cursor, t arrow.DataType, scratch *[]int32) (event.Strings, event.Bitmap, error) {
	var col event.Strings
	valid, err := c.validity()
	if err != nil {
		return col, nil, err
	}
	if t.ID() == arrow.LARGE_STRING {
		err = longOffsets(c, &col, scratch)
	} else {
		var b []byte
		if b, err = c.nextBuffer(4 * (c.rows + 1)); err == nil {
			col.Offsets = cast[int32](b, c.rows+1)
		}
	}
	if err != nil {
		return col, nil, err
	}
	if col.Data, err = c.anyBuffer(); err != nil {
		return col, nil, err
	}
	return col, valid, checkOffsets(col.Offsets, len(col.Data))
}

// longOffsets reads offsets of 64 bits, which must fit into 32.
func longOffsets(c *cursor, col *event.Strings, scratch *[]int32) error {
	b, err := c.nextBuffer(8 * (c.rows + 1))
	if err != nil {
		return err
	}
	var offsets event.Ints[int32]
	err = convert(&offsets, cast[int64](b, c.rows+1), scratch)
	col.Offsets = offsets.Values
	return err
}

// checkOffsets returns an error unless offsets are ascending and within size bytes.
func checkOffsets(offsets []int32, size int) error {
	last, ok := int32(0), true
	for _, o := range offsets {
		ok = ok && o >= last
		last = o
	}
	if !ok || int(last) > size {
		return errors.New("bad offsets")
	}
	return nil
}

// skip skips an array of type t and its children. If it leads beyond the last node or
// buffer, the next array is reported missing.
func (c *cursor) skip(t arrow.DataType) {
	if extension, ok := t.(arrow.ExtensionType); ok {
		c.skip(extension.StorageType())
		return
	}
	c.node++
	layout := t.Layout()
	for _, b := range layout.Buffers {
		if b.Kind != arrow.KindAlwaysNull { // such a one is not sent
			c.buffer++
		}
	}
	if layout.VariadicSpec != nil {
		if c.variadic < len(c.msg.variadic) {
			c.buffer += int(c.msg.variadic[c.variadic])
		}
		c.variadic++
	}
	if nested, ok := t.(arrow.NestedType); ok {
		for _, f := range nested.Fields() {
			c.skip(f.Type)
		}
	}
}
