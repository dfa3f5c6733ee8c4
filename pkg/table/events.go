package table

import "github.com/hostbound/hostbound/pkg/event"

// FromEvents returns the rows of b, which come after header h, as a table:
// the columns of h in their order, enum columns as text, and after them the
// columns that this program does not know as text. It
// shares the memory of b where it can and is valid as long as b is.
func FromEvents(h *event.Header, b *event.Batch) *Table {
	t := &Table{Schema: "events", Version: event.Version, rows: b.Len}
	for c := event.Col(0); c < event.NumCols; c++ {
		if h.Columns.Has(c) {
			t.Columns = append(t.Columns, eventColumn(h, b, c))
		}
	}
	if h.Foreign == nil {
		return t
	}
	for k, f := range h.Foreign.PlainFields() {
		t.Columns = append(t.Columns, foreignColumn(f.Name, b, k))
	}
	return t
}

// eventColumn is column c of b: all null where the batch lacks it. Enum columns become
// text, numbers of any width Int.
func eventColumn(h *event.Header, b *event.Batch, c event.Col) Column {
	f := event.Fields[c]
	col := Column{Field: Field{f.Name, Int}}
	if f.Type == event.Text || f.Type == event.Enum {
		col.Type = Text
	}
	if !b.Columns.Has(c) {
		col.allNull(b.Len)
		return col
	}
	switch src := b.Column(c).(type) {
	case *event.Ints[int64]:
		col.Nulls = nulls(src.Valid, b.Len)
		col.Ints = src.Values[:b.Len]
	case *event.Ints[int32]:
		col.Nulls = nulls(src.Valid, b.Len)
		if f.Type == event.Enum {
			col.Strings = format(src, h.Values(c), b.Len)
		} else {
			col.Ints = widen(src.Values[:b.Len])
		}
	case *event.Strings:
		col.Strings = stringsOf(src, b.Len)
	}
	return col
}

// nulls returns which of n rows are null, nil where none is.
func nulls(valid event.Bitmap, n int) []bool {
	if valid == nil {
		return nil
	}
	null := make([]bool, n)
	for i := range null {
		null[i] = !valid.Get(i)
	}
	return null
}

// format returns the names of the first n codes; a null has "".
func format(src *event.Ints[int32], names []string, n int) []string {
	all := make([]string, n)
	for i := range all {
		if v, ok := src.Get(i); ok {
			all[i] = names[v]
		}
	}
	return all
}

// widen copies numbers of 32 bits: a table has 64.
func widen(src []int32) []int64 {
	all := make([]int64, len(src))
	for i, v := range src {
		all[i] = int64(v)
	}
	return all
}

// stringsOf returns n strings with one allocation for all their bytes.
func stringsOf(src *event.Strings, n int) []string {
	all := make([]string, n)
	if n == 0 {
		return all
	}
	plain := src.Flatten(0, n, new(event.Strings))
	offsets := plain.Offsets
	first := offsets[0]
	data := string(plain.Data[first:offsets[n]])
	for i := range all {
		all[i] = data[offsets[i]-first : offsets[i+1]-first]
	}
	return all
}

// foreignColumn returns column k of those that this program does not know.
func foreignColumn(name string, b *event.Batch, k int) Column {
	col := Column{Field: Field{name, Text}}
	if k >= len(b.Foreign) {
		col.allNull(b.Len)
		return col
	}
	for i := range b.Len {
		if text, ok := b.Foreign[k].Text(i); ok {
			col.append(i, text)
		} else {
			col.append(i, nil)
		}
	}
	return col
}

// allNull makes the column n nulls.
func (c *Column) allNull(n int) {
	c.Nulls = make([]bool, n)
	for i := range c.Nulls {
		c.Nulls[i] = true
	}
	if c.Type == Text {
		c.Strings = make([]string, n)
	} else {
		c.Ints = make([]int64, n)
	}
}
