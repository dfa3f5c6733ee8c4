package compare

import "github.com/hostbound/hostbound/pkg/trace/spill"

// row is what one name of one rank cost, step after step. Steps in which the name
// does not occur have no entry; a step may have several, which add up.
type row struct {
	log *spill.Log // nil: there are no entries

	columns int   // that the entries have
	now     entry // that is being added up
}

// entry is what a name cost in a step, or a part of that; a part may be negative.
type entry struct {
	step      int32 // noStep: none
	count, ns int64
	// self and hidden are for operations: the time outside nested ranges, and the
	// time during which GPUs were busy, summed over the GPUs. Of idle time self is
	// what lies between steps.
	self, hidden int64
}

// The columns of a row's entries, by step.
const (
	colCount = spill.Payload + iota
	colNs
	colSelf
	colHidden
	numRowColumns = iota
)

const noStep = -1

// add adds an event of the row to a step.
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

// flush makes an entry of what is being added up.
func (r *row) flush() {
	if e := &r.now; e.count > 0 {
		r.log.Add(int64(e.step), []int64{e.count, e.ns, e.self, e.hidden}[:r.columns]...)
	}
	r.now = entry{step: noStep}
}

// each calls f with all entries.
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

// section is the rows of one section of one rank, by the number of their name.
type section struct {
	store   *spill.Store
	columns int // of entries: numRowColumns, or 2 without self and hidden
	rows    []row
}

// at returns the row of a name, to add to.
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

// row returns the row of a name, nil where it has no entries.
func (s *section) row(id int) *row {
	if id >= len(s.rows) || s.rows[id].log == nil || s.rows[id].log.Len() == 0 {
		return nil
	}
	return &s.rows[id]
}

// seal ends all rows of a rank.
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
