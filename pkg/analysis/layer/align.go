package layer

import "slices"

// Scores of an alignment.
const (
	scoreEqual   = 4
	scoreMissing = -4
	scoreExtra   = -5
	scoreOther   = -6
	maxMissing   = 4 // kernels in a row
)

// maxTable bounds the work of one alignment: of longer sequences only the first
// part is aligned.
const maxTable = 1 << 24

// alignment is a unit and which kernel of a step is at which place of it.
type alignment struct {
	symbols     []int32 // of the step
	classes     []int32 // of the step
	unit        []int32
	unitClasses []int32

	score  int32
	places []int // by kernel; -1: at none
	turn   []int // by kernel: its repetition, counted from the last
	turns  int   // number of the first repetition

	aligned     int
	repetitions int
	prologue    int
	epilogue    int
	single      bool
	types       []LayerType // nil where the layers cannot be told
	cut         int         // of a ring: the kernel of the step that it begins with
}

// How a cell of the table was reached: started, the kernel is extra, or it is at
// the place of the cell and the one before it was as many places earlier.
const (
	started = -1
	extra   = 0
)

// align finds the stretch of the step that aligns best to an endless row of units,
// of which it may be any part, and fills in score, places, turn and turns.
func (a *alignment) align() {
	p := len(a.unit)
	n := min(len(a.symbols), maxTable/p)
	scores, next := make([]int32, p), make([]int32, p)
	back := make([]int8, n*p)
	bestAt, bestPlace := -1, 0
	a.score = 0
	for i, s := range a.symbols[:n] {
		row := back[i*p : (i+1)*p]
		for j, u := range a.unit {
			here := int32(scoreOther)
			if s == u {
				here = scoreEqual
			}
			best, how := here, int8(started)
			k := j
			for missing := range min(maxMissing+1, p) {
				if k--; k < 0 {
					k = p - 1
				}
				if v := scores[k] + here + int32(missing)*scoreMissing; v > best {
					best, how = v, int8(missing+1)
				}
			}
			if v := scores[j] + scoreExtra; v > best {
				best, how = v, extra
			}
			next[j], row[j] = max(best, 0), how
			if best > a.score {
				a.score, bestAt, bestPlace = best, i, j
			}
		}
		scores, next = next, scores
	}
	a.trace(back, bestAt, bestPlace)
}

// trace reads the alignment that ends with a kernel at a place.
func (a *alignment) trace(back []int8, i, j int) {
	p := len(a.unit)
	a.places = slices.Repeat([]int{-1}, len(a.symbols))
	a.turn, a.turns = make([]int, len(a.symbols)), 0
	for ; i >= 0; i-- {
		how := int(back[i*p+j])
		a.turn[i] = a.turns
		if how == extra {
			continue
		}
		if a.symbols[i] == a.unit[j] {
			a.places[i] = j
		}
		if how == started {
			break
		}
		if j -= how; j < 0 {
			j += p
			a.turns++
		}
	}
}

// keep counts the repetitions in which half of the unit was found, and takes the
// first and the last away while they are none.
func (a *alignment) keep() {
	found := make([]int, a.turns+1)
	for i, at := range a.places {
		if at >= 0 {
			found[a.turn[i]]++
		}
	}
	low, high := 0, a.turns // turns to keep
	for low <= high && 2*found[low] < len(a.unit) {
		low++
	}
	for high >= low && 2*found[high] < len(a.unit) {
		high--
	}
	a.repetitions, a.aligned = 0, 0
	for _, n := range found[low : high+1] {
		if 2*n >= len(a.unit) {
			a.repetitions++
		}
	}
	first, end := len(a.places), 0
	for i, at := range a.places {
		switch {
		case at < 0:
		case a.turn[i] < low || a.turn[i] > high:
			a.places[i] = -1
		default:
			a.aligned++
			first, end = min(first, i), i+1
		}
	}
	a.prologue, a.epilogue = first, len(a.places)-end
	if a.aligned == 0 {
		a.prologue, a.epilogue = len(a.places), 0
	}
}

// improve drops the places that less than a third of the repetitions have.
func (a *alignment) improve() {
	if a.repetitions < 3 {
		return
	}
	seen := make([]int, len(a.unit))
	for _, at := range a.places {
		if at >= 0 {
			seen[at]++
		}
	}
	unit, classes := a.unit[:0:0], a.unitClasses[:0:0]
	for j, n := range seen {
		if 3*n >= a.repetitions {
			unit, classes = append(unit, a.unit[j]), append(classes, a.unitClasses[j])
		}
	}
	if len(unit) >= 2 && len(unit) < len(a.unit) {
		a.unit, a.unitClasses = unit, classes
		a.align()
		a.keep()
	}
}

// rotate turns the unit so that it begins where layers do.
func (a *alignment) rotate(roles Roles) {
	first, last := -1, -1
	for i, at := range a.places {
		if at >= 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return
	}
	p := len(a.unit)
	start := a.places[first]
	excess := (a.places[last] - start + 1 + p) % p
	for k := 0; k <= excess; k++ {
		at := (start + k) % p
		if roles.border(a.unitClasses[(at+p-1)%p]) && !roles.border(a.unitClasses[at]) {
			start = at
			break
		}
	}
	a.unit = append(slices.Clone(a.unit[start:]), a.unit[:start]...)
	a.unitClasses = append(slices.Clone(a.unitClasses[start:]), a.unitClasses[:start]...)
	a.align()
	a.keep()
}
