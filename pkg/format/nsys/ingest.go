package nsys

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// capture is what the small tables of an export say about it and about the machine.
type capture struct {
	path    string
	limits  limits
	host    []event.Kind // wanted kinds of rows about host threads
	info    event.Report // as in the stream's header
	strings stringTable
	machine machine
	own     map[thread]bool // the profiler's own threads
	// origin is the UTC time of the report's time 0, in ns since 1970, if clocked.
	origin  int64
	clocked bool
}

// census is what was found in an export, and who its rows belong to.
type census struct {
	capture
	found
	tracks    []*track
	threads   []*thread
	processes []process

	pause  int64 // as in Options
	paused bool  // the GPUs of some process are idle for longer
	// onlyCallers restricts rows about host threads to threads that call CUDA or have
	// GIL ranges. Once those are read, callers has these threads by number and calling
	// as a set.
	onlyCallers bool
	callers     []bool
	calling     map[thread]bool
}

// report is an export whose rows are in a store, sorted.
type report struct {
	census
	store  *spill.Store
	runs   []runs  // by process
	slots  []int32 // index in ranks by process, noSlot if it is not a rank
	ranks  []rankID
	stacks stackTable
	chains map[string]*chains // by callchain table, once stacksLoaded has returned
	// stacksLoaded waits until stacks are read, and returns the error of reading them.
	stacksLoaded func() error
	// comparable: the report's times can be put on the clock of the stream.
	comparable bool
}

// limits are the resources that a reader may use.
type limits struct {
	store     int64 // bytes of rows in memory
	strings   int64 // bytes of a string table
	fanIn     int   // runs open at a time
	chunkRows int   // rows that a sorter holds, at most the constant chunkRows
}

// openRun is roughly the memory of an open run, in bytes.
const openRun = (numColumns + 2) * 8 * spill.BlockRows

// limitsOf divides memory. The rest is for sorting chunks, for batches, and for their
// users.
func limitsOf(memory int64) limits {
	return limits{store: memory / 4, strings: memory / 4, fanIn: max(16, int(memory/5/openRun)), chunkRows: chunkRows}
}

// load reads an export into a store: its kind and version, the strings (which events
// refer to by number), the events, and the samples of Python for the threads that
// events have. Rows that name no process are assigned at the end, when all processes
// are known.
func load(path string, store *spill.Store, limits limits, opts *Options) (*report, error) {
	e, err := openExport(path)
	if err != nil {
		return nil, err
	}
	columns, err := e.columns()
	if err != nil {
		return nil, err
	}
	if err := checkExport(path, columns); err != nil {
		return nil, err
	}
	s, err := e.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &report{store: store, census: census{
		capture: capture{path: path, limits: limits, host: opts.Host},
		found:   newFound(), pause: opts.Pause, onlyCallers: opts.Callers,
	}}
	if err := r.readInfo(s, columns); err != nil {
		return nil, err
	}
	if err := r.strings.load(s, columns, limits.strings); errors.Is(err, errStrings) {
		return nil, problem(path, err.Error(), "give more memory with --memory")
	} else if err != nil {
		return nil, r.explain(err)
	}
	if slices.Contains(r.host, event.Run) {
		if err := r.readOwnThreads(s, columns); err != nil {
			return nil, r.explain(err)
		}
	}
	var progress func(rows int64)
	if opts.Progress != nil {
		progress = func(rows int64) { opts.Progress(path, rows) }
	}
	if err := r.loadEvents(e, s, columns, progress); err != nil {
		return nil, err
	}
	if err := r.readPython(s, columns); err != nil {
		return nil, err
	}
	r.adoptUnnamed()
	return r, nil
}

// checkExport returns an error if the tables are not those of an export, saying what
// the file is.
func checkExport(path string, columns map[string][]string) error {
	switch {
	case isNvprof(columns):
		return problem(path, "a database of nvprof, not an nsys export", "profile with Nsight Systems: 'nsys profile -t cuda,nvtx', then 'nsys export --type sqlite'")
	case !isExport(columns):
		return problem(path, "not an nsys export: it has none of its tables",
			"profile with 'nsys profile -t cuda,nvtx' and export with 'nsys export --type sqlite'")
	}
	return nil
}

