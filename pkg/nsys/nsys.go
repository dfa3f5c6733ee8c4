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
// the row, and the header, which goes ahead of the first row, counts all of them.
//
// So a report is read once, in chunks of some ten thousand rows, by as many
// goroutines as there are processors. The rows of a chunk are sorted by process
// and time and written as runs of a spill.Store, packed into 12 to 20 bytes
// each: in memory as long as there is some, then in a temporary file. When all
// tables of all reports are read and it is known which process is which rank, the
// runs of each rank are merged into batches. The launching calls are found in an
// index by process and correlation, which is a run as well. What must be in memory
// is the string table, what is counted of each thread and stream, and a block of
// each run that the merge is in: however large the report, and whatever the order
// of its tables and rows.
//
// # How to add a table
//
// schema.go declares the tables of events, one entry each: its columns, the kind
// of its rows, and two functions, of which pick says which rows of a block become
// events and add appends these to a chunk. Columns are asked for by name, and a
// column that an export lacks is all null. So a table takes an entry in
// eventTables and two functions of a few lines beside those that are there
// (gpu.go, calls.go, nvtx.go); reading, ranks and order are the same for all tables,
// and emit.go says which columns of a batch a row of the kind has.
package nsys

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/spill"
)

// Options are the settings of Open.
type Options struct {
	// Progress, where not nil, is told the file that is being read and how many
	// of its rows have been, from several goroutines.
	Progress func(path string, rows int64)
	// Separate takes reports as those of different machines or runs that may
	// lie apart in time, or hold processes that look the same.
	Separate bool
	// Host are the kinds of rows about host threads that are wanted, of event.OS,
	// event.Run, event.Sample and event.Backtrace: no others are read.
	Host []event.Kind
	// Callers leaves out the rows of these kinds, other than event.Run, of threads that
	// call CUDA nowhere, of ranks without ranges of the interpreter lock: no GPU waits
	// for what such a thread does.
	Callers bool
	// Columns returns the columns that are wanted of what has this header, 0 for all.
	// nil: all.
	Columns func(*event.Header) event.Set
	// Memory is how many bytes the process may take at most, 0 for DefaultMemory.
	// What does not fit goes to a temporary file.
	Memory int64

	limits *limits // of tests
}

