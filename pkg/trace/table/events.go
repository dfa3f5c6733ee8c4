package table

import "github.com/hostbound/hostbound/pkg/trace/event"

// FromEvents returns the rows of b, whose header is h, as a table: the columns of h in
// order, enum columns as text, then the columns that this program does not know, as
// text. The table shares the memory of b where it can and is valid as long as b is.
func FromEvents(h *event.Header, b *event.Batch) *Table {
	t := &Table{Schema: "events", Version: event.Version, rows: b.Len}
	for c := range h.Columns.All() {
		t.Columns = append(t.Columns, eventColumn(h, b, c))
	}
	if h.Foreign == nil {
		return t
	}
	for k, f := range h.Foreign.PlainFields() {
		t.Columns = append(t.Columns, foreignColumn(f.Name, b, k))
	}
	return t
}

// eventColumn returns column c of b, all null if the batch lacks it. Enum columns
// become Text, numbers of any width Int.
func eventColumn(h *event.Header, b *event.Batch, c event.Col) Column {
	f := event.Fields[c]
	col := NewColumn(Field{f.Name, Int})
	if f.Type == event.Text || f.Type == event.Enum {
		col = NewColumn(Field{f.Name, Text})
	}
	if !b.Columns.Has(c) || b.Len == 0 {
		col.Extend(0, nil, b.Len)
		return col
	}
	v := &col.Values
	switch src := b.Column(c).(type) {
	case *event.Ints[int64]:
		v.Ints, v.Valid = src.Values[:b.Len], src.Valid
	case *event.Ints[int32]:
		if v.Valid = src.Valid; f.Type == event.Enum {
			v.Strings = format(src, h.Values(c), b.Len)
		} else {
			v.Ints = make([]int64, b.Len)
			for i, x := range src.Values[:b.Len] {
				v.Ints[i] = int64(x)
			}
		}
	case *event.Strings:
		v.Strings = src.Flatten(0, b.Len, new(event.Strings))
	}
	return col
}

// format returns the names of the first n codes, "" for null.
func format(src *event.Ints[int32], names []string, n int) (all event.Strings) {
	for i := range n {
		if v, ok := src.Get(i); ok {
			all.Append(names[v])
		} else {
			all.Append("")
		}
	}
	return all
}

// foreignColumn returns foreign column k of b as text, all null if the batch lacks it.
func foreignColumn(name string, b *event.Batch, k int) Column {
	col := NewColumn(Field{name, Text})
	if k >= len(b.Foreign) {
		col.Extend(0, nil, b.Len)
		return col
	}
	v := &col.Values
	v.Valid = make(event.Bitmap, (b.Len+7)/8)
	for i := range b.Len {
		text, ok := b.Foreign[k].Text(i)
		v.Strings.Append(text)
		v.Valid.Fill(i, i+1, ok)
	}
	return col
}