// maxLoaders bounds the number of concurrent tasks, each of which takes about 2 MB.
const maxLoaders = 16

// loadEvents reads the tables of events with as many loaders as there are processors.
// Tables about host threads are last, when the threads whose rows are wanted are known.
func (r *report) loadEvents(e export, s scanner, columns map[string][]string, progress func(int64)) error {
	tasks, err := r.tasks(s, columns)
	if err != nil {
		return err
	}
	shared := &interner{report: r, tracks: map[track]int32{}, threads: map[thread]int32{}, processes: map[process]int32{}}
	shared.process(0) // number 0 is unnamed
	loaders := make([]*loader, min(runtime.GOMAXPROCS(0), maxLoaders, max(len(tasks), 1)))
	for w := range loaders {
		loaders[w] = newLoader(r, shared, columns)
		defer loaders[w].close()
	}
	host := slices.IndexFunc(tasks, func(t task) bool { return t.table.host })
	if host < 0 {
		host = len(tasks)
	}
	all := &queue{tasks: tasks[:host], progress: progress}
	if err := all.run(loaders, e); err != nil {
		return r.explain(err)
	}
	if tasks, err = r.settleHost(tasks, loaders, s, columns); err != nil {
		return r.explain(err)
	}
	r.findCallers(loaders)
	r.stacksLoaded = sync.OnceValue(func() error { return r.loadStacks(e, columns) })
	if n := len(tasks); n > 0 && tasks[n-1].table.stacks != "" {
		all.first = func() { _ = r.stacksLoaded() } // tasks that need stacks return the error
	}
	all.tasks = tasks
	if err := all.run(loaders, e); err != nil {
		return r.explain(err)
	}
	r.collect(loaders)
	return nil
}

// queue hands out tasks until one has failed.
type queue struct {
	first    func() // run by one loader before its tasks, while others work; may be nil
	tasks    []task
	taken    atomic.Int64
	failed   atomic.Bool
	rows     atomic.Int64
	done     int64            // tasks of earlier runs
	progress func(rows int64) // may be nil
}

// run has the loaders do all remaining tasks. If several fail, it returns the error of
// the first of these loaders.
func (q *queue) run(loaders []*loader, e export) error {
	q.taken.Store(q.done)
	errs := make([]error, len(loaders))
	var wg sync.WaitGroup
	for w, l := range loaders {
		wg.Go(func() {
			if w == 0 && q.first != nil {
				q.first()
			}
			if errs[w] = l.run(e, q.next); errs[w] != nil {
				q.failed.Store(true)
			}
		})
	}
	wg.Wait()
	q.done = int64(len(q.tasks))
	return cmp.Or(errs...)
}

// next returns the next task, nil if there is none.
func (q *queue) next() *task {
	i := int(q.taken.Add(1)) - 1
	if i >= len(q.tasks) || q.failed.Load() {
		return nil
	}
	t := &q.tasks[i]
	if q.progress != nil {
		q.progress(q.rows.Add(max(t.high-t.low+1, 0)))
	}
	return t
}

// tasks divides the tables of events into tasks.
func (c *census) tasks(s scanner, columns map[string][]string) ([]task, error) {
	var tasks []task
	for i := range eventTables {
		t := &eventTables[i]
		if !t.in(columns) || t.host && !c.maybeWanted(t.kind) {
			continue
		}
		if some, err := t.mayHave(s, columns); err != nil {
			return nil, err
		} else if !some {
			continue
		}
		low, high, err := s.Rows(t.name)
		if err != nil {
			return nil, err
		}
		if low < -maxTime || high > maxTime {
			return nil, problem(c.path, "row ids of "+t.name+" out of range", "repeat 'nsys export'")
		}
		size := int64(taskRows)
		for (high-low)/size > maxTasks { // row ids have wide gaps
			size *= 2
		}
		for ; low <= high; low += size {
			tasks = append(tasks, task{table: t, tag: i, number: len(tasks), low: low, high: min(low+size-1, high)})
		}
	}
	return tasks, nil
}
