package nsys

// run is the rows of one table that belong to one rank, in their order.
type run struct {
	table      *table
	chunks     []*chunk // of the report
	refs       []uint32 // rows that are not written yet
	start, end int64    // of the first of refs
}

// runs sorts the rows of the report by rank, those without a rank last, and
// those of each rank and table by their start, of equal starts the longer first.
func (r *report) runs() [][]*run {
	ranks := make([][]*run, len(r.info.Ranks)+1)
	for _, of := range r.byTable() {
		for slot, refs := range r.split(of, len(ranks)) {
			if len(refs) > 0 {
				refs = sortRuns(refs, r.before)
				ranks[slot] = append(ranks[slot], &run{table: r.chunks[of[0]].table, chunks: r.chunks, refs: refs})
			}
		}
	}
	return ranks
}

// byTable returns the numbers of the chunks of each table that has any, in the
// order of the tables.
func (r *report) byTable() (tables [][]int) {
	for n, c := range r.chunks {
		if n == 0 || c.table != r.chunks[n-1].table {
			tables = append(tables, nil)
		}
		tables[len(tables)-1] = append(tables[len(tables)-1], n)
	}
	return tables
}

// slots returns where runs puts the rows of each track or thread.
func (r *report) slots(t *table) []int32 {
	var slots []int32
	place := func(slot int32) {
		if slot == noSlot {
			slot = int32(len(r.ranks))
		}
		slots = append(slots, slot)
	}
	if t.gpu {
		for _, t := range r.tracks {
			place(t.slot)
		}
		return slots
	}
	for _, t := range r.threads {
		place(t.slot)
	}
	return slots
}

// split sorts the rows of some chunks of a table into n slots. It counts first,
// as a report may have rows of many ranks.
func (r *report) split(chunks []int, n int) [][]uint32 {
	slots := r.slots(r.chunks[chunks[0]].table)
	counts := make([]int, len(slots))
	for _, c := range chunks {
		for _, o := range r.chunks[c].owner {
			counts[o]++
		}
	}
	rows := make([]int, n)
	for o, count := range counts {
		rows[slots[o]] += count
	}
	refs := make([][]uint32, n)
	for slot, count := range rows {
		refs[slot] = make([]uint32, 0, count)
	}
	for _, c := range chunks {
		for i, o := range r.chunks[c].owner {
			slot := slots[o]
			refs[slot] = append(refs[slot], uint32(c)<<chunkBits|uint32(i))
		}
	}
	return refs
}

// before tells whether row a goes before row b of the same table.
func (r *report) before(a, b uint32) bool {
	p, q := r.chunks[a>>chunkBits], r.chunks[b>>chunkBits]
	i, j := a&chunkMask, b&chunkMask
	s, s2 := p.start[i], q.start[j]
	return s < s2 || s == s2 && p.end[i] > q.end[j]
}

// load makes start and end those of the first of refs.
func (n *run) load() {
	c, i := n.chunks[n.refs[0]>>chunkBits], n.refs[0]&chunkMask
	n.start, n.end = c.start[i], c.end[i]
}

// cut leaves out the rows that start before from.
func (n *run) cut(from int64) {
	for len(n.refs) > 0 {
		if n.load(); n.start >= from {
			return
		}
		n.refs = n.refs[1:]
	}
}

// before tells whether the first row of n goes before that of m, which is of a
// later table.
func (n *run) before(m *run) bool {
	return n.start < m.start || n.start == m.start && n.end >= m.end
}

// sortRuns sorts refs in a stable way. It merges the runs that are there
// already: exports hold rows in order, or a few sequences of rows in order, one
// for each thread.
func sortRuns(refs []uint32, less func(a, b uint32) bool) []uint32 {
	bounds := []int{0}
	for i := 1; i < len(refs); i++ {
		if less(refs[i], refs[i-1]) {
			bounds = append(bounds, i)
		}
	}
	bounds = append(bounds, len(refs))
	if len(bounds) <= 2 {
		return refs
	}
	other := make([]uint32, len(refs))
	for len(bounds) > 2 {
		merged := bounds[:1]
		for i := 0; i+1 < len(bounds); i += 2 {
			low, mid := bounds[i], bounds[i+1]
			high := mid
			if i+2 < len(bounds) {
				high = bounds[i+2]
			}
			merge(other[low:high], refs[low:mid], refs[mid:high], less)
			merged = append(merged, high)
		}
		bounds = merged
		refs, other = other, refs
	}
	return refs
}

// merge merges two sorted sequences into one, of equals those of a first.
func merge(into, a, b []uint32, less func(a, b uint32) bool) {
	for len(a) > 0 && len(b) > 0 {
		if less(b[0], a[0]) {
			into[0], b = b[0], b[1:]
		} else {
			into[0], a = a[0], a[1:]
		}
		into = into[1:]
	}
	copy(into, a)
	copy(into[len(a):], b)
}
