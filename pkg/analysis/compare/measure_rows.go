package compare

import "github.com/hostbound/hostbound/pkg/trace/spill"

// row is the cost of one name on one rank, by step. Steps in which the name does not
// occur have no entry. A step may have several entries, which add up.
type row struct {
	log *spill.Log // nil if there are no entries

	columns int   // columns of the entries
	now     entry // the sum for the current step
}

// entry is the cost of a name in a step, or part of it; a part may be negative. Times
// are in ns.
type entry struct {
	step      int32 // noStep for none
	count, ns int64
	// self and hidden are for operations: the time outside nested ranges, and the time
	// during which GPUs were busy, summed over GPUs. For idle time self is the part
	// between steps.
	self, hidden int64
}

// Columns of a row's entries.
const (
	colCount = spill.Payload + iota
	colNs
	colSelf
	colHidden
	numRowColumns = iota
)

const noStep = -1

// add adds an occurrence of the name in a step.
func (r *row) add(step int32, ns, self, hidden int64) {
	if r.now.step != step {
		r.flush()
		r.now.step = step
	}
	r.now.count++
	r.now.ns += ns
	r.now.self += self
	r.now.hidden += hidden
}

// flush writes the sum for the current step as an entry.
func (r *row) flush() {
	if e := &r.now; e.count > 0 {
		r.log.Add(int64(e.step), []int64{e.count, e.ns, e.self, e.hidden}[:r.columns]...)
	}
	r.now = entry{step: noStep}
}

// each calls f with every entry.
func (r *row) each(f func(entry)) {
	r.log.Each(spill.Columns(colCount, colNs, colSelf, colHidden), func(rows spill.Rows) {
		for i, step := range rows[spill.Key] {
			e := entry{step: int32(step), count: rows[colCount][i], ns: rows[colNs][i]}
			if r.columns == numRowColumns {
				e.self, e.hidden = rows[colSelf][i], rows[colHidden][i]
			}
			f(e)
		}
	})
}

// section is the rows of one section on one rank, by id of the name.
type section struct {
	store   *spill.Store
	columns int // of entries: numRowColumns, or 2 (no self and hidden)
	rows    []row
}

// at returns the row of a name for adding. It is valid until the next call.
func (s *section) at(id int32) *row {
	for int(id) >= len(s.rows) {
		s.rows = append(s.rows, row{now: entry{step: noStep}})
	}
	r := &s.rows[id]
	if r.log == nil {
		r.columns = s.columns
		r.log = s.store.NewLog(r.columns, rowBlock)
	}
	return r
}

// row returns the row of a name, nil if it has no entries.
func (s *section) row(id int) *row {
	if id >= len(s.rows) || s.rows[id].log == nil || s.rows[id].log.Len() == 0 {
		return nil
	}
	return &s.rows[id]
}

// seal completes all rows of a rank.
func (p *profile) seal() {
	for _, s := range p.sections {
		for k := range s.rows {
			if row := &s.rows[k]; row.log != nil {
				row.flush()
				row.log.Seal()
			}
		}
	}
}
