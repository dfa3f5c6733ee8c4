package layer

import (
	"cmp"
	"slices"
)

// maxLag is the longest unit that is looked for.
const maxLag = 1024

// run is where a sequence repeats with a lag.
type run struct {
	lag      int
	from, to int // of the sequence
	score    int
}

// bestRun returns the best run of a lag.
func bestRun(s []int32, lag int) run {
	best := run{lag: lag}
	score, from := 0, 0
	later := s[lag:]
	for i, v := range s[:len(later)] {
		if v == later[i] {
			score++
			if score > best.score {
				best.score, best.from, best.to = score, from, i+1+lag
			}
			continue
		}
		if score--; score <= 0 {
			score, from = 0, i+1
		}
	}
	return best
}

// How many lags are tried: the shortest, and those with the best runs.
const (
	shortest = 12
	longest  = 4
)

// candidates returns the lags that may be that of the unit, the shortest first.
func candidates(s []int32) []run {
	var runs []run
	for lag := 1; lag <= min(len(s)/2, maxLag); lag++ {
		if r := bestRun(s, lag); 10*r.score >= 8*lag {
			runs = append(runs, r)
		}
	}
	if len(runs) <= shortest+longest {
		return runs
	}
	rest := runs[shortest:]
	slices.SortStableFunc(rest, func(a, b run) int { return cmp.Compare(b.score+b.lag, a.score+a.lag) })
	runs = runs[:shortest+longest]
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.lag, b.lag) })
	return runs
}

// enough is the share of the best alignment's score that a shorter unit needs.
const enough = 0.9

// findIn finds the unit of one step, nil where there is none.
func findIn(symbols, classes []int32, roles Roles) *alignment {
	var tried []*alignment
	best := int32(0)
	mixed := slices.ContainsFunc(classes, roles.mixes)
	// What repeats without any mixer of the step is a part of a layer.
	part := func(a *alignment) bool { return mixed && !slices.ContainsFunc(a.unitClasses, roles.mixes) }
	for _, r := range candidates(symbols) {
		a := &alignment{symbols: symbols, classes: classes}
		a.begin(r)
		a.align()
		tried = append(tried, a)
		best = max(best, a.score)
		if float64(a.score) >= enough*scoreEqual*float64(len(symbols)) && !part(a) {
			break // no longer one can be that much better
		}
	}
	for _, a := range tried {
		if float64(a.score) < enough*float64(best) {
			continue
		}
		if a.rotate(roles); len(a.unit) == 1 { // one kernel over and over is no layer
			if float64(a.aligned) >= MinCover*float64(len(symbols)) {
				return nil
			}
			break
		}
		a.improve()
		if part(a) {
			continue
		}
		if a.repetitions >= 2 && float64(a.aligned) >= MinCover*float64(len(symbols)) {
			return a
		}
		break
	}
	return single(symbols, classes, roles)
}

// begin takes a clean repetition out of the run for the unit.
func (a *alignment) begin(r run) {
	s := a.symbols
	at, equal, most := r.from, 0, 0
	for i := r.from; i+r.lag < r.to; i++ {
		if s[i] != s[i+r.lag] {
			equal = 0
			continue
		}
		if equal++; equal > most {
			most = equal
			at = max(r.from, i+1-r.lag)
		}
		if equal >= r.lag { // a whole one
			break
		}
	}
	a.unit = slices.Clone(s[at : at+r.lag])
	a.unitClasses = slices.Clone(a.classes[at : at+r.lag])
}

// single finds the layer of a step that has one.
func single(symbols, classes []int32, roles Roles) *alignment {
	at := slices.Index(classes, roles.Attention)
	if at < 0 {
		return nil
	}
	from, last := at, at
	for i := at + 1; i < len(classes); i++ {
		if classes[i] == roles.Attention {
			last = i
		}
	}
	if slices.Contains(classes[at:last], roles.Product) || slices.Contains(classes, roles.Mixer) {
		return nil // more than one layer
	}
	at = last
	for from > 0 && !roles.border(classes[from-1]) && !slices.Contains(roles.Before, classes[from-1]) {
		from--
	}
	to := at
	for i := at + 1; i < len(classes); i++ {
		if roles.border(classes[i]) {
			to = i
		}
	}
	if to-from < 2 || to == at {
		return nil
	}
	a := &alignment{
		symbols: symbols, classes: classes, unit: symbols[from : to+1], unitClasses: classes[from : to+1],
		places: slices.Repeat([]int{-1}, len(symbols)), repetitions: 1, single: true,
		prologue: from, epilogue: len(symbols) - to - 1, aligned: to + 1 - from, score: scoreEqual * int32(to+1-from),
	}
	for i := from; i <= to; i++ {
		a.places[i] = i - from
	}
	return a
}
