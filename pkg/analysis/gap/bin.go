package gap

import (
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// scope is the smallest part of a rank's time that a window holds or lacks as a whole.
type scope struct {
	segment int32       // index of the segment, or outside or between
	phase   event.Phase // of the step, noPhase outside of steps
	trace   bool        // whether it lies in the trace window
}

// Values of scope.segment for time that is part of no step.
const (
	outside = -1 - iota // before the first step, after the last, or not recorded
	between             // between two segments
)

// noPhase is the phase of time that is in no step.
const noPhase event.Phase = 3

// bin holds what was measured in one scope. It is meaningless if no window holds the scope.
type bin struct {
	scope
	ns       int64 // length of the scope
	messages int64 // time that launching threads waited for messages of other processes, ns
	started  Counts
	eager    tallies // kernels that no replay ran, by the ranges around their launches
	calls    tallies // calls that wait, poll, copy, allocate, load code or launch graphs; parts are those of launching threads
	gaps     gapTally
	own      kernelTime // time of kernels other than collectives
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

// slice is a time slice of a rank. It belongs to one step, to the gap between two segments,
// or to neither.
type slice struct {
	step int32 // -1: none; pending: decided when the open step ends
	bin  int32 // index of the bin that counts what is in it
}

// pending is the step of slices after the latest known end of the open segment. They belong
// to the open step if another step of the segment follows.
const pending = -2

// binned holds the measurements of a rank by scope.
type binned struct {
	slices []slice // numbered as in package idle
	bins   []*bin  // the first four are outside of steps, see binOf
	now    *bin    // of the open slice
	held   [2]bin  // pending measurements, outside [0] and inside [1] the trace window
	across gapTally
}

// binOf returns the index of the bin of a scope, and makes the bin if there is none. It
// searches from the end, because scopes are mostly recent ones.
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

// settle assigns everything pending since step k began to a scope.
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

// site is a call or kernel with the ranges around it. Outside of all ranges, after is the
// last outermost range that ended before it; else it is -1.
type site struct{ name, path, after int32 }

// tally adds up events; ns is their total duration. pinned is how many copies are of pinned
// memory, less those of pageable memory.
type tally struct{ count, parts, ns, pinned int64 }

// add adds other events.
func (t *tally) add(n tally) {
	t.count, t.parts, t.ns, t.pinned = t.count+n.count, t.parts+n.parts, t.ns+n.ns, t.pinned+n.pinned
}

// tallies holds a tally for each site.
type tallies map[site]*tally

// add adds events at a site; t may point to a nil map.
func (t *tallies) add(at site, n tally) {
	if *t == nil {
		*t = tallies{}
	}
	if (*t)[at] == nil {
		(*t)[at] = &tally{}
	}
	(*t)[at].add(n)
}

// merge adds the tallies of o.
func (t *tallies) merge(o tallies) {
	for at, n := range o {
		t.add(at, *n)
	}
}

// addKernel counts a kernel, and tallies it by site unless a replay ran it.
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
