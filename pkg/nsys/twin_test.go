package nsys

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hostbound/hostbound/pkg/cudaname"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/marker"
	"github.com/hostbound/hostbound/pkg/sim"
	"github.com/hostbound/hostbound/pkg/sqlite"
)

// row is a row of the stream in words, "-" for null; names are quoted.
type row [event.ColStep]string

func (r row) String() string { return strings.Join(r[:], " ") }

// twin computes the rows that a trace must be read as, by rules that are as
// simple as they can be and know nothing of how the reader goes about it.
type twin struct {
	t       *sim.Trace
	columns map[string][]string // that the export has
	offset  int64               // of written times

	gpu    []*twinRow
	host   []*twinRow
	ranks  []uint64 // processes
	device map[uint64]int64
}

// twinRow is a row before it has a rank. Numbers that are not there are nil.
type twinRow struct {
	kind              event.Kind
	table             int // place in the order of tables
	start, end        int64
	process           uint64 // 0 where the export does not say
	device, stream    *int64
	thread            *int64
	name              string
	class             string
	corr, node, bytes *int64
	domain            string
	launch            *twinRow
}

func number(v int64) *int64 { return &v }

// newTwin makes the twin of a trace that was written to an export with these
// columns.
func newTwin(t *sim.Trace, columns map[string][]string) *twin {
	w := &twin{t: t, columns: columns, offset: t.Session.Shift, device: map[uint64]int64{}}
	if t.Session.Normalize {
		w.offset += t.Session.UTC
	}
	w.notes()
	w.calls()
	w.work()
	w.overheads()
	w.adopt()
	w.number()
	w.join()
	return w
}

// has tells whether the export has a table and in it all of some columns.
func (w *twin) has(table string, columns ...string) bool {
	have, ok := w.columns[table]
	for _, c := range columns {
		ok = ok && slices.Contains(have, c)
	}
	return ok
}

// optional returns v where the export has its column, 0 standing for null.
func (w *twin) optional(table, column string, v int64) *int64 {
	if v == 0 || !w.has(table, column) {
		return nil
	}
	return &v
}

func (w *twin) processID(table, column string, p int32) uint64 {
	if !w.has(table, column) {
		return 0
	}
	q := w.t.Processes[p]
	return uint64(q.HW)<<56 | uint64(q.VM)<<48 | uint64(q.PID)<<24
}

// text is a text of StringIds behind a column.
func (w *twin) text(table, column string, id sim.StringID) string {
	if !w.has(table, column) || !w.has("StringIds", "id", "value") {
		return ""
	}
	return w.t.Text(id)
}

func (w *twin) notes() {
	if !w.has(nvtxTable, "start", "end") {
		return
	}
	for n := range w.t.Notes.All() {
		range_ := n.Kind == sim.NotePushPop || n.Kind == sim.NoteStartEnd || n.Kind == 70 || n.Kind == 71
		if !range_ && w.has(nvtxTable, "eventType") || n.Open || n.End < n.Start {
			continue
		}
		r := &twinRow{kind: event.NVTX, start: n.Start + w.offset, end: n.End + w.offset, name: w.noteText(n)}
		r.process = w.processID(nvtxTable, "globalTid", n.Process)
		if r.process != 0 {
			r.thread = number(int64(n.TID))
		}
		if w.has(nvtxTable, "domainId") {
			r.domain = w.domain(n.Process, n.Domain)
		}
		r.class = marker.ClassNVTX(r.name)
		w.host = append(w.host, r)
	}
}

func (w *twin) noteText(n *sim.Note) string {
	switch {
	case n.Text == 0:
		return ""
	case n.Form == sim.Registered:
		return w.text(nvtxTable, "textId", n.Text)
	case n.Form == sim.Literal && w.has(nvtxTable, "text"):
		return w.t.Text(n.Text)
	case n.Form == sim.JSON && w.has(nvtxTable, "jsonText"):
		return w.t.Text(n.Text)
	}
	return ""
}

