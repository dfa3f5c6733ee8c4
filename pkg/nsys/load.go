package nsys

import (
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/hostbound/hostbound/pkg/cudaname"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/marker"
	"github.com/hostbound/hostbound/pkg/sqlite"
)

// partRows is the number of row ids that one part of a table covers. Parts are
// read side by side and keep the order of the table between them; a row is
// referred to by the number of its part and its place in it.
const (
	partBits = 16
	partRows = 1 << partBits
	partMask = partRows - 1
	maxParts = 1 << 12 // of a table, before those that hold too many rows are split
)

// gpuPart holds some rows of a table of GPU rows. Columns that the kind of row
// has no use for are nil.
type gpuPart struct {
	kind        event.Kind
	start, end  []int64
	correlation []int64 // none where it has none
	node        []int64 // none where no graph replay ran it
	bytes       []int64
	name        []int32 // number of the text
	class       []int8  // -1 for none
	lane        []int32
}

// hostPart holds some rows of a table of host rows.
type hostPart struct {
	kind        event.Kind
	start, end  []int64
	correlation []int64
	name        []int32 // number of the text, or ^i for text i of own
	class       []int8
	thread      []int32
	domain      []int64
	own         texts
}

// known are the tables that are read. Whatever else an export holds is ignored.
var known = map[string]bool{
	"StringIds": true, "EXPORT_META_DATA": true, "META_DATA_EXPORT": true, "META_DATA_CAPTURE": true,
	sessionTable: true, diagnosticTable: true, gpuTable: true, deviceTable: true,
	kernelTable: true, graphTable: true, memcpyTable: true, memsetTable: true, syncTable: true,
	runtimeTable: true, nvtxTable: true, "PROFILER_OVERHEAD": true, cuptiOverheadTable: true,
}

const (
	kernelTable  = "CUPTI_ACTIVITY_KIND_KERNEL"
	graphTable   = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	memcpyTable  = "CUPTI_ACTIVITY_KIND_MEMCPY"
	memsetTable  = "CUPTI_ACTIVITY_KIND_MEMSET"
	syncTable    = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	runtimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME"
	nvtxTable    = "NVTX_EVENTS"

	cuptiOverheadTable = "CUPTI_ACTIVITY_KIND_OVERHEAD"

	sessionTable    = "TARGET_INFO_SESSION_START_TIME"
	diagnosticTable = "DIAGNOSTIC_EVENT"
)

// eventTables are the tables of events, in the order in which rows of equal
// times are written.
var eventTables = []struct {
	table string
	kind  event.Kind
}{
	{nvtxTable, event.NVTX},
	{runtimeTable, event.API},
	{graphTable, event.Graph},
	{kernelTable, event.Kernel},
	{memcpyTable, event.Memcpy},
	{memsetTable, event.Memset},
	{syncTable, event.Sync},
	{"PROFILER_OVERHEAD", event.Overhead},
	{cuptiOverheadTable, event.Overhead},
}

// load reads an export into memory.
func load(path string, progress func(rows int64)) (*report, error) {
	t, err := openTables(path)
	if err != nil {
		return nil, err
	}
	columns, err := t.columns()
	if err != nil {
		return nil, err
	}
	if isNvprof(columns) {
		return nil, problem(path, "a database of nvprof, not an nsys export", "profile with Nsight Systems: 'nsys profile -t cuda,nvtx', then 'nsys export --type sqlite'")
	}
	if !isExport(columns) {
		return nil, problem(path, "not an nsys export: it has none of its tables",
			"profile with 'nsys profile -t cuda,nvtx' and export with 'nsys export --type sqlite'")
	}
	s, err := t.open()
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &report{path: path, domains: map[domainKey]domainName{}, unusable: map[string]int64{}}
	if err := r.readInfo(s, columns); err != nil {
		return nil, err
	}
	if err := r.strings.load(s, columns["StringIds"]); err != nil {
		return nil, r.explain(err)
	}
	if err := r.loadEvents(t, s, columns, progress); err != nil {
		return nil, err
	}
	r.adoptUnnamed()
	return r, nil
}