// Reader reads the events of one or several reports. It is an event.Source.
type Reader struct {
	opts    Options
	limits  limits
	store   *spill.Store
	header  event.Header
	reports []*report
	paths   []string
	parts   []parts   // by number of the rank
	stacks  [][]int32 // of each report: codes in the header by the report's numbers

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

// Open reads reports and numbers their ranks over all of them. Their clocks
// are brought together by the session starts that they state.
func Open(paths []string, opts Options) (*Reader, error) {
	r := &Reader{opts: opts, paths: paths}
	if r.limits = limitsOf(cmp.Or(opts.Memory, DefaultMemory)); opts.limits != nil {
		r.limits = *opts.limits
	}
	r.store = spill.NewStore(r.limits.store)
	if err := r.open(); err != nil {
		r.store.Close()
		return nil, err
	}
	return r, nil
}

// open reads all reports.
func (r *Reader) open() error {
	r.header.Stage, r.header.Columns = event.Readers["nsys"], event.BaseCols
	domains := map[string]bool{}
	var first *report // what the others are aligned with
	var loose []bool  // whose clock cannot be compared
	for i, path := range r.paths {
		rep, err := r.load(path)
		if err != nil {
			return err
		}
		if i == 0 {
			first = &report{info: rep.info, origin: rep.origin, clocked: rep.clocked}
			rep.comparable = rep.clocked
		} else {
			rep.align(first)
		}
		if err := r.assign(i, rep, path); err != nil {
			return err
		}
		for _, d := range rep.domains {
			domains[d.name] = d.name != ""
		}
		r.header.Columns |= rep.hostColumns()
		r.header.Reports = append(r.header.Reports, rep.info)
		loose = append(loose, !rep.comparable)
		r.reports = append(r.reports, rep)
	}
	for name, ok := range domains {
		if ok {
			r.header.Domains = append(r.header.Domains, name)
		}
	}
	slices.Sort(r.header.Domains)
	if err := r.checkTogether(loose); err != nil {
		return err
	}
	r.sortReports()
	r.header.Stacks, r.stacks = joinStacks(r.reports)
	r.warnOfCut()
	r.chooseColumns()
	return nil
}

// alwaysColumns are those that rows have whether they are wanted or not.
const alwaysColumns event.Set = 1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd | 1<<event.ColRank | 1<<event.ColDevice |
	1<<event.ColThread | 1<<event.ColName | 1<<event.ColClass

// chooseColumns leaves out columns that nobody wants.
func (r *Reader) chooseColumns() {
	if r.opts.Columns == nil {
		return
	}
	if wanted := r.opts.Columns(&r.header); wanted != 0 {
		r.header.Columns &= wanted | alwaysColumns
	}
}

// Paths are the files of the reports, in the order of the header's.
func (r *Reader) Paths() []string { return r.paths }

// load reads one report.
func (r *Reader) load(path string) (*report, error) {
	var progress func(int64)
	if r.opts.Progress != nil {
		progress = func(rows int64) { r.opts.Progress(path, rows) }
	}
	rep, err := load(path, r.store, r.limits, r.opts.Host, progress)
	if err != nil {
		return nil, err
	}
	rep.findRanks()
	return rep, rep.describe()
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
		r.info.Offset, r.comparable = r.origin-first.origin, true
		r.info.Shift(r.info.Offset)
	}
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

// Close ends the goroutine that fills batches and gives back what the reader
// holds. Batches are not valid any more.
func (r *Reader) Close() {
	if r.stop != nil {
		close(r.stop)
		for range r.full { // until produce has closed it
		}
		r.stop = nil
	}
	r.store.Close()
}

var errStopped = errors.New("stopped")

// produce writes the rows of all reports.
func (r *Reader) produce() {
	defer close(r.full)
	defer r.store.Close()
	codes := map[string]int32{}
	for k, name := range r.header.Domains {
		codes[name] = int32(k)
	}
	emitters := make([]*emitter, len(r.reports))
	var now *emitter
	callers := r.callers()
	for _, u := range r.plan() {
		e := emitters[u.report]
		if e == nil {
			e = newEmitter(r.reports[u.report], r.header.Reports[u.report].Offset, r.header.Columns, codes, r.stacks[u.report], callers)
			emitters[u.report] = e
		}
		if r.err = r.produceUnit(e, now, u); r.err != nil {
			return
		}
		if now = e; u.last {
			emitters[u.report], r.reports[u.report] = nil, nil
		}
	}
	if now != nil {
		now.batch.Truncate(now.at)
		r.err = r.put(filled{now.batch, now.report})
	}
}

// produceUnit writes the rows of a unit, into the batch under way where that is
// of the same report.
func (r *Reader) produceUnit(e, now *emitter, u unit) (err error) {
	if now != e {
		if now != nil {
			now.batch.Truncate(now.at)
			if err := r.put(filled{now.batch, now.report}); err != nil {
				return err
			}
		}
		e.report, e.at = u.report, 0
		e.flush = func(b *event.Batch) (*event.Batch, error) {
			if err := r.put(filled{b, u.report}); err != nil {
				return nil, err
			}
			return r.blank()
		}
		if e.batch, err = r.blank(); err != nil {
			return err
		}
	}
	return e.emit(u.slot, u.from)
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

// blank returns a batch of rows without values, in memory that nobody reads any more. It is
// an error that the reading was stopped meanwhile.
func (r *Reader) blank() (*event.Batch, error) {
	select {
	case b := <-r.free:
		b.Blank(event.BatchRows, r.header.Columns)
		return b, nil
	case <-r.stop:
		return nil, errStopped
	}
}
