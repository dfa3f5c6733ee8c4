package event

import (
	"slices"
	"unsafe"
)

// Batch holds rows as columns. Every column in Columns is Len long; the others are
// absent. Whoever receives a batch may only read it; its maker alone writes to it.
// Throughout this package rows i to j are half-open: j is not included.
type Batch struct {
	Len     int // rows
	Columns Set // those present

	RowColumns
	LaunchColumns
	StepColumns
	DetailColumns

	// Foreign are the columns that this program does not know.
	Foreign []Foreign
}

// RowColumns say what a row is, when it happened, and where.
type RowColumns struct {
	Kind        Ints[Kind]  // never null
	Start       Ints[int64] // ns on the clock of the stream, never null
	End         Ints[int64] // ns, not before Start, never null
	Rank        Ints[int32] // null for processes without GPU work
	Device      Ints[int32] // CUDA device number, null on host rows
	Stream      Ints[int64] // CUDA stream number, null on host rows
	Thread      Ints[int64] // thread id, null on GPU rows
	Name        Strings     // never null
	Class       Ints[Class] // null if not classified
	Correlation Ints[int64] // joins calls and GPU rows of one process; null if nothing to join
}

// LaunchColumns say which call or graph a GPU row came from. They are null on other
// rows.
type LaunchColumns struct {
	LaunchStart  Ints[int64] // ns, start of the call that launched the row; null if unknown
	LaunchEnd    Ints[int64] // ns, end of that call
	LaunchThread Ints[int64] // thread id of that call
	GraphNode    Ints[int64] // set if the replay of a CUDA graph ran the row
}

// StepColumns say which step a row is in. They are null outside of steps.
type StepColumns struct {
	Step    Ints[int64] // step the row is in; on window rows the number of steps
	Segment Ints[int64] // of step and window rows
	Size    Ints[int64] // in collectives, of step and window rows
	Phase   Ints[Phase] // phase of the step
	Ctx     Ints[int64] // requests with context tokens, on step rows whose marker has counts
	Gen     Ints[int64] // generating requests, on step rows whose marker has counts
}

// DetailColumns have values on rows of some kinds only.
type DetailColumns struct {
	Domain Ints[int32] // code in Header.Domains, null if the row has no domain
	Bytes  Ints[int64] // size of a copy or memset, else null
	CPU    Ints[int32] // CPU number, on rows of kind Run; null if unknown
	Stack  Ints[int32] // code in Header.Stacks, on rows of kinds Sample and Backtrace; null if unknown
}

// Foreign is a column that this program does not know. It is read-only.
type Foreign interface {
	// Append returns a column of the first n rows of the receiver (which has n)
	// followed by rows i to j of src. src has the receiver's type, or is nil and stands
	// for j-i nulls. The receiver may be empty.
	Append(n int, src Foreign, i, j int) Foreign
	// Slice returns rows i to j.
	Slice(i, j int) Foreign
	// Plain returns the column in the form that all formats share.
	Plain() *Plain
	// Text returns the value of row i as text, and false if it is null.
	Text(i int) (string, bool)
}

// column is what *Ints[int32], *Ints[int64] and *Strings have in common. Methods that
// take a second column need one of the same type.
type column interface {
	Reset()
	blank(n int, null bool)
	AppendRange(src column, i, j int)
	appendRows(src column, rows []int32)
	appendNulls(n int, null bool)
	share(src column, i, j int) // makes the receiver rows i to j of src, without a copy
}

// columnOf returns a pointer to each column of a batch.
var columnOf = [NumCols]func(*Batch) column{
	ColKind:         func(b *Batch) column { return codes(&b.Kind) },
	ColStart:        func(b *Batch) column { return &b.Start },
	ColEnd:          func(b *Batch) column { return &b.End },
	ColRank:         func(b *Batch) column { return &b.Rank },
	ColDevice:       func(b *Batch) column { return &b.Device },
	ColStream:       func(b *Batch) column { return &b.Stream },
	ColThread:       func(b *Batch) column { return &b.Thread },
	ColName:         func(b *Batch) column { return &b.Name },
	ColClass:        func(b *Batch) column { return codes(&b.Class) },
	ColCorrelation:  func(b *Batch) column { return &b.Correlation },
	ColLaunchStart:  func(b *Batch) column { return &b.LaunchStart },
	ColLaunchEnd:    func(b *Batch) column { return &b.LaunchEnd },
	ColLaunchThread: func(b *Batch) column { return &b.LaunchThread },
	ColGraphNode:    func(b *Batch) column { return &b.GraphNode },
	ColDomain:       func(b *Batch) column { return &b.Domain },
	ColBytes:        func(b *Batch) column { return &b.Bytes },
	ColStep:         func(b *Batch) column { return &b.Step },
	ColSegment:      func(b *Batch) column { return &b.Segment },
	ColSize:         func(b *Batch) column { return &b.Size },
	ColPhase:        func(b *Batch) column { return codes(&b.Phase) },
	ColCtx:          func(b *Batch) column { return &b.Ctx },
	ColGen:          func(b *Batch) column { return &b.Gen },
	ColCPU:          func(b *Batch) column { return &b.CPU },
	ColStack:        func(b *Batch) column { return &b.Stack },
}

