// Package nsys reads Nsight Systems exports of any version as events.
//
// An export is a set of tables, in an SQLite file or in a folder of Parquet
// files. Every table and every column is optional, order and number of columns
// change between versions, and most exports hold tables that nobody here needs;
// so tables and columns are taken by name and what is missing reads as null.
// FORMAT.md beside this file says what is taken from where.
//
// # How a report is read
//
// An export is ordered by table and not by time: API calls and ranges come
// thread after thread, and GPU rows apart from the calls that launched them.
// The stream wants them by time, rank after rank, with the launching call in
// the row. So this stage, and only this one, holds a report in memory: about 45
// bytes an event, as columns, in parts of 65,536 rows that are read by as many
// goroutines as there are processors. Then the rows of each rank and table are
// put in order (they mostly are: the sort merges the runs it finds) and merged
// into batches, the launches joined on the way.
//
// The header of the stream describes all reports before the first row, so each
// report is looked at before any is written. As long as all of them have fewer
// than keepRows rows they are kept; reports beyond that are read a second time.
package nsys

import (
	"errors"
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
)

// keepRows is the number of rows up to which reports stay in memory between
// the look at them and the writing of their rows. Tests change it.
var keepRows int64 = 6 << 20

// Options are the settings of Open.
type Options struct {
	// Progress, where not nil, is told the file that is being read and how many
	// of its rows have been, from several goroutines.
	Progress func(path string, rows int64)
}

// Reader reads the events of one or several reports. It is an event.Source.
type Reader struct {
	opts    Options
	header  event.Header
	reports []*report // nil where the report is to be read again
	paths   []string

	full    chan filled
	free    chan *event.Batch
	stop    chan struct{}
	current filled
	err     error // set before full is closed
}

// filled is a batch of rows of one report.
type filled struct {
	batch  *event.Batch
	report int
}

// Open looks at reports and numbers their ranks over all of them. Their clocks
// are brought together by the session starts that they state.
func Open(paths []string, opts Options) (*Reader, error) {
	r := &Reader{opts: opts, paths: paths}
	r.header.Stage, r.header.Columns = event.Stages[0], event.BaseCols
	domains := map[string]bool{}
	var first *report // what the others are aligned with
	var kept int64
	for i, path := range paths {
		rep, err := r.load(path, int32(r.header.NumRanks()))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = &report{info: rep.info, origin: rep.origin, clocked: rep.clocked}
		} else {
			rep.align(first)
		}
		for _, d := range rep.domains {
			domains[d.name] = d.name != ""
		}
		r.header.Reports = append(r.header.Reports, rep.info)
		if kept += rep.rows; kept > keepRows && len(paths) > 1 {
			kept -= rep.rows
			rep = &report{info: rep.info, rows: -1}
		}
		r.reports = append(r.reports, rep)
	}
	for name, ok := range domains {
		if ok {
			r.header.Domains = append(r.header.Domains, name)
		}
	}
	slices.Sort(r.header.Domains)
	return r, nil
}

// load reads one report and numbers its ranks from first.
func (r *Reader) load(path string, first int32) (*report, error) {
	var progress func(int64)
	if r.opts.Progress != nil {
		progress = func(rows int64) { r.opts.Progress(path, rows) }
	}
	rep, err := load(path, progress)
	if err != nil {
		return nil, err
	}
	rep.number(first)
	rep.describe()
	return rep, nil
}

// align sets the offset that brings the report's times to the clock of the
// first one.
func (r *report) align(first *report) {
	switch {
	case !r.clocked:
		r.warn("the export does not state when its session started: its clock cannot be compared with those of the other reports")
	case !first.clocked:
		r.warn("the first report does not state when its session started: the clock cannot be compared with it")
	case max(r.origin-first.origin, first.origin-r.origin) > maxTime:
		r.warn("its session started decades from that of the first report: its clock cannot be compared with the others")
	default:
		r.info.Offset = r.origin - first.origin
	}
	r.info.Shift(r.info.Offset)
	if r.info.Offset != 0 && r.apart(first) {
		r.warn("its GPU work and that of the first report do not overlap in time: they are not of one run, or a session start is wrong")
	}
}

