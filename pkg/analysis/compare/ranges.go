package compare

import (
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

// add adds the span [t, e). Spans come in the order of their start.
func (d *gpu) add(t, e int64) { d.closed += d.busy.Add(t, e) }

// until is the busy time before t, which is not before the last span's start.
func (d *gpu) until(t int64) int64 { return d.closed + d.busy.Until(t) }

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

// cover takes a range nested in this one.
func (o *open) cover(t, e int64) {
	o.covered += max(0, e-max(t, o.front))
	o.front = max(o.front, e)
}

// opens are the open ranges of a rank: a heap by their ends, and a stack for each
// thread.
type opens struct {
	all     []open  // closed ones too, whose places are free
	free    []int32 // indices of all
	heap    []int32 // indices of all, the earliest end first
	threads []thread
	last    int // index of the thread before
}

type thread struct {
	id    int64
	stack []int32 // indices of all, in the order of their start
}

// next is the end of the range that ends first.
func (o *opens) next() int64 {
	if len(o.heap) == 0 {
		return never
	}
	return o.all[o.heap[0]].end
}

// thread returns the thread of that id.
func (o *opens) thread(id int64) *thread {
	if o.last < len(o.threads) && o.threads[o.last].id == id {
		return &o.threads[o.last]
	}
	for o.last = 0; o.last < len(o.threads); o.last++ {
		if o.threads[o.last].id == id {
			return &o.threads[o.last]
		}
	}
	o.threads = append(o.threads, thread{id: id})
	return &o.threads[o.last]
}

// push opens a range. All ranges that ended before its start are closed.
func (o *opens) push(r open) {
	t := o.thread(r.thread)
	r.nested, r.front = true, none
	for k := len(t.stack) - 1; k >= 0; k-- {
		outer := &o.all[t.stack[k]]
		if outer.end < r.end {
			r.nested = false
			continue
		}
		outer.cover(r.start, r.end)
		// Fast path: what is below is around outer, which has covered r there.
		if outer.nested {
			break
		}
	}
	index := int32(len(o.all))
	if n := len(o.free); n > 0 {
		index, o.free = o.free[n-1], o.free[:n-1]
		o.all[index] = r
	} else {
		o.all = append(o.all, r)
	}
	t.stack = append(t.stack, index)
	o.heap = append(o.heap, index)
	o.up(len(o.heap) - 1)
}

// pop closes the range that ends first. It is valid until the next push.
func (o *opens) pop() *open {
	index := o.heap[0]
	last := len(o.heap) - 1
	o.heap[0] = o.heap[last]
	o.heap = o.heap[:last]
	o.down(0)
	r := &o.all[index]
	t := o.thread(r.thread)
	for k := len(t.stack) - 1; k >= 0; k-- {
		if t.stack[k] == index {
			t.stack = append(t.stack[:k], t.stack[k+1:]...)
			break
		}
	}
	o.free = append(o.free, index)
	return r
}

// up and down restore the heap where one of its ranges was added or replaced.
func (o *opens) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if o.all[o.heap[p]].end <= o.all[o.heap[i]].end {
			return
		}
		o.heap[p], o.heap[i] = o.heap[i], o.heap[p]
		i = p
	}
}

// down restores the order of the heap below i: the range that ends first is at the top.
// container/heap would call through an interface for each range of a trace.
func (o *opens) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(o.heap) {
			return
		}
		if c+1 < len(o.heap) && o.all[o.heap[c+1]].end < o.all[o.heap[c]].end {
			c++
		}
		if o.all[o.heap[i]].end <= o.all[o.heap[c]].end {
			return
		}
		o.heap[i], o.heap[c] = o.heap[c], o.heap[i]
		i = c
	}
}
