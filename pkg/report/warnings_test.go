package report

import (
	"slices"
	"testing"
)

func TestOneForAllRanks(t *testing.T) {
	got := OneForAllRanks([]string{"rank 0 is short", "a file", "rank 1 is short", "rank 2 is short", "rank 1 waits for rank 2", "rank 5 is short", "rank 1 is odd"})
	want := []string{"rank 0 is short (likewise ranks 1 to 2, 5)", "a file", "rank 1 waits for rank 2", "rank 1 is odd"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if one := OneForAllRanks([]string{"rank 3 is short", "rank 4 is short"}); !slices.Equal(one, []string{"rank 3 is short (likewise rank 4)"}) {
		t.Errorf("%q", one)
	}
}
