package nsys

import (
	"math"
	"testing"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
)

// TestAreSpans: whole blocks have usable times, and none that take a second look, where each of
// their rows has, whatever numbers a damaged export holds.
func TestAreSpans(t *testing.T) {
	var edges []int64
	for _, at := range []int64{math.MinInt64, -1 << 62, -maxTime, 0, maxTime, math.MaxInt64 - maxTime, maxTime - math.MaxInt64, 1 << 62, math.MaxInt64} {
		edges = append(edges, at-1, at, at+1)
	}
	for _, start := range edges {
		for _, end := range edges {
			of := func(v int64) *sqlite.Vector { return &sqlite.Vector{Null: []bool{false}, Int: []int64{v}} }
			want := isSpan(of(start), of(end), 0) && start >= 0 && end > 0
			if got := areSpans([]int64{start}, []int64{end}); got != want {
				t.Errorf("%d to %d: %v, want %v", start, end, got, want)
			}
		}
	}
}
