package step

import (
	"cmp"
	"slices"
)

// The repetitions in a sequence of symbols (the layers of a step, the steps of a run)
// are found by lag and by alignment. For each lag the sequence is compared with itself,
// shifted by the lag. Where it repeats with that period, nearly all pairs are equal; an
// element that is missing or added spoils only the pairs across it. A run of pairs
// counts 1 for an equal pair and -1 for an unequal one, and the best run of a lag is the
// one that counts most ([BestRepeat]). The unit of a candidate is the cleanest period of
// its run ([Repeat.Unit]). Then the sequence is aligned with an endless repetition of
// the unit ([Align]): a local alignment, as for proteins. The result is the unit of the
// shortest lag whose alignment scores nearly as much as the best one ([Enough]), so that
// multiples of the period lose.
//
// Rejected: suffix trees and exact maximal repetitions, which one missing element
// breaks; Fourier transforms of the symbols, which do not distinguish a period from its
// multiples.

// Repeat is a part of a sequence that repeats with a lag.
type Repeat struct {
	Lag      int // in elements
	From, To int // indexes in the sequence
	Score    int // equal pairs less unequal ones
}

// BestRepeat returns the best run of a lag. Score is 0 if there is none.
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

// RepeatCandidates returns the runs, of lags up to maxLag, that may be that of the unit,
// the shortest lag first.
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

// Unit returns the index in s at which a clean repetition begins.
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
		if equal >= r.Lag { // a whole repetition
			break
		}
	}
	return at
}
