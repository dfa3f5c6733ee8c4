package parquet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

var (
	errIndex     = errors.New("damaged page: number outside of the dictionary")
	errNoNumbers = errors.New("BUG: a page without a dictionary's numbers")
)

// dictionary is the values that the pages of a chunk number.
type dictionary struct {
	values Vector
	n      int
	read   bool
}

func (d *dictionary) reset() {
	d.values.Reset()
	d.n, d.read = 0, false
}

// readDictionary reads a dictionary page.
func (r *chunkReader) readDictionary(h *format.PageHeader, b []byte) error {
	n := int(h.DictionaryPageHeader.V.NumValues)
	if n < 0 || r.dict.read {
		return errors.New("damaged page header: dictionary")
	}
	switch e := h.DictionaryPageHeader.V.Encoding; e {
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
	if !r.col.Type.IsText() {
		return r.values(p, &r.dict.values)
	}
	texts := &r.dict.values.Text
	if r.numbered {
		*texts = Strings{} // whose memory goes out
	}
	if err := r.decodeTexts(p, texts); err != nil {
		return err
	}
	if r.enum != nil {
		r.dict.values.Int, err = r.enum.appendCodes(r.dict.values.Int, texts)
	}
	return err
}

// indexed reads a page of numbers of the dictionary.
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
			if err := r.repeat(v, block[0], run.count); err != nil {
				return err
			}
			continue
		}
		for run.count > 0 {
			n := min(len(block), run.count)
			unpack(block[:n], run.data, width)
			if err := r.lookup(v, block[:n]); err != nil {
				return err
			}
			run.count -= n
			run.data = run.data[uint(n)*width/8:]
		}
	}
	return nil
}

// repeat appends value i of the dictionary count times.
func (r *chunkReader) repeat(v *Vector, i uint32, count int) error {
	if uint64(i) >= uint64(r.dict.n) {
		return errIndex
	}
	switch {
	case r.numbered:
		v.Int = appendRepeated(v.Int, int64(i), count)
	case r.col.isInt():
		v.Int = appendRepeated(v.Int, r.dict.values.Int[i], count)
	case r.col.Type.IsFloat():
		v.Float = appendRepeated(v.Float, r.dict.values.Float[i], count)
	default:
		text := r.dict.values.Text.Get(int(i))
		if len(v.Text.Data)+len(text)*count > maxText {
			return errText
		}
		for range count {
			v.Text.Append(text)
		}
	}
	return nil
}

func appendRepeated[T any](dst []T, value T, count int) []T {
	n := len(dst)
	dst = slices.Grow(dst, count)[:n+count]
	for i := range dst[n:] {
		dst[n+i] = value
	}
	return dst
}

// lookup appends the values of the dictionary with the given numbers.
func (r *chunkReader) lookup(v *Vector, numbers []uint32) error {
	if uint64(slices.Max(numbers)) >= uint64(r.dict.n) {
		return errIndex
	}
	switch {
	case r.numbered:
		for _, k := range numbers {
			v.Int = append(v.Int, int64(k))
		}
	case r.col.isInt():
		v.Int = gather(v.Int, r.dict.values.Int, numbers)
	case r.col.Type.IsFloat():
		v.Float = gather(v.Float, r.dict.values.Float, numbers)
	default:
		return r.dict.values.Text.gather(&v.Text, numbers)
	}
	return nil
}

func gather[T any](dst, values []T, numbers []uint32) []T {
	n := len(dst)
	dst = slices.Grow(dst, len(numbers))[:n+len(numbers)]
	for i, k := range numbers {
		dst[n+i] = values[k]
	}
	return dst
}

// gather appends texts with the given numbers to dst.
func (s *Strings) gather(dst *Strings, numbers []uint32) error {
	if len(dst.Offsets) == 0 {
		dst.Offsets = append(dst.Offsets, 0)
	}
	size := len(dst.Data)
	for _, k := range numbers {
		size += int(s.Offsets[k+1] - s.Offsets[k])
		dst.Offsets = append(dst.Offsets, int32(size))
	}
	if size > maxText {
		return errText
	}
	at := len(dst.Data)
	dst.Data = slices.Grow(dst.Data, size-at)[:size]
	for _, k := range numbers {
		at += copy(dst.Data[at:], s.Data[s.Offsets[k]:s.Offsets[k+1]])
	}
	return nil
}

// enum numbers the texts of a column that is read as numbers.
type enum struct {
	codes map[string]int64
	texts Strings
}

func newEnum(texts []string) *enum {
	e := &enum{codes: make(map[string]int64, len(texts))}
	for i, t := range texts {
		e.codes[t] = int64(i)
	}
	return e
}

// appendCodes appends the numbers of texts.
func (e *enum) appendCodes(dst []int64, texts *Strings) ([]int64, error) {
	for i := range texts.Len() {
		code, ok := e.codes[string(texts.Get(i))]
		if !ok {
			return dst, fmt.Errorf("unknown value %q", texts.Get(i))
		}
		dst = append(dst, code)
	}
	return dst, nil
}

// enumValues reads a page of texts as numbers.
func (r *chunkReader) enumValues(p *page, v *Vector) (err error) {
	texts := &r.enum.texts
	texts.Offsets, texts.Data = append(texts.Offsets[:0], 0), texts.Data[:0]
	if err := r.decodeTexts(p, texts); err != nil {
		return err
	}
	v.Int, err = r.enum.appendCodes(v.Int, texts)
	return err
}
