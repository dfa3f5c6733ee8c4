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
	closed int64 // ns of its GPU activity in pieces that are done
	busy   spans.Growing
	any    spans.Growing // that, copies and fills

	log *collective.Log
}

// open is a range that has not ended.
type open struct {
	start, end int64
	thread     int64
	step       int32 // noStep: it started in none
	name       int32
	hidden     int64 // busy time before its start
	covered    int64 // the union of the ranges nested in it, up to front
	front      int64
	nested     bool // in all ranges of its thread that were open when it began
}

// opens are the open ranges of a rank: by their ends, the earliest last, and a stack for each
// thread, in the order of their start.
type opens struct {
	ends    []*open
	threads map[int64][]*open
	free    *open // the one that was closed last
}

// next is the end of the range that ends first.
func (o *opens) next() int64 {
	if len(o.ends) == 0 {
		return never
	}
	return o.ends[len(o.ends)-1].end
}

// push opens a range. All ranges that ended before its start are closed.
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
		// Fast path: what is below is around outer, which has covered r there.
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

// pop closes the range that ends first. It is valid until the next push.
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
