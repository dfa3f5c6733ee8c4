package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/thread"
)

// callStates are the states of a thread in calls of each class.
var callStates = func() (states [32]thread.State) {
	for i := range states {
		states[i] = thread.API
	}
	states[event.Launch], states[event.GraphLaunch] = thread.Launch, thread.Launch
	states[event.APISync] = thread.Sync
	states[event.Memop] = thread.Memop
	states[event.Alloc] = thread.Alloc
	return states
}()

// takeCall takes an API call.
func (r *rank) takeCall(b *event.Batch, i int, t, e int64) {
	class := event.Other
	if v, ok := b.Class.Get(i); ok {
		class = v
	}
	switch class {
	case event.Launch:
		r.now.launches++
	case event.GraphLaunch:
		r.now.calls++
	}
	id, ok := b.Thread.Get(i)
	if !ok {
		return
	}
	h := r.hostThread(id, t)
	state := callStates[class&31]
	h.Call(t, e, state, state)
	h.Advance(t) // also where the call is empty
	switch class {
	case event.Launch, event.GraphLaunch:
		h.launches = true
		path := h.Path()
		if c, ok := b.Correlation.Get(i); ok && c >= 0 {
			r.ring.add(c, t, path, r.c.kernels.id(b.Name.Get(i)))
		}
		if h.chain > 0 {
			r.endChain(h, t, path)
		}
	case event.APISync, event.Memop, event.Alloc:
		if g := r.group(b, i); g != nil {
			path := h.Path()
			g.call(class, r.c.kernels.id(b.Name.Get(i)), path, e-t)
		}
	}
}

// takeRange takes an NVTX range.
func (r *rank) takeRange(b *event.Batch, i int, t, e int64) {
	id, ok := b.Thread.Get(i)
	if !ok {
		return
	}
	class := event.Range
	if v, ok := b.Class.Get(i); ok {
		class = v
	}
	h := r.hostThread(id, t)
	name := r.c.ranges.id(b.Name.Get(i))
	flags := r.c.ranges.list[name].flags
	if class == event.StepMarker {
		r.c.ranges.list[name].flags |= marksStep
	}
	switch {
	case class == event.GIL && flags&waitsGIL != 0:
		h.Wait(t, e)
		return
	case class == event.GIL:
		h.Hold(t, e)
		return
	case class == event.GC:
		h.Collect(t, e)
		return
	}
	h.Advance(t)
	h.Range(t, e, r.c.paths.Child(h.Path(), name))
	if flags&viewOp != 0 {
		if h.chain == 0 {
			h.chainAt = t
		}
		h.chain++
	}
}

// minChain is how many view operations before a launch are a chain.
const minChain = 3

// endChain takes a launch at t after view operations.
func (r *rank) endChain(h *hostThread, t int64, path int32) {
	if h.chain >= minChain {
		if g := r.openGroup(); g != nil {
			g.chain(r.outerPath(path), h.chain, t-h.chainAt)
		}
	}
	h.chain = 0
}

// outerPath cuts PyTorch's own operations off the end of a path.
func (r *rank) outerPath(path int32) int32 {
	for path >= 0 && strings.HasPrefix(r.c.ranges.text(r.c.paths.Name(path)), "aten::") {
		path = r.c.paths.Parent(path)
	}
	return path
}
