package event

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomStrings makes a column of n strings, with or without one of the
// dictionaries, and the strings.
func randomStrings(rng *rand.Rand, dicts []*Dict, n int) (*Strings, []string) {
	c := &Strings{Offsets: []int32{0}}
	var want []string
	if k := rng.IntN(len(dicts) + 1); k < len(dicts) {
		c.Dict = dicts[k]
	}
	own := rng.IntN(2) == 0
	for i := range n {
		if c.Dict == nil || own && rng.IntN(3) == 0 {
			want = append(want, fmt.Sprint("own ", i))
			c.Append(want[i])
			continue
		}
		code := int32(rng.IntN(len(c.Dict.Offsets) - 1))
		c.Codes = append(c.Codes, code)
		want = append(want, string(c.Dict.Data[c.Dict.Offsets[code]:c.Dict.Offsets[code+1]]))
	}
	return c, want
}

// all returns the values of a column.
func (c *Strings) all(n int) (all []string) {
	for i := range n {
		all = append(all, string(c.Get(i)))
	}
	return all
}

// TestStrings appends pieces of columns with and without dictionaries at random,
// as stages do, and compares the result with lists of strings.
func TestStrings(t *testing.T) {
	var dicts []*Dict
	for _, all := range [][]string{{"a", "", "ccc"}, {"ccc", "dd"}, {"e"}} {
		d := &Dict{Offsets: []int32{0}}
		for _, text := range all {
			d.Data = append(d.Data, text...)
			d.Offsets = append(d.Offsets, int32(len(d.Data)))
		}
		dicts = append(dicts, d)
	}
	var c, scratch Strings
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		c.Reset()
		var want []string
		for range rng.IntN(8) {
			switch rng.IntN(6) {
			case 2:
				k := rng.IntN(len(want) + 1)
				c.adopt(nil) // it has offsets
				c, want = c.slice(0, k), want[:k]
			case 1:
				d := dicts[rng.IntN(len(dicts))]
				code := int32(rng.IntN(len(d.Offsets) - 1))
				c.AppendCode(d, code)
				want = append(want, string(d.Data[d.Offsets[code]:d.Offsets[code+1]]))
			case 0:
				c.appendNulls(2, false)
				c.SetLast("step")
				want = append(want, "", "step")
			default:
				src, all := randomStrings(rng, dicts, 20)
				i := rng.IntN(20)
				j := i + rng.IntN(20-i)
				if rng.IntN(2) == 0 {
					part := src.slice(i, 20)
					src, all, i, j = &part, all[i:], 0, j-i
				}
				if rng.IntN(2) == 0 {
					c.AppendRange(src, i, j)
					want = append(want, all[i:j]...)
					break
				}
				var rows []int32
				for k := i; k < j; k += 1 + rng.IntN(2) {
					rows = append(rows, int32(k))
					want = append(want, all[k])
				}
				c.appendRows(src, rows)
			}
		}
		if got := c.all(len(want)); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q instead of %q", seed, got, want)
		}
		if len(want) == 0 {
			continue
		}
		i := rng.IntN(len(want))
		plain := c.Flatten(i, len(want), &scratch)
		if got := plain.all(len(want) - i); plain.Dict != nil || !slices.Equal(got, want[i:]) {
			t.Fatalf("seed %d: plain, from row %d: %q instead of %q", seed, i, got, want[i:])
		}
		size := 0
		for _, text := range want[i:] {
			size += len(text)
		}
		if got := c.Size(i, len(want)); got != size {
			t.Fatalf("seed %d: size %d instead of %d", seed, got, size)
		}
	}
}
