package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/format/sqlite"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// loader reads chunks of tables; each goroutine has one. When all are done, their
// counts and finds are added up.
type loader struct {
	found
	picker
	adder
	*sorter

	report  *report
	shared  *interner
	columns map[string][]string // of the export, by table
	scanner scanner             // nil before the first task

	tracks, threads cache[ownerEntry]
	owners          []ownerEntry // of the rows that are added next
	parts           [][]int32    // indexes in owners, by number of the process
	in              []int32      // the processes that have any
}

// picker says which rows of a block become events, and counts the others.
type picker struct {
	report *report
	found  *found
	picked []int32
}

// adder appends rows that become events to the chunk of their process.
type adder struct{ namer }

// newLoader returns a loader for one goroutine. columns are those of the export's
// tables; shared is common to all loaders of the report.
func newLoader(r *report, shared *interner, columns map[string][]string) *loader {
	l := &loader{found: newFound(), report: r, shared: shared, columns: columns, sorter: newSorter(r.store)}
	l.picker = picker{report: r, found: &l.found}
	l.adder.namer = newNamer(r, &l.found)
	return l
}

// run reads tasks until there are none left. It opens a scanner for its first task; the
// caller must call close.
func (l *loader) run(e export, next func() *task) (err error) {
	for t := next(); t != nil; t = next() {
		if l.scanner == nil {
			if l.scanner, err = e.open(); err != nil {
				return err
			}
		}
		if err := l.read(l.scanner, t); err != nil {
			return err
		}
	}
	return nil
}

// close closes the scanner.
func (l *loader) close() {
	if l.scanner != nil {
		l.scanner.Close()
	}
}

// read reads the rows of a task.
func (l *loader) read(s scanner, t *task) error {
	table := t.table
	if table.stacks != "" {
		if err := l.report.stacksLoaded(); err != nil {
			return err
		}
	}
	l.begin(t.tag, int64(t.number)<<32)
	l.switches = table.kind == event.Run
	err := scan(s, table.name, l.columns[table.name], table.columns(), t.low, t.high, func(b *block) error {
		for rows := table.pick(l, t, b); len(rows) > 0; {
			k := min(len(rows), l.report.limits.chunkRows-l.rows)
			l.add(table, b, rows[:k])
			if rows = rows[k:]; l.rows == l.report.limits.chunkRows {
				if err := l.flush(); err != nil {
					return err
				}
			}
		}
		return l.err
	})
	if err != nil {
		return err
	}
	return l.flush()
}

// add adds the given rows of a block to the chunks of their processes.
func (l *loader) add(table *table, b *block, rows []int32) {
	l.owners = slices.Grow(l.owners[:0], len(rows))[:len(rows)]
	if table.gpu {
		l.findTracks(b, rows)
	} else {
		l.findThreads(b, rows)
	}
	if table.ofCallers() && l.report.onlyCallers {
		rows = l.dropOthers(table.kind, b, rows)
	}
	for k := range l.owners {
		p := l.owners[k].process
		if int(p) >= len(l.parts) {
			l.parts = grown(l.parts, p, nil)
		}
		if len(l.parts[p]) == 0 {
			l.in = append(l.in, p)
		}
		l.parts[p] = append(l.parts[p], int32(k))
	}
	for _, p := range l.in {
		c, part := l.of(p), l.parts[p]
		n := c.len()
		c.owner, c.seq = longer(c.owner, len(part)), longer(c.seq, len(part))
		owners, seq := c.owner[n:], c.seq[n:]
		for i, k := range part {
			owners[i], seq[i] = int64(l.owners[k].number), int64(l.rows+int(k))
			part[i] = rows[k]
		}
		table.add(l, c, b, part)
		l.parts[p] = part[:0]
	}
	l.in, l.rows = l.in[:0], l.rows+len(rows)
}

// flush writes the rows that are not written yet.
func (l *loader) flush() error {
	if l.err != nil {
		return l.err
	}
	return l.sorter.flush()
}

// maxTime bounds the times that are accepted: 73 years, in ns, so that sums and
// differences of two times cannot overflow.
const maxTime = int64(1) << 61

// pick picks the rows of a block for which fits returns true. The result is valid until
// its next call.
func (p *picker) pick(b *block, fits func(i int) bool) []int32 {
	p.picked = p.picked[:0]
	for i := range b.n {
		if fits(i) {
			p.picked = append(p.picked, int32(i))
		}
	}
	return p.picked
}

// usable reports whether the times of a row are valid, and counts the row if not.
func (p *picker) usable(t *task, start, end *sqlite.Vector, i int) bool {
	if !isSpan(start, end, i) {
		p.found.unusable[t.table.name]++
		return false
	}
	return true
}

// isSpan reports whether the times of a row are valid.
func isSpan(start, end *sqlite.Vector, i int) bool {
	s, e := start.Int[i], end.Int[i]
	return !start.Null[i] && !end.Null[i] && e >= s && s >= -maxTime && e <= maxTime
}

// pickTimed picks the rows with usable times.
func (p *picker) pickTimed(t *task, b *block) []int32 {
	start, end := b.column("start"), b.column("end")
	if start.Full && end.Full && areSpans(start.Int[:b.n], end.Int[:b.n]) { // Fast path
		p.picked = append(p.picked[:0], every[:b.n]...)
		return p.picked
	}
	return p.pick(b, func(i int) bool {
		is := p.usable(t, start, end, i)
		if is && t.table.gpu && start.Int[i] == 0 && end.Int[i] == 0 {
			p.found.zeros++
		}
		return is
	})
}

// every holds the numbers of all rows of a block.
var every = func() (all [sqlite.BlockRows]int32) {
	for i := range all {
		all[i] = int32(i)
	}
	return all
}()

// areSpans reports whether the times of all rows are valid, not negative, and not both
// 0. (Each time is compared with the limit by itself: the difference of times beyond it
// can overflow.)
func areSpans(starts, ends []int64) bool {
	ends = ends[:len(starts)]
	wrong := int64(0) // negative once a row fails
	for i, s := range starts {
		e := ends[i]
		wrong |= (e - s) | (maxTime - s) | (maxTime - e) | ((s | e) - 1)
	}
	return wrong >= 0
}

// addSpans appends the starts and ends of rows.
func (a *adder) addSpans(p *chunk, b *block, rows []int32) {
	p.start, p.end = appendRows(p.start, b.column("start"), rows), appendRows(p.end, b.column("end"), rows)
}

// findThreads finds the threads of host rows.
func (l *loader) findThreads(b *block, rows []int32) {
	ids := b.column("globalTid")
	for k, i := range rows {
		global := orNone(ids, i)
		entry, known := l.threads.at(triple{a: global})
		if !known {
			*entry = l.shared.thread(newThread(global))
		}
		l.owners[k] = *entry
	}
}

// collect takes over what the loaders have read.
func (r *report) collect(loaders []*loader) {
	r.runs, r.dropped = make([]runs, len(r.processes)), make([][event.MaxKinds]int64, len(r.processes))
	for _, l := range loaders {
		r.found.add(&l.found)
		for n, of := range l.processes {
			r.runs[n].events = append(r.runs[n].events, of.events...)
			r.runs[n].calls = append(r.runs[n].calls, of.calls...)
			r.runs[n].replays = append(r.runs[n].replays, of.replays...)
			r.runs[n].switches = append(r.runs[n].switches, of.switches...)
		}
	}
	r.findClasses()
}
