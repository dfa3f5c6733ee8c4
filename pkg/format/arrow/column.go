package arrow

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// cursor walks over the arrays of a record batch in their order and takes them
// out of its body, without a copy where the bytes are what we want. A batch lists its
// arrays (nodes) and their buffers depth first, as the schema has its fields: of each
// array the validity bitmap, then offsets, then values, as far as its type has them.
// What is taken is the message's memory, and valid as long as that is.
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

// nextBuffer returns the next buffer, which must have size bytes.
func (c *cursor) nextBuffer(size int) ([]byte, error) {
	b, err := c.anyBuffer()
	if err == nil && len(b) < size {
		err = errShort
	}
	return b, err
}

// anyBuffer takes the next buffer, whatever its length. The body is known to hold it.
func (c *cursor) anyBuffer() ([]byte, error) {
	if c.buffer >= len(c.msg.buffers) {
		return nil, errors.New("it is missing")
	}
	s := c.msg.buffers[c.buffer]
	c.buffer++
	return c.msg.body[s.offset : s.offset+s.length], nil
}

// validity takes the node and the bitmap of an array of the batch's length: nil where no
// row is null. Writers may not know how many are (nulls < 0), or have a bitmap of ones.
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

// integer is what an Arrow column of whole numbers holds.
type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// cast returns the first n numbers in b, in place where they are aligned, else in memory
// of their own. They have the byte order of the machine, which the schema was checked for.
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

// ints takes a column of whole numbers of type t. Numbers of another type are
// converted into scratch; one that T does not hold is an error, but where it is null.
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

// convert makes src the values of col; rows that are null may hold anything.
func convert[T int32 | int64, S integer](col *event.Ints[T], src []S, scratch *[]T) error {
	if same, ok := any(src).([]T); ok { // Fast path: what we write ourselves.
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

// text takes a column of utf8 or large_utf8. Offsets of 64 bits are converted
// into scratch.
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

// longOffsets takes offsets of 64 bits, which have to fit into 32.
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

// checkOffsets makes sure that offsets never fall and stay within size bytes.
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

// skip steps over an array of type t and its children. Where that leads beyond
// the last node or buffer, the next array is missing.
func (c *cursor) skip(t arrow.DataType) {
	c.node++
	switch t := t.(type) {
	case arrow.ExtensionType:
		c.node--
		c.skip(t.StorageType())
	case *arrow.NullType:
	case *arrow.DictionaryType:
		c.buffer += 2
	case arrow.BinaryViewDataType:
		c.buffer += 2
		if c.variadic < len(c.msg.variadic) {
			c.buffer += int(c.msg.variadic[c.variadic])
		}
		c.variadic++
	case arrow.BinaryDataType:
		c.buffer += 3
	case arrow.NestedType:
		c.buffer += ownBuffers(t)
		for _, f := range t.Fields() {
			c.skip(f.Type)
		}
	default:
		c.buffer += 2
	}
}

// ownBuffers returns how many buffers an array of type t has besides those of
// its children.
func ownBuffers(t arrow.DataType) int {
	switch t.ID() {
	case arrow.RUN_END_ENCODED:
		return 0
	case arrow.STRUCT, arrow.FIXED_SIZE_LIST, arrow.SPARSE_UNION:
		return 1
	case arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW:
		return 3
	default: // lists, maps, dense unions
		return 2
	}
}
