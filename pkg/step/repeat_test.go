package step

import (
	"slices"
	"testing"
)

// letters numbers the letters of a text.
func letters(text string) (s []int32) {
	for _, c := range text {
		s = append(s, c)
	}
	return s
}

// A unit is found where one element is missing, one is extra and one is another, and its
// places are those of the unit.
func TestAlign(t *testing.T) {
	s := letters("xy" + "abcd" + "abd" + "abqcd" + "abcd" + "ebcd" + "abcd" + "z")
	runs := RepeatCandidates(s, 8)
	if !slices.ContainsFunc(runs, func(r Repeat) bool { return r.Lag == 4 }) {
		t.Fatalf("no candidate of lag 4: %+v", runs)
	}
	a := Align(s, letters("abcd"))
	a.Keep(4)
	if a.Repetitions != 6 || a.Prologue != 2 || a.Epilogue != 1 || a.Aligned != 22 {
		t.Errorf("%d repetitions, %d before, %d after, %d aligned", a.Repetitions, a.Prologue, a.Epilogue, a.Aligned)
	}
	for i, at := range a.Places {
		if at >= 0 && s[i] != int32("abcd"[at]) {
			t.Errorf("element %d is at place %d", i, at)
		}
	}
}

// A clean repetition is taken for the unit, not the first one.
func TestRepeatUnit(t *testing.T) {
	s := letters("abxd" + "abcd" + "abcd" + "abcd")
	at := BestRepeat(s, 4).Unit(s)
	got := slices.Sorted(slices.Values(s[at : at+4]))
	if !slices.Equal(got, letters("abcd")) {
		t.Errorf("the unit begins at %d", at)
	}
}
