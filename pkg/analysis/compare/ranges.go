package compare

import (
	"container/heap"
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

// opens are the open ranges of a rank: a heap by their ends, and a stack for each
// thread, in the order of their start.
type opens struct {
	ends    ends
	threads map[int64][]*open
	free    *open // the one that was closed last
}

// ends is a heap of ranges, the earliest end first.
type ends []*open

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].end < h[j].end }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(*open)) }
func (h *ends) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	*h = (*h)[:last]
	return o
}

// next is the end of the range that ends first.
func (o *opens) next() int64 {
	if len(o.ends) == 0 {
		return never
	}
	return o.ends[0].end
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
	heap.Push(&o.ends, one)
}

// pop closes the range that ends first. It is valid until the next push.
func (o *opens) pop() *open {
	o.free = heap.Pop(&o.ends).(*open)
	stack := o.threads[o.free.thread]
	at := len(stack) - 1
	for stack[at] != o.free {
		at--
	}
	o.threads[o.free.thread] = slices.Delete(stack, at, at+1)
	return o.free
}
