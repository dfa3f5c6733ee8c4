package event

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestAppendRows compares AppendRows with appending row by row, of batches with
// columns that are not ours.
func TestAppendRows(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var src Batch
		src.Reset(BaseCols)
		for i := range 40 {
			src.AppendNulls()
			src.Start.Set(i, int64(i))
			if rng.IntN(3) > 0 {
				src.Device.Set(i, int32(i))
				src.Correlation.Set(i, int64(-i))
			}
		}
		for _, typ := range []PlainType{PlainText, PlainInt} {
			p, _ := randomPlain(rng, typ, src.Len)
			src.Foreign = append(src.Foreign, p)
		}
		var got, want Batch
		got.Reset(BaseCols)
		want.Reset(BaseCols)
		for range 3 {
			var rows []int32
			for i := range src.Len {
				if rng.IntN(2) == 0 {
					rows = append(rows, int32(i))
					want.AppendRange(&src, i, i+1)
				}
			}
			got.AppendRows(&src, rows)
		}
		if got.Len != want.Len {
			t.Fatalf("%d rows instead of %d", got.Len, want.Len)
		}
		for i := range want.Len {
			if g, w := format(&got, i), format(&want, i); !reflect.DeepEqual(g, w) {
				t.Fatalf("seed %d, row %d: %v instead of %v", seed, i, g, w)
			}
		}
	}
}

// format returns the values of row i, nil for null.
func format(b *Batch, i int) (all []any) {
	for c := Col(0); BaseCols.Has(c); c++ {
		switch col := b.Column(c).(type) {
		case *Ints[int32]:
			all = append(all, value(col, i))
		case *Ints[int64]:
			all = append(all, value(col, i))
		case *Strings:
			all = append(all, string(col.Get(i)))
		}
	}
	for _, f := range b.Foreign {
		text, ok := f.(*Plain).Text(i)
		all = append(all, text, ok)
	}
	return all
}

func value[T int32 | int64](c *Ints[T], i int) any {
	if v, ok := c.Get(i); ok {
		return v
	}
	return nil
}
