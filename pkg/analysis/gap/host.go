package gap

import (
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// addCall observes an API call. Calls without a thread count only in totals. Launches are
// kept in the ring, by correlation, for the kernels to come.
func (r *rank) addCall(b *event.Batch, i int) {
	h := r.idle.Call(b, i)
	switch h.Class {
	case event.Launch:
		r.now.started.KernelLaunches++
	case event.GraphLaunch:
		r.now.started.GraphLaunches++
	}
	if h.Thread < 0 {
		return
	}
	of := r.thread(h.Thread)
	of.called = max(of.called, b.End.Values[i])
	effect, launch := r.c.kernels.of(h.Name).effect, h.Class == event.Launch || h.Class == event.GraphLaunch
	one := tally{count: 1, ns: b.End.Values[i] - b.Start.Values[i]}
	switch {
	case launch:
		of.launches = true
	case h.Class == event.Memop && one.ns < blocking && effect&cudaname.Blocks == 0: // it is only queued
		return
	case h.Class != event.APISync && h.Class != event.Memop && h.Class != event.Alloc && effect&(cudaname.Polls|cudaname.LoadsCode) == 0:
		return
	}
	if c, ok := b.Correlation.Get(i); ok && c >= 0 && (launch || h.Class == event.Memop) {
		r.calling.ring.add(c, b.Start.Values[i], h.Path, h.Name)
	}
	if h.Class != event.Launch && r.counting() {
		at := site{h.Name, h.Path, -1}
		if one.parts = int64(b2n(of.launches)); h.Path < 0 {
			at.after = of.outer - 1
		}
		r.now.calls.add(at, one)
	}
}

// blocking, 20 us: an asynchronous copy that takes this long blocks. Queuing one takes 3 to
// 10 us (testdata/h100).
const blocking = 20_000

// addRange observes an NVTX range.
func (r *rank) addRange(b *event.Batch, i int) {
	h := r.idle.Range(b, i)
	if r.c.canFollow && h.Thread >= 0 && r.c.ranges.of(h.Name).fetches {
		of := r.thread(h.Thread)
		if of.Fetches(b.End.Values[i]); of.launches {
			r.waits[step.Following].Add(b.Start.Values[i], b.End.Values[i])
		}
	}
	if h.Path < 0 && h.Thread >= 0 && h.Class != event.GIL && h.Class != event.GC {
		r.thread(h.Thread).outer = h.Name + 1
	}
	if h.Class == event.StepMarker {
		r.c.ranges.of(h.Name).marker = true
	}
}