// isExport tells whether any of an export's tables is there. One that is not
// lazy has them all, and a lazy one of a recording that caught nothing has none
// of events.
func isExport(columns map[string][]string) bool {
	for table := range columns {
		if known[table] {
			return true
		}
	}
	return false
}

// isNvprof tells whether a database is one of nvprof, which has tables of the
// same names for calls and copies, and others for strings and kernels.
func isNvprof(columns map[string][]string) bool {
	has := func(table string) bool { _, ok := columns[table]; return ok }
	return (has("StringTable") || has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")) && !has("StringIds") && !has(kernelTable)
}

// task is one part of one table to read.
type task struct {
	table     string
	kind      event.Kind
	low, high int64
	gpu       []*gpuPart // one, or more where the row ids are far apart
	host      []*hostPart
}

// loadEvents reads the tables of events, as many parts at a time as there are
// processors.
func (r *report) loadEvents(t tables, s scanner, columns map[string][]string, progress func(int64)) error {
	tasks, err := r.plan(s, columns)
	if err != nil {
		return err
	}
	shared := &interner{report: r, lanes: map[lane]int32{}, threads: map[thread]int32{}}
	workers := min(runtime.GOMAXPROCS(0), 4, max(len(tasks), 1))
	loaders := make([]*loader, workers)
	errs := make([]error, workers)
	var next, rows atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for w := range workers {
		loaders[w] = newLoader(r, shared, columns)
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[w] = loaders[w].run(t, func() *task {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) || failed.Load() {
					return nil
				}
				if progress != nil {
					progress(rows.Add(max(tasks[i].high-tasks[i].low+1, 0)))
				}
				return &tasks[i]
			})
			if errs[w] != nil {
				failed.Store(true)
			}
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	r.collect(tasks, loaders)
	return nil
}

// plan cuts the tables into parts.
func (r *report) plan(s scanner, columns map[string][]string) ([]task, error) {
	var tasks []task
	for _, e := range eventTables {
		if !contains(columns[e.table], "start") || !contains(columns[e.table], "end") {
			continue
		}
		low, high, err := s.rows(e.table)
		if err != nil {
			return nil, err
		}
		if low < -maxTime || high > maxTime {
			return nil, problem(r.path, "row ids of "+e.table+" out of range", "repeat 'nsys export'")
		}
		size := int64(partRows)
		for (high-low)/size > maxParts { // row ids with wide holes between them
			size *= 2
		}
		for ; low <= high; low += size {
			tasks = append(tasks, task{table: e.table, kind: e.kind, low: low, high: min(low+size-1, high)})
		}
	}
	return tasks, nil
}

// collect takes over what the loaders have read.
func (r *report) collect(tasks []task, loaders []*loader) {
	r.info.Rows = map[string]int64{}
	for _, t := range tasks {
		for _, p := range t.gpu {
			r.gpu = append(r.gpu, p)
			r.info.Rows[event.Kinds[t.kind]] += int64(len(p.start))
		}
		for _, p := range t.host {
			r.host = append(r.host, p)
			r.info.Rows[event.Kinds[t.kind]] += int64(len(p.start))
		}
	}
	for _, n := range r.info.Rows {
		r.rows += n
	}
	for _, l := range loaders {
		for table, n := range l.unusable {
			r.unusable[table] += n
		}
		for key, d := range l.domains {
			if old, ok := r.domains[key]; !ok || d.part < old.part {
				r.domains[key] = d
			}
		}
		r.untimed += l.untimed
		r.noCalls += l.noCalls
		r.replayed += l.replayed
	}
	r.collectFacts(loaders)
}

// span is a stretch of time, empty where start > end.
type span struct{ start, end int64 }

var nothing = span{1 << 62, -1 << 62}

func (s *span) add(start, end int64) { s.start, s.end = min(s.start, start), max(s.end, end) }

func widen(start, end **int64, s span) {
	if s.start > s.end {
		return
	}
	if *start == nil {
		*start, *end = new(int64), new(int64)
		**start, **end = s.start, s.end
		return
	}
	**start, **end = min(**start, s.start), max(**end, s.end)
}

// interner numbers the lanes and threads that all loaders meet.
type interner struct {
	sync.Mutex
	report  *report
	lanes   map[lane]int32
	threads map[thread]int32
}

func (in *interner) lane(key lane) int32 {
	in.Lock()
	defer in.Unlock()
	n, ok := in.lanes[key]
	if !ok {
		n = int32(len(in.report.lanes))
		in.lanes[key] = n
		in.report.lanes = append(in.report.lanes, &key)
	}
	return n
}

func (in *interner) thread(key thread) int32 {
	in.Lock()
	defer in.Unlock()
	n, ok := in.threads[key]
	if !ok {
		n = int32(len(in.report.threads))
		in.threads[key] = n
		in.report.threads = append(in.report.threads, &key)
	}
	return n
}

// mark notes that a lane has GPU activity, or allreduce kernels.
func (in *interner) mark(n int32, allreduce bool) {
	in.Lock()
	defer in.Unlock()
	l := in.report.lanes[n]
	l.active = true
	l.allreduce = l.allreduce || allreduce
}

// loader reads parts of tables, one goroutine each.
type loader struct {
	report   *report
	shared   *interner
	columns  map[string][]string
	unusable map[string]int64
	domains  map[domainKey]domainName
	untimed  int64 // whole-graph rows without times
	noCalls  int64 // rows among the API calls that are neither calls nor stacks
	replayed int64

	laneFacts   []laneFacts   // by number of the lane
	threadFacts []threadFacts // by number of the thread
	profiler    []profilerCall

	kernels   map[[2]int32]int8 // classes by the texts of the names
	nvtxClass []int8            // by text, unclassed where not yet looked up

	// What rows repeat, by the numbers of the row that say it.
	lanes   memo[laneNote]
	threads memo[int32]
	names   memo[nameNote] // of kernels
	calls   memo[callNote]
	texts   memo[textNote] // by hash
	seed    maphash.Seed

	picked []int32 // the rows of a block that are kept
}

// laneNote is a lane's number and what was said of it already.
type laneNote struct {
	number            int32
	active, allreduce bool
}

// nameNote is the number of a name and its class.
type nameNote struct {
	name  int32
	class int8
}

// textNote is a text of one part and its class.
type textNote struct {
	part *hostPart
	nameNote
}

// callNote is a call's name and class, and what it does to the profiler.
type callNote struct {
	nameNote
	profiler int8 // stopsProfiler, startsProfiler, 0 for nothing
}

const unclassed = int8(-2)

func newLoader(r *report, shared *interner, columns map[string][]string) *loader {
	l := &loader{
		report: r, shared: shared, columns: columns,
		unusable: map[string]int64{}, domains: map[domainKey]domainName{}, kernels: map[[2]int32]int8{},
		nvtxClass: make([]int8, r.strings.len()),
		seed:      maphash.MakeSeed(),
	}
	for i := range l.nvtxClass {
		l.nvtxClass[i] = unclassed
	}
	return l
}

// triple is up to three numbers of a row that decide something together.
type triple [3]int64

// memo remembers what was found out for triples, the last of those with the
// same hash. Rows repeat a few of them in turns, so it is nearly always right,
// and faster than a map.
type memo[V any] struct {
	slots [1 << memoBits]struct {
		key   triple
		known bool
		value V
	}
}

const memoBits = 10

// at returns the value of a triple, and whether it was known before. If not it
// is for the caller to set.
func (m *memo[V]) at(key triple) (value *V, known bool) {
	const factor = 0x9e3779b97f4a7c15
	h := uint64(key[0])*factor + uint64(key[1])
	h = h*factor + uint64(key[2])
	s := &m.slots[h*factor>>(64-memoBits)]
	if s.known && s.key == key {
		return &s.value, true
	}
	s.key, s.known = key, true
	return &s.value, false
}

// run reads parts until there is none left.
func (l *loader) run(t tables, next func() *task) error {
	var s scanner
	for k := next(); k != nil; k = next() {
		if s == nil {
			var err error
			if s, err = t.open(); err != nil {
				return err
			}
			defer s.close()
		}
		if err := l.read(s, k); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) read(s scanner, t *task) error {
	switch t.kind {
	case event.NVTX:
		return l.readNVTX(s, t)
	case event.API, event.Overhead:
		return l.readCalls(s, t)
	}
	return l.readGPU(s, t)
}

// size is the number of rows to make room for in a part whose first block has n
// rows. Only the last block of a part is not full, so that a table with holes
// between its row ids does not take memory for the holes.
func (t *task) size(n int) int {
	if n < sqlite.BlockRows {
		return n
	}
	return int(min(t.high-t.low+1, partRows))
}

// gpuPart returns the part that the next rows, of a block of n, go to.
func (t *task) gpuPart(n int) *gpuPart {
	if n := len(t.gpu); n > 0 && len(t.gpu[n-1].start) < partRows {
		return t.gpu[n-1]
	}
	t.gpu = append(t.gpu, newGPUPart(t.kind, t.size(n)))
	return t.gpu[len(t.gpu)-1]
}

// hostPart returns the part that the next rows, of a block of n, go to.
func (t *task) hostPart(n int) *hostPart {
	if n := len(t.host); n > 0 && len(t.host[n-1].start) < partRows {
		return t.host[n-1]
	}
	t.host = append(t.host, newHostPart(t.kind, t.size(n)))
	return t.host[len(t.host)-1]
}

func newGPUPart(kind event.Kind, size int) *gpuPart {
	p := &gpuPart{kind: kind}
	for _, c := range []*[]int64{&p.start, &p.end, &p.correlation} {
		*c = make([]int64, 0, size)
	}
	p.name, p.lane = make([]int32, 0, size), make([]int32, 0, size)
	switch kind {
	case event.Kernel:
		p.class = make([]int8, 0, size)
	case event.Memcpy, event.Memset:
		p.bytes = make([]int64, 0, size)
	}
	return p
}

func newHostPart(kind event.Kind, size int) *hostPart {
	p := &hostPart{kind: kind}
	for _, c := range []*[]int64{&p.start, &p.end} {
		*c = make([]int64, 0, size)
	}
	p.name, p.thread, p.class = make([]int32, 0, size), make([]int32, 0, size), make([]int8, 0, size)
	if kind == event.NVTX {
		p.domain = make([]int64, 0, size)
	} else {
		p.correlation = make([]int64, 0, size)
	}
	return p
}

// missing is the column of an export that lacks it: all null.
var missing = func() *sqlite.Vector {
	v := &sqlite.Vector{Null: make([]bool, sqlite.BlockRows), Int: make([]int64, sqlite.BlockRows), Offsets: make([]int32, sqlite.BlockRows+1)}
	for i := range v.Null {
		v.Null[i] = true
	}
	return v
}()

// scan reads the wanted columns of a part; those that the table lacks are
// handed to fn as nulls.
func (l *loader) scan(s scanner, t *task, want []sqlite.Column, fn func(n int, c []*sqlite.Vector) error) error {
	var read []sqlite.Column
	place := make([]int, len(want))
	for i, c := range want {
		place[i] = -1
		if contains(l.columns[t.table], c.Name) {
			place[i] = len(read)
			read = append(read, c)
		}
	}
	cols := make([]*sqlite.Vector, len(want))
	return s.scan(t.table, read, t.low, t.high, func(b *sqlite.Block) error {
		for i, p := range place {
			cols[i] = missing
			if p >= 0 {
				cols[i] = &b.Cols[p]
			}
		}
		return fn(b.N, cols)
	})
}

func ints(names ...string) []sqlite.Column {
	cols := make([]sqlite.Column, len(names))
	for i, n := range names {
		cols[i] = sqlite.Column{Name: n, Type: sqlite.Int}
	}
	return cols
}

// orNone returns the number in row i, none for null.
func orNone(v *sqlite.Vector, i int) int64 {
	if v.Null[i] {
		return none
	}
	return v.Int[i]
}

// take appends rows of a column to a column of a part, none for null.
func take(to []int64, v *sqlite.Vector, rows []int32) []int64 {
	first, last := int(rows[0]), int(rows[len(rows)-1])
	if v.Full && last-first+1 == len(rows) {
		return append(to, v.Int[first:last+1]...)
	}
	for _, i := range rows {
		to = append(to, orNone(v, int(i)))
	}
	return to
}

// usable tells whether a row has times that make sense, and counts it if not.
func (l *loader) usable(t *task, start, end *sqlite.Vector, i int) bool {
	s, e := start.Int[i], end.Int[i]
	if start.Null[i] || end.Null[i] || e < s || s < -maxTime || e > maxTime {
		l.unusable[t.table]++
		return false
	}
	return true
}

// pick returns the first n rows of a block without those that are left out.
func (l *loader) pick(t *task, c []*sqlite.Vector, n int) []int32 {
	l.picked = l.picked[:0]
	for i := range n {
		if t.kind == event.Graph && c[1].Int[i] <= c[0].Int[i] {
			l.untimed++ // its times were not collected
			continue
		}
		if t.kind == event.API && !l.isCall(c[callClass], i) {
			continue
		}
		if l.usable(t, c[0], c[1], i) {
			l.picked = append(l.picked, int32(i))
		}
	}
	return l.picked
}

// readGPU reads a part of a table of GPU rows.
func (l *loader) readGPU(s scanner, t *task) error {
	want := ints("start", "end", "globalPid", "deviceId", "streamId", "correlationId", "graphNodeId")
	switch t.kind {
	case event.Kernel:
		want = append(want, ints("shortName", "demangledName", "mangledName")...)
	case event.Memcpy:
		want = append(want, ints("bytes", "copyKind")...)
	case event.Memset:
		want = append(want, ints("bytes")...)
	case event.Sync:
		want = append(want, ints("syncType")...)
	}
	return l.scan(s, t, want, func(n int, c []*sqlite.Vector) error {
		for rows := l.pick(t, c, n); len(rows) > 0; {
			p := t.gpuPart(n)
			k := min(len(rows), partRows-len(p.start))
			l.addGPU(p, c, rows[:k])
			rows = rows[k:]
		}
		return nil
	})
}

// addGPU adds rows of a block to a part with room for them.
func (l *loader) addGPU(p *gpuPart, c []*sqlite.Vector, rows []int32) {
	first := len(p.start)
	p.start, p.end = take(p.start, c[0], rows), take(p.end, c[1], rows)
	p.correlation = take(p.correlation, c[5], rows)
	switch p.kind {
	case event.Kernel:
		l.addKernels(p, c[7:], rows)
	case event.Memcpy, event.Sync:
		kind := c[len(c)-1]
		for _, i := range rows {
			p.name = append(p.name, int32(orNone(kind, int(i))))
		}
	default:
		for range rows {
			p.name = append(p.name, noText)
		}
	}
	if p.bytes != nil {
		p.bytes = take(p.bytes, c[7], rows)
	}
	l.addNodes(p, c[6], rows)
	l.addLanes(p, c[2:5], rows, first)
	l.countGPU(p, first)
}

// addNodes adds the graph nodes of rows that were added. Most parts have none,
// and then no memory for them.
func (l *loader) addNodes(p *gpuPart, v *sqlite.Vector, rows []int32) {
	replayed := int64(0)
	for _, i := range rows {
		if !v.Null[i] && v.Int[i] != 0 {
			replayed++
		}
	}
	if p.node == nil {
		if replayed == 0 {
			return
		}
		p.node = make([]int64, len(p.start)-len(rows), cap(p.start))
		for i := range p.node {
			p.node[i] = none
		}
	}
	first := len(p.node)
	p.node = take(p.node, v, rows)
	for i, node := range p.node[first:] {
		if node == 0 { // CUPTI's word for none
			p.node[first+i] = none
		}
	}
	l.replayed += replayed
}

// addLanes adds the lanes of rows, the classes of which were added from first
// on. c is the columns that say the process, device and stream.
func (l *loader) addLanes(p *gpuPart, c []*sqlite.Vector, rows []int32, first int) {
	active := p.kind == event.Kernel || p.kind == event.Graph
	for k, i := range rows {
		key := triple{orNone(c[0], int(i)), orNone(c[1], int(i)), orNone(c[2], int(i))}
		note, known := l.lanes.at(key)
		if !known {
			*note = laneNote{number: l.shared.lane(newLane(key))}
			l.laneFacts = grown(l.laneFacts, note.number, noLaneFacts)
		}
		if active {
			allreduce := p.class != nil && p.class[first+k] == int8(event.Allreduce)
			if !note.active || allreduce && !note.allreduce {
				note.active, note.allreduce = true, note.allreduce || allreduce
				l.shared.mark(note.number, allreduce)
			}
		}
		p.lane = append(p.lane, note.number)
	}
}

// Numbers that stand for "no device" and "no stream" in an export.
const (
	hostDevice = 1<<31 - 1
	anyStream  = 1<<32 - 1
)

func newLane(key triple) lane {
	n := lane{device: key[1], stream: key[2], slot: noSlot}
	if key[0] != none {
		n.process = processOf(key[0])
	}
	if n.device >= hostDevice || n.device < 0 {
		n.device = none
	}
	if n.stream == anyStream {
		n.stream = none
	}
	return n
}

// addKernels adds the names and classes of kernels. c is the columns of their
// short, demangled and mangled name.
func (l *loader) addKernels(p *gpuPart, c []*sqlite.Vector, rows []int32) {
	for _, i := range rows {
		key := triple{orNone(c[0], int(i)), orNone(c[1], int(i)), orNone(c[2], int(i))}
		note, known := l.names.at(key)
		if !known {
			*note = l.kernel(key)
		}
		p.name, p.class = append(p.name, note.name), append(p.class, note.class)
	}
}

// kernel finds the name of a kernel and its class by its short, demangled and
// mangled name.
func (l *loader) kernel(names triple) nameNote {
	t := &l.report.strings
	key := [2]int32{t.find(names[0]), t.find(names[1])}
	if key[0] == noText {
		key[0] = key[1]
	}
	if key[0] == noText {
		key[0] = t.find(names[2])
	}
	class, ok := l.kernels[key]
	if !ok {
		class = int8(event.ClassCode(cudaname.ClassKernel(t.str(key[0]), t.str(key[1]))))
		l.kernels[key] = class
	}
	return nameNote{key[0], class}
}

// The columns of API calls and overheads that say more than what, when, where.
const (
	callClass    = 5
	overheadType = 6
)

// Classes of rows in the table of API calls that are no calls of the runtime.
const (
	driverCall    = 1
	eglDriverCall = 13
	backtrace     = 67 // the stack of a call that has a row of its own
)

// isCall tells whether a row of the table of API calls is one, by its class.
// Reduced exports do not say.
func (l *loader) isCall(class *sqlite.Vector, i int) bool {
	if class.Null[i] {
		return true
	}
	switch class.Int[i] {
	case 0, driverCall, eglDriverCall:
		return true
	case backtrace:
	default:
		l.noCalls++
	}
	return false
}

// readCalls reads a part of a table of API calls or overheads.
func (l *loader) readCalls(s scanner, t *task) error {
	want := ints("start", "end", "globalTid", "correlationId", "nameId", "eventClass", "overheadType")
	return l.scan(s, t, want, func(n int, c []*sqlite.Vector) error {
		for rows := l.pick(t, c, n); len(rows) > 0; {
			p := t.hostPart(n)
			k := min(len(rows), partRows-len(p.start))
			l.addTimes(p, c, rows[:k])
			l.addThreads(p, c[2], rows[:k])
			p.correlation = take(p.correlation, c[3], rows[:k])
			if t.table == cuptiOverheadTable {
				l.addOverheads(p, c[4], c[overheadType], rows[:k])
			} else {
				l.addCalls(p, c[4], rows[:k])
			}
			rows = rows[k:]
		}
		return nil
	})
}

func (l *loader) addTimes(p *hostPart, c []*sqlite.Vector, rows []int32) {
	p.start, p.end = take(p.start, c[0], rows), take(p.end, c[1], rows)
}

// addCalls adds the names and classes of API calls, or the names of overheads.
func (l *loader) addCalls(p *hostPart, names *sqlite.Vector, rows []int32) {
	first := len(p.name)
	for _, i := range rows {
		id := orNone(names, int(i))
		note, known := l.calls.at(triple{id})
		if !known {
			*note = l.call(l.report.strings.find(id))
		}
		class := note.class
		if p.kind != event.API {
			class = -1
		} else if note.profiler != 0 {
			k := len(p.name)
			l.profiler = append(l.profiler, profilerCall{p.thread[k], note.profiler == startsProfiler, p.start[k], p.end[k]})
		}
		p.name, p.class = append(p.name, note.name), append(p.class, class)
	}
	l.countHost(p, first)
}

// addOverheads adds the names of CUPTI's overheads: by their type, or what the
// export calls one without.
func (l *loader) addOverheads(p *hostPart, names, types *sqlite.Vector, rows []int32) {
	for _, i := range rows {
		name := noText
		if known := cudaname.Overhead(orNone(types, int(i))); known != "" {
			name = l.keep(p, []byte(known)).name
		} else {
			name = l.report.strings.find(orNone(names, int(i)))
		}
		p.name, p.class = append(p.name, name), append(p.class, -1)
	}
}

// call finds out what the name of an API call says.
func (l *loader) call(name int32) callNote {
	if name == noText {
		return callNote{nameNote{name, int8(event.Other)}, 0}
	}
	api := cudaname.API(l.report.strings.str(name))
	return callNote{nameNote{name, int8(event.ClassCode(cudaname.ClassAPI(api)))}, profilerCalls[api]}
}

// addThreads adds the threads of rows.
func (l *loader) addThreads(p *hostPart, v *sqlite.Vector, rows []int32) {
	for _, i := range rows {
		global := orNone(v, int(i))
		number, known := l.threads.at(triple{global})
		if !known {
			key := thread{tid: none, slot: noSlot}
			if global != none {
				key.process, key.tid = processOf(global), global&0xffffff
			}
			*number = l.shared.thread(key)
		}
		p.thread = append(p.thread, *number)
	}
}

// The event types of NVTX rows.
const (
	pushPopRange  = 59
	startEndRange = 60
	textRangeA    = 70
	textRangeB    = 71
	domainCreate  = 75
)

// readNVTX reads a part of the table of NVTX events: its ranges, and the names
// of its domains.
func (l *loader) readNVTX(s scanner, t *task) error {
	want := append(ints("start", "end", "eventType", "globalTid", "textId", "domainId"),
		sqlite.Column{Name: "text", Type: sqlite.Text}, sqlite.Column{Name: "jsonText", Type: sqlite.Text})
	want = append(want, ints("jsonTextId")...)
	return l.scan(s, t, want, func(n int, c []*sqlite.Vector) error {
		for rows := l.pickRanges(t, c, n); len(rows) > 0; {
			p := t.hostPart(n)
			k := min(len(rows), partRows-len(p.start))
			l.addTimes(p, c, rows[:k])
			l.addThreads(p, c[3], rows[:k])
			p.domain = take(p.domain, c[5], rows[:k])
			first := len(p.name)
			for _, i := range rows[:k] {
				note := l.nvtxText(p, c, int(i))
				p.name, p.class = append(p.name, note.name), append(p.class, note.class)
			}
			l.countHost(p, first)
			rows = rows[k:]
		}
		return nil
	})
}

// pickRanges returns the first n rows of a block of NVTX rows that are ranges,
// and notes the names of domains.
func (l *loader) pickRanges(t *task, c []*sqlite.Vector, n int) []int32 {
	l.picked = l.picked[:0]
	for i := range n {
		kind := c[2].Int[i]
		if c[2] == missing {
			kind = pushPopRange
		}
		switch kind {
		case domainCreate:
			key := domainKey{processOf(c[3].Int[i]), orNone(c[5], i)}
			if _, ok := l.domains[key]; !ok {
				l.domains[key] = domainName{t.low, l.domainName(c, i)}
			}
		case pushPopRange, startEndRange, textRangeA, textRangeB:
			// Without an end it was still open when the collection ended.
			if !c[1].Null[i] && l.usable(t, c[0], c[1], i) {
				l.picked = append(l.picked, int32(i))
			}
		}
	}
	return l.picked
}

// domainName is the name in a row that creates a domain.
func (l *loader) domainName(c []*sqlite.Vector, i int) string {
	var p hostPart
	return string(p.text(&l.report.strings, l.nvtxText(&p, c, i).name))
}

// text returns the text behind a name of the part.
func (p *hostPart) text(shared *texts, name int32) []byte {
	if name < noText {
		return p.own.get(^name - 1)
	}
	return shared.get(name)
}

// nvtxText finds the text of an NVTX row, keeping it in the part where it is
// not one of the shared ones, and its class.
func (l *loader) nvtxText(p *hostPart, c []*sqlite.Vector, i int) nameNote {
	literal := c[6].Text(i) // exports of before 2020.3 have "" where others have null
	if name := l.report.strings.find(orNone(c[4], i)); name != noText && len(literal) == 0 {
		if l.nvtxClass[name] == unclassed {
			l.nvtxClass[name] = int8(event.ClassCode(marker.ClassNVTX(l.report.strings.str(name))))
		}
		return nameNote{name, l.nvtxClass[name]}
	}
	if !c[6].Null[i] {
		return l.keep(p, literal)
	}
	text := c[7].Text(i)
	if name := l.report.strings.find(orNone(c[8], i)); len(text) == 0 && name != noText {
		text = l.report.strings.get(name)
	}
	return l.keep(p, []byte(message(text)))
}

// maxPartText bounds the text of a part, far above what ranges hold.
const maxPartText = 1 << 30

// keep keeps a text in the part, once where rows near each other repeat it.
func (l *loader) keep(p *hostPart, text []byte) nameNote {
	note, known := l.texts.at(triple{int64(maphash.Bytes(l.seed, text))})
	if known && note.part == p && string(p.text(&l.report.strings, note.name)) == string(text) {
		return note.nameNote
	}
	n := p.own.len()
	if len(p.own.data) > maxPartText {
		text = nil
	}
	p.own.add(int64(n), text)
	class := event.ClassCode(marker.ClassNVTX(p.own.str(int32(n))))
	*note = textNote{p, nameNote{^int32(n + 1), int8(class)}}
	return note.nameNote
}
