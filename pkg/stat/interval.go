// Interval does arithmetic with spans of time.
//
// A set of spans is a slice of them that are in order, apart and not empty: neither
// overlap nor touch. [Union] makes a set of any spans; [Intersection] and [Difference]
// take sets and return one. The argument slices are never changed, and never returned.
//
// [Growing] is the union of spans that come in the order of their start, as rows of a
// rank do. It keeps the last piece alone, whatever the number of spans, and hands
// out the length of what cannot grow any more, so that it can be credited to what
// that time belongs to.

package stat

import (
	"cmp"
	"math"
	"slices"
)

// Never and None are times after and before all others; None is no time, too.
const (
	Never = math.MaxInt64
	None  = math.MinInt64
)

// Span is the time from From up to, but not including To, in ns. It is empty where To
// is not after From.
type Span struct {
	From, To int64 // on one clock
}

// Len returns the length of s in ns, 0 where it is empty.
func (s Span) Len() int64 {
	if s.To <= s.From { // first: the difference of Never and None does not fit
		return 0
	}
	return s.To - s.From
}

// Has reports whether t lies in s.
func (s Span) Has(t int64) bool { return s.From <= t && t < s.To }

// Clip returns the part of s within w, which may be empty.
func (s Span) Clip(w Span) Span { return Span{max(s.From, w.From), min(s.To, w.To)} }

// Length returns the length of all spans together, in ns.
func Length(spans []Span) (ns int64) {
	for _, s := range spans {
		ns += s.Len()
	}
	return ns
}

// Union returns the time that any of the spans covers, which may come in any order,
// as a set.
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

// Growing is the last piece of a union of spans that come in the order of their start.
// What was in pieces before it was handed out. Begin with [Empty]: the zero value has a
// piece of no length at time 0, and does not take earlier ones.
type Growing struct{ Span }

// Empty is a union of no spans.
var Empty = Growing{Span{None, None}}

// Add adds a span and returns the length of the piece that this ends, 0 where the
// span belongs to it.
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

// Cut returns the length of the piece up to t, and goes on from there: that part is not
// handed out again.
func (g *Growing) Cut(t int64) int64 {
	end := min(g.To, t)
	if end <= g.From {
		return 0
	}
	done := end - g.From
	g.From = end
	return done
}

// Until returns the length of the piece before t, which is not before its start.
func (g *Growing) Until(t int64) int64 { return min(g.To, t) - g.From }
