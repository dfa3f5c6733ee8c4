package collective

import "github.com/hostbound/hostbound/pkg/trace/spill"

// resolver says what waits are due to, of meetings in the order of their ends.
type resolver struct {
	m     *Match
	lanes []resolved // by lane
}

// resolved is what a lane did so far.
type resolved struct {
	parts  partCursor
	index  int64 // of the last collective whose idle time was read
	firsts []first
	since  []sinceLast // by group
}

// sinceLast is what a lane did since it left its last collective of a group.
type sinceLast struct {
	member bool
	did    account
	owned  int64 // own kernels until then
}

func newResolver(m *Match) *resolver {
	r := &resolver{m: m, lanes: make([]resolved, len(m.Lanes))}
	for k := range r.lanes {
		log := m.Lanes[k].Log
		r.lanes[k] = resolved{parts: partCursor{reader: log.parts.Read(spill.None)}, index: -1, since: make([]sinceLast, len(m.Groups))}
		if !m.Lanes[k].Stepless {
			r.lanes[k].firsts = log.firsts
		}
	}
	for g := range m.Groups {
		for _, k := range m.Groups[g].Lanes {
			r.lanes[k].since[g].member = true
		}
	}
	return r
}

// read reads what a lane did up to a collective.
func (r *resolved) read(index int64) {
	for len(r.firsts) > 0 && r.firsts[0].n <= index { // what was before the segment explains nothing in it
		r.parts.upTo(2*r.firsts[0].n-1, func(Part) {})
		for g := range r.since {
			r.since[g].did.clear()
			r.since[g].owned = r.firsts[0].own
		}
		r.firsts = r.firsts[1:]
	}
	r.parts.upTo(2*index, r.add)
}

// add adds a part to what the lane did since it left the last collective of each group.
func (r *resolved) add(p Part) {
	for g := range r.since {
		if r.since[g].member {
			r.since[g].did.add(p.Key, p.Ns)
		}
	}
}

// meeting finds the causes of the waits of a meeting.
func (r *resolver) meeting(ev *Meeting) {
	for i := range ev.Members {
		w := &ev.Members[i]
		w.Parts = w.Parts[:0] // of the viewer before
		r.lanes[w.Lane].read(w.index)
	}
	r.causes(ev)
	for i := range ev.Members {
		w := &ev.Members[i]
		lane := &r.lanes[w.Lane]
		since := &lane.since[ev.Group]
		since.did.clear()
		since.owned = w.owned
		for g := range lane.since {
			if g == ev.Group || !lane.since[g].member {
				continue
			}
			for _, p := range w.Parts {
				lane.since[g].did.add(p.Key, p.Ns)
			}
		}
	}
}

// causes divides the waits of a meeting.
func (r *resolver) causes(ev *Meeting) {
	own := func(w *Member) int64 { return max(0, w.own-r.lanes[w.Lane].since[ev.Group].owned) }
	late := &ev.Members[ev.Late]
	did, ownLate := &r.lanes[late.Lane].since[ev.Group].did, own(late)
	for i := range ev.Members {
		w := &ev.Members[i]
		switch {
		case w.Wait == 0:
		case ev.Estimated:
			w.Parts = append(w.Parts, Part{Unknown, w.Wait})
		default:
			imbalance := min(w.Wait, max(0, ownLate-own(w)))
			if w.Parts = did.split(w.Parts, w.Wait-imbalance); imbalance > 0 {
				w.Parts = addPart(w.Parts, Part{Imbalance, imbalance})
			}
		}
	}
}

// addPart adds a part to those of a wait, in the order of their keys.
func addPart(parts []Part, p Part) []Part {
	for i := range parts {
		if parts[i].Key == p.Key {
			parts[i].Ns += p.Ns
			return parts
		}
	}
	parts = append(parts, p)
	for i := len(parts) - 1; i > 0 && parts[i].Key < parts[i-1].Key; i-- {
		parts[i], parts[i-1] = parts[i-1], parts[i]
	}
	return parts
}
