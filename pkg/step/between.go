package step

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// between counts, in a rank whose steps structure tells, the kernels of the GPU from the
// first to the last collective of a step, and from there to the next step. Elementwise
// ones do not count: code that is compiled launches them by the thousand.
type between struct {
	since         int32   // the last collective
	now           int32   // from the first collective of the open step to the last so far
	within, after []int32 // of each step but the last of a segment
}

// rows counts rows i to k.
func (w *between) rows(b *event.Batch, i, k int) {
	kinds, classes := b.Kind.Values[:k], b.Class.Values[:k]
	for ; i < k; i++ {
		w.since += int32(b2n(kinds[i] == event.Kernel && classes[i] != event.Elementwise))
	}
}

// collective notes a collective, with which a step begins or not.
func (w *between) collective(begins, first bool) {
	switch {
	case first:
		w.now = 0
	case begins:
		w.within, w.after = append(w.within, w.now), append(w.after, w.since)
		w.now = 0
	default:
		w.now += w.since
	}
	w.since = 0
}

// passes returns after how many steps so many more kernels run than usual as are in most
// of them: a forward pass without such a collective.
func (w *between) passes() (n int) {
	if len(w.after) < minPeriods {
		return 0
	}
	whole, usual := median(w.within), median(w.after)
	if whole < minForward {
		return 0
	}
	for _, k := range w.after {
		n += b2n(10*(k-usual) >= 7*whole)
	}
	return n
}

// median returns the upper median of numbers, of which there are some.
func median(numbers []int32) int32 {
	sorted := slices.Clone(numbers)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
