package spill

import (
	"math"
	"math/rand/v2"
	"testing"
)

type pair struct {
	a int64
	b int32
}

func (p *pair) Put(v []int64) []int64 { return append(v, p.a, int64(p.b)) }
func (p *pair) Take(v []int64)        { p.a, p.b = v[0], int32(v[1]) }

// A list is what was appended to it, packed or not, in whatever order it is read, also
// where differences overflow.
func TestList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, BlockLen, 2 * BlockLen, 2*BlockLen + 1, 5*BlockLen + 3, 19 * BlockLen} {
		l := Packed[pair, *pair]{}
		var want []pair
		for k := range n {
			one := pair{int64(k) << 20, rng.Int32() - 1<<30}
			switch rng.IntN(9) {
			case 0:
				one.a = math.MinInt64
			case 1:
				one.a = math.MaxInt64
			case 2:
				one.a = int64(rng.Uint64())
			}
			l.Append(pair{})
			*l.Last(), want = one, append(want, one)
		}
		if l.Len() != n || n > 2*BlockLen && len(l.packed) == 0 || len(l.open) > 2*BlockLen {
			t.Fatalf("%d elements in %d blocks, want %d", l.Len(), len(l.packed), n)
		}
		r := l.Reader()
		for k := range 2 * n {
			if k >= n {
				k = rng.IntN(n)
			}
			if got := *r.At(k); got != want[k] {
				t.Fatalf("%d of %d is %+v, want %+v", k, n, got, want[k])
			}
		}
	}
}
