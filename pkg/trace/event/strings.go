package event

import "slices"

// Strings is a column of strings. Without a Dict, string i is
// Data[Offsets[i]:Offsets[i+1]].
type Strings struct {
	Offsets []int32 // one more than there are own strings
	Data    []byte  // their bytes, one after the other

	// If Dict is not nil, row i has string Codes[i] of Dict or, if the code is
	// negative, string ^Codes[i] of Offsets and Data. A Dict saves copies of repeated
	// strings.
	Dict  *Dict
	Codes []int32
}

// Dict holds strings; string i is Data[Offsets[i]:Offsets[i+1]]. It does not change
// once a column uses it, so columns can share it.
type Dict struct {
	Offsets []int32 // one more than there are strings
	Data    []byte  // their bytes
}

// Len returns the number of strings.
func (c *Strings) Len() int {
	if c.Dict != nil {
		return len(c.Codes)
	}
	return max(len(c.Offsets)-1, 0)
}

// Get returns string i. The result shares the memory of the column.
func (c *Strings) Get(i int) []byte {
	if c.Dict != nil {
		return c.coded(c.Codes[i])
	}
	return c.Data[c.Offsets[i]:c.Offsets[i+1]]
}

// coded returns the string of a code: of the dictionary, or, if the code is negative,
// the column's own string at its complement. It is valid as long as the column is.
func (c *Strings) coded(code int32) []byte {
	if code < 0 {
		return c.Data[c.Offsets[^code]:c.Offsets[^code+1]]
	}
	d := c.Dict
	return d.Data[d.Offsets[code]:d.Offsets[code+1]]
}

// Flatten returns rows i to j without a Dict. The result shares the memory of c if c
// has no Dict, else that of scratch.
func (c *Strings) Flatten(i, j int, scratch *Strings) Strings {
	if c.Dict == nil {
		return c.slice(i, j)
	}
	scratch.Reset()
	own := Dict{c.Offsets, c.Data}
	offsets, data := slices.Grow(scratch.Offsets, j-i), scratch.Data
	for _, code := range c.Codes[i:j] {
		from := c.Dict
		if code < 0 {
			from, code = &own, ^code
		}
		data = append(data, from.Data[from.Offsets[code]:from.Offsets[code+1]]...)
		offsets = append(offsets, int32(len(data)))
	}
	scratch.Offsets, scratch.Data = offsets, data
	return *scratch
}

// Size returns the total length of the strings of rows i to j, in bytes.
func (c *Strings) Size(i, j int) int {
	if c.Dict == nil {
		return int(c.Offsets[j] - c.Offsets[i])
	}
	n := 0
	for ; i < j; i++ {
		n += len(c.Get(i))
	}
	return n
}

// Append appends a string.
func (c *Strings) Append(s string) {
	c.Data = append(c.Data, s...)
	c.appended()
}

// AppendBytes appends a string.
func (c *Strings) AppendBytes(s []byte) {
	c.Data = append(c.Data, s...)
	c.appended()
}

// AppendCode appends a string of d. If the column has no Dict, it adopts d; if it has
// another one, the string is copied.
func (c *Strings) AppendCode(d *Dict, code int32) {
	if c.Dict == nil {
		c.adopt(d)
	}
	if c.Dict == d { // Fast path
		c.Codes = append(c.Codes, code)
		return
	}
	c.AppendBytes(d.Data[d.Offsets[code]:d.Offsets[code+1]])
}

// AppendCodes appends n strings of d and returns their codes, for the caller to set. d
// must be the column's Dict; a column without one adopts it.
func (c *Strings) AppendCodes(d *Dict, n int) []int32 {
	if c.adopt(d); c.Dict != d {
		panic("BUG: a column of another dictionary")
	}
	k := len(c.Codes)
	c.Codes = slices.Grow(c.Codes, n)[:k+n]
	return c.Codes[k:]
}

// appended makes a row of the bytes after the last string.
func (c *Strings) appended() {
	if len(c.Offsets) == 0 {
		c.Offsets = append(c.Offsets, 0)
	}
	if c.Dict != nil {
		c.Codes = append(c.Codes, ^int32(len(c.Offsets)-1))
	}
	c.Offsets = append(c.Offsets, int32(len(c.Data)))
}

