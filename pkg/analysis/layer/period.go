package layer

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/step"
)

// maxLag is the longest unit that is tried, in kernels.
const maxLag = 1024

// findIn finds the unit of one step, nil if there is none.
func findIn(symbols, classes []int32, roles Roles) *alignment {
	var tried []*alignment
	best := int32(0)
	mixed := slices.ContainsFunc(classes, roles.mixes)
	// A unit without a mixer, in a step that has one, is a part of a layer.
	part := func(a *alignment) bool { return mixed && !slices.ContainsFunc(a.unitClasses, roles.mixes) }
	for _, r := range step.RepeatCandidates(symbols, maxLag) {
		a := &alignment{symbols: symbols, classes: classes}
		at := r.Unit(a.symbols)
		a.unit = slices.Clone(a.symbols[at : at+r.Lag])
		a.unitClasses = slices.Clone(a.classes[at : at+r.Lag])
		a.align()
		tried = append(tried, a)
		best = max(best, a.Score)
		if float64(a.Score) >= step.Enough*float64(len(symbols)) && !part(a) {
			break // no longer unit can be much better
		}
	}
	for _, a := range tried {
		if float64(a.Score) < step.Enough*float64(best) {
			continue
		}
		if a.rotate(roles); len(a.unit) == 1 { // one kernel repeated is not a layer
			if float64(a.Aligned) >= MinCover*float64(len(symbols)) {
				return nil
			}
			break
		}
		a.improve()
		if part(a) {
			continue
		}
		if a.Repetitions >= 2 && float64(a.Aligned) >= MinCover*float64(len(symbols)) {
			return a
		}
		break
	}
	return single(symbols, classes, roles)
}

// single finds the layer of a step that has only one, nil if there is none.
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
		single: true, Alignment: &step.Alignment{
			Places: slices.Repeat([]int{-1}, len(symbols)), Repetitions: 1,
			Prologue: from, Epilogue: len(symbols) - to - 1, Aligned: to + 1 - from, Score: int32(to + 1 - from),
		},
	}
	for i := from; i <= to; i++ {
		a.Places[i] = i - from
	}
	return a
}