// domain is the first name that a process gave a domain, whose rows say so.
func (w *twin) domain(process int32, id uint32) string {
	for n := range w.t.Notes.All() {
		if n.Kind == sim.NoteDomain && n.Domain == id && n.Process == process && id != 0 && w.has(nvtxTable, "eventType") {
			return w.noteText(n)
		}
	}
	return ""
}

// calls takes the calls thread after thread, as they are written.
func (w *twin) calls() {
	if !w.has(runtimeTable, "start", "end") {
		return
	}
	type thread struct {
		process int32
		tid     uint32
	}
	var order []thread
	byThread := map[thread][]*sim.Call{}
	for c := range w.t.Calls.All() {
		key := thread{c.Process, c.TID}
		if byThread[key] == nil {
			order = append(order, key)
		}
		byThread[key] = append(byThread[key], c)
	}
	for _, key := range order {
		for _, c := range byThread[key] {
			w.call(c)
		}
	}
}

func (w *twin) call(c *sim.Call) {
	if c.End < c.Start {
		return
	}
	r := &twinRow{kind: event.API, table: 1, start: c.Start + w.offset, end: c.End + w.offset}
	r.name = cudaname.API(w.text(runtimeTable, "nameId", c.Name))
	r.class = cudaname.ClassAPI(r.name)
	r.corr = w.optional(runtimeTable, "correlationId", int64(c.Corr))
	if r.process = w.processID(runtimeTable, "globalTid", c.Process); r.process != 0 {
		r.thread = number(int64(c.TID))
	}
	w.host = append(w.host, r)
}

func (w *twin) overheads() {
	for pass, table := range []string{"PROFILER_OVERHEAD", cuptiOverheadTable} {
		if !w.has(table, "start", "end") {
			continue
		}
		for o := range w.t.Overheads.All() {
			inCupti := o.CUPTI && w.has(cuptiOverheadTable)
			if inCupti != (pass == 1) || o.End < o.Start {
				continue
			}
			r := &twinRow{kind: event.Overhead, table: 7, start: o.Start + w.offset, end: o.End + w.offset, name: w.text(table, "nameId", o.Name)}
			if name := standardOverheads[int(o.Kind)]; name != "" && pass == 1 && w.has(table, "overheadType") {
				r.name = name
			}
			if r.process = w.processID(table, "globalTid", o.Process); r.process != 0 {
				r.thread = number(int64(o.TID))
			}
			w.host = append(w.host, r)
		}
	}
}

// standardOverheads are CUPTI's names.
var standardOverheads = map[int]string{2: "Driver Compiler", 3: "CUPTI Buffer Flush", 4: "CUPTI Instrumentation",
	5: "CUPTI Resource", 6: "Runtime Triggered Module Loading", 7: "Lazy Function Loading", 8: "Command Buffer Full"}

