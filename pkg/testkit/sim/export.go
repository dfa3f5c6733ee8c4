package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Options say how to write a trace. The zero value is a lazy export of schema 3.25.0.
type Options struct {
	// Schema is the version to write; the zero value stands for 3.25.0.
	Schema Schema
	// EmptyTables also writes tables without rows, as exports that are not lazy do, and
	// many tables of other kinds of tracing.
	EmptyTables bool
	// Reduced omits what trimmed exports lack: globalPid, contextId, eventClass, the
	// metadata, and the description of the target.
	Reduced bool
	// Drop omits whole tables ("NVTX_EVENTS") and single columns
	// ("CUPTI_ACTIVITY_KIND_KERNEL.graphNodeId").
	Drop []string
}

// rowSink takes the rows of one table. A column keeps its value until it is set again.
// Columns below 0 are ignored.
type rowSink interface {
	Int(i int, v int64)
	Text(i int, s string)
	Null(i int)
	Step() error
}

// exportSink takes the tables of one export.
type exportSink interface {
	add(name string, columns []column) rowSink
}

// exporter writes one trace to one sink. The first error is kept; no table is begun after
// it.
type exporter struct {
	trace  *Trace
	sink   exportSink
	opt    Options
	offset int64 // added to every time
	err    error
}

// export writes all tables of a trace, in an order like nsys's.
func export(t *Trace, sink exportSink, opt Options) error {
	if opt.Schema == (Schema{}) {
		opt.Schema = Schema3_25_0
	}
	e := &exporter{trace: t, sink: sink, opt: opt, offset: t.Session.Shift}
	if t.Session.Normalize {
		e.offset += t.Session.UTC
	}
	e.about()
	e.kernels()
	e.replays()
	e.copies()
	e.fills()
	e.syncs()
	e.calls()
	e.notes()
	e.overheads()
	e.hostRows()
	e.strings()
	e.idle()
	return errors.Join(e.err, t.err())
}

// target is an open table with the positions of its columns.
type target struct {
	rowSink
	at map[string]int
	e  *exporter
}

// open begins a table with the given number of rows. It returns nil if the export does
// not have the table.
func (e *exporter) open(t table, rows int) *target {
	if e.err != nil || !t.in(e.opt.Schema) || slices.Contains(e.opt.Drop, t.name) {
		return nil
	}
	if rows == 0 && !e.opt.EmptyTables {
		return nil
	}
	var columns []column
	at := make(map[string]int)
	for _, c := range t.columns {
		if c.in(e.opt.Schema, e.opt.Reduced) && !slices.Contains(e.opt.Drop, t.name+"."+c.name) {
			at[c.name] = len(columns)
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	return &target{rowSink: e.sink.add(t.name, columns), at: at, e: e}
}

// col returns the position of a column, -1 if the table lacks it.
func (t *target) col(name string) int {
	if i, ok := t.at[name]; ok {
		return i
	}
	return -1
}

// ints sets several columns to the same number.
func (t *target) ints(v int64, names ...string) {
	for _, n := range names {
		t.Int(t.col(n), v)
	}
}

// step ends the row and reports whether to continue.
func (t *target) step() bool {
	if err := t.Step(); err != nil {
		t.e.err = err
		return false
	}
	return true
}

// small writes a table with few rows. Each row has values for the named columns, of type
// int64 or string. Columns that the table lacks are skipped; those not named are NULL.
func (e *exporter) small(t table, columns string, rows ...[]any) {
	w := e.open(t, len(rows))
	if w == nil {
		return
	}
	for _, row := range rows {
		for i, name := range strings.Fields(columns) {
			switch v := row[i].(type) {
			case int64:
				w.Int(w.col(name), v)
			case string:
				w.Text(w.col(name), v)
			default:
				panic(fmt.Sprintf("BUG: a %T in a table", v))
			}
		}
		if !w.step() {
			return
		}
	}
}

// orNull sets a column to an id, or to NULL if it is 0.
func (t *target) orNull(i int, id uint64) {
	if id == 0 {
		t.Null(i)
		return
	}
	t.Int(i, int64(id))
}

// rows writes a table with one row for each element of list. columns finds the columns,
// sets those that all rows share, and returns a function that sets those of one row.
func rows[T any](e *exporter, t table, list *List[T], columns func(*target) func(*T)) {
	w := e.open(t, list.Len())
	if w == nil {
		return
	}
	set := columns(w)
	for v := range list.All() {
		set(v)
		if !w.step() {
			return
		}
	}
}

// strings writes StringIds. It comes last, when every name has been used.
func (e *exporter) strings() {
	w := e.open(tableStrings, len(e.trace.strings))
	if w == nil {
		return
	}
	id, value := w.col("id"), w.col("value")
	for i, s := range e.trace.strings {
		if !s.stored {
			continue
		}
		w.Int(id, int64(i+1))
		w.Text(value, s.text)
		if !w.step() {
			return
		}
	}
}

// idle adds the empty tables of an export that is not lazy.
func (e *exporter) idle() {
	for _, name := range idleTables {
		e.open(table{name: name, columns: join(startEnd(), maybe("globalTid", u64), must("nameId", u32))}, 0)
	}
}

// span returns the first start and the last end of kernels, replays and calls, 0 and 0
// without any.
func (t *Trace) span() (start, end int64) {
	start, end = math.MaxInt64, math.MinInt64
	extend := func(s, e int64) { start, end = min(start, s), max(end, e) }
	for k := range t.Kernels.All() {
		extend(k.Start, k.End)
	}
	for r := range t.Replays.All() {
		if r.End > r.Start {
			extend(r.Start, r.End)
		}
	}
	for c := range t.Calls.All() {
		extend(c.Start, c.End)
	}
	if start > end {
		return 0, 0
	}
	return start, end
}

// clockText formats a time as nsys does in TEXT columns.
func clockText(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05") }
