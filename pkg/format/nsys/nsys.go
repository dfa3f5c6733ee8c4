// Package nsys reads Nsight Systems exports of any version as events.
//
// An export is a set of tables, in an SQLite file or in a folder of Parquet files. Every
// table and every column is optional, order and number of columns change between
// versions, and most exports hold tables that are not needed here. So tables and columns
// are looked up by name, and what is missing reads as null. FORMAT.md beside this file
// says what is taken from where.
//
// # How a report is read
//
// An export is ordered by table and not by time: API calls and ranges come
// thread after thread, and GPU rows apart from the calls that launched them.
// The stream wants them by time, rank after rank, with the launching call in
// the row, and the header, which goes ahead of the first row, counts all of them.
//
// So a report is read once, in chunks of some ten thousand rows, by as many goroutines as
// there are processors. The rows of a chunk are sorted by process and time and written as
// runs of a spill.Store, packed into 12 to 20 bytes each: in memory while there is room,
// then in a temporary file. When all tables of all reports are read and it is known which
// process is which rank, the runs of each rank are merged into batches. The launching
// calls are found in an index by process and correlation, which is runs as well. Analyses
// that look at one rank at a time may have several of them merged side by side (Parts).
// Memory must hold only the string table, the counts of each thread and stream, and a
// block of each run that the merge is in, however large the report and whatever the order
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
	"slices"
	"sync/atomic"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
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
	// Callers leaves out the rows of these kinds, other than event.Run, of threads that in
	// their report neither call CUDA nor have ranges of the interpreter lock: no GPU waits
	// for what such a thread does. The header counts them nevertheless.
	Callers bool
	// Columns returns the columns that are wanted of what has this header, 0 for all.
	// nil: all.
	Columns func(*event.Header) event.Set
	// Launched returns the class of the kernels whose launching calls are wanted, false where
	// those of all GPU rows are. nil: of all.
	Launched func(*event.Header) (event.Class, bool)
	// HostClasses returns the classes of API calls and NVTX ranges that are wanted of what has
	// this header, false for all: rows of others are left out. The header counts them
	// nevertheless. nil: all.
	HostClasses func(*event.Header) (event.ClassSet, bool)
	// Pause is for how long, in ns, no GPU of a process works before what its host does is of
	// interest: of a report with longer pauses rows of kind event.OS and event.Run are read, and
	// HostClasses leaves none out. 0: never.
	Pause int64
	// Memory is how many bytes the process may take at most, 0 for spill.DefaultBudget.
	// What does not fit goes to a temporary file.
	Memory int64

	limits *limits // of tests
}

// Reader reads the events of one or several reports. It is an event.Source.
type Reader struct {
	opts     Options
	limits   limits
	store    *spill.Store
	header   event.Header
	reports  []*report
	paths    []string
	parts    []parts    // by number of the rank
	stacks   [][]int32  // of each report: codes in the header by the report's numbers
	emitters []*emitter // of each report, nil after its last row

	// live are those who write rows, and left how many of them have not ended: all writes
	// those of all units, where they are not read in parts.
	live []*producer
	left atomic.Int32
	all  *producer
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
	if r.limits = limitsOf(cmp.Or(opts.Memory, spill.DefaultBudget)); opts.limits != nil {
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
		rep, err := load(path, r.store, r.limits, &r.opts)
		if err != nil {
			return err
		}
		rep.findRanks()
		if err := rep.describe(); err != nil {
			return err
		}
		if i == 0 {
			first = &report{census: census{capture: capture{info: rep.info, origin: rep.origin, clocked: rep.clocked}}}
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
	r.warnOfSharing()
	r.header.Stacks, r.stacks = joinStacks(r.reports)
	r.warnOfCut()
	if r.opts.Columns != nil {
		if wanted := r.opts.Columns(&r.header); wanted != 0 {
			r.header.Columns &= wanted | alwaysColumns
		}
	}
	for i := range r.reports {
		r.emitters = append(r.emitters, r.newEmitter(i))
	}
	return nil
}

// alwaysColumns are those that rows have whether they are wanted or not.
const alwaysColumns event.Set = 1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd | 1<<event.ColRank | 1<<event.ColDevice |
	1<<event.ColThread | 1<<event.ColName | 1<<event.ColClass

// Paths are the files of the reports, in the order of the header's.
func (r *Reader) Paths() []string { return r.paths }

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