// work takes all GPU rows.
func (w *twin) work() {
	for r := range w.t.Replays.All() {
		if r.End > r.Start {
			start := r.Start
			if start != 0 {
				start += w.offset
			}
			w.gpuRow(graphTable, 2, event.Graph, start, r.End+w.offset, r.Process, r.Device, r.Stream, r.Corr)
		}
	}
	for k := range w.t.Kernels.All() {
		r := w.gpuRow(kernelTable, 3, event.Kernel, k.Start+w.offset, k.End+w.offset, k.Process, k.Device, k.Stream, k.Corr)
		if r == nil {
			continue
		}
		short, demangled := w.t.KernelText(k.Name)
		if !w.has(kernelTable, "demangledName") {
			demangled = ""
		}
		if r.name = short; !w.has(kernelTable, "shortName") {
			r.name = demangled
		}
		if !w.has("StringIds") {
			r.name, demangled = "", ""
		}
		r.class = cudaname.ClassKernel(r.name, demangled)
		r.node = w.optional(kernelTable, "graphNodeId", int64(k.Node))
	}
	copies := map[uint8]string{0: "memcpy", 1: "memcpy HtoD", 2: "memcpy DtoH", 8: "memcpy DtoD"}
	for c := range w.t.Copies.All() {
		if r := w.gpuRow(memcpyTable, 4, event.Memcpy, c.Start+w.offset, c.End+w.offset, c.Process, c.Device, c.Stream, c.Corr); r != nil {
			if r.name = copies[c.Kind]; !w.has(memcpyTable, "copyKind") {
				r.name = "memcpy"
			}
			r.node = w.optional(memcpyTable, "graphNodeId", int64(c.Node))
			if w.has(memcpyTable, "bytes") {
				r.bytes = number(c.Bytes)
			}
		}
	}
	for f := range w.t.Fills.All() {
		if r := w.gpuRow(memsetTable, 5, event.Memset, f.Start+w.offset, f.End+w.offset, f.Process, f.Device, f.Stream, f.Corr); r != nil {
			r.node, r.bytes = w.optional(memsetTable, "graphNodeId", int64(f.Node)), number(f.Bytes)
		}
	}
	syncs := []string{"sync", "event sync", "stream wait event", "stream sync", "context sync"}
	for s := range w.t.Syncs.All() {
		stream := s.Stream
		if s.Kind == 1 {
			stream = 1<<32 - 1
		}
		if r := w.gpuRow(syncTable, 6, event.Sync, s.Start+w.offset, s.End+w.offset, s.Process, s.Device, stream, s.Corr); r != nil {
			r.name = syncs[s.Kind]
		}
	}
}

// gpuRow adds a GPU row, or none where the export has not got it.
func (w *twin) gpuRow(table string, order int, kind event.Kind, start, end int64, process, device int32, stream, corr uint32) *twinRow {
	if !w.has(table, "start", "end") || end < start {
		return nil
	}
	r := &twinRow{kind: kind, table: order, start: start, end: end, name: event.Kinds[kind], process: w.processID(table, "globalPid", process)}
	if device != 1<<31-1 && w.has(table, "deviceId") {
		r.device = number(int64(device))
	}
	if stream != 1<<32-1 && w.has(table, "streamId") {
		r.stream = number(int64(stream))
	}
	r.corr = w.optional(table, "correlationId", int64(corr))
	w.gpu = append(w.gpu, r)
	return r
}

// adopt gives rows that do not say their process to the one with most lanes, or
// else most launches, calls, markers, ranges.
func (w *twin) adopt() {
	lanes := map[string]uint64{}
	unnamed := false
	for _, r := range w.gpu {
		if r.process == 0 {
			unnamed = true
			continue
		}
		lanes[strconv.FormatUint(r.process, 10)+" "+word(r.device)+" "+word(r.stream)] = r.process
	}
	counts := map[uint64]int{}
	for _, p := range lanes {
		counts[p]++
	}
	rules := []func(r *twinRow) bool{
		func(r *twinRow) bool { return r.class == "launch" || r.class == "graph_launch" },
		func(r *twinRow) bool { return r.kind == event.API },
		func(r *twinRow) bool { return r.class == "step" },
		func(r *twinRow) bool { return r.kind == event.NVTX },
	}
	for _, rule := range rules {
		if !unnamed || len(counts) > 0 {
			break
		}
		for _, r := range w.host {
			if r.process != 0 && rule(r) {
				counts[r.process]++
			}
		}
	}
	var best uint64
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		if counts[p] > counts[best] {
			best = p
		}
	}
	for _, r := range append(slices.Clone(w.gpu), w.host...) {
		if r.process == 0 {
			r.process = best
		}
	}
}

