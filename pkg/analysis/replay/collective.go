package replay

import "slices"

// meeting is a collective under way: its units, one of each GPU, which end together.
type meeting struct {
	name      int32
	number    int32 // among all
	due       int   // how often it is on the agenda
	members   []*unit
	first     int64 // the earliest end
	lastStart int64
	done      bool
}

// meetings are the collectives under way.
type meetings struct {
	gpu     *gpu
	pending map[int32][]*meeting // by name
	all     []*meeting
	free    []*meeting
	alone   map[int32]int // by process: its collectives that no other GPU takes part in, less those that one does
}

// add makes a unit part of a collective. Units of one meet where the last starts before the
// first ends, and their ends are the nearest ones.
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

// begin begins a meeting.
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

// due resolves a meeting whose first unit ends now, unless it is done.
func (c *meetings) due(number int32) {
	m := c.all[number]
	if !m.done {
		c.resolve(m)
	}
	if m.due--; m.due == 0 {
		c.free = append(c.free, m)
	}
}

// together reports whether the units of a meeting end with another one: the ends are less far
// apart than half of the shorter of them takes.
func together(m *meeting, u *unit) bool {
	shortest := u.end - u.start
	for _, o := range m.members {
		shortest = min(shortest, o.end-o.start)
	}
	return m.apart(u) <= max(shortest/2, jitter)
}

// apart is how far a unit's end is from the first one of a meeting.
func (m *meeting) apart(u *unit) int64 { return max(u.end-m.first, m.first-u.end) }

// has reports whether a meeting has a unit of the same GPU of the same process.
func (m *meeting) has(u *unit) bool {
	return slices.ContainsFunc(m.members, func(o *unit) bool {
		return o.stream.process == u.stream.process && o.stream.device == u.stream.device
	})
}

// resolve ends a collective: all end when the last has arrived and what it does since then
// is done.
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
