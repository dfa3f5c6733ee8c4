package spill

import (
	"cmp"
	"slices"
)

// Merge returns the rows of runs in order.
type Merge struct {
	store   *Store
	waiting []*Run  // in the order in which they will be opened
	heap    []entry // of open runs
	spare   []*cursor
	last    *cursor // the source of the last rows
	columns uint64  // to decode
}

// cursor is an open run. Rows before at have been returned.
type cursor struct {
	run   *Run
	block int // the next one
	buf   buffer
	at, n int
}

// entry is an open run with the Key and Then of its row at.
type entry struct {
	key, then int64
	*cursor
}

// NewMerge merges runs, none of which may be empty. It keeps at most fanIn runs open at a
// time, or one of each tag if there are more tags. If more overlap, it first merges them
// into fewer, longer runs.
func NewMerge(s *Store, runs []*Run, fanIn int) (*Merge, error) {
	fanIn = max(fanIn, 2)
	for overlap(runs) > fanIn {
		fewer, err := shorten(s, runs, fanIn)
		if err != nil {
			return nil, err
		}
		if len(fewer) >= len(runs) {
			break // tags differ; one run of each remains
		}
		runs = fewer
	}
	return s.newMerge(runs), nil
}

// newMerge merges runs and opens all that overlap at a time.
func (s *Store) newMerge(runs []*Run) *Merge {
	m := &Merge{store: s, waiting: slices.Clone(runs), columns: All}
	slices.SortStableFunc(m.waiting, func(a, b *Run) int { return cmp.Compare(a.First, b.First) })
	return m
}

// Only limits decoding to a set of columns; Key and Then are always decoded. Other
// columns are undefined. Call it before the first Next.
func (m *Merge) Only(set uint64) {
	m.columns = set | Columns(Key, Then)
	orders := map[int64]bool{}
	for _, r := range m.waiting {
		if orders[r.Order] {
			m.columns |= Columns(Seq)
		}
		orders[r.Order] = true
	}
}

// overlap returns the largest number of runs whose key ranges share a key.
func overlap(runs []*Run) int {
	firsts, lasts := make([]int64, len(runs)), make([]int64, len(runs))
	for i, r := range runs {
		firsts[i], lasts[i] = r.First, r.Last
	}
	slices.Sort(firsts)
	slices.Sort(lasts)
	most, ended := 0, 0
	for i, first := range firsts {
		for lasts[ended] < first {
			ended++
		}
		most = max(most, i+1-ended)
	}
	return most
}

// shorten merges every fanIn runs with successive Order into one.
func shorten(s *Store, runs []*Run, fanIn int) ([]*Run, error) {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *Run) int { return cmp.Compare(a.Order, b.Order) })
	var fewer []*Run
	for len(runs) > 0 {
		n := group(runs, fanIn)
		if n == 1 {
			fewer, runs = append(fewer, runs[0]), runs[1:]
			continue
		}
		one, err := s.merge(runs[:n])
		if err != nil {
			return nil, err
		}
		fewer, runs = append(fewer, one), runs[n:]
	}
	return fewer, nil
}

// group returns how many of the first runs are merged: fanIn of one tag, plus the
// others of the last Order. Runs of one Order stay together, because their rows may
// interleave.
func group(runs []*Run, fanIn int) int {
	n := 1
	for n < len(runs) && n < fanIn && runs[n].Tag == runs[0].Tag {
		n++
	}
	for n < len(runs) && runs[n].Order == runs[n-1].Order && runs[n].Tag == runs[0].Tag {
		n++
	}
	return n
}

// merge merges runs into one.
func (s *Store) merge(runs []*Run) (*Run, error) {
	m, w := s.newMerge(runs), NewWriter(s)
	for seq := int64(0); ; {
		_, rows, i, j, err := m.Next(BlockRows)
		if err != nil {
			return nil, err
		}
		if i == j {
			return w.End(runs[0].Order, runs[0].Tag)
		}
		for k := i; k < j; k++ {
			rows[Seq][k] = seq
			seq++
		}
		if err := w.Add(rows, i, j); err != nil {
			return nil, err
		}
	}
}

// before reports whether the next row of a precedes that of b.
func (a *entry) before(b *entry) bool {
	if a.key != b.key {
		return a.key < b.key
	}
	if a.then != b.then {
		return a.then > b.then
	}
	if a.run.Order != b.run.Order {
		return a.run.Order < b.run.Order
	}
	return a.buf.rows[Seq][a.at] < b.buf.rows[Seq][b.at]
}

// Next returns the next rows i to j, at most limit of them, and their run; i == j after
// the last. They are valid until the next call.
func (m *Merge) Next(limit int) (run *Run, rows Rows, i, j int, err error) {
	if err := m.advance(); err != nil {
		return nil, nil, 0, 0, err
	}
	if err := m.open(); err != nil {
		return nil, nil, 0, 0, err
	}
	if len(m.heap) == 0 {
		return nil, nil, 0, 0, nil
	}
	c := m.heap[0].cursor
	m.last = c
	i, j = c.at, c.at+1
	end := min(c.n, i+limit)
	bound := m.bound()
	for keys := c.buf.rows[Key]; j < end && keys[j] < bound; j++ {
	}
	c.at = j
	return c.run, c.buf.rows, i, j, nil
}

// bound returns a key below which all rows of the first run may be returned: the least
// key of all other runs.
func (m *Merge) bound() int64 {
	bound := int64(1<<63 - 1)
	if len(m.waiting) > 0 {
		bound = m.waiting[0].First
	}
	for i := 1; i < min(3, len(m.heap)); i++ { // the children of the first
		bound = min(bound, m.heap[i].key)
	}
	return bound
}

// advance moves the run that the last rows came from to its place in the heap.
func (m *Merge) advance() error {
	c := m.last
	if c == nil {
		return nil
	}
	m.last = nil
	ok, err := m.settle(&m.heap[0])
	if err != nil {
		return err
	}
	if !ok {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
		m.spare = append(m.spare, c)
	}
	m.down()
	return nil
}

// settle sets key and then of an entry from its run's next row. ok is false if there is
// none.
func (m *Merge) settle(c *entry) (ok bool, err error) {
	for c.at == c.n {
		if c.block == len(c.run.blocks) {
			return false, nil
		}
		ref := &c.run.blocks[c.block]
		if err := c.buf.load(m.store, c.run.columns, ref, m.columns); err != nil {
			return false, err
		}
		c.block, c.at, c.n = c.block+1, 0, int(ref.rows)
	}
	c.key, c.then = c.buf.rows[Key][c.at], c.buf.rows[Then][c.at]
	return true, nil
}

// open opens the runs that may have the next row.
func (m *Merge) open() error {
	for len(m.waiting) > 0 && (len(m.heap) == 0 || m.waiting[0].First <= m.heap[0].key) {
		c := entry{cursor: &cursor{}}
		if n := len(m.spare); n > 0 {
			c.cursor, m.spare = m.spare[n-1], m.spare[:n-1]
		}
		c.run, c.block, c.at, c.n = m.waiting[0], 0, 0, 0
		m.waiting = m.waiting[1:]
		if _, err := m.settle(&c); err != nil {
			return err
		}
		m.heap = append(m.heap, c)
		m.up()
	}
	return nil
}

// up moves the last entry of the heap to its place.
func (m *Merge) up() {
	h := m.heap
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// down moves the first entry of the heap to its place.
func (m *Merge) down() {
	h := m.heap
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
