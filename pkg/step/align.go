package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
)

// Alignment assigns the elements of a sequence to places of a repeated unit.
type Alignment struct {
	Score  int32 // equal elements, less those that are missing, extra or different
	Places []int // by element: its place in the unit, -1 for none
	Turn   []int // by element: its repetition, counted from the last
	Turns  int   // number of the first repetition; the last is 0

	// Set by Keep:
	Aligned     int // elements with a place
	Repetitions int // those of which at least half was found
	Prologue    int // elements before the first with a place
	Epilogue    int // elements after the last with a place
}

// How an entry of the table was reached: started, extra (the element is extra), or the
// number of places since the element before it.
const (
	started = -1
	extra   = 0
)

// Align finds the local alignment of a sequence with an endless repetition of unit that
// scores best. An equal element counts 1, one that is missing, extra or different -1.
// Only the first part of s is aligned if the table would be too large (maxTable). unit
// must not be empty. Call Keep for the counts.
func Align(s, unit []int32) *Alignment {
	a := &Alignment{}
	p := len(unit)
	n := min(len(s), maxTable/p)
	// scores holds the score at each place, after the scores of the last places of the
	// unit before it: these are where missing elements may start.
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

// trace reads back the alignment that ends with element i at place j.
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

// Keep counts the repetitions in which at least half of a unit of that many places was
// found, and drops leading and trailing repetitions in which less was found.
func (a *Alignment) Keep(places int) {
	found := make([]int, a.Turns+1)
	for i, at := range a.Places {
		if at >= 0 {
			found[a.Turn[i]]++
		}
	}
	low, high := 0, a.Turns // repetitions to keep
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
