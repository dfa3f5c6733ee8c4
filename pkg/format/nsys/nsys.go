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
	// Progress, if not nil, is called with the file that is being read and the number
	// of its rows read so far, from several goroutines.
	Progress func(path string, rows int64)
	// Separate treats reports as being of different machines or runs: they may lie
	// apart in time, and processes may look the same.
	Separate bool
	// Host are the wanted kinds of rows about host threads: event.OS, event.Run,
	// event.Sample and event.Backtrace. No others are read.
	Host []event.Kind
	// Callers leaves out rows of these kinds, except event.Run, of threads that neither
	// call CUDA nor have GIL ranges in their report: no GPU waits for such a thread.
	// The header still counts them.
	Callers bool
	// Columns returns the wanted columns of a stream with this header, 0 for all. nil:
	// all.
	Columns func(*event.Header) event.Set
	// Launched returns the class of the kernels whose launch calls are wanted, false if
	// those of all GPU rows are. nil: all.
	Launched func(*event.Header) (event.Class, bool)
	// HostClasses returns the wanted classes of API calls and NVTX ranges, false for
	// all. Rows of other classes are left out, but the header counts them. nil: all.
	HostClasses func(*event.Header) (event.ClassSet, bool)
	// Pause is how long, in ns, the GPUs of a process must be idle for all of its
	// host's activity to matter. Of a report with longer pauses, rows of kinds event.OS
	// and event.Run are read, and HostClasses leaves out none. 0: never.
	Pause int64
	// Memory is how many bytes the process may use at most, 0 for spill.DefaultBudget.
	// What does not fit goes to a temporary file.
	Memory int64

	limits *limits // set by tests
}

// Reader reads the events of one or more reports. It is an event.Source.
type Reader struct {
	opts     Options
	limits   limits
	store    *spill.Store
	header   event.Header
	reports  []*report
	paths    []string
	parts    []parts    // by number of the rank
	stacks   [][]int32  // by report: codes in the header, by the report's numbers
	emitters []*emitter // by report, nil after its last row

	// live are the producers, and left is how many of them have not ended. all writes
	// the rows of all units, if they are not read in parts.
	live []*producer
	left atomic.Int32
	all  *producer
}

// filled is a batch of rows of one report.
type filled struct {
	batch  *event.Batch
	report int
}

// Open reads reports and numbers their ranks across all of them. It aligns their clocks
// by the session starts that they state.
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
	var first *report // the others are aligned with it
	var loose []bool  // by report: its clock cannot be compared
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

// alwaysColumns are those that rows have whether wanted or not.
const alwaysColumns event.Set = 1<<event.ColKind | 1<<event.ColStart | 1<<event.ColEnd | 1<<event.ColRank | 1<<event.ColDevice |
	1<<event.ColThread | 1<<event.ColName | 1<<event.ColClass

// Paths returns the files of the reports, in the order of the header.
func (r *Reader) Paths() []string { return r.paths }

// align sets the offset that moves the report's times to the clock of the first one.
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
