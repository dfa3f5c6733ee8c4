package replay

import "slices"

// meeting is a collective in progress. Its units, one per GPU, end together.
type meeting struct {
	name      int32
	number    int32 // its index in meetings.all
	due       int   // how many times it is on the agenda
	members   []*unit
	first     int64 // the earliest end of a member
	lastStart int64
	done      bool
}

// meetings are the collectives in progress.
type meetings struct {
	gpu     *gpu
	pending map[int32][]*meeting // by name
	all     []*meeting
	free    []*meeting
	alone   map[int32]int // by process: its collectives without a match on another GPU, less those with one
}

// add makes a unit part of a collective. Units belong together if the last one starts
// before the first one ends; if several meetings qualify, the one with the nearest end
// counts.
func (c *meetings) add(u *unit, name int32) {
	var best *meeting
	for _, m := range c.pending[name] {
		if u.start < m.first && u.end > m.lastStart && !m.has(u) && (best == nil || m.apart(u) < best.apart(u)) {
			best = m
		}
	}
	if best != nil && !together(best, u) {
		best = nil
	}
	if best == nil {
		best = c.begin(u, name)
	}
	u.refs++
	u.meeting = best
	best.members = append(best.members, u)
	best.lastStart = max(best.lastStart, u.start)
	if best.first = min(best.first, u.end); best.first == u.end {
		best.due++
		c.gpu.agenda.push(u.end, meets, best.number)
	}
}

// begin starts a meeting with its first unit.
func (c *meetings) begin(u *unit, name int32) (m *meeting) {
	if n := len(c.free); n > 0 {
		m, c.free = c.free[n-1], c.free[:n-1]
	} else {
		m = &meeting{number: int32(len(c.all))}
		c.all = append(c.all, m)
	}
	*m = meeting{name: name, number: m.number, members: m.members[:0], first: u.end, lastStart: u.start}
	c.pending[name] = append(c.pending[name], m)
	return m
}

// due resolves a meeting whose first unit ends now, unless that has happened already.
func (c *meetings) due(number int32) {
	m := c.all[number]
	if !m.done {
		c.resolve(m)
	}
	if m.due--; m.due == 0 {
		c.free = append(c.free, m)
	}
}

// together reports whether a unit ends together with a meeting: the ends are at most
// half of the shortest duration apart.
func together(m *meeting, u *unit) bool {
	shortest := u.end - u.start
	for _, o := range m.members {
		shortest = min(shortest, o.end-o.start)
	}
	return m.apart(u) <= max(shortest/2, jitter)
}

// apart returns the distance between the unit's end and the earliest end of the meeting.
func (m *meeting) apart(u *unit) int64 { return max(u.end-m.first, m.first-u.end) }

// has reports whether a meeting has a unit on the same GPU of the same process.
func (m *meeting) has(u *unit) bool {
	return slices.ContainsFunc(m.members, func(o *unit) bool {
		return o.stream.process == u.stream.process && o.stream.device == u.stream.device
	})
}

// resolve ends a collective: all members end when the last one has arrived, plus the
// time that they took from there.
func (c *meetings) resolve(m *meeting) {
	m.done = true
	for _, u := range m.members {
		if c.alone[u.stream.process]++; len(m.members) > 1 {
			c.alone[u.stream.process] -= 2
		}
	}
	for s := range c.gpu.n {
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
		c.gpu.ended(u)
		c.gpu.drop(u)
	}
	all := c.pending[m.name]
	k := slices.Index(all, m)
	c.pending[m.name] = slices.Delete(all, k, k+1)
}
