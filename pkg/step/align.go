package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// Alignment says which element of a sequence is at which place of a unit.
type Alignment struct {
	Score  int32 // elements that are equal, less those that are missing, extra or other
	Places []int // by element; -1: at none
	Turn   []int // by element: its repetition, counted from the last
	Turns  int   // number of the first repetition

	// After Keep:
	Aligned     int // elements that are at a place
	Repetitions int // in which at least half of the unit was found
	Prologue    int // elements before the first that is at a place
	Epilogue    int // elements after the last
}

// How a cell of the table was reached: started, the element is extra, or it is at
// the place of the cell and the one before it was as many places earlier.
const (
	started = -1
	extra   = 0
)

// Align finds the stretch of a sequence that aligns best to an endless row of units,
// of which it may be any part: an equal element counts 1, one that is missing, extra or another
// -1. Keep counts what is in it.
func Align(s, unit []int32) *Alignment {
	a := &Alignment{}
	p := len(unit)
	n := min(len(s), maxTable/p)
	// scores holds those of the places after what may be missing before the first of them: the
	// last places, as units follow one another.
	ahead := min(maxMissing+1, p)
	scores, next := make([]int32, ahead+p), make([]int32, ahead+p)
	back := make([]int8, n*p)
	bestAt, bestPlace := -1, 0
	for i, v := range s[:n] {
		row := back[i*p : (i+1)*p]
		for j, u := range unit {
			before := scores[j : j+ahead+1]
			from, how := int32(0), int8(started)
			for missing := range ahead {
				if v := before[ahead-1-missing] - int32(missing); v > from {
					from, how = v, int8(missing+1)
				}
			}
			best := from - 1
			if v == u {
				best = from + 1
			}
			if v := before[ahead] - 1; v > best {
				best, how = v, extra
			}
			next[ahead+j], row[j] = max(best, 0), how
			if best > a.Score {
				a.Score, bestAt, bestPlace = best, i, j
			}
		}
		copy(next, next[p:])
		scores, next = next, scores
	}
	a.trace(s, unit, back, bestAt, bestPlace)
	return a
}

// trace reads the alignment that ends with an element at a place.
func (a *Alignment) trace(s, unit []int32, back []int8, i, j int) {
	p := len(unit)
	a.Places = slices.Repeat([]int{-1}, len(s))
	a.Turn = make([]int, len(s))
	for ; i >= 0; i-- {
		how := int(back[i*p+j])
		a.Turn[i] = a.Turns
		if how == extra {
			continue
		}
		if s[i] == unit[j] {
			a.Places[i] = j
		}
		if how == started {
			break
		}
		if j -= how; j < 0 {
			j += p
			a.Turns++
		}
	}
}

// Keep counts the repetitions in which half of a unit of so many places was found, and
// takes the first and the last away while they are none.
func (a *Alignment) Keep(places int) {
	found := make([]int, a.Turns+1)
	for i, at := range a.Places {
		if at >= 0 {
			found[a.Turn[i]]++
		}
	}
	low, high := 0, a.Turns // turns to keep
	for low <= high && !stat.MostOf(found[low], places) {
		low++
	}
	for high >= low && !stat.MostOf(found[high], places) {
		high--
	}
	a.Repetitions, a.Aligned = 0, 0
	for _, n := range found[low : high+1] {
		if stat.MostOf(n, places) {
			a.Repetitions++
		}
	}
	first, end := len(a.Places), 0
	for i, at := range a.Places {
		switch {
		case at < 0:
		case a.Turn[i] < low || a.Turn[i] > high:
			a.Places[i] = -1
		default:
			a.Aligned++
			first, end = min(first, i), i+1
		}
	}
	a.Prologue, a.Epilogue = first, len(a.Places)-end
	if a.Aligned == 0 {
		a.Prologue, a.Epilogue = len(a.Places), 0
	}
}
