// Arithmetic with spans of time.
//
// A set of spans is a slice of spans that are in order, not empty, and neither overlap
// nor touch. [Union] makes a set of any spans; [Intersection] and [Subtract] take sets
// and return one. They neither change nor return their arguments.
//
// [Growing] is the union of spans that come in the order of their starts, as the rows of
// a rank do. It keeps only the last span of the union, and returns the length of the
// parts that can no longer grow, so that the caller can attribute them.

package stat

import (
	"cmp"
	"math"
	"slices"
)

// Never and None are later and earlier than all times; None also stands for no time.
const (
	Never = math.MaxInt64
	None  = math.MinInt64
)

// Span is the time from From up to, but not including, To, in ns. It is empty if To is
// not after From.
type Span struct {
	From, To int64 // on one clock
}

// Len returns the length of s in ns, 0 if it is empty.
func (s Span) Len() int64 {
	if s.To <= s.From { // first: the difference of Never and None overflows
		return 0
	}
	return s.To - s.From
}

// Has reports whether t lies in s.
func (s Span) Has(t int64) bool { return s.From <= t && t < s.To }

// Clip returns the part of s within w; it may be empty.
func (s Span) Clip(w Span) Span { return Span{max(s.From, w.From), min(s.To, w.To)} }

// Length returns the sum of the lengths of spans, in ns.
func Length(spans []Span) (ns int64) {
	for _, s := range spans {
		ns += s.Len()
	}
	return ns
}

// Union returns the time that any of the spans covers, as a set. The spans may come in
// any order.
func Union(spans []Span) []Span {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var set []Span
	for _, s := range sorted {
		switch n := len(set) - 1; {
		case s.Len() == 0:
		case n >= 0 && s.From <= set[n].To:
			set[n].To = max(set[n].To, s.To)
		default:
			set = append(set, s)
		}
	}
	return set
}

// Intersection returns the time that both sets cover.
func Intersection(a, b []Span) (set []Span) {
	for len(a) > 0 && len(b) > 0 {
		if both := a[0].Clip(b[0]); both.Len() > 0 {
			set = append(set, both)
		}
		if a[0].To < b[0].To {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return set
}

// Subtract returns the time that a covers and b does not.
func Subtract(a, b []Span) (set []Span) {
	for _, s := range a {
		for len(b) > 0 && b[0].To <= s.From {
			b = b[1:]
		}
		for k := 0; k < len(b) && b[k].From < s.To; k++ {
			if before := (Span{s.From, b[k].From}); before.Len() > 0 {
				set = append(set, before)
			}
			s.From = b[k].To
		}
		if s.Len() > 0 {
			set = append(set, s)
		}
	}
	return set
}

// Growing is the last span of a union of spans that come in the order of their starts.
// The lengths of earlier ones have been returned. Begin with [Empty]: the zero value has
// an empty span at time 0, and accepts no earlier ones.
type Growing struct{ Span }

// Empty is the union of no spans.
var Empty = Growing{Span{None, None}}

// Add adds a span. It returns the length of the last span of the union if the new one
// begins after it, else 0. Lengths are in ns.
func (g *Growing) Add(from, to int64) int64 {
	if from > g.To {
		done := g.To - g.From
		g.From, g.To = from, to
		return done
	}
	if to > g.To {
		g.To = to
	}
	return 0
}

// Cut returns the length of the last span up to t, and drops that part, so that it is
// returned only once.
func (g *Growing) Cut(t int64) int64 {
	end := min(g.To, t)
	if end <= g.From {
		return 0
	}
	done := end - g.From
	g.From = end
	return done
}

// Until returns the length of the last span up to t, which must not be before its start.
func (g *Growing) Until(t int64) int64 { return min(g.To, t) - g.From }
