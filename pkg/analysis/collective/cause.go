package collective

// resolver finds the causes of waits. Meetings must come in the order of their ends.
type resolver struct {
	lanes []resolved // by lane
}

// resolved is what a lane has done so far.
type resolved struct {
	parts  partCursor
	firsts []first
	owned  int64       // ns of own kernels until it left its last collective
	since  []sinceLast // by group
}

// sinceLast is what a lane has done since it left its last collective of a group.
type sinceLast struct {
	member bool
	did    account
	owned  int64 // ns of own kernels until then

	turns bool
	last  []Part // of a group by turns: all that it has done since, in order of time
}

func newResolver(m *Match) *resolver {
	r := &resolver{lanes: make([]resolved, len(m.Lanes))}
	for k := range r.lanes {
		log := m.Lanes[k].Log
		r.lanes[k] = resolved{parts: partCursor{reader: log.parts.Read()}, since: make([]sinceLast, len(m.Groups))}
		if !m.Lanes[k].Stepless {
			r.lanes[k].firsts = log.firsts
		}
	}
	for g := range m.Groups {
		for _, k := range m.Groups[g].Lanes {
			r.lanes[k].since[g].member, r.lanes[k].since[g].turns = true, m.Groups[g].turns
		}
	}
	return r
}

// read reads what a lane did before the collective with a number.
func (r *resolved) read(index int64) {
	for len(r.firsts) > 0 && r.firsts[0].n <= index { // what was before the segment explains nothing in it
		r.parts.upTo(2*r.firsts[0].n-1, func(Part) {})
		for g := range r.since {
			r.since[g].leave(r.firsts[0].own)
		}
		r.owned = r.firsts[0].own
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
		if r.since[g].turns {
			r.since[g].last = append(r.since[g].last, p)
		}
	}
}

// works adds ns of own kernels or of a transfer. They are a cause only for lanes that it sends to.
func (r *resolved) works(ns int64) {
	for g := range r.since {
		if r.since[g].turns && ns > 0 {
			r.since[g].last = append(r.since[g].last, Part{Sender, ns})
		}
	}
}

// leave begins anew: the lane leaves a collective of the group, after owned ns of own kernels.
func (s *sinceLast) leave(owned int64) {
	s.did.clear()
	s.owned, s.last = owned, s.last[:0]
}

// meeting finds the causes of the waits of a meeting.
func (r *resolver) meeting(ev *Meeting) {
	for i := range ev.Members {
		w := &ev.Members[i]
		w.Parts = w.Parts[:0] // of the viewer before
		lane := &r.lanes[w.Lane]
		lane.read(w.index)
		lane.works(w.own - lane.owned)
	}
	r.causes(ev)
	for i := range ev.Members {
		w := &ev.Members[i]
		lane := &r.lanes[w.Lane]
		for _, p := range w.Parts {
			lane.add(p)
		}
		lane.works(w.End - w.Start - w.Wait)
		lane.since[ev.Group].leave(w.owned)
		lane.owned = w.owned
	}
}

// causes divides the waits of a meeting.
func (r *resolver) causes(ev *Meeting) {
	own := func(w *Member) int64 { return max(0, w.own-r.lanes[w.Lane].since[ev.Group].owned) }
	late := &ev.Members[ev.Late]
	since, ownLate := &r.lanes[late.Lane].since[ev.Group], own(late)
	for i := range ev.Members {
		w := &ev.Members[i]
		switch {
		case w.Wait == 0:
		case ev.Estimated:
			w.Parts = append(w.Parts, Part{Unknown, w.Wait})
		default:
			imbalance := min(w.Wait, max(0, ownLate-own(w)))
			if since.turns {
				w.Parts = lately(w.Parts, since.last, w.Wait-imbalance, imbalance)
			} else {
				w.Parts = since.did.split(w.Parts, w.Wait-imbalance)
			}
			if imbalance > 0 {
				w.Parts = addPart(w.Parts, Part{Imbalance, imbalance})
			}
		}
	}
}

// lately adds to parts what a lane did in ns of time before it came, not counting the last skip ns.
// What it did not do is Unknown.
func lately(parts, did []Part, ns, skip int64) []Part {
	for i := len(did) - 1; i >= 0 && ns > 0; i-- {
		p := did[i]
		p.Ns -= min(p.Ns, skip)
		skip -= did[i].Ns - p.Ns
		if p.Ns = min(p.Ns, ns); p.Ns > 0 {
			parts, ns = addPart(parts, p), ns-p.Ns
		}
	}
	if ns > 0 {
		parts = addPart(parts, Part{Unknown, ns})
	}
	return parts
}

// addPart adds a part to the parts of a wait, which are in the order of their keys.
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
