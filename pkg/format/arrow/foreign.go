package arrow

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// foreign is the part of a schema that this program does not know, in
// event.Header.Foreign.
type foreign struct {
	fields []arrow.Field
}

// others reads unknown columns with Arrow's own reader, which copies them, so they stay
// valid after their batch. Its messages were checked, so no length exceeds the data,
// and capped limits the memory of a batch. Streams without such columns do not use it.
type others struct {
	head  *head
	at    []int // their indexes in the schema
	limit int64
}

// advance reads messages up to and including the next record batch.
func (o *others) advance() error {
	o.head.mem.left = o.limit
	if o.head.arrow.Next() {
		return nil
	}
	if o.head.feed.err != nil {
		return o.head.feed.err
	}
	if err := o.head.arrow.Err(); err != nil {
		return fmt.Errorf("damaged stream: %w", err)
	}
	return errors.New("damaged stream: its columns cannot be read")
}

// columns appends the columns of the record batch to all.
func (o *others) columns(all []event.Foreign) ([]event.Foreign, error) {
	record := o.head.arrow.Record()
	for _, i := range o.at {
		arr := record.Column(i)
		if int64(arr.Len()) != record.NumRows() {
			return nil, fmt.Errorf("column %s: it has %d rows, its batch %d", record.ColumnName(i), arr.Len(), record.NumRows())
		}
		if err := checkNested(arr); err != nil {
			return nil, fmt.Errorf("column %s: %w", record.ColumnName(i), err)
		}
		arr.Retain() // never released: it is Go memory
		all = append(all, &column{typ: arr.DataType(), n: arr.Len(), parts: []part{{arr, 0, arr.Len()}}})
	}
	return all, nil
}

// column is an event.Foreign made of parts of arrays, which are joined when written.
// Arrays are shared with other columns and never changed, so rows that pass through are
// not copied before.
type column struct {
	typ   arrow.DataType
	n     int
	parts []part
}

// part is rows from to to of an array, or that many nulls if arr is nil.
type part struct {
	arr      arrow.Array
	from, to int
}

// Append implements event.Foreign. Like the built-in append it may reuse the receiver's
// memory; the receiver must not be used afterwards.
func (c *column) Append(n int, src event.Foreign, i, j int) event.Foreign {
	if n < c.n {
		c.n, c.parts = n, c.between(0, n)
	}
	if src == nil {
		c.add(part{to: j - i})
		return c
	}
	for _, p := range src.(*column).between(i, j) {
		c.add(p)
	}
	return c
}

// Slice implements event.Foreign.
func (c *column) Slice(i, j int) event.Foreign {
	return &column{typ: c.typ, n: j - i, parts: c.between(i, j)}
}

// Text implements event.Foreign. Values of damaged arrays are null.
func (c *column) Text(i int) (string, bool) {
	for _, p := range c.between(i, i+1) {
		text, ok, _ := valueOf(p.arr, p.from)
		return text, ok
	}
	return "", false
}

// between returns the parts of rows i to j.
func (c *column) between(i, j int) []part {
	var parts []part
	begin := 0
	for _, p := range c.parts {
		end := begin + p.to - p.from
		if lo, hi := max(i, begin), min(j, end); lo < hi {
			parts = append(parts, part{p.arr, p.from + lo - begin, p.from + hi - begin})
		}
		begin = end
	}
	return parts
}

// add appends p, merging it into the last part if p continues that.
func (c *column) add(p part) {
	rows := p.to - p.from
	if rows <= 0 {
		return
	}
	c.n += rows
	if k := len(c.parts) - 1; k >= 0 && c.parts[k].arr == p.arr && (p.arr == nil || c.parts[k].to == p.from) {
		c.parts[k].to += rows
		return
	}
	c.parts = append(c.parts, p)
}

// array returns the column as one array.
func (c *column) array(mem memory.Allocator) (arr arrow.Array, err error) {
	defer caught(&err)
	parts := make([]arrow.Array, len(c.parts))
	for k, p := range c.parts {
		if p.arr == nil {
			parts[k] = c.nulls(mem, p.to-p.from)
		} else {
			parts[k] = array.NewSlice(p.arr, int64(p.from), int64(p.to))
		}
	}
	switch len(parts) {
	case 0:
		return c.nulls(mem, 0), nil
	case 1:
		return parts[0], nil
	}
	return array.Concatenate(parts, mem)
}

// nulls returns n nulls, with the dictionary of the column if it has one.
func (c *column) nulls(mem memory.Allocator, n int) arrow.Array {
	dict, ok := c.typ.(*arrow.DictionaryType)
	if !ok {
		return nullArray(mem, c.typ, n)
	}
	for _, p := range c.parts {
		if p.arr != nil {
			values := p.arr.(*array.Dictionary).Dictionary()
			return array.NewDictionaryArray(c.typ, nullArray(mem, dict.IndexType, n), values)
		}
	}
	return array.NewDictionaryArray(c.typ, nullArray(mem, dict.IndexType, n), nullArray(mem, dict.ValueType, 0))
}

// nullArray returns n nulls of a type other than a dictionary.
func nullArray(mem memory.Allocator, t arrow.DataType, n int) arrow.Array {
	b := array.NewBuilder(mem, t)
	b.AppendNulls(n)
	return b.NewArray()
}

// capped allocates Go memory with a limit per batch: buffers may claim to hold many
// times the bytes of their body.
type capped struct {
	memory.GoAllocator
	left int64
}

// spend takes n bytes from the limit and panics if it is exceeded: the caller is the
// library, which returns no errors there (caught).
func (c *capped) spend(n int) {
	if c.left -= int64(n); n < 0 || c.left < 0 {
		panic(errors.New("a batch takes too much memory"))
	}
}

// Allocate implements memory.Allocator.
func (c *capped) Allocate(n int) []byte {
	c.spend(n)
	return c.GoAllocator.Allocate(n)
}

// Reallocate implements memory.Allocator.
func (c *capped) Reallocate(n int, b []byte) []byte {
	c.spend(n)
	return c.GoAllocator.Reallocate(n, b)
}
