package replay

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Which waits bring tokens back is known only by what they wait for. A wait is for a copy to the
// host where that is the last that had been launched of what it waits for. Of the waits for one
// copy the first is how tokens come back, or one that comes after more was launched: who launches
// the next step before it has not needed them. Where none of that is known it is the last wait of
// each step; a run that trains, and one without steps, has none.

// What tokens come back by, the surest first.
const (
	sampledCopy = iota // copies to the host that follow kernels that sample
	anyCopy            // any copy to the host
	sampling           // kernels that sample, where nothing is copied
	tokenWays
)

// waitKey is a wait: the rank of its thread, and its start.
type waitKey struct {
	rank  int32
	start int64
}

// tokenWaits are the waits for tokens in each of these ways.
type tokenWaits struct {
	of     [tokenWays]map[waitKey]int64 // by rank and start of the launch: the start of the wait
	starts map[int32][]int64            // by rank: of all waits, in order
}

// newTokenWaits returns none.
func newTokenWaits() *tokenWaits {
	t := &tokenWaits{starts: map[int32][]int64{}}
	for way := range t.of {
		t.of[way] = map[waitKey]int64{}
	}
	return t
}

// add notes a wait of a rank for what a call launched; its thread launched last at a time.
func (t *tokenWaits) add(of *launch, rank int32, start, launched int64) {
	t.starts[rank] = append(t.starts[rank], start)
	for way := range t.of {
		k := waitKey{rank, of.start}
		if first, ok := t.of[way][k]; of.ways>>way&1 != 0 && (!ok || launched >= first) {
			t.of[way][k] = start
		}
	}
}

// known returns the waits by which tokens come back.
func (t *tokenWaits) known(of *Trace) map[waitKey]bool {
	if of.header.Workload() != "" {
		return nil
	}
	for way := range t.of {
		if !stat.MostOf(len(t.of[way]), max(1, len(of.steps))) {
			continue
		}
		is := map[waitKey]bool{}
		for k, start := range t.of[way] {
			is[waitKey{k.rank, start}] = true
		}
		return is
	}
	return t.lastOfSteps(of)
}

// lastOfSteps are the last waits of each step.
func (t *tokenWaits) lastOfSteps(of *Trace) map[waitKey]bool {
	all := map[waitKey]bool{}
	for k, r := range of.ranks {
		if r == nil {
			continue
		}
		rank := of.processes[k]
		starts := t.starts[rank]
		for _, s := range r.Steps.Between(0, r.Steps.Len()) {
			n, _ := slices.BinarySearch(starts, s.Until)
			if n > 0 && starts[n-1] >= s.Start {
				all[waitKey{rank, starts[n-1]}] = true
			}
		}
	}
	return all
}

// bringsTokens reports whether a wait is one that tokens come back by.
func (w *waits) bringsTokens(o *openRow) bool { return w.tokens[waitKey{o.thread.rank, o.start}] }

// waitsFor returns the call that launched last of what a call waits for, nil for none.
func (w *waits) waitsFor(o *openRow) *launch {
	q, p, flags := &o.thread.queue, o.thread.process, w.hosts.t.names.all[o.name].flags
	if o.copied != nil {
		l, _, _ := q.find(o.start, w.n)
		return l
	}
	if o.class != event.APISync && o.queries < 2 {
		return nil
	}
	before := o.start
	switch {
	case o.queries > 1:
		before = o.row.end
	case flags&isEventSync != 0:
		if r := p.record(o.start, w.age[o.thread.number]); r != nil {
			before = r.t
		}
	}
	for k := len(q.list) - 1; k >= 0; k-- {
		l := &q.list[k]
		if l.start >= before || l.unit == nil || o.stream >= 0 && flags&isStreamSync != 0 && l.unit != &w.gpu.streams[o.stream] {
			continue
		}
		if l.unitEnd > o.row.end+jitter {
			return nil
		}
		return l
	}
	return nil
}

// runs notes what a call has launched.
func (l *launch) runs(u *unit) {
	if l.unit == nil || u.end > l.unitEnd {
		l.unitEnd = u.end
	}
	l.unit = u.stream
	for way, is := range [tokenWays]bool{u.token, u.toHost, u.samples} {
		if is {
			l.ways |= 1 << way
		}
	}
}
