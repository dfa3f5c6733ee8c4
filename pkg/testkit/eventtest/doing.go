package eventtest

import "github.com/hostbound/hostbound/pkg/trace/event"

// What follows is the reference implementation for idle causes: their definition (package
// idle), applied to one instant at a time, however slow that is.

// Around returns the activities of a GPU before and after an idle instant, nil if there
// is none. gpu is sorted. busy reports that an activity is running.
func Around(gpu []*Row, t int64) (before, next *Row, busy bool) {
	for _, r := range gpu {
		switch {
		case r.Start <= t && t < r.End:
			return nil, nil, true
		case r.End <= t && (before == nil || r.End >= before.End):
			before = r
		case r.Start > t && next == nil:
			next = r
		}
	}
	return before, next, false
}

// OneReplay reports whether two activities belong to the same graph replay; the first may
// be nil.
func OneReplay(a, b *Row) bool {
	replayed := func(r *Row) bool { return r.GraphNode >= 0 || r.Kind == event.Graph }
	return a != nil && replayed(a) && replayed(b) && a.Correlation == b.Correlation
}

// Doing returns what a thread does at t: a cause, or "host" for a range. by is the call
// or range that shows it, nil if none does.
func Doing(rows []Row, thread, t int64) (cause string, by *Row) {
	var call, named *Row
	wait, hold, gc := false, false, false
	for i := range rows {
		r := &rows[i]
		if r.Thread != thread || t < r.Start || t >= r.End {
			continue
		}
		switch {
		case r.Kind == event.API:
			if call == nil || r.within(call) && (r.Start > call.Start || r.End < call.End || rank(r) <= rank(call)) {
				call = r
			}
		case r.Kind != event.NVTX: // a call of the operating system
		case r.Class == event.GIL:
			wait = wait || r.Name == "Waiting for GIL"
			hold = hold || r.Name == "Holding GIL"
		case r.Class == event.GC:
			gc = true
		case named == nil || r.within(named):
			named = r
		}
	}
	switch {
	case call != nil:
		return causes[rank(call)], call
	case wait && !hold:
		return "gil", nil
	case gc:
		return "gc", nil
	case named != nil:
		return "host", named
	}
	return "untraced", nil
}

// within reports whether r, which is open at the same time as o, is nested in it: it
// began later, or with it and ended no later.
func (r *Row) within(o *Row) bool { return r.Start > o.Start || r.Start == o.Start && r.End <= o.End }

// causes are the causes of calls, highest precedence first.
var causes = []string{"launch", "sync", "memop", "alloc", "api"}

// rank returns the index of a call's cause in causes.
func rank(call *Row) int {
	switch call.Class {
	case event.Launch, event.GraphLaunch:
		return 0
	case event.APISync:
		return 1
	case event.Memop:
		return 2
	case event.Alloc:
		return 3
	}
	return 4
}
