package gap

import (
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/idle"
	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// addCall observes an API call. Calls without a thread count in totals only.
//
// A launch ends the chain of operations that its thread has been at since the launch before,
// and stays in the ring until its kernel comes, by correlation. A call that waits or moves
// memory is kept as what its thread was blocked in, too; outside of all ranges it is counted
// a second time, under the range that the thread left last: what a wait comes after is often
// what it belongs to.
func (r *rank) addCall(b *event.Batch, i int) {
	h := r.idle.Call(b, i)
	f := r.openFact()
	switch h.Class {
	case event.Launch:
		r.now.KernelLaunches++
		if f != nil {
			f.launches++
		}
	case event.GraphLaunch:
		r.now.GraphLaunches++
		if f != nil {
			f.graphs++
		}
	}
	if h.Thread < 0 {
		return
	}
	r.addPoll(h, b, i)
	switch h.Class {
	case event.Launch, event.GraphLaunch:
		start := b.Start.Values[i]
		if c, ok := b.Correlation.Get(i); ok && c >= 0 {
			r.ring.add(c, start, h.Path, h.Name)
		}
		c := r.chain(h.Thread)
		c.launches = true
		if c.ops > 0 {
			r.endChain(c, start, h.Path)
		}
	case event.APISync, event.Memop, event.Alloc:
		if h.Class != event.Alloc {
			r.addBlocked(h, b.Thread.Values[i], b.Start.Values[i], b.End.Values[i])
		}
		if g := r.group(b, i); g != nil {
			one := tally{1, r.launcher(h.Thread), b.End.Values[i] - b.Start.Values[i], on(h.Thread)}
			tallied(&g.calls, site{h.Name, h.Path}, one)
			if h.Class == event.Memop && us(one.ns) >= blockingUs {
				tallied(&g.blocks, site{h.Name, h.Path}, one)
			}
			if h.Path < 0 && h.Class != event.Alloc {
				tallied(&g.after, site{h.Name, r.chain(h.Thread).outer - 1}, tally{count: 1})
			}
		}
	}
	if h.Class >= event.Alloc || h.Class == event.Other {
		r.addLoad(h.Name, b.End.Values[i]-b.Start.Values[i])
	}
}

// addLoad observes a call, which may load code.
func (r *rank) addLoad(name int32, ns int64) {
	if r.c.kernels.of(name).effect&cudaname.LoadsCode == 0 {
		return
	}
	if f := r.openFact(); f != nil {
		f.loads++
		f.loadNs += ns
	}
}

// addRange observes an NVTX range.
func (r *rank) addRange(b *event.Batch, i int) {
	h := r.idle.Range(b, i)
	if r.c.canFollow && h.Thread >= 0 && r.c.ranges.fetches(h.Name) {
		r.followOf(h.Thread).fetch(b.Start.Values[i], b.End.Values[i])
	}
	known := r.c.ranges.of(h.Name)
	if h.Class == event.StepMarker {
		known.marker = true
	}
	if h.Path < 0 && isNamed(h) {
		r.chain(h.Thread).outer = h.Name + 1
	}
	if known.view && isNamed(h) {
		c := r.chain(h.Thread)
		if c.ops == 0 {
			c.start = b.Start.Values[i]
		}
		c.ops++
	}
}

// isNamed tells whether a range stands for what its name says: neither for the
// interpreter lock nor for the garbage collector.
func isNamed(h idle.HostRow) bool {
	return h.Thread >= 0 && h.Class != event.GIL && h.Class != event.GC
}

// minChain is how many view operations before a launch are a chain.
const minChain = 3

// viewChain is the view operations of a thread since its last launch, and whether it launches.
type viewChain struct {
	ops   int64
	start int64 // of the first of them
	outer int32 // the thread's last range that no other is around, plus 1

	launches bool // the thread has launched something
}

// launcher is 1 for a thread that has launched something, for counting.
func (r *rank) launcher(thread int) int64 {
	if r.chain(thread).launches {
		return 1
	}
	return 0
}

// chain returns the chain of a thread.
func (r *rank) chain(thread int) *viewChain {
	for thread >= len(r.chains) {
		r.chains = append(r.chains, viewChain{})
	}
	return &r.chains[thread]
}

// endChain observes a launch at t after view operations.
func (r *rank) endChain(c *viewChain, t int64, path int32) {
	if c.ops >= minChain {
		if g := r.openGroup(); g != nil {
			tallied(&g.chains, r.outerPath(path), tally{count: 1, parts: c.ops, ns: t - c.start})
		}
	}
	c.ops = 0
}

// outerPath cuts PyTorch's own operations off the end of a path.
func (r *rank) outerPath(path int32) int32 {
	for path >= 0 && strings.HasPrefix(r.c.sites.RangeText(path), "aten::") {
		path = r.c.sites.Parent(path)
	}
	return path
}
