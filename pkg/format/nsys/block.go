package nsys

import (
	"math"
	"slices"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
)

// block holds rows of a table in the requested columns. It is valid until the function
// that received it returns.
type block struct {
	n       int // rows
	columns []sqlite.Column
	values  []*sqlite.Vector // by column; absent if the export lacks it
}

// absent is a column that the export lacks: all null.
var absent = func() *sqlite.Vector {
	v := &sqlite.Vector{Null: make([]bool, sqlite.BlockRows), Int: make([]int64, sqlite.BlockRows), Offsets: make([]int32, sqlite.BlockRows+1)}
	for i := range v.Null {
		v.Null[i] = true
	}
	return v
}()

// column returns a column of the block, which must have been asked for.
func (b *block) column(name string) *sqlite.Vector {
	for i := range b.columns {
		if b.columns[i].Name == name {
			return b.values[i]
		}
	}
	panic("BUG: column " + name + " was not asked for")
}

// scan reads rows low to high of a table, both included, in the given columns, and
// calls fn block by block. have are the columns that the export has; the others read as
// absent.
func scan(s scanner, table string, have []string, columns []sqlite.Column, low, high int64, fn func(b *block) error) error {
	var read []sqlite.Column
	b := &block{columns: columns, values: make([]*sqlite.Vector, len(columns))}
	place := make([]int, len(columns)) // index of each column among those that are read, -1 if absent
	for i, c := range columns {
		place[i], b.values[i] = -1, absent
		if slices.Contains(have, c.Name) {
			place[i] = len(read)
			read = append(read, c)
		}
	}
	return s.Scan(table, read, low, high, func(rows *sqlite.Block) error {
		b.n = rows.N
		for i, p := range place {
			if p >= 0 {
				b.values[i] = &rows.Cols[p]
			}
		}
		return fn(b)
	})
}

// scanAll reads all rows of a table, or none if the table lacks one of the columns.
func scanAll(s scanner, columns map[string][]string, table string, want []sqlite.Column, fn func(b *block) error) error {
	for _, c := range want {
		if !slices.Contains(columns[table], c.Name) {
			return nil
		}
	}
	return scanAny(s, columns, table, want, fn)
}

// scanAny reads all rows of a table, if it exists. Columns that it lacks are null.
func scanAny(s scanner, columns map[string][]string, table string, want []sqlite.Column, fn func(b *block) error) error {
	if columns[table] == nil {
		return nil
	}
	low, high, err := s.Rows(table)
	if err != nil {
		return err
	}
	return scan(s, table, columns[table], want, low, high, fn)
}

// none stands for a missing number.
const none = int64(math.MinInt64)

// orNone returns the number in row i, none for null.
func orNone(v *sqlite.Vector, i int32) int64 {
	if v.Null[i] {
		return none
	}
	return v.Int[i]
}

// longer returns v extended by n undefined elements.
func longer[T int32 | int64](v []T, n int) []T { return slices.Grow(v, n)[:len(v)+n] }

// appendRows appends rows of a column to numbers, none for null.
func appendRows(to []int64, v *sqlite.Vector, rows []int32) []int64 {
	first, last := int(rows[0]), int(rows[len(rows)-1])
	switch {
	case v.Full && last-first+1 == len(rows): // Fast path: no nulls, and no row left out.
		return append(to, v.Int[first:last+1]...)
	case v.Full:
		return gather(to, v.Int, rows)
	}
	for _, i := range rows {
		to = append(to, orNone(v, i))
	}
	return to
}

// gather appends the numbers at the given places.
func gather(to, from []int64, places []int32) []int64 {
	n := len(to)
	to = longer(to, len(places))
	for k, i := range places {
		to[n+k] = from[i]
	}
	return to
}
