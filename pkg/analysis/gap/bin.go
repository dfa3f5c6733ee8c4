package gap

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// scope is what windows can hold of a rank.
type scope struct {
	segment int32       // index of the segment whose step it is, or one of the following
	phase   event.Phase // of the step, noPhase where there is none
	trace   bool        // in the window of the trace
}

// What is not part of a step.
const (
	outside = -1 - iota // before the first step, after the last, or not recorded
	between             // between two segments
)

// noPhase is the phase of what is in no step.
const noPhase event.Phase = 3

// bin is what was measured in a scope; of one that no window holds it means nothing.
type bin struct {
	scope
	ns       int64 // how long it is
	messages int64 // of launching threads' waits for those of other processes, ns
	started  Counts
	eager    tallies // kernels that no replay ran, by the ranges around their launches
	calls    tallies // that wait, copy or make something; parts are those of threads that launch
	gaps     gapTally
	own      kernelTime // of kernels that the rank runs by itself
}

// merge adds what was measured in another bin.
func (b *bin) merge(o *bin, top int) {
	b.ns += o.ns
	b.messages += o.messages
	b.started.Add(&o.started)
	b.eager.merge(o.eager)
	b.calls.merge(o.calls)
	b.gaps.merge(&o.gaps, top)
	for class, ns := range o.own {
		b.own[class] += ns
	}
}

// slice is a stretch of a rank's time that belongs to one step, to the gap between
// two segments, or to nothing.
type slice struct {
	step int32 // -1: none, pending: the end of the open step will tell
	bin  int32 // where what is in it counts, by index
}

// pending is the step of slices after the latest end of the open segment so far: they are the
// step's if another one of the segment follows.
const pending = -2

// binned is what was measured, by what windows may hold of it.
type binned struct {
	slices []slice // as idle counts them
	bins   []*bin  // the first are those of no step, see binOf
	now    *bin    // of the open slice
	held   [2]bin  // what is pending, outside and inside of the trace
	across gapTally
}

// binOf returns the index of the bin of a scope, which was used lately as a rule.
func (b *binned) binOf(s scope) int32 {
	if s.segment < 0 {
		return (outside-s.segment)<<1 + int32(b2n(s.trace))
	}
	for k := len(b.bins) - 1; b.bins[k].segment >= s.segment; k-- {
		if b.bins[k].scope == s {
			return int32(k)
		}
	}
	b.bins = append(b.bins, &bin{scope: s})
	return int32(len(b.bins) - 1)
}

// settle gives what was pending since step k began to a scope.
func (r *rank) settle(k int, of scope) {
	own := int32(-1)
	if of.segment >= 0 {
		own = int32(k)
	}
	for i := len(r.slices) - 1; i >= 0 && r.slices[i].step < 0; i-- {
		if s := &r.slices[i]; s.step == pending {
			of.trace = r.bins[s.bin].trace
			*s = slice{own, r.binOf(of)}
		}
	}
	for trace := range r.held {
		of.trace = trace == 1
		r.bins[r.binOf(of)].merge(&r.held[trace], r.c.opt.Top)
		r.held[trace] = bin{gaps: r.held[trace].gaps.emptied()}
	}
	if of.segment != outside {
		r.bins[r.binOf(scope{between, noPhase, false})].gaps.merge(&r.across, r.c.opt.Top)
	}
	r.across = r.across.emptied()
}

// site is a name and the ranges around it; outside of all ranges after is the last one that no
// other was around, else -1.
type site struct{ name, path, after int32 }

// tally adds up things that happened.
type tally struct{ count, parts, ns int64 }

// tallies are those of sites.
type tallies map[site]*tally

// add adds what happened at a site.
func (t *tallies) add(at site, n tally) {
	if *t == nil {
		*t = tallies{}
	}
	r := (*t)[at]
	if r == nil {
		r = &tally{}
		(*t)[at] = r
	}
	r.count, r.parts, r.ns = r.count+n.count, r.parts+n.parts, r.ns+n.ns
}

// merge adds those of another.
func (t *tallies) merge(o tallies) {
	for at, n := range o {
		t.add(at, *n)
	}
}

// addKernel observes a kernel.
func (r *rank) addKernel(a *activity) {
	r.now.started.Kernels++
	if a.Replayed {
		r.now.started.Replayed++
	}
	if a.Replayed || !r.counting() {
		return
	}
	path := int32(-1)
	if a.launch != nil {
		path = a.launch.path
	}
	r.c.kernels.of(a.Name).class = a.class
	r.now.eager.add(site{a.Name, path, -1}, tally{count: 1, ns: a.End - a.Start})
}
