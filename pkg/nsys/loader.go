package nsys

import (
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/sqlite"
)

// loader reads chunks of tables, one goroutine each. What it counts and finds is
// put together with that of the others when all are done.
type loader struct {
	report  *report
	shared  *interner
	columns map[string][]string // of the export's tables

	unusable map[string]int64 // rows without usable times, by table
	domains  map[domainKey]domainName
	untimed  int64 // whole-graph rows without times
	noCalls  int64 // rows among the API calls that are neither calls nor stacks
	replayed int64 // GPU rows that a graph replay ran

	trackFacts  []trackFacts  // by number of the track
	threadFacts []threadFacts // by number of the thread
	profiler    []profilerCall

	caches

	picked []int32 // the rows of a block that become events
}

func newLoader(r *report, shared *interner, columns map[string][]string) *loader {
	return &loader{
		report: r, shared: shared, columns: columns, caches: newCaches(r.strings.len()),
		unusable: map[string]int64{}, domains: map[domainKey]domainName{},
	}
}

// run reads tasks until there is none left.
func (l *loader) run(e export, next func() *task) error {
	var s scanner
	for t := next(); t != nil; t = next() {
		if s == nil {
			var err error
			if s, err = e.open(); err != nil {
				return err
			}
			defer s.close()
		}
		if err := l.read(s, t); err != nil {
			return err
		}
	}
	return nil
}

// read reads the rows of a task.
func (l *loader) read(s scanner, t *task) error {
	return scan(s, t.table.name, l.columns[t.table.name], t.table.columns(), t.low, t.high, func(b *block) error {
		for rows := t.table.pick(l, t, b); len(rows) > 0; {
			p := t.chunk(b.n)
			k := min(len(rows), chunkRows-p.len())
			t.table.add(l, p, b, rows[:k])
			rows = rows[k:]
		}
		return nil
	})
}

// maxTime bounds the times that are believed: 73 years, so that sums and
// differences of two cannot overflow.
const maxTime = int64(1) << 61

// usable tells whether a row has times that make sense, and counts it if not.
func (l *loader) usable(t *task, start, end *sqlite.Vector, i int) bool {
	s, e := start.Int[i], end.Int[i]
	if start.Null[i] || end.Null[i] || e < s || s < -maxTime || e > maxTime {
		l.unusable[t.table.name]++
		return false
	}
	return true
}

// pickTimed picks the rows with usable times.
func (l *loader) pickTimed(t *task, b *block) []int32 {
	start, end := b.column("start"), b.column("end")
	l.picked = l.picked[:0]
	for i := range b.n {
		if l.usable(t, start, end, i) {
			l.picked = append(l.picked, int32(i))
		}
	}
	return l.picked
}

// addSpans appends the starts and ends of rows.
func (l *loader) addSpans(p *chunk, b *block, rows []int32) {
	p.start, p.end = appendRows(p.start, b.column("start"), rows), appendRows(p.end, b.column("end"), rows)
}

// addThreads appends the threads of host rows.
func (l *loader) addThreads(p *chunk, b *block, rows []int32) {
	ids := b.column("globalTid")
	for _, i := range rows {
		global := orNone(ids, i)
		number, known := l.threads.at(triple{global})
		if !known {
			*number = l.shared.thread(newThread(global))
		}
		p.owner = append(p.owner, *number)
	}
}

// collect takes over what the loaders have read.
func (r *report) collect(tasks []task, loaders []*loader) {
	r.info.Rows = map[string]int64{}
	for i := range tasks {
		for _, p := range tasks[i].chunks {
			r.chunks = append(r.chunks, p)
			r.info.Rows[event.Kinds[p.table.kind]] += int64(p.len())
			r.rows += int64(p.len())
		}
	}
	for _, l := range loaders {
		for table, n := range l.unusable {
			r.unusable[table] += n
		}
		for key, d := range l.domains {
			if old, ok := r.domains[key]; !ok || d.chunk < old.chunk {
				r.domains[key] = d
			}
		}
		r.untimed += l.untimed
		r.noCalls += l.noCalls
		r.replayed += l.replayed
	}
	r.collectFacts(loaders)
}
