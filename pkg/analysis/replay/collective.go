package replay

import "slices"

// meeting is a collective under way: its units, one of each GPU, which end together.
type meeting struct {
	name      int32
	members   []*unit
	first     int64 // the earliest end
	lastStart int64
	done      bool
}

// meet makes a unit part of a collective. Units of one meet where the last starts before the
// first ends, and their ends are the nearest ones.
func (e *engine) meet(u *unit, name int32) {
	var best *meeting
	for _, m := range e.pending[name] {
		if u.start < m.first && u.end > m.lastStart && !m.has(u) && (best == nil || m.apart(u) < best.apart(u)) {
			best = m
		}
	}
	if best != nil && !e.together(best, u) {
		best = nil
	}
	if best == nil {
		best = &meeting{name: name, first: u.end, lastStart: u.start}
		e.pending[name] = append(e.pending[name], best)
	}
	u.refs++
	u.meeting = best
	best.members = append(best.members, u)
	best.lastStart = max(best.lastStart, u.start)
	if best.first = min(best.first, u.end); best.first == u.end {
		e.push(end{t: u.end, order: meets, meeting: best})
	}
}

// together tells whether the units of a meeting end with another one: the ends are less far
// apart than half of the shorter of them takes.
func (e *engine) together(m *meeting, u *unit) bool {
	shortest := u.end - u.start
	for _, o := range m.members {
		shortest = min(shortest, o.end-o.start)
	}
	return m.apart(u) <= max(shortest/2, jitter)
}

// apart is how far a unit's end is from the first one of a meeting.
func (m *meeting) apart(u *unit) int64 { return max(u.end-m.first, m.first-u.end) }

// has tells whether a meeting has a unit of the same GPU of the same process.
func (m *meeting) has(u *unit) bool {
	return slices.ContainsFunc(m.members, func(o *unit) bool {
		return o.stream.process == u.stream.process && o.stream.device == u.stream.device
	})
}

// resolve ends a collective: all end when the last has arrived and what it does since then
// is done.
func (e *engine) resolve(m *meeting) {
	m.done = true
	for s := range e.n {
		last := m.members[0].newStart[s]
		for _, u := range m.members[1:] {
			last = max(last, u.newStart[s])
		}
		for _, u := range m.members {
			u.newEnd[s] = last + scaled(u.end-m.lastStart, u.factor[s])
		}
	}
	for _, u := range m.members {
		u.meeting = nil
		e.ended(u)
		e.drop(u)
	}
	all := e.pending[m.name]
	k := slices.Index(all, m)
	e.pending[m.name] = slices.Delete(all, k, k+1)
}
