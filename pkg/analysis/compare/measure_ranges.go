package compare

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/collective"
	spans "github.com/hostbound/hostbound/pkg/stat"
)

const (
	never = spans.Never
	none  = spans.None
)

// gpu is a device of the rank.
type gpu struct {
	device int32
	closed int64         // ns of GPU activity in closed spans
	busy   spans.Growing // open span of GPU activity
	any    spans.Growing // the same, including copies and fills

	log *collective.Log
}

// open is a range that has not ended. Times are in ns.
type open struct {
	start, end int64
	thread     int64
	step       int32 // noStep: it started outside steps
	name       int32
	hidden     int64 // busy time before its start, over all GPUs
	covered    int64 // the union of the ranges nested in it, up to front
	front      int64
	nested     bool // it lies inside all ranges of its thread that were open when it began
}

// opens are the open ranges of a rank: by end, the earliest last, and as a stack per
// thread, by start.
type opens struct {
	ends    []*open
	threads map[int64][]*open
	free    *open // the one that was closed last, for reuse
}

// next returns the end of the range that ends first, never if there is none.
func (o *opens) next() int64 {
	if len(o.ends) == 0 {
		return never
	}
	return o.ends[len(o.ends)-1].end
}

// push opens a range. All ranges that ended before its start must have been closed.
func (o *opens) push(r open) {
	stack := o.threads[r.thread]
	r.nested, r.front = true, none
	for _, outer := range slices.Backward(stack) {
		if outer.end < r.end {
			r.nested = false
			continue
		}
		outer.covered += max(0, r.end-max(r.start, outer.front))
		outer.front = max(outer.front, r.end)
		// Fast path: the ranges below contain outer, which covers r there.
		if outer.nested {
			break
		}
	}
	one := o.free
	if o.free = nil; one == nil {
		one = new(open)
	}
	*one = r
	o.threads[r.thread] = append(stack, one)
	at, _ := slices.BinarySearchFunc(o.ends, r.end, func(x *open, end int64) int { return cmp.Compare(end, x.end) })
	o.ends = slices.Insert(o.ends, at, one)
}

// pop closes the range that ends first. The result is valid until the next push.
func (o *opens) pop() *open {
	last := len(o.ends) - 1
	o.free, o.ends = o.ends[last], o.ends[:last]
	stack := o.threads[o.free.thread]
	at := len(stack) - 1
	for stack[at] != o.free {
		at--
	}
	o.threads[o.free.thread] = slices.Delete(stack, at, at+1)
	return o.free
}
