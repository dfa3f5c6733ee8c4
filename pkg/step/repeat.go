package step

import (
	"cmp"
	"slices"
)

// What a sequence of symbols repeats, the layers of a step and the steps of a run, is found
// by lag and by alignment. For each lag the sequence is compared with itself, so many elements
// later. Where it repeats with that period nearly all pairs are equal; an element that is missing
// or added spoils no more than the pairs across it. A run of pairs counts 1 for an equal and -1
// for an unequal one, and the best run of the lag is the one that counts most ([BestRepeat]). A
// candidate's unit is the cleanest period of its run ([Repeat.Unit]). The sequence is aligned to
// an endless row of units, of which any stretch may be taken: an element that is where the unit
// has it scores, one that is missing, extra or another costs ([Align]: a local alignment, as of
// proteins). The unit is that of the shortest lag whose alignment scores nearly as much as the
// best one's ([Enough]), so that multiples lose against it.
//
// Rejected: suffix trees and exact maximal repetitions, which one missing element tears;
// Fourier transforms of the symbols, which do not tell a period from its multiples.

// Repeat is where a sequence repeats with a lag.
type Repeat struct {
	Lag      int // in elements
	From, To int // of the sequence
	Score    int // as Alignment.Score
}

// BestRepeat returns the best run of a lag.
func BestRepeat(s []int32, lag int) Repeat {
	best := Repeat{Lag: lag}
	score, from := 0, 0
	later := s[lag:]
	for i, v := range s[:len(later)] {
		if v == later[i] {
			score++
			if score > best.Score {
				best.Score, best.From, best.To = score, from, i+1+lag
			}
			continue
		}
		if score--; score <= 0 {
			score, from = 0, i+1
		}
	}
	return best
}

// RepeatCandidates returns the runs of the lags up to max that may be that of the unit, the
// shortest first.
func RepeatCandidates(s []int32, maxLag int) []Repeat {
	var runs []Repeat
	for lag := 1; lag <= min(len(s)/2, maxLag); lag++ {
		if r := BestRepeat(s, lag); float64(r.Score) >= Enough*float64(lag) {
			runs = append(runs, r)
		}
	}
	if len(runs) <= mostShortest+mostLongest {
		return runs
	}
	rest := runs[mostShortest:]
	slices.SortStableFunc(rest, func(a, b Repeat) int { return cmp.Compare(b.Score+b.Lag, a.Score+a.Lag) })
	runs = runs[:mostShortest+mostLongest]
	slices.SortFunc(runs, func(a, b Repeat) int { return cmp.Compare(a.Lag, b.Lag) })
	return runs
}

// Unit returns where in s a clean repetition of the run begins.
func (r Repeat) Unit(s []int32) int {
	at, equal, most := r.From, 0, 0
	for i := r.From; i+r.Lag < r.To; i++ {
		if s[i] != s[i+r.Lag] {
			equal = 0
			continue
		}
		if equal++; equal > most {
			most = equal
			at = max(r.From, i+1-r.Lag)
		}
		if equal >= r.Lag { // a whole one
			break
		}
	}
	return at
}
