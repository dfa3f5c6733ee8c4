package stat

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns spans within 0 to 40, some of them empty.
func random(rng *rand.Rand) (spans []Span) {
	for range rng.IntN(8) {
		from := rng.Int64N(40)
		spans = append(spans, Span{from, from + rng.Int64N(9)})
	}
	return spans
}

// in reports whether any of the spans holds t.
func in(spans []Span, t int64) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.Has(t) })
}

// TestSets asks of each instant whether it belongs to a result.
func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		x, y := random(rng), random(rng)
		a, b := Union(x), Union(y)
		for name, c := range map[string]struct {
			got  []Span
			want func(t int64) bool
		}{
			"union":        {a, func(t int64) bool { return in(x, t) }},
			"intersection": {Intersection(a, b), func(t int64) bool { return in(x, t) && in(y, t) }},
			"difference":   {Subtract(a, b), func(t int64) bool { return in(x, t) && !in(y, t) }},
		} {
			length := int64(0)
			for at := range int64(60) {
				if in(c.got, at) != c.want(at) {
					t.Fatalf("%s of %v and %v is %v: wrong at %d", name, x, y, c.got, at)
				}
				if c.want(at) {
					length++
				}
			}
			if got := Length(c.got); got != length {
				t.Fatalf("%s of %v and %v is %v, of length %d, want %d", name, x, y, c.got, got, length)
			}
			for k := 1; k < len(c.got); k++ {
				if c.got[k].From <= c.got[k-1].To && name != "intersection" || c.got[k].From < c.got[k-1].To {
					t.Fatalf("%s of %v and %v is %v: not apart", name, x, y, c.got)
				}
			}
		}
	}
}

// TestExtremes has spans whose length does not fit into 64 bits.
func TestExtremes(t *testing.T) {
	if n := (Span{Never, None}).Len(); n != 0 {
		t.Errorf("an empty span is %d ns long", n)
	}
	if set := Union([]Span{{Never, None}, {1, 2}}); len(set) != 1 || set[0] != (Span{1, 2}) {
		t.Errorf("union %v", set)
	}
}

// TestGrowing cuts a union at some times and adds up what it hands out.
func TestGrowing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		spans := random(rng)
		slices.SortFunc(spans, func(a, b Span) int { return int(a.From - b.From) })
		cut := rng.Int64N(40)
		before, after, g := int64(0), int64(0), Empty
		sum := &before
		for _, s := range spans {
			if s.From >= cut && sum == &before {
				before += g.Cut(cut)
				sum = &after
			}
			*sum += g.Add(s.From, s.To)
		}
		if sum == &before {
			before += g.Cut(cut)
		}
		after += g.Cut(Never)
		set := Union(spans)
		if want := Length(Intersection(set, []Span{{None, cut}})); before != want {
			t.Fatalf("%v cut at %d: %d before, want %d", spans, cut, before, want)
		}
		if want := Length(Intersection(set, []Span{{cut, Never}})); after != want {
			t.Fatalf("%v cut at %d: %d after, want %d", spans, cut, after, want)
		}
	}
}
