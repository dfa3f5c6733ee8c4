package replay

import (
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Columns that the model keeps of a row, besides its start and end.
const (
	colWhat         = spill.Payload + iota // kind in the low byte, class+1 above it, 0 for no class
	colPlace                               // stream of units and synchronisations, thread of others, -1 for none
	colName                                // code in names
	colLaunch                              // start of the call that launched a unit, spill.None if unknown
	colLaunchThread                        // its thread, -1 if unknown
	colCorrelation                         // spill.None for none
	colNode                                // 1: a unit of a graph replay, or a time slice with a known CPU
	numColumns
)

// Trace is what the model needs of a stream: its rows, at about ten bytes each, and its
// steps. Each pass reads it once.
type Trace struct {
	header  *event.Header
	store   *spill.Store
	names   names
	copies  bool // some row is a copy
	sampled windows
	known   *known // nil until learn
	learner *learner

	runs      []*spill.Run // the rows of one stretch each
	stretches []int        // process of each stretch, in the order of the stream
	processes []int32      // their ranks, -1 for none
	threads   []place
	streams   []place
	steps     []stepRow
	windows   []stepRow
	ranks     []*step.RankSteps // by process; nil if it has no rank, or no steps are known

	clocks
	reading
}

// reading is the state of a trace while rows are added.
type reading struct {
	writer   *spill.Writer
	rows     spill.Rows
	ordinal  int64 // of the next row of the open stretch
	last     int64 // start of the last row
	threadOf numbers
	streamOf numbers
}

// place is a thread or a stream of a process.
type place struct {
	process  int32
	id       int64
	device   int32
	launches bool // a thread that launched units
	calls    bool // a thread that called the GPU's library
}

// placeKey identifies a place.
type placeKey struct {
	process, device int32
	id              int64
}

// numbers assigns numbers to places, and caches the last one found.
type numbers struct {
	of   map[placeKey]int32
	last placeKey
	code int32
}

// find returns the number of a place, a new one if the place is new.
func (n *numbers) find(key placeKey) (code int32, isNew bool) {
	if n.of == nil {
		n.of = map[placeKey]int32{}
	} else if n.last == key {
		return n.code, false
	}
	code, ok := n.of[key]
	if !ok {
		code = int32(len(n.of))
		n.of[key] = code
	}
	n.last, n.code = key, code
	return code, !ok
}

// stepRow is a step or window row: where it is in the stream, and its times.
type stepRow struct {
	process    int32
	stretch    int32
	ordinal    int64
	start, end int64
	number     int64
}

// New begins the trace of the stream with header h. Add takes its batches, and Finish
// ends it.
func New(h *event.Header, store *spill.Store) *Trace { return newTrace(h, store, nil) }

// newTrace begins the trace of a stream, with the globs that scenarios use.
func newTrace(h *event.Header, store *spill.Store, globs []string) *Trace {
	t := &Trace{
		header: h, store: store, names: names{globs: globs, codes: map[string]int32{}, texts: map[string]int32{}},
		reading: reading{writer: spill.NewWriter(store), rows: make(spill.Rows, numColumns)},
	}
	return t
}

// Read reads a stream to its end. Predictions may then use the globs of changes.
func Read(src event.Source, store *spill.Store, changes []Scenario) (*Trace, error) {
	t := newTrace(src.Header(), store, globsOf(changes))
	w := walkers{header: src.Header()}
	from, to, rows := int64(never), int64(-never), 0
	err := event.Each(src, func(b *event.Batch) error {
		if rows += b.Len; b.Len > 0 {
			from, to = min(from, b.Start.Values[0]), max(to, b.Start.Values[b.Len-1])
		}
		if err := w.add(b); err != nil {
			return err
		}
		return t.Add(b)
	})
	if err != nil {
		return nil, err
	}
	for i := range changes {
		if most := changes[i].longest(float64(to-from), float64(rows)); float64(to)+most*float64(len(t.processes)) >= float64(never) {
			return nil, &event.Error{Msg: changes[i].String() + ": the run would take longer than times can say", Advice: "give a smaller factor or time"}
		}
	}
	return t, t.Finish(w.steps)
}

// Add adds the rows of a batch, which is not retained. Batches come in the order of the
// stream.
func (t *Trace) Add(b *event.Batch) error {
	for i := 0; i < b.Len; {
		j, rank := b.RankEnd(i), int32(-1)
		if b.Rank.Valid.Get(i) {
			rank = b.Rank.Values[i]
		}
		if err := t.addRank(b, i, j, rank); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// addRank adds rows i to j, all of one rank, -1 for none.
func (t *Trace) addRank(b *event.Batch, i, j int, rank int32) error {
	process := t.process(rank)
	for i < j {
		open := len(t.stretches) > 0 && t.stretches[len(t.stretches)-1] == int(process)
		if !open || b.Start.Values[i] < t.last {
			if err := t.begin(int(process)); err != nil {
				return err
			}
		}
		k := i + 1
		for ; k < j && b.Start.Values[k] >= b.Start.Values[k-1]; k++ {
		}
		t.last = b.Start.Values[k-1]
		for i < k {
			n, keep := k-i, true
			if t.sampled != nil {
				n, keep = t.sampled.kept(b, i, k)
			}
			if !keep {
				t.skip(b, i, i+n, process)
			} else if err := t.addRows(b, i, i+n, process); err != nil {
				return err
			}
			i += n
		}
	}
	return nil
}

// process returns the number of a rank's process, a new one if the rank is new.
func (t *Trace) process(rank int32) int32 {
	for k := len(t.processes) - 1; k >= 0; k-- {
		if t.processes[k] == rank {
			return int32(k)
		}
	}
	t.processes = append(t.processes, rank)
	return int32(len(t.processes) - 1)
}

// begin begins a stretch: rows of one process in the order of their starts.
func (t *Trace) begin(process int) error {
	if err := t.endRun(); err != nil {
		return err
	}
	t.stretches = append(t.stretches, process)
	t.ordinal = 0
	return nil
}

// endRun ends the run of the open stretch, if any.
func (t *Trace) endRun() error {
	if err := t.flush(); err != nil || len(t.stretches) == 0 {
		return err
	}
	k := len(t.stretches) - 1
	run, err := t.writer.End(int64(k), k)
	if err == nil && run.Rows > 0 {
		t.runs = append(t.runs, run)
	}
	return err
}

// Finish ends the trace. steps returns the steps of a rank as found by a walker that
// counts Work, nil for none.
func (t *Trace) Finish(steps func(rank int32) *step.RankSteps) error {
	if err := t.endRun(); err != nil {
		return err
	}
	for _, rank := range t.processes {
		var r *step.RankSteps
		if rank >= 0 {
			r = steps(rank)
		}
		t.ranks = append(t.ranks, r)
	}
	if err := t.align(); err != nil {
		return err
	}
	return t.store.Err()
}

// flush writes the buffered rows.
func (t *Trace) flush() error {
	if t.rows.Len() == 0 {
		return nil
	}
	err := t.writer.Write(t.rows)
	for c := range t.rows {
		t.rows[c] = t.rows[c][:0]
	}
	return err
}

// addRows adds rows i to j of a stretch.
func (t *Trace) addRows(b *event.Batch, i, j int, process int32) error {
	for ; i < j; i++ {
		kind, ordinal := b.Kind.Values[i], t.ordinal
		t.ordinal++
		if kind == event.Step || kind == event.Window {
			t.addStep(b, i, process, ordinal)
			continue
		}
		t.addRow(b, i, process, ordinal)
		if t.rows.Len() == spill.BlockRows {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// addStep adds a step or window row.
func (t *Trace) addStep(b *event.Batch, i int, process int32, ordinal int64) {
	s := stepRow{process, int32(len(t.stretches) - 1), ordinal, b.Start.Values[i], b.End.Values[i], b.Step.Values[i]}
	if b.Kind.Values[i] == event.Step {
		t.steps = append(t.steps, s)
	} else {
		t.windows = append(t.windows, s)
	}
}

// addRow adds any other row.
func (t *Trace) addRow(b *event.Batch, i int, process int32, ordinal int64) {
	kind := b.Kind.Values[i]
	class := int64(0)
	if b.Class.Valid.Get(i) {
		class = int64(b.Class.Values[i]) + 1
	}
	placed, launch, launcher, correlation, node := int64(-1), spill.None, int64(-1), spill.None, int64(0)
	switch thread, ok := b.Thread.Get(i); {
	case kind.IsGPU() || kind == event.Sync:
		placed = t.addStream(b, i, process)
	case ok:
		k := t.thread(process, thread)
		placed = int64(k)
		t.threads[k].calls = t.threads[k].calls || kind == event.API
	}
	t.copies = t.copies || kind.IsCopy()
	if kind.IsGPU() && b.LaunchStart.Valid.Get(i) && b.LaunchThread.Valid.Get(i) {
		launch = b.LaunchStart.Values[i]
		k := t.thread(process, b.LaunchThread.Values[i])
		t.threads[k].launches, t.threads[k].device = true, t.streams[placed].device
		launcher = int64(k)
	}
	if b.GraphNode.Valid.Get(i) || kind == event.Run && b.Columns.Has(event.ColCPU) && b.CPU.Valid.Get(i) {
		node = 1
	}
	if v, ok := b.Correlation.Get(i); ok {
		correlation = v
	}
	code := int64(t.names.of(&b.Name, i, kind == event.NVTX))
	if kind == event.Kernel && class > 0 && event.Class(class-1).IsCollective() {
		t.collective(b, i, process, code)
	}
	if class == int64(event.StepMarker)+1 {
		t.names.all[code].flags |= isStep
	}
	for c, v := range [numColumns]int64{b.Start.Values[i], b.End.Values[i], ordinal, int64(kind) | class<<8, placed, code, launch, launcher, correlation, node} {
		t.rows[c] = append(t.rows[c], v)
	}
}

// addStream returns the stream of a unit or a synchronisation, -1 for none.
func (t *Trace) addStream(b *event.Batch, i int, process int32) int64 {
	stream, ok := b.Stream.Get(i)
	if !ok && b.Kind.Values[i] == event.Sync {
		return -1
	}
	device, _ := b.Device.Get(i)
	code, isNew := t.streamOf.find(placeKey{process, device, stream})
	if isNew {
		t.streams = append(t.streams, place{process: process, id: stream, device: device})
	}
	return int64(code)
}

// thread returns the number of a thread.
func (t *Trace) thread(process int32, id int64) int32 {
	code, isNew := t.threadOf.find(placeKey{process: process, id: id})
	if isNew {
		t.threads = append(t.threads, place{process: process, id: id})
	}
	return code
}

// globsOf returns the name globs of all changes.
func globsOf(all []Scenario) (globs []string) {
	for _, s := range all {
		for _, c := range s.Changes {
			for _, g := range []string{c.glob, c.within} {
				if g != "" && !c.folded {
					globs = append(globs, g)
				}
			}
		}
	}
	return globs
}

// walkers find the steps of ranks.
type walkers struct {
	header *event.Header
	ranks  []*step.Walker
}

// add passes the rows of a batch to the walkers.
func (w *walkers) add(b *event.Batch) error {
	if w.header.Columns&event.StepCols != event.StepCols {
		return nil
	}
	return b.EachRank(func(rank int32, i, j int) error { return w.of(rank).Add(b, i, j) })
}

// of returns the walker of a rank, a new one if the rank is new.
func (w *walkers) of(rank int32) *step.Walker {
	for _, r := range w.ranks {
		if r.Rank == rank {
			return r
		}
	}
	r := step.NewWalker(w.header, rank, step.WalkOptions{Work: true}, quiet{})
	w.ranks = append(w.ranks, r)
	return r
}

// steps returns the steps of a rank, nil if the stream has no steps. No rows may follow.
func (w *walkers) steps(rank int32) *step.RankSteps {
	if w.header.Columns&event.StepCols != event.StepCols {
		return nil
	}
	r := w.of(rank)
	r.Finish()
	return &r.RankSteps
}

// quiet accumulates nothing: only the walker's steps are wanted.
type quiet struct{}

func (quiet) Rows(*event.Batch, int, int) {}
func (quiet) Begin(step.Slice)            {}
func (quiet) End(step.Slice, int64)       {}
func (quiet) Step(*event.Batch, int, int) {}
func (quiet) EndStep(k int, _ step.Owner) {}
