package idle

import (
	"sort"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Evidence is a stack that a host thread was in while a GPU was idle because of it. The stack
// is that of a call, with exact times, or of a sample at one instant.
type Evidence struct {
	Slice  int         // as Cut returned it
	Key    Key         // divided by why, not by who holds the interpreter lock
	Stack  int32       // index into event.Header.Stacks, -1 for none
	Family event.Class // function family of the stack
	Python bool        // the stack is one of Python functions
	At     int64       // when it began, ns
	Ns     int64       // idle time in it; 0 for a sample
	// From and To, of a sample, are the part of the gap in which the thread was in the state
	// of Key, in ns.
	From, To int64
	GPUs     int64 // number of idle GPUs; 0 here, the caller may count them

	until int64 // the end of the gap
}

// stackAt is a stack of a thread: of a call from start to end, or a sample at start.
type stackAt struct {
	start, end int64
	stack      int32
	family     event.Class
	python     bool
}

// stackList holds stacks of a thread. room is how many there may be before some are dropped.
// Before lost, stacks may be missing.
type stackList struct {
	at   []stackAt
	room int
	lost int64
}

// few is how many stacks of a thread are kept before those that precede all open gaps are
// dropped.
var few = 1 << 13 // changed by tests only

// maxStacksAt is how many samples, and how many stacks of calls, of a thread are kept for
// gaps that are still open. maxCalls is how many stacks of calls are searched for an open
// one.
const (
	maxStacksAt = 1 << 16
	maxCalls    = 64
)

// Stack observes row i, a sample or the stack of a call. Without the option Stacks samples are
// ignored, and without Why stacks of calls, too.
func (r *Rank) Stack(b *event.Batch, i int) {
	id, ok := b.Thread.Get(i)
	if !ok || !r.opt.Stacks && (!r.opt.Why || b.Kind.Values[i] != event.Backtrace) {
		return
	}
	s := stackAt{start: b.Start.Values[i], end: b.End.Values[i], stack: -1, family: event.Other}
	r.last = s.start
	if b.Columns.Has(event.ColStack) {
		if stack, ok := b.Stack.Get(i); ok {
			s.stack = stack
		}
	}
	if class, ok := b.Class.Get(i); ok {
		s.family = class
	}
	h := r.hostThread(id, s.start)
	list := &h.samples
	if b.Kind.Values[i] == event.Backtrace {
		list = &h.called
	}
	s.python = b.Kind.Values[i] == event.Sample && string(b.Name.Get(i)) == event.PythonSample
	if list.at = append(list.at, s); len(list.at) >= max(few, list.room) {
		list.keep(r.reach())
	}
}

// keep drops the stacks that end before from, and all but the last maxStacksAt/2.
func (l *stackList) keep(from int64) {
	kept := l.at[:0]
	for i, s := range l.at {
		switch {
		case s.end < from:
		case i < len(l.at)-maxStacksAt/2:
			l.lost = s.start + 1
		default:
			kept = append(kept, s)
		}
	}
	l.at, l.room = kept, min(2*len(kept), maxStacksAt)
}

// collect collects the stacks of a thread in the part of a gap between from and to. The thread
// was then in the state of key, whose cause and why are given.
func (l *ledger) collect(h *hostThread, from, to int64, key Key, cause Cause, why Why, g gapOf) {
	if !l.opt.Stacks || len(h.samples.at)+len(h.called.at) == 0 {
		return
	}
	if why.InCall() || cause.InCall() {
		h.eachCalled(from, to, func(from, to int64, s *stackAt) { l.inStack(from, to, s, key, g) })
	}
	from = max(from, min(h.samples.lost, to)) // earlier samples were dropped, which is no pause of the sampler
	k, drawn := sort.Search(len(h.samples.at), func(i int) bool { return h.samples.at[i].start >= from }), 0
	for ; k < len(h.samples.at) && h.samples.at[k].start < to; k++ {
		s := &h.samples.at[k]
		switch {
		case s.python:
		case !why.OnCPU():
			continue
		default:
			drawn++
		}
		slice := l.sliceAt(s.start)
		if l.slices[slice].kept {
			l.evidence = append(l.evidence, Evidence{slice, key, s.stack, s.family, s.python, s.start, 0, from, to, 0, g.until})
		}
	}
	if why.OnCPU() && len(h.samples.at) > 0 && from < to {
		for int(key) >= len(l.drawn) {
			l.drawn = append(l.drawn, make([]stat.Counts, max(64, len(l.drawn)))...)
		}
		l.drawn[key].Add(drawn, to-from)
	}
}

// Drawn returns how many CPU samples the parts of gaps with a key have. The key must be
// divided by why.
func (l *ledger) Drawn(key Key) stat.Counts {
	if int(key) >= len(l.drawn) {
		return stat.Counts{}
	}
	return l.drawn[key]
}

// eachCalled calls f with the stacks of calls between from and to, in order of time. At each
// instant, it is the stack of the open call that began last.
func (h *hostThread) eachCalled(from, to int64, f func(from, to int64, s *stackAt)) {
	k := sort.Search(len(h.called.at), func(i int) bool { return h.called.at[i].start > from })
	first := max(0, k-maxCalls)
	for from < to {
		end := to
		if k < len(h.called.at) {
			end = min(end, h.called.at[k].start)
		}
		var open *stackAt
		for i := k - 1; i >= first && open == nil; i-- {
			if h.called.at[i].end > from {
				open = &h.called.at[i]
			}
		}
		if open != nil {
			end = min(end, open.end)
			f(from, end, open)
		}
		from = end
		for k < len(h.called.at) && h.called.at[k].start <= from {
			k++
		}
	}
}

// inStack adds the time in a stack between from and to, slice by slice.
func (l *ledger) inStack(from, to int64, s *stackAt, key Key, g gapOf) {
	for k := l.sliceAt(from); from < to; k++ {
		_, end := l.Bounds(k)
		end = min(end, to)
		if l.slices[k].kept && from < end {
			l.evidence = append(l.evidence, Evidence{k, key, s.stack, s.family, false, from, end - from, 0, 0, 0, g.until})
		}
		from = max(from, end)
	}
}

// EachEvidence calls f with the stacks found in gaps that end before windowEnd, in the order
// of gaps. f may change the Evidence.
func (l *ledger) EachEvidence(windowEnd int64, f func(*Evidence)) {
	for i := range l.evidence {
		if e := &l.evidence[i]; e.until < windowEnd {
			f(e)
		}
	}
}
