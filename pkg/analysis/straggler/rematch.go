package straggler

import "github.com/hostbound/hostbound/pkg/trace/spill"

// byEnd matches the ranks' collectives again, by when they end on the clocks that were
// brought together, whatever steps they are in: ranks of which each leaves out other steps
// (those of dummy batches have no marker) have other ones under the same number. nil where
// fewer are found than ranks have in common that run no collective together.
func (m *matched) byEnd(store *spill.Store) *matched {
	tolerance := min(agreeNs, m.spacing()/4)
	again := &matched{
		ranks: m.ranks, shifts: m.shifts, offset: m.offset, drift: m.drift, mid: m.mid,
		first: make([]Collective, len(m.ranks)), last: make([]Collective, len(m.ranks)),
	}
	lines := make([]*line, len(m.ranks))
	for r := range m.ranks {
		again.of = append(again.of, NewCollectives(store))
		lines[r] = &line{cursor: newCursor(&m.ranks[r]), waiting: map[int32][]Collective{}}
	}
	before, last := 0, 0 // how many had no match up to the first, and up to the last one that had
	found := make([]*Collective, len(m.ranks))
	for c := lines[0].read(); c != nil; c = lines[0].read() {
		if !m.witness(c) {
			continue
		}
		found[0] = c
		for r := 1; r < len(found) && found[r-1] != nil; r++ {
			found[r] = again.find(r, lines[r], c, tolerance)
		}
		if found[len(found)-1] == nil {
			again.unmatched++
		} else {
			if again.n == 0 {
				before = again.unmatched
			}
			last = again.unmatched
			again.add(func(r int) *Collective { return found[r] })
		}
		clear(found)
	}
	for _, all := range again.of {
		all.Seal()
	}
	// By chance, in groups of their own, half of them end as close as that.
	if again.n < minMatched || 10*again.n < 7*(again.n+last-before) {
		return nil
	}
	return again
}

// spacing is the median distance between the ends of the first rank's collectives of one
// name, ns, of the first that there are.
func (m *matched) spacing() int64 {
	l := &line{cursor: newCursor(&m.ranks[0])}
	ends := map[int32]int64{}
	var distances []int64
	for c := l.read(); c != nil && len(distances) < maxWaiting; c = l.read() {
		if end, ok := ends[c.Name]; ok && m.witness(c) {
			distances = append(distances, c.End-end)
		}
		ends[c.Name] = c.End
	}
	if len(distances) == 0 {
		return 0
	}
	return median(distances)
}

// find returns the collective of rank r that ends with c, nil where none does.
func (m *matched) find(r int, l *line, c *Collective, tolerance int64) *Collective {
	end := m.correct(0, c.End)
	apart := func(other *Collective) int64 { return m.correct(r, other.End) - end }
	for l.ahead == nil || m.correct(r, l.ahead.Start) <= end+tolerance {
		if l.ahead != nil {
			l.keep(*l.ahead)
		}
		if l.ahead = l.read(); l.ahead == nil {
			break
		}
	}
	list := l.waiting[c.Name]
	for len(list) > 0 && (apart(&list[0]) < -tolerance || len(list) > 1 && abs(apart(&list[1])) < abs(apart(&list[0]))) {
		list = list[1:]
	}
	l.waiting[c.Name] = list
	if len(list) == 0 || apart(&list[0]) > tolerance {
		return nil
	}
	l.waiting[c.Name] = list[1:]
	return &list[0]
}

func abs(v int64) int64 { return max(v, -v) }

// line reads the collectives of a rank one by one.
type line struct {
	*cursor
	next    int                    // of the step under way
	ahead   *Collective            // what was read and is not waiting yet
	waiting map[int32][]Collective // that may end with the next of the first rank, by name
}

// maxWaiting is how many collectives of a name wait at most.
const maxWaiting = 1 << 12

// read returns the next collective, nil after the last.
func (l *line) read() *Collective {
	if l.next == len(l.step) {
		if _, ok := l.cursor.ahead(); !ok {
			return nil
		}
		l.cursor.read()
		l.next = 0
	}
	c := l.step[l.next]
	l.next++
	return &c
}

// keep has a collective wait.
func (l *line) keep(c Collective) {
	list := l.waiting[c.Name]
	if len(list) == maxWaiting {
		list = append(list[:0:0], list[maxWaiting/2:]...)
	}
	l.waiting[c.Name] = append(list, c)
}
