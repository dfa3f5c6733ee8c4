package event

import (
	"math"
	"slices"
	"strconv"
)

// PlainType is what the values of a Plain are.
type PlainType int

// The types of values that all formats have.
const (
	PlainText  PlainType = iota // in Plain.Strings
	PlainInt                    // in Plain.Ints
	PlainFloat                  // in Plain.Ints, as math.Float64bits
)

// Plain is a Foreign in a form that all formats share, so that a column
// survives the way from one format to another. Null rows have the value 0 or "".
type Plain struct {
	Type    PlainType // which of the following has the values, one a row
	Ints    []int64   // of PlainInt; of PlainFloat the bits of the numbers
	Strings Strings   // of PlainText
	Valid   Bitmap    // nil where no row is null
}

// ForeignFields describes columns that this program does not know, in the form of
// the format that they came in. What else a format keeps in it, such as metadata of
// other programs, stays back where rows go over to another format.
type ForeignFields interface {
	// PlainFields describes them as Foreign.Plain returns each.
	PlainFields() PlainFields
}

// PlainFields describes columns that are Plain.
type PlainFields []PlainField

// PlainField describes one such column.
type PlainField struct {
	Name string    // of the column, unique among them
	Type PlainType // of its values
}

// PlainFields returns f.
func (f PlainFields) PlainFields() PlainFields { return f }

// Plain returns p.
func (p *Plain) Plain() *Plain { return p }

// Len returns the number of rows.
func (p *Plain) Len() int {
	if p.Type != PlainText {
		return len(p.Ints)
	}
	return max(len(p.Strings.Offsets)-1, 0)
}

// Append is Foreign's.
func (p *Plain) Append(n int, src Foreign, i, j int) Foreign {
	out := p.first(n)
	if src == nil {
		out.appendNulls(n, j-i)
		return out
	}
	s := src.(*Plain)
	if p.Type == PlainText {
		out.Strings.AppendRange(&s.Strings, i, j)
	} else {
		out.Ints = append(out.Ints, s.Ints[i:j]...)
	}
	if out.Valid == nil && s.Valid != nil {
		out.Valid = allValid(n)
	}
	switch {
	case s.Valid != nil:
		out.Valid = out.Valid.AppendRange(n, s.Valid, i, j)
	case out.Valid != nil:
		out.Valid = out.Valid.AppendSame(n, j-i, true)
	}
	return out
}

// first returns the first n rows, to which rows can be appended. It shares the
// memory of p.
func (p *Plain) first(n int) *Plain {
	out := &Plain{Type: p.Type, Valid: p.Valid}
	if p.Type != PlainText {
		out.Ints = p.Ints[:n]
	} else {
		out.Strings = Strings{Offsets: []int32{0}}
		if n > 0 {
			out.Strings.Offsets, out.Strings.Data = p.Strings.Offsets[:n+1], p.Strings.Data[:p.Strings.Offsets[n]]
		}
	}
	return out
}

// appendNulls appends count nulls to a column of n rows.
func (p *Plain) appendNulls(n, count int) {
	if p.Type == PlainText {
		p.Strings.appendNulls(count, true)
	} else {
		p.Ints = append(p.Ints, make([]int64, count)...)
	}
	if p.Valid == nil {
		p.Valid = allValid(n)
	}
	p.Valid = p.Valid.AppendSame(n, count, false)
}

// Slice is Foreign's.
func (p *Plain) Slice(i, j int) Foreign {
	out := &Plain{Type: p.Type}
	if p.Type != PlainText {
		out.Ints = slices.Clip(p.Ints[i:j])
	} else {
		out.Strings = Strings{Offsets: slices.Clip(p.Strings.Offsets[i : j+1]), Data: slices.Clip(p.Strings.Data)}
	}
	if p.Valid != nil {
		out.Valid = Bitmap{}.AppendRange(0, p.Valid, i, j)
	}
	return out
}

// Float returns the floating point number in row i.
func (p *Plain) Float(i int) float64 { return math.Float64frombits(uint64(p.Ints[i])) }

// Text returns the value of row i as text and whether it is there.
func (p *Plain) Text(i int) (string, bool) {
	if !p.Valid.Get(i) {
		return "", false
	}
	switch p.Type {
	case PlainInt:
		return strconv.FormatInt(p.Ints[i], 10), true
	case PlainFloat:
		return strconv.FormatFloat(p.Float(i), 'g', -1, 64), true
	}
	return string(p.Strings.Get(i)), true
}