// SetLast replaces the string of the last row, which must come from Append.
func (c *Strings) SetLast(s string) {
	n := len(c.Offsets) - 2
	c.Data = append(c.Data[:c.Offsets[n]], s...)
	c.Offsets[n+1] = int32(len(c.Data))
}

// Reset makes the column empty, without a dictionary, and keeps its memory.
func (c *Strings) Reset() {
	c.Offsets, c.Data = append(c.Offsets[:0], 0), c.Data[:0]
	c.Dict, c.Codes = nil, c.Codes[:0]
}

// slice returns strings i to j without a copy.
func (c *Strings) slice(i, j int) Strings {
	if c.Dict != nil {
		return Strings{Offsets: c.Offsets, Data: c.Data, Dict: c.Dict, Codes: c.Codes[i:j]}
	}
	return Strings{Offsets: c.Offsets[i : j+1], Data: c.Data[:c.Offsets[j]]} // strings are appended after string j-1
}

// AppendRange appends rows i to j of src. A column adopts the first Dict that it meets;
// strings of any other Dict are copied.
func (c *Strings) AppendRange(from column, i, j int) {
	src := from.(*Strings)
	c.adopt(src.Dict)
	switch {
	case i == j:
	case c.Dict == nil:
		shift := int32(len(c.Data)) - src.Offsets[i]
		c.Data = append(c.Data, src.Data[src.Offsets[i]:src.Offsets[j]]...)
		n := len(c.Offsets)
		c.Offsets = slices.Grow(c.Offsets, j-i)[:n+j-i]
		to := c.Offsets[n:]
		for k, o := range src.Offsets[i+1 : j+1] {
			to[k] = o + shift
		}
	case c.Dict == src.Dict:
		c.appendCodes(src, i, j)
	case src.Dict != nil:
		c.appendOther(src, i, j)
	default:
		for ; i < j; i++ {
			c.AppendBytes(src.Get(i))
		}
	}
}

// adopt makes d the column's Dict, unless it has one.
func (c *Strings) adopt(d *Dict) {
	if len(c.Offsets) == 0 {
		c.Offsets = append(c.Offsets, 0)
	}
	if c.Dict != nil || d == nil {
		return
	}
	c.Dict, c.Codes = d, c.Codes[:0]
	for k := range int32(len(c.Offsets) - 1) {
		c.Codes = append(c.Codes, ^k)
	}
}

// appendRows appends the given rows of src.
func (c *Strings) appendRows(from column, rows []int32) {
	src := from.(*Strings)
	c.adopt(src.Dict)
	for _, i := range rows {
		if c.Dict != nil && c.Dict == src.Dict && src.Codes[i] >= 0 {
			c.Codes = append(c.Codes, src.Codes[i])
		} else {
			c.AppendBytes(src.Get(int(i)))
		}
	}
}

// appendCodes appends rows i to j of a column with the same Dict.
func (c *Strings) appendCodes(src *Strings, i, j int) {
	n := len(c.Codes)
	c.Codes = append(room(c.Codes, j-i), src.Codes[i:j]...)
	if len(src.Offsets) <= 1 {
		return // src has no strings of its own
	}
	for k, code := range c.Codes[n:] {
		if code < 0 {
			c.Codes = c.Codes[:n+k]
			c.AppendBytes(src.coded(code))
			c.Codes = c.Codes[:n+j-i]
		}
	}
}

// appendOther appends rows i to j of a column with another Dict. Each string is copied
// once.
func (c *Strings) appendOther(src *Strings, i, j int) {
	codes := make([]int32, len(src.Dict.Offsets)) // negative for strings that were copied
	for _, code := range src.Codes[i:j] {
		switch {
		case code < 0:
			c.AppendBytes(src.coded(code))
		case codes[code] < 0:
			c.Codes = append(c.Codes, codes[code])
		default:
			c.AppendBytes(src.coded(code))
			codes[code] = c.Codes[len(c.Codes)-1]
		}
	}
}

// share makes the column rows i to j of src without a copy.
func (c *Strings) share(src column, i, j int) { *c = src.(*Strings).slice(i, j) }

// blank leaves the column empty. The caller appends names in row order.
func (c *Strings) blank(int, bool) {}

// appendNulls appends n empty strings: names are never null.
func (c *Strings) appendNulls(n int, _ bool) {
	for range n {
		c.Append("")
	}
}
