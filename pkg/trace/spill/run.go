package spill

import "slices"

// Run is a sorted sequence of rows in a store.
type Run struct {
	// Order ranks the run among runs with equal rows. Tag says what its rows are: only
	// runs with the same tag are merged into one.
	Order int64
	Tag   int
	// Rows is the number of rows; First and Last are the least and largest Key.
	Rows        int64
	First, Last int64

	columns int
	blocks  []blockRef
}

// blockRef is a block of a run.
type blockRef struct {
	addr  Addr
	size  int32
	rows  int32
	first int64 // Key of the first row
}

// Writer writes runs.
type Writer struct {
	store  *Store
	run    Run
	packer packer
	buf    []byte
	rows   Rows // added one by one, not in a block yet
	chosen Rows // memory of WriteAt
}

// NewWriter returns a writer of runs to a store, one run after the other.
func NewWriter(s *Store) *Writer { return &Writer{store: s} }

// Write appends rows, which must follow all rows before in order. They become blocks of
// their own.
func (w *Writer) Write(rows Rows) error {
	n := rows.Len()
	for i := 0; i < n; i += BlockRows {
		if err := w.block(rows.Slice(i, min(i+BlockRows, n))); err != nil {
			return err
		}
	}
	return nil
}

// WriteAt is Write for the rows at the given places.
func (w *Writer) WriteAt(rows Rows, places []int32) error {
	for len(w.chosen) < len(rows) {
		w.chosen = append(w.chosen, make([]int64, BlockRows))
	}
	chosen := make(Rows, len(rows))
	for len(places) > 0 {
		n := min(len(places), BlockRows)
		for c, v := range rows {
			if v == nil {
				continue
			}
			chosen[c] = w.chosen[c][:n]
			for i, p := range places[:n] {
				chosen[c][i] = v[p]
			}
		}
		if err := w.block(chosen); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// block writes rows as one block.
func (w *Writer) block(rows Rows) error {
	p := &w.packer
	p.plan(rows, w.run.Rows)
	addr, to, err := w.store.reserve(p.size)
	if err != nil {
		return err
	}
	if to != nil {
		p.pack(to)
	} else {
		w.buf = slices.Grow(w.buf[:0], p.size)[:p.size]
		p.pack(w.buf)
		if addr, err = w.store.Put(w.buf); err != nil {
			return err
		}
	}
	r, n := &w.run, rows.Len()
	if r.Rows == 0 {
		r.First, r.columns = rows[Key][0], len(rows)
	}
	r.Last = rows[Key][n-1]
	r.Rows += int64(n)
	r.blocks = append(r.blocks, blockRef{addr, int32(p.size), int32(n), rows[Key][0]})
	return nil
}

// Add appends rows i to j of rows, gathered into full blocks.
func (w *Writer) Add(rows Rows, i, j int) error {
	if w.rows == nil {
		w.rows = make(Rows, len(rows))
		for c := range rows {
			w.rows[c] = make([]int64, 0, BlockRows)
		}
	}
	for i < j {
		k := min(j, i+BlockRows-w.rows.Len())
		for c := range w.rows {
			w.rows[c] = append(w.rows[c], rows[c][i:k]...)
		}
		if i = k; w.rows.Len() == BlockRows {
			if err := w.gathered(); err != nil {
				return err
			}
		}
	}
	return nil
}

// gathered writes the rows that Add has gathered.
func (w *Writer) gathered() error {
	if w.rows == nil || w.rows.Len() == 0 {
		return nil
	}
	err := w.block(w.rows)
	for c := range w.rows {
		w.rows[c] = w.rows[c][:0]
	}
	return err
}

// End ends the run and returns it. Later rows belong to another run.
func (w *Writer) End(order int64, tag int) (*Run, error) {
	if err := w.gathered(); err != nil {
		return nil, err
	}
	r := w.run
	r.Order, r.Tag, w.run = order, tag, Run{}
	return &r, nil
}

// buffer is memory for the decoded rows of a block.
type buffer struct {
	rows    Rows
	same    []constant
	scratch []byte
}

// load decodes the columns of a block that are in the set into the buffer's rows.
func (b *buffer) load(s *Store, columns int, ref *blockRef, set uint64) error {
	for len(b.rows) < columns {
		b.rows, b.same = append(b.rows, nil), append(b.same, constant{})
	}
	b.rows, b.same = b.rows[:columns], b.same[:columns]
	for c := range b.rows {
		if set>>c&1 != 0 && cap(b.rows[c]) < int(ref.rows) {
			b.rows[c], b.same[c] = make([]int64, ref.rows), constant{}
		}
	}
	bytes, err := s.Get(ref.addr, int(ref.size), &b.scratch)
	if err != nil {
		return err
	}
	return decode(bytes, b.rows, set, b.same)
}

// Columns returns a set of columns.
func Columns(columns ...int) (set uint64) {
	for _, c := range columns {
		set |= 1 << c
	}
	return set
}

// All is the set of all columns.
const All = uint64(1)<<63 - 1

// Scan calls fn with the blocks of runs that may have keys from low to high. Rows have
// the columns of set; a set with Then must have Key, too. They are valid until fn
// returns.
func (s *Store) Scan(runs []*Run, set uint64, low, high int64, fn func(rows Rows) error) error {
	var b buffer
	for _, r := range runs {
		for i := range r.blocks {
			if r.blocks[i].first > high || i+1 < len(r.blocks) && r.blocks[i+1].first < low {
				continue
			}
			if err := b.load(s, r.columns, &r.blocks[i], set); err != nil {
				return err
			}
			if err := fn(b.rows); err != nil {
				return err
			}
		}
	}
	return nil
}
