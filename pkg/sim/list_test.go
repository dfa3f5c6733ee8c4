package sim

import "testing"

// TestList looks at sizes around the borders of the chunks.
func TestList(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 17, listChunk - 1, listChunk, listChunk + 1, 5*listChunk + 3} {
		var l List[int]
		var first *int
		for i := range n {
			l.Add(i)
			if i == 0 {
				for p := range l.All() {
					first = p
				}
			}
		}
		if l.Len() != n {
			t.Errorf("Len() = %d, want %d", l.Len(), n)
		}
		want := 0
		for p := range l.All() {
			if *p != want {
				t.Fatalf("of %d: row %d is %d", n, want, *p)
			}
			if want == 0 && p != first {
				t.Errorf("of %d: the first row moved", n)
			}
			want++
		}
		if want != n {
			t.Errorf("All() gave %d of %d rows", want, n)
		}
		for range l.All() {
			break
		}
	}
}