// number finds the ranks.
func (w *twin) number() {
	devices := map[uint64][]int64{}
	for _, r := range w.gpu {
		if r.kind != event.Kernel && r.kind != event.Graph {
			continue
		}
		if devices[r.process] == nil {
			devices[r.process] = []int64{}
		}
		if r.device != nil {
			devices[r.process] = append(devices[r.process], *r.device)
		}
	}
	for p, list := range devices {
		w.ranks = append(w.ranks, p)
		if len(list) > 0 {
			w.device[p] = slices.Min(list)
		}
	}
	slices.SortFunc(w.ranks, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(w.device[a], w.device[b]), cmp.Compare(a>>24&0xffffff, b>>24&0xffffff), cmp.Compare(a, b))
	})
	for _, r := range w.gpu {
		if r.device == nil && r.kind != event.Sync {
			r.device = number(w.device[r.process])
		}
	}
}

// join finds for each GPU row the first call of its process with its id.
func (w *twin) join() {
	for _, g := range w.gpu {
		for _, c := range w.host {
			if c.kind == event.API && g.corr != nil && c.corr != nil && *c.corr == *g.corr && c.process == g.process &&
				(g.launch == nil || c.start < g.launch.start) {
				g.launch = c
			}
		}
	}
}

func word(v *int64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatInt(*v, 10)
}

func orDash(s string) string { return cmp.Or(s, "-") }

// rank returns the rank of a process, -1 for none.
func (w *twin) rank(process uint64) int { return slices.Index(w.ranks, process) }

// rows returns all rows in the order of the stream.
func (w *twin) rows() []row {
	all := append(slices.Clone(w.host), w.gpu...)
	place := func(r *twinRow) int {
		if k := w.rank(r.process); k >= 0 {
			return k
		}
		return len(w.ranks)
	}
	slices.SortStableFunc(all, func(a, b *twinRow) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.table, b.table))
	})
	var rows []row
	for _, r := range all {
		rows = append(rows, w.words(r))
	}
	return rows
}

func (w *twin) words(r *twinRow) row {
	var s row
	for c := range s {
		s[c] = "-"
	}
	s[event.ColKind] = event.Kinds[r.kind]
	s[event.ColStart], s[event.ColEnd] = word(&r.start), word(&r.end)
	if k := w.rank(r.process); k >= 0 {
		s[event.ColRank] = strconv.Itoa(k)
	}
	s[event.ColDevice], s[event.ColStream], s[event.ColThread] = word(r.device), word(r.stream), word(r.thread)
	s[event.ColName], s[event.ColClass] = strconv.Quote(r.name), orDash(r.class)
	s[event.ColCorrelation], s[event.ColGraphNode], s[event.ColBytes] = word(r.corr), word(r.node), word(r.bytes)
	s[event.ColDomain] = orDash(r.domain)
	if r.launch != nil {
		s[event.ColLaunchStart], s[event.ColLaunchEnd] = word(&r.launch.start), word(&r.launch.end)
		s[event.ColLaunchThread] = word(r.launch.thread)
	}
	return s
}

// report returns what the header must say of the rows.
func (w *twin) report() event.Report {
	rep := event.Report{Ranks: []int32{}, AllreduceDevices: []int32{}, Rows: map[string]int64{}, Classes: map[string]int64{}}
	for _, c := range []string{"allreduce", "launch", "graph_launch", "step"} {
		rep.Classes[c] = 0
	}
	for k := range w.ranks {
		rep.Ranks, rep.AllreduceDevices = append(rep.Ranks, int32(k)), append(rep.AllreduceDevices, -1)
	}
	for _, r := range append(slices.Clone(w.host), w.gpu...) {
		rep.Rows[event.Kinds[r.kind]]++
		if _, ok := rep.Classes[r.class]; ok {
			rep.Classes[r.class]++
		}
		if r.class == "allreduce" {
			if d := &rep.AllreduceDevices[w.rank(r.process)]; *d < 0 || int64(*d) > *r.device {
				*d = int32(*r.device)
			}
		}
		if r.kind == event.Kernel || r.kind == event.Graph {
			hull(&rep.GPUStart, &rep.GPUEnd, r)
		}
		if r.kind == event.Kernel || r.kind == event.Graph || r.kind == event.Memcpy || r.kind == event.Memset {
			hull(&rep.BusyStart, &rep.BusyEnd, r)
		}
	}
	for k := range w.ranks {
		rep.RankFacts = append(rep.RankFacts, w.facts(k))
	}
	return rep
}

