package parquet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/parquet-go/parquet-go/format"
)

var (
	errIndex     = errors.New("damaged page: number outside of the dictionary")
	errNoNumbers = errors.New("a page without numbers of a dictionary")
)

// dictionary holds the values that the pages of a chunk refer to by index.
type dictionary struct {
	values Vector
	narrow []int32 // values.Int, if the reader is narrow
	n      int
	read   bool
}

// reset prepares the dictionary for the next chunk and keeps its memory.
func (d *dictionary) reset() {
	d.values.Reset()
	d.n, d.read = 0, false
}

// readDictionary reads a dictionary page. It must precede the first page that uses it,
// and may occur once. In numbered mode its strings are returned to the caller, so they
// get their own memory.
func (r *chunkReader) readDictionary(h *format.PageHeader, b []byte) error {
	n := int(h.DictionaryPageHeader.V.NumValues)
	if n < 0 || r.dict.read {
		return errors.New("damaged page header: dictionary")
	}
	switch e := h.DictionaryPageHeader.V.Encoding; e {
	//lint:ignore SA1019 files of writers before Parquet 2.0 have it
	case format.Plain, format.PlainDictionary:
	default:
		return r.unsupported(e)
	}
	data, err := r.inflate(b, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	r.dict.reset()
	r.dict.n, r.dict.read = n, true
	p := &page{rows: n, values: n, encoding: format.Plain, data: data}
	if r.numbered {
		r.dict.values.Text = event.Strings{} // its memory is handed out
	}
	if err := r.direct(p, &r.dict.values); err != nil {
		return err
	}
	if r.narrow {
		r.dict.narrow = appendNarrow(r.dict.narrow[:0], r.dict.values.Int)
	}
	return nil
}

// indexed reads a page of dictionary indexes: their bit width in a byte, then runs. A
// repeated index is looked up once per row of a block, like packed ones. So there is
// one path for both, and a run that claims to be long costs no memory: blocks have a
// fixed length, and p.values bounds their sum.
func (r *chunkReader) indexed(p *page, v *Vector) error {
	if !r.dict.read {
		return errors.New("damaged chunk: a page without its dictionary")
	}
	if len(p.data) == 0 || p.data[0] > 32 {
		return errIndex
	}
	width, src := uint(p.data[0]), p.data[1:]
	var block [1024]uint32
	for want := p.values; want > 0; {
		run, rest, err := nextRun(src, width, want)
		if err != nil {
			return err
		}
		src, want = rest, want-run.count
		if !run.packed {
			unpack(block[:1], run.data, width)
			for i := range block[:min(len(block), run.count)] {
				block[i] = block[0]
			}
		}
		for run.count > 0 {
			n := min(len(block), run.count)
			if run.packed {
				unpack(block[:n], run.data, width)
				run.data = run.data[uint(n)*width/8:]
			}
			if err := r.lookup(v, block[:n]); err != nil {
				return err
			}
			run.count -= n
		}
	}
	return nil
}

// lookup appends the dictionary's values at the given indexes to v, in the slice for
// the reader's mode and the column's type. An index outside the dictionary is an error;
// v is then undefined.
func (r *chunkReader) lookup(v *Vector, numbers []uint32) (err error) {
	switch {
	case r.numbered:
		v.Int32, err = appendNumbers(v.Int32, numbers, r.dict.n)
	case r.narrow:
		v.Int32, err = gather(v.Int32, r.dict.narrow, numbers)
	case r.col.isNumber():
		v.Int, err = gather(v.Int, r.dict.values.Int, numbers)
	default:
		if uint64(slices.Max(numbers)) >= uint64(r.dict.n) {
			return errIndex
		}
		return gatherStrings(&v.Text, &r.dict.values.Text, numbers)
	}
	return err
}

// gather appends values[k] for each index k. An index out of range is an error.
func gather[T any](dst, values []T, numbers []uint32) ([]T, error) {
	n := len(dst)
	dst = slices.Grow(dst, len(numbers))[:n+len(numbers)]
	out := dst[n:]
	for i, k := range numbers {
		if int(k) >= len(values) {
			return dst, errIndex
		}
		out[i] = values[k]
	}
	return dst, nil
}

// appendNumbers appends indexes, each of which must be less than n.
func appendNumbers(dst []int32, numbers []uint32, n int) ([]int32, error) {
	most := uint32(0)
	for _, k := range numbers {
		most = max(most, k)
		dst = append(dst, int32(k))
	}
	if int64(most) >= int64(n) {
		return dst, errIndex
	}
	return dst, nil
}

// gatherStrings appends the strings at the given indexes.
func gatherStrings(dst, s *event.Strings, numbers []uint32) error {
	if len(dst.Offsets) == 0 {
		dst.Offsets = append(dst.Offsets, 0)
	}
	size := len(dst.Data)
	for _, k := range numbers {
		size += int(s.Offsets[k+1] - s.Offsets[k])
		dst.Offsets = append(dst.Offsets, int32(size))
	}
	if size > maxStrings {
		return errLength
	}
	at := len(dst.Data)
	dst.Data = slices.Grow(dst.Data, size-at)[:size]
	for _, k := range numbers {
		at += copy(dst.Data[at:], s.Data[s.Offsets[k]:s.Offsets[k+1]])
	}
	return nil
}

// enum numbers the strings of a column that is read as numbers.
type enum struct {
	codes map[string]int64
	page  event.Strings // scratch: strings of the current page
}

// enumValues reads a page of strings as numbers.
func (r *chunkReader) enumValues(p *page, v *Vector) error {
	values := &r.enum.page
	values.Reset()
	if err := r.decodeStrings(p, values); err != nil {
		return err
	}
	for i := range values.Len() {
		code, ok := r.enum.codes[string(values.Get(i))]
		if !ok {
			return fmt.Errorf("unknown value %q", values.Get(i))
		}
		v.Int = append(v.Int, code)
	}
	return nil
}