// codes returns a column of codes as a column of numbers.
func codes[T Kind | Class | Phase](c *Ints[T]) *Ints[int32] {
	return (*Ints[int32])(unsafe.Pointer(c)) // same layout, as T is an int32
}

// Column returns a pointer to column c: *Ints[int64], *Strings, or *Ints[int32], which
// columns of codes are, too.
func (b *Batch) Column(c Col) any { return columnOf[c](b) }

// Reset empties the batch, keeps its memory and gives it the columns of the set.
func (b *Batch) Reset(columns Set) {
	b.Len, b.Columns = 0, columns
	for _, of := range columnOf {
		of(b).Reset()
	}
	b.Foreign = b.Foreign[:0]
}

// Blank makes the batch n rows long. Nullable columns are null; the caller sets the
// values of the others, and appends names in row order.
func (b *Batch) Blank(n int, columns Set) {
	b.Reset(columns)
	b.Len = n
	for c := range columns.All() {
		columnOf[c](b).blank(n, Fields[c].Nullable)
	}
}

// Truncate shortens the batch to n rows. n must not exceed Len.
func (b *Batch) Truncate(n int) {
	*b = *b.Slice(0, n)
}

// AppendRange appends rows i to j of src. Columns that src lacks become null.
func (b *Batch) AppendRange(src *Batch, i, j int) {
	if i >= j {
		return
	}
	for c := range b.Columns.All() {
		if col := columnOf[c]; src.Columns.Has(c) {
			col(b).AppendRange(col(src), i, j)
		} else {
			col(b).appendNulls(j-i, Fields[c].Nullable)
		}
	}
	b.appendForeign(src, i, j)
	b.Len += j - i
}

// appendForeign appends rows i to j of src to the foreign columns, which have b.Len
// rows.
func (b *Batch) appendForeign(src *Batch, i, j int) {
	if len(b.Foreign) == 0 && len(src.Foreign) > 0 {
		for _, f := range src.Foreign { // the first rows that have any
			empty := f.Slice(0, 0)
			b.Foreign = append(b.Foreign, empty.Append(0, nil, 0, b.Len))
		}
	}
	for k, f := range b.Foreign {
		if k < len(src.Foreign) {
			b.Foreign[k] = f.Append(b.Len, src.Foreign[k], i, j)
		} else {
			b.Foreign[k] = f.Append(b.Len, nil, 0, j-i)
		}
	}
}

// AppendRows appends the given rows of src, which has the same columns.
func (b *Batch) AppendRows(src *Batch, rows []int32) {
	for c := range b.Columns.All() {
		columnOf[c](b).appendRows(columnOf[c](src), rows)
	}
	for k := 0; k < len(rows); { // foreign columns know ranges only
		i := k
		for k++; k < len(rows) && rows[k] == rows[k-1]+1; k++ {
		}
		b.appendForeign(src, int(rows[i]), int(rows[k-1])+1)
		b.Len += k - i
	}
}

// AppendNulls appends a row and returns its number. Every column is null, or zero if it
// is not nullable.
func (b *Batch) AppendNulls() int {
	for c := range b.Columns.All() {
		columnOf[c](b).appendNulls(1, Fields[c].Nullable)
	}
	for k, f := range b.Foreign {
		b.Foreign[k] = f.Append(b.Len, nil, 0, 1)
	}
	b.Len++
	return b.Len - 1
}

// Slice returns rows i to j, sharing the memory of b. i must be a multiple of 8.
func (b *Batch) Slice(i, j int) *Batch {
	s := &Batch{Len: j - i, Columns: b.Columns}
	for c := range b.Columns.All() {
		columnOf[c](s).share(columnOf[c](b), i, j)
	}
	for _, f := range b.Foreign {
		s.Foreign = append(s.Foreign, f.Slice(i, j))
	}
	return s
}