// apart tells whether the spans of GPU activity of two reports do not touch.
func (r *report) apart(other *report) bool {
	a, b := &r.info, &other.info
	return a.GPUStart != nil && b.GPUStart != nil && (*a.GPUStart > *b.GPUEnd || *b.GPUStart > *a.GPUEnd)
}

// Header describes the reports.
func (r *Reader) Header() *event.Header { return &r.header }

// batches is the number of batches in use: one being filled, one waiting, one
// with the caller.
const batches = 3

// Next returns the next batch. A goroutine fills batches ahead of the caller.
func (r *Reader) Next() (*event.Batch, error) {
	if r.full == nil {
		r.full, r.free, r.stop = make(chan filled, batches), make(chan *event.Batch, batches), make(chan struct{})
		for range batches {
			r.free <- new(event.Batch)
		}
		go r.produce()
	}
	if r.current.batch != nil {
		r.free <- r.current.batch
		r.current.batch = nil
	}
	next, ok := <-r.full
	if !ok {
		if r.err == nil {
			return nil, io.EOF
		}
		return nil, r.err
	}
	r.current = next
	return next.batch, nil
}

// Report returns the number of the report that the rows of the last batch come
// from: no batch has rows of two.
func (r *Reader) Report() int { return r.current.report }

// Close ends the goroutine that fills batches, for a caller who stops early.
func (r *Reader) Close() {
	if r.stop != nil {
		close(r.stop)
		for range r.full { // until produce has closed it
		}
		r.stop = nil
	}
}

var errStopped = errors.New("stopped")

func (r *Reader) produce() {
	defer close(r.full)
	for i := range r.reports {
		if r.err = r.produceReport(i); r.err != nil {
			return
		}
	}
}

// produceReport writes the rows of a report and lets go of it.
func (r *Reader) produceReport(i int) error {
	rep := r.reports[i]
	r.reports[i] = nil
	if rep.rows < 0 {
		again, err := r.load(r.paths[i], rep.firstRank())
		if err != nil {
			return err
		}
		if !sameReport(&rep.info, &again.info) {
			return problem(r.paths[i], "changed while it was being read", "wait until it is complete")
		}
		rep = again
	}
	codes := map[string]int32{}
	for k, name := range r.header.Domains {
		codes[name] = int32(k)
	}
	put := func(b *event.Batch) error { return r.put(filled{b, i}) }
	e := &emitter{r: rep, offset: r.header.Reports[i].Offset, domains: codes, flush: func(b *event.Batch) (*event.Batch, error) {
		if err := put(b); err != nil {
			return nil, err
		}
		return r.blank()
	}}
	var err error
	if e.batch, err = r.blank(); err != nil {
		return err
	}
	if err := e.emit(); err != nil {
		return err
	}
	e.batch.Truncate(e.at)
	return put(e.batch)
}

func (r *report) firstRank() int32 {
	if len(r.info.Ranks) == 0 {
		return 0
	}
	return r.info.Ranks[0]
}

// sameReport tells whether two looks at a file saw the same rows.
func sameReport(a, b *event.Report) bool {
	for kind, n := range a.Rows {
		if b.Rows[kind] != n {
			return false
		}
	}
	return len(a.Rows) == len(b.Rows) && slices.Equal(a.Ranks, b.Ranks)
}

// put hands out a batch, or keeps an empty one.
func (r *Reader) put(f filled) error {
	if f.batch.Len == 0 {
		r.free <- f.batch
		return nil
	}
	select {
	case r.full <- f:
		return nil
	case <-r.stop:
		return errStopped
	}
}

func (r *Reader) blank() (*event.Batch, error) {
	select {
	case b := <-r.free:
		b.Blank(event.BatchRows, event.BaseCols)
		return b, nil
	case <-r.stop:
		return nil, errStopped
	}
}
