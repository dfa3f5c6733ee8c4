package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// eager tells by graph whether the period of a step holds a whole forward pass
// that no replay ran, besides what every period holds: inputs, logits, sampling.
type eager struct {
	// kernels is how many no replay ran, in the period of the open step so far. Elementwise
	// ones do not count: code that is compiled launches them by the thousand.
	kernels int32
	forward int32 // how many of them make a forward pass, 0: not known
	steps   int   // steps so far whose periods hold one
}

// How many periods there must be to know what is usual, and how many kernels a
// forward pass has at least.
const (
	minPeriods = 4
	minForward = 16
)

// learn sets how many kernels make a forward pass, from how many lie between two
// replays: far more than in the periods that have few, or than in most where these have
// about as many, such as those of a draft. Where the rule was learned of other replays
// each step is taken to have as many of them as most had there.
func (e *eager) learn(between []int32, u *rule) {
	if len(between) < minPeriods { // or steps are not made of replays
		return
	}
	begins := u.at
	if len(begins) == 0 {
		per := 1
		if !u.single {
			per = int(max(1, u.usual))
		}
		for i := 0; i <= len(between); i += per {
			begins = append(begins, int32(i))
		}
	}
	var periods []int32
	for i := 1; i < len(begins); i++ {
		n := int32(0)
		for _, k := range between[begins[i-1]:begins[i]] {
			n += k
		}
		periods = append(periods, n)
	}
	if len(periods) < minPeriods {
		return
	}
	slices.Sort(periods)
	low, high := periods[len(periods)/4], periods[3*len(periods)/4]
	e.forward = minForward + min(2*low, high+2*(high-low)+minForward)
}

// isForward says whether the period of the open step holds such a forward pass.
func (e *eager) isForward() bool { return e.forward > 0 && e.kernels >= e.forward }

// mark gives a step row whose period holds such a forward pass the class launch.
func (e *eager) mark(b *event.Batch, row int) {
	if !e.isForward() {
		return
	}
	e.steps++
	if b.Columns.Has(event.ColClass) {
		b.Class.Set(row, event.Launch)
	}
}