// facts returns what the header must say of a rank.
func (w *twin) facts(rank int) event.RankFacts {
	f := event.RankFacts{Rank: int32(rank)}
	replays := map[int64]bool{}
	var calls []*twinRow
	for _, r := range append(slices.Clone(w.host), w.gpu...) {
		if w.rank(r.process) != rank {
			continue
		}
		switch r.kind {
		case event.Kernel:
			f.Kernels++
		case event.Graph:
			f.Graphs++
		}
		switch r.class {
		case "allreduce":
			f.Allreduces++
		case "launch":
			f.Launches++
		case "graph_launch":
			f.GraphLaunches++
		case "step":
			f.Markers++
		}
		if r.kind == event.Kernel || r.kind == event.Graph {
			hull(&f.GPUStart, &f.GPUEnd, r)
		}
		if r.kind == event.Kernel || r.kind == event.Graph || r.kind == event.Memcpy || r.kind == event.Memset {
			hull(&f.BusyStart, &f.BusyEnd, r)
		}
		if r.node != nil && r.corr != nil {
			replays[*r.corr] = true
		}
		if r.kind == event.API && strings.Contains(r.name, "Profiler") {
			calls = append(calls, r)
		}
	}
	f.Replays = int64(len(replays))
	slices.SortStableFunc(calls, func(a, b *twinRow) int { return cmp.Compare(a.start, b.start) })
	f.Unrecorded = w.unrecorded(rank, calls)
	return f
}

// unrecorded returns the spans between stops and starts of the profiler in which
// nothing of the rank starts on the GPU.
func (w *twin) unrecorded(rank int, calls []*twinRow) (spans [][2]int64) {
	for i, stop := range calls {
		if !strings.HasSuffix(stop.name, "Stop") || i > 0 && strings.HasSuffix(calls[i-1].name, "Stop") {
			continue
		}
		for _, start := range calls[i+1:] {
			if !strings.HasSuffix(start.name, "Start") {
				continue
			}
			if start.start > stop.end && !slices.ContainsFunc(w.gpu, func(r *twinRow) bool {
				return r.kind != event.Sync && w.rank(r.process) == rank && r.start >= stop.end && r.start < start.start
			}) {
				spans = append(spans, [2]int64{stop.end, start.start})
			}
			break
		}
	}
	return spans
}

func hull(start, end **int64, r *twinRow) {
	if *start == nil {
		*start, *end = number(r.start), number(r.end)
	}
	**start, **end = min(**start, r.start), max(**end, r.end)
}

