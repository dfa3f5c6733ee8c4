package idle

import (
	"testing"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// TestNamesOf finds the same numbers for strings of dictionaries and others.
func TestNamesOf(t *testing.T) {
	for _, fold := range []bool{false, true} {
		n := NewNames(fold)
		var c event.Strings
		c.Append("b 2")
		c.AppendCode(&event.Dict{Offsets: []int32{0, 3, 6}, Data: []byte("a 1b 2")}, 1)
		c.AppendCode(c.Dict, 0)
		c.Append("a 1")
		var other event.Strings
		other.AppendCode(&event.Dict{Offsets: []int32{0, 3, 6}, Data: []byte("b 2a 1")}, 1)
		for range 2 {
			got := [5]int32{n.Of(&c, 0), n.Of(&c, 1), n.Of(&c, 2), n.Of(&c, 3), n.Of(&other, 0)}
			if want := [5]int32{0, 0, 1, 1, 1}; got != want {
				t.Errorf("folded %v: numbers %v, want %v", fold, got, want)
			}
		}
	}
}
