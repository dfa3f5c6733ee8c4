package event

import (
	"math"
	"slices"
	"strconv"
)

// PlainType is the type of the values of a Plain.
type PlainType int

// The types that all formats have.
const (
	PlainText  PlainType = iota // in Plain.Strings
	PlainInt                    // in Plain.Ints
	PlainFloat                  // in Plain.Ints, as math.Float64bits
)

// Plain is a Foreign column in a form that all formats share, so that it survives a
// change of format. Null rows have the value 0 or "".
type Plain struct {
	Type    PlainType // which of the following holds the values, one per row
	Ints    []int64   // of PlainInt; of PlainFloat the bits of each number
	Strings Strings   // of PlainText
	Valid   Bitmap    // nil if no row is null
}

// ForeignFields describes columns that this program does not know, in the form of the
// input format. What else a format keeps there, such as metadata of other programs, is
// lost when rows go to another format.
type ForeignFields interface {
	// PlainFields describes the columns as Foreign.Plain returns them.
	PlainFields() PlainFields
}

// PlainFields describes columns of type Plain.
type PlainFields []PlainField

// PlainField describes one column of type Plain.
type PlainField struct {
	Name string    // unique among the fields
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

// Append implements Foreign.
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

// first returns the first n rows as a column that rows can be appended to. It shares
// the memory of p.
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

// Slice implements Foreign.
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

// Text returns the value of row i as text, and false if it is null.
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