// domains returns the domains that the header must name.
func (w *twin) domains() []string {
	names := map[string]bool{}
	for n := range w.t.Notes.All() {
		if name := w.domain(n.Process, n.Domain); name != "" && w.has(nvtxTable, "domainId") && n.Kind == sim.NoteDomain {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// written writes a trace and returns the file and the columns it has.
func written(t testing.TB, tr *sim.Trace, opt sim.Options) (string, map[string][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := tr.WriteSQLite(path, opt); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	columns, err := db.Tables()
	if err != nil {
		t.Fatal(err)
	}
	return path, columns
}

// read opens reports and returns all their rows.
func read(t testing.TB, paths ...string) (*event.Header, []row) {
	t.Helper()
	r, err := Open(paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := drain(r)
	if err != nil {
		t.Fatal(err)
	}
	return r.Header(), rows
}

// drain returns the remaining rows of a reader.
func drain(r *Reader) ([]row, error) {
	var rows []row
	for {
		b, err := r.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range b.Len {
			rows = append(rows, rowOf(r.Header(), b, i))
		}
	}
}

func rowOf(h *event.Header, b *event.Batch, i int) (s row) {
	for c := range event.ColStep {
		switch col := b.Column(c).(type) {
		case *event.Ints[int32]:
			s[c] = "-"
			if v, ok := col.Get(i); ok {
				s[c] = enumName(h, c, v)
			}
		case *event.Ints[int64]:
			s[c] = "-"
			if v, ok := col.Get(i); ok {
				s[c] = strconv.FormatInt(v, 10)
			}
		case *event.Strings:
			s[c] = strconv.Quote(string(col.Get(i)))
		}
	}
	return s
}

func enumName(h *event.Header, c event.Col, v int32) string {
	switch c {
	case event.ColKind:
		return event.Kinds[v]
	case event.ColClass:
		return event.Classes[v]
	case event.ColDomain:
		return h.Domains[v]
	}
	return strconv.FormatInt(int64(v), 10)
}

// sameRows compares rows with those that were to be.
func sameRows(t testing.TB, got, want []row) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("row %d of %d is missing:\n%s", i, len(want), want[i])
		case i >= len(want):
			t.Fatalf("row %d is too many:\n%s", i, got[i])
		case got[i] != want[i]:
			t.Fatalf("row %d of %d is\n%s\nwant\n%s", i, len(want), got[i], want[i])
		}
	}
}

// sameTwin reads an export and compares rows and header with those of the twin.
func sameTwin(t testing.TB, w *twin, path string) *event.Header {
	t.Helper()
	h, rows := read(t, path)
	sameRows(t, rows, w.rows())
	got, want := h.Reports[0], w.report()
	for kind, n := range got.Rows {
		if n == 0 {
			delete(got.Rows, kind)
		}
	}
	want.File, want.Nsys, want.Schema, want.Capture, want.Origin, want.Warnings = got.File, got.Nsys, got.Schema, got.Capture, got.Origin, got.Warnings
	if g, w := asJSON(t, got), asJSON(t, want); g != w {
		t.Fatalf("the header says\n%s\nwant\n%s", g, w)
	}
	if !slices.Equal(h.Domains, w.domains()) {
		t.Fatalf("domains %q, want %q", h.Domains, w.domains())
	}
	return h
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTwinRandom compares the reader with its twin on random traces: every
// schema, tables and columns that are missing, reduced exports.
func TestTwinRandom(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			tr, opt := sim.Random(seed)
			path, columns := written(t, tr, opt)
			if !isExport(columns) {
				t.Skip("nothing was written")
			}
			sameTwin(t, newTwin(tr, columns), path)
		})
	}
}

// TestTwinSimulated does the same on runs of an engine.
func TestTwinSimulated(t *testing.T) {
	configs := map[string]func(*sim.Config){
		"default":   func(*sim.Config) {},
		"whole":     func(c *sim.Config) { c.Mode = sim.Whole },
		"eager":     func(c *sim.Config) { c.Mode, c.Literal, c.Markers = sim.Eager, true, sim.AllMarkers()[0] },
		"several":   func(c *sim.Config) { c.Ranks, c.Devices, c.Frontend, c.Overheads = 2, 2, true, true },
		"gil":       func(c *sim.Config) { c.GIL, c.GCEvery = 30, 3 },
		"lost":      func(c *sim.Config) { c.Dropped = 0.3 },
		"normalise": func(c *sim.Config) { c.Ranks = 1 },
	}
	for name, change := range configs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sim.Default()
			c.Steps, c.Warmup, c.Layers = 4, 1, 2
			change(&c)
			tr, err := sim.Simulate(c)
			if err != nil {
				t.Fatal(err)
			}
			tr.Session.Normalize = name == "normalise"
			path, columns := written(t, tr, sim.Options{})
			sameTwin(t, newTwin(tr, columns), path)
		})
	}
}