// Ints is a column of numbers, or of codes of an Enum.
type Ints[T ~int32 | int64] struct {
	Values []T    // one per row; that of a null row has no meaning
	Valid  Bitmap // nil if no row is null
	spare  Bitmap // memory for Valid while that is nil
}

// Get returns the value of row i and whether it is not null.
func (c *Ints[T]) Get(i int) (T, bool) { return c.Values[i], c.Valid.Get(i) }

// Set sets row i to v, which makes it not null.
func (c *Ints[T]) Set(i int, v T) {
	c.Values[i] = v
	if c.Valid != nil {
		c.Valid[i>>3] |= 1 << (i & 7)
	}
}

// Fill sets rows i to j to v.
func (c *Ints[T]) Fill(i, j int, v T) {
	if j == i+1 { // Fast path
		c.Set(i, v)
		return
	}
	values := c.Values[i:j]
	for k := range values {
		values[k] = v
	}
	if c.Valid != nil {
		c.Valid.Fill(i, j, true)
	}
}

// SetNull makes row i null.
func (c *Ints[T]) SetNull(i int) {
	if c.Valid == nil {
		c.Valid = c.allValid(len(c.Values))
	}
	c.Values[i] = 0
	c.Valid[i>>3] &^= 1 << (i & 7)
}

// blank makes the column n rows long and discards its values: all null if null is set.
func (c *Ints[T]) blank(n int, null bool) {
	if cap(c.Values) < n {
		c.Values = make([]T, n)
	}
	c.Values = c.Values[:n]
	if c.Valid = nil; null {
		clear(c.Values)
		c.Valid = make(Bitmap, (n+7)>>3)
	}
}

// Reset makes the column empty and keeps its memory.
func (c *Ints[T]) Reset() {
	c.Values = c.Values[:0]
	if c.Valid != nil {
		c.Valid, c.spare = nil, c.Valid
	}
}

// allValid returns n ones. It is never nil, because nil would ignore what is appended.
func (c *Ints[T]) allValid(n int) Bitmap {
	if c.spare == nil {
		c.spare = Bitmap{}
	}
	return c.spare[:0].AppendSame(0, n, true)
}

// share makes the column rows i to j of src without a copy. i must be a multiple of 8.
func (c *Ints[T]) share(from column, i, j int) {
	src := from.(*Ints[T])
	*c = Ints[T]{Values: src.Values[i:j]}
	if src.Valid != nil {
		c.Valid = src.Valid[i>>3 : (j+7)>>3]
	}
}

// AppendRange appends rows i to j of src.
func (c *Ints[T]) AppendRange(from column, i, j int) {
	src, n := from.(*Ints[T]), len(c.Values)
	c.Values = append(room(c.Values, j-i), src.Values[i:j]...)
	switch {
	case src.Valid != nil:
		if c.Valid == nil {
			c.Valid = c.allValid(n)
		}
		c.Valid = c.Valid.AppendRange(n, src.Valid, i, j)
	case c.Valid != nil:
		c.Valid = c.Valid.AppendSame(n, j-i, true)
	}
}

// room returns values with capacity for n more. A long column gets capacity for a whole
// batch at once: most batches have about as many rows as readers put into one, plus the
// rest of a step.
func room[T any](values []T, n int) []T {
	if have := len(values); have+n > cap(values) && have+n > BatchRows/8 {
		return slices.Grow(values, max(n, BatchRows+BatchRows/8-have))
	}
	return values
}

// appendRows appends the given rows of src, in the given order.
func (c *Ints[T]) appendRows(from column, rows []int32) {
	src, n := from.(*Ints[T]), len(c.Values)
	c.Values = slices.Grow(c.Values, len(rows))[:n+len(rows)]
	for k, i := range rows {
		c.Values[n+k] = src.Values[i]
	}
	switch {
	case src.Valid != nil:
		if c.Valid == nil {
			c.Valid = c.allValid(n)
		}
		c.Valid = c.Valid.grow(n + len(rows))
		for k, i := range rows {
			c.Valid.set(n+k, src.Valid.Get(int(i)))
		}
	case c.Valid != nil:
		c.Valid = c.Valid.AppendSame(n, len(rows), true)
	}
}

// appendNulls appends n zeros, as nulls if null is set.
func (c *Ints[T]) appendNulls(n int, null bool) {
	have := len(c.Values)
	c.Values = slices.Grow(room(c.Values, n), n)[:have+n]
	clear(c.Values[have:])
	if c.Valid == nil && null {
		c.Valid = c.allValid(have)
	}
	if c.Valid != nil {
		c.Valid = c.Valid.AppendSame(have, n, !null)
	}
}
