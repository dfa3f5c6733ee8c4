package layer

import "github.com/hostbound/hostbound/pkg/step"

// alignment is a unit, and the alignment of a step's kernels with it.
type alignment struct {
	symbols     []int32 // of the step
	classes     []int32 // of the step
	unit        []int32
	unitClasses []int32

	*step.Alignment
	single bool
	types  []LayerType // nil if the layers are unknown
	cut    int         // of a ring: index of the kernel of the step at which it begins
}

// align aligns the step with its unit.
func (a *alignment) align() { a.Alignment = step.Align(a.symbols, a.unit) }

// again aligns the step with another unit and keeps its repetitions.
func (a *alignment) again(unit, classes []int32) {
	a.unit, a.unitClasses = unit, classes
	a.align()
	a.Keep(len(unit))
}

// improve drops the places that less than a third of the repetitions have.
func (a *alignment) improve() {
	if a.Repetitions < 3 {
		return
	}
	seen := make([]int, len(a.unit))
	for _, at := range a.Places {
		if at >= 0 {
			seen[at]++
		}
	}
	unit, classes := a.unit[:0:0], a.unitClasses[:0:0]
	for j, n := range seen {
		if 3*n >= a.Repetitions {
			unit, classes = append(unit, a.unit[j]), append(classes, a.unitClasses[j])
		}
	}
	if len(unit) >= 2 && len(unit) < len(a.unit) {
		a.again(unit, classes)
	}
}

// rotate rotates the unit so that it begins where layers do.
func (a *alignment) rotate(roles Roles) {
	first, last := -1, -1
	for i, at := range a.Places {
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
	start := a.Places[first]
	excess := (a.Places[last] - start + 1 + p) % p
	for k := 0; k <= excess; k++ {
		at := (start + k) % p
		if roles.border(a.unitClasses[(at+p-1)%p]) && !roles.border(a.unitClasses[at]) {
			start = at
			break
		}
	}
	a.again(turn(a.unit, start), turn(a.unitClasses, start))
}
