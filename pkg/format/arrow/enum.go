package arrow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// enum reads a text column with few different values as codes of a list, however the
// stream numbers the values. If both number them alike, as in streams of this program,
// the codes are in the message's memory; otherwise they are in the enum's, valid until
// it reads again.
type enum struct {
	codes map[string]int32 // codes by value
	last  string           // the last value looked up, and its code
	code  int32

	grow func(name string) int32 // gives an unknown value a code; nil if values must be known

	dictionary []string // the stream's own numbering
	known      []int32  // codes of its values, -1 for those not in the list
	same       bool     // both number values alike

	indices, values []int32 // scratch
}

// newEnum numbers names by their index; duplicates get the first one's.
func newEnum(names []string) *enum {
	e := &enum{codes: make(map[string]int32, len(names)), code: -1, same: true}
	for i, n := range names {
		if _, twice := e.codes[n]; !twice {
			e.codes[n] = int32(i)
		}
	}
	return e
}

// find returns the code of a value, -1 if it has none.
func (e *enum) find(value string) int32 {
	code, ok := e.codes[value]
	if !ok {
		if code = -1; e.grow != nil {
			code = e.grow(strings.ToValidUTF8(value, "\ufffd")) // as it will be written
		}
		if code >= 0 {
			e.codes[value] = code
		}
	}
	return code
}

// define sets the values of a dictionary, or appends them to the known ones if delta is
// set.
func (e *enum) define(values []string, delta bool) {
	if !delta {
		e.dictionary, e.known, e.same = nil, nil, true
	}
	e.dictionary = append(e.dictionary, values...)
	for _, v := range values {
		code := e.find(v)
		e.same = e.same && int(code) == len(e.known)
		e.known = append(e.known, code)
	}
}

// read reads the column of a batch.
func (e *enum) read(c *cursor, t arrow.DataType) (event.Ints[int32], error) {
	d, ok := t.(*arrow.DictionaryType)
	if !ok {
		return e.readText(c, t)
	}
	col, err := ints(c, d.IndexType, &e.indices)
	if err != nil {
		return col, err
	}
	if e.same { // Fast path: streams of this program.
		ok := true
		for _, c := range col.Values {
			ok = ok && uint32(c) < uint32(len(e.known))
		}
		if ok {
			return col, nil
		}
	}
	return col, e.remap(&col)
}

// remap replaces the stream's codes by ours. A null row may have any code; it becomes
// 0.
func (e *enum) remap(col *event.Ints[int32]) error {
	codes := slices.Grow(e.values[:0], len(col.Values))[:len(col.Values)]
	e.values = codes
	for i, c := range col.Values {
		codes[i] = 0
		if !col.Valid.Get(i) {
			continue
		}
		if uint32(c) >= uint32(len(e.known)) {
			return fmt.Errorf("code %d in row %d is outside its dictionary of %d", c, i, len(e.known))
		}
		if codes[i] = e.known[c]; codes[i] < 0 {
			return fmt.Errorf("unknown value %q", e.dictionary[c])
		}
	}
	col.Values = codes
	return nil
}

// readText reads a column that was written as plain text.
func (e *enum) readText(c *cursor, t arrow.DataType) (event.Ints[int32], error) {
	values, valid, err := text(c, t, &e.indices)
	if err != nil {
		return event.Ints[int32]{}, err
	}
	codes := slices.Grow(e.values[:0], c.rows)[:c.rows]
	e.values = codes
	for i := range codes {
		codes[i] = 0
		if !valid.Get(i) {
			continue
		}
		if v := values.Get(i); e.code < 0 || string(v) != e.last {
			code := e.find(string(v))
			if code < 0 {
				return event.Ints[int32]{}, fmt.Errorf("unknown value %q", v)
			}
			e.last, e.code = string(v), code
		}
		codes[i] = e.code
	}
	return event.Ints[int32]{Values: codes, Valid: valid}, nil
}

// dictionaryValues returns the values of a dictionary message.
func dictionaryValues(msg *message, t arrow.DataType) ([]string, error) {
	if msg.rows == 0 {
		return nil, nil
	}
	var scratch []int32
	column, valid, err := text(&cursor{msg: msg, rows: int(msg.rows)}, t, &scratch)
	if err != nil {
		return nil, err
	}
	if valid != nil {
		return nil, fmt.Errorf("it has a null")
	}
	all := string(column.Data)
	values := make([]string, msg.rows)
	for i := range values {
		values[i] = all[column.Offsets[i]:column.Offsets[i+1]]
	}
	return values, nil
}

// coded reads column name if it was written as a dictionary. Unlike an enum, it may
// have any number of values.
type coded struct {
	dict    *event.Dict // nil before the first one
	indices []int32
}

// define is like enum's. Earlier batches keep their dictionary.
func (w *coded) define(values []string, delta bool) error {
	d := &event.Dict{Offsets: []int32{0}}
	if delta && w.dict != nil {
		*d = *w.dict
	}
	for _, v := range values {
		if len(d.Data)+len(v) > maxBody {
			return errShort
		}
		d.Data = append(d.Data, v...)
		d.Offsets = append(d.Offsets, int32(len(d.Data)))
	}
	w.dict = d
	return nil
}

// read reads the column of a batch, whose values may have up to limit bytes in total.
func (w *coded) read(c *cursor, t *arrow.DictionaryType, limit int64) (event.Strings, event.Bitmap, error) {
	col, err := ints(c, t.IndexType, &w.indices)
	if err != nil {
		return event.Strings{}, nil, err
	}
	if w.dict == nil {
		w.dict = &event.Dict{Offsets: []int32{0}}
	}
	size, offsets := int64(0), w.dict.Offsets
	for i, v := range col.Values {
		if v < 0 || int(v) >= len(offsets)-1 {
			return event.Strings{}, nil, fmt.Errorf("code %d in row %d is outside its dictionary of %d", v, i, len(offsets)-1)
		}
		size += int64(offsets[v+1] - offsets[v])
	}
	if size > limit {
		return event.Strings{}, nil, fmt.Errorf("more than %d bytes: write smaller batches", limit)
	}
	return event.Strings{Dict: w.dict, Codes: col.Values}, col.Valid, nil
}
