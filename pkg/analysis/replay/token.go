package replay

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/stat"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Only what a wait is for shows whether it brings tokens back. A wait is for a copy to
// the host if that was the last launch among what it waits for. Of several waits for one
// copy the first counts, or a later one if more was launched before it. A thread that
// first launches the next step did not need the tokens for that. If nothing shows which
// wait it is, the last one of each step counts. Training runs and runs without steps
// have none.

// Ways in which tokens come back, the most reliable first.
const (
	sampledCopy = iota // copies to the host after kernels that sample
	anyCopy            // any copy to the host
	sampling           // kernels that sample, if nothing is copied
	tokenWays
)

// waitKey identifies a wait: the rank of its thread, and its start.
type waitKey struct {
	rank  int32
	start int64
}

// tokenWaits are the waits for tokens, by way.
type tokenWaits struct {
	of     [tokenWays]map[waitKey]int64 // by rank and start of the launch: start of the wait
	starts map[int32][]int64            // by rank: starts of all waits, in order
}

// newTokenWaits returns an empty set.
func newTokenWaits() *tokenWaits {
	t := &tokenWaits{starts: map[int32][]int64{}}
	for way := range t.of {
		t.of[way] = map[waitKey]int64{}
	}
	return t
}

// add adds a wait for what the call of launched. launched is when the waiting thread
// last launched.
func (t *tokenWaits) add(of *launch, rank int32, start, launched int64) {
	t.starts[rank] = append(t.starts[rank], start)
	for way := range t.of {
		k := waitKey{rank, of.start}
		if first, ok := t.of[way][k]; of.ways>>way&1 != 0 && (!ok || launched >= first) {
			t.of[way][k] = start
		}
	}
}

// known returns the waits that bring tokens back, nil for a training run.
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

// lastOfSteps returns the last wait of each step.
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

// bringsTokens reports whether a wait brings tokens back.
func (w *waits) bringsTokens(o *openRow) bool { return w.tokens[waitKey{o.thread.rank, o.start}] }

// waitsFor returns the last launch among what a call waits for, nil for none.
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

// runs records that a unit is the work of a call.
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
