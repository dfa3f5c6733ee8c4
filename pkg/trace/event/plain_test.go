package event

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestPlain appends and slices columns of each type at random and compares
// them with lists of strings.
func TestPlain(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		for _, typ := range []PlainType{PlainText, PlainInt, PlainFloat} {
			src, words := randomPlain(rng, typ, 100)
			var col Foreign = (&Plain{Type: typ, Strings: Strings{Offsets: []int32{0}}}).Slice(0, 0)
			var want []string
			for range 20 {
				i := rng.IntN(100)
				j := i + rng.IntN(100-i)
				if rng.IntN(4) == 0 {
					col = col.Append(len(want), nil, i, j)
					want = append(want, make([]string, j-i)...)
					continue
				}
				part := src.Slice(i, j)
				col = col.Append(len(want), part, 0, j-i)
				want = append(want, words[i:j]...)
			}
			if n := col.(*Plain).Len(); n != len(want) {
				t.Fatalf("%d rows instead of %d", n, len(want))
			}
			for i, w := range want {
				if text, ok := col.(*Plain).Text(i); text != w || ok == (w == "") {
					t.Fatalf("row %d: %q, %v instead of %q", i, text, ok, w)
				}
			}
		}
	}
}

// randomPlain makes a column and its values as text, "" for null.
func randomPlain(rng *rand.Rand, typ PlainType, n int) (*Plain, []string) {
	p := &Plain{Type: typ, Strings: Strings{Offsets: []int32{0}}}
	words := make([]string, n)
	for i := range words {
		if rng.IntN(5) == 0 && n > 0 {
			p.appendNulls(i, 1)
			continue
		}
		v := rng.IntN(1000)
		words[i] = strconv.Itoa(v)
		switch typ {
		case PlainInt:
			p.Ints = append(p.Ints, int64(v))
		case PlainFloat:
			p.Ints = append(p.Ints, int64(math.Float64bits(float64(v))))
		default:
			p.Strings.Append(words[i])
		}
		if p.Valid != nil {
			p.Valid = p.Valid.AppendSame(i, 1, true)
		}
	}
	return p, words
}
