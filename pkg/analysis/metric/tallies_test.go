package metric

import (
	"math"
	"testing"
)

// TestTallies: packed tallies are those that were packed, whoever asks for them.
func TestTallies(t *testing.T) {
	var s tallies
	var want []tally
	for k := range 20 {
		var one tally
		for i, v := range one.fields() {
			*v = []int64{0, 1, -7, math.MaxInt64, math.MinInt64}[(k+i)%5]
		}
		s.append()
		s.at(k).add(&one)
		want = append(want, one)
	}
	check := func(when string) {
		t.Helper()
		next := 5
		for k, one := range s.between(5, 12) {
			if k != next || *one != want[k] {
				t.Errorf("%s: between hands out step %d, %+v; want step %d, %+v", when, k, *one, next, want[next])
			}
			next++
		}
		if next != 12 {
			t.Errorf("%s: between ends at step %d, want 12", when, next)
		}
		var got []int
		for k, one := range s.among([]int{3, 4, 9}) {
			if *one != want[k] {
				t.Errorf("%s: among hands out %+v for step %d, want %+v", when, *one, k, want[k])
			}
			got = append(got, k)
		}
		if len(got) != 3 || got[0] != 3 || got[1] != 4 || got[2] != 9 {
			t.Errorf("%s: among hands out steps %d, want 3, 4 and 9", when, got)
		}
		if s.len() != len(want) {
			t.Errorf("%s: %d steps, want %d", when, s.len(), len(want))
		}
	}
	check("open")
	s.pack()
	s.pack()
	check("packed")
	s.append() // rows of a rank that seemed to have passed
	want = append(want, tally{})
	check("some packed, one open")
	s.at(2).add(&tally{wall: 1})
	want[2].add(&tally{wall: 1})
	check("open again")
	for range 2*openSteps + 5 {
		s.append()
		want = append(want, tally{})
	}
	if s.n == 0 {
		t.Error("of many steps none are packed")
	}
	check("the first of many packed")
	var none tallies
	none.pack()
	for range none.among(nil) {
		t.Error("no steps have a tally")
	}
}
