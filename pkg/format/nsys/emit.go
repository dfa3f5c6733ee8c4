package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/names/cudaname"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// nullRank is the rank of processes without GPU work.
const nullRank = int32(-1)

// emitter writes the rows of a report to batches.
type emitter struct {
	r       *report
	report  int              // its number in the header
	offset  int64            // ns, added to the report's times
	columns event.Set        // of the stream
	domains map[string]int32 // codes in the header
	names   *event.Dict      // the strings of the report, then ourNames
	apis    []int32          // canonical names of API calls, by string
	ours    ourNames
	stacks  []int32   // codes in the header, by the report's numbers
	slots   [][]*runs // by rank, rows without one last

	fewLaunched bool // launch calls are wanted only for kernels of the class launched
	launched    event.Class
	fewHost     bool // API calls and ranges are wanted only in the classes hostClasses
	hostClasses event.ClassSet

	batch *event.Batch
	at    int // rows of the batch filled so far
	// flush takes a batch, full or the last one, and returns an empty one.
	flush func(*event.Batch) (*event.Batch, error)

	scratch   []byte // memory for strings
	domainKey domainKey
	domainNow int32
}

// ourNames are the codes of names that are not in the report.
type ourNames struct {
	none          int32
	kinds         [event.MaxKinds]int32 // of rows whose kind says everything
	copies, syncs []int32               // by copyKind and syncType
}

// newEmitter prepares writing a report's rows. The report's strings keep their numbers;
// missing names are appended, so that all batches of a report share one dictionary. The
// strings must not change afterwards.
func newEmitter(r *report, offset int64, columns event.Set, domains map[string]int32, stacks []int32) *emitter {
	e := &emitter{r: r, offset: offset, columns: columns, domains: domains, stacks: stacks, slots: r.bySlot()}
	e.domainNow, e.domainKey = -1, domainKey{0, none}
	e.apis = make([]int32, r.strings.len())
	codes := map[string]int32{}
	code := func(name string) int32 {
		k, ok := codes[name]
		if !ok {
			k = r.strings.append(name)
			codes[name] = k
		}
		return k
	}
	for name := range r.apiNames {
		e.apis[name] = code(cudaname.API(r.strings.str(name)))
	}
	e.ours.none = code("")
	for k, name := range event.Kinds {
		e.ours.kinds[k] = code(name)
	}
	for _, name := range copyNames {
		e.ours.copies = append(e.ours.copies, code(name))
	}
	for _, name := range syncNames {
		e.ours.syncs = append(e.ours.syncs, code(name))
	}
	e.names = &event.Dict{Offsets: r.strings.offsets, Data: r.strings.data}
	return e
}

// emit writes the rows of a slot that start at or after from, in ns on the clock of the
// stream, with fanIn runs open at a time. Slots are numbered as the header numbers the
// report's ranks; the one after the last has the rows without a rank. A batch may hold
// rows of two slots.
func (e *emitter) emit(slot int, from int64, fanIn int) error {
	rank := nullRank
	if slot < len(e.r.info.Ranks) {
		rank = e.r.info.Ranks[slot]
	}
	if from != longAgo {
		from -= e.offset
	}
	m, err := e.r.merge(e.slots[slot], fanIn)
	if err != nil {
		return err
	}
	m.Only(e.stored())
	e.setRank(rank)
	for {
		run, rows, i, j, err := m.Next(event.BatchRows - e.at)
		if err != nil {
			return e.r.explain(err)
		}
		if i == j {
			return nil
		}
		if rows[colStart][i] < from {
			skip, _ := slices.BinarySearch(rows[colStart][i:j], from)
			i += skip
		}
		if err := e.putWanted(&eventTables[run.Tag], rows, i, j); err != nil {
			return e.r.explain(err)
		}
		if e.at == event.BatchRows {
			if err := e.next(); err != nil {
				return err
			}
			e.setRank(rank)
		}
	}
}

// stored returns the columns of runs that the columns of the stream are made from.
func (e *emitter) stored() uint64 {
	set := spill.Columns(colOwner, colName, colClass)
	for column, of := range map[int]event.Set{
		colCorrelation: 1<<event.ColCorrelation | launchColumns, colNode: 1<<event.ColGraphNode | event.StackCols,
		colBytes: 1<<event.ColBytes | event.HostCols, colDomain: 1 << event.ColDomain,
	} {
		if e.columns&of != 0 {
			set |= spill.Columns(column)
		}
	}
	return set
}

// putWanted is put, restricted to the rows that are wanted.
func (e *emitter) putWanted(t *table, rows spill.Rows, i, j int) error {
	if !e.fewHost || t.kind != event.API && t.kind != event.NVTX {
		return e.put(t, rows, i, j)
	}
	classes := rows[colClass][:j]
	for wanted := func(k int) bool { return classes[k] != none && e.hostClasses.Has(event.Class(classes[k])) }; i < j; {
		for i < j && !wanted(i) {
			i++
		}
		from := i
		for i < j && wanted(i) {
			i++
		}
		if from == i {
			continue
		}
		if err := e.put(t, rows, from, i); err != nil {
			return err
		}
	}
	return nil
}

// put appends rows i to j of a table to the batch. It uses only the columns in stored.
func (e *emitter) put(t *table, rows spill.Rows, i, j int) (err error) {
	if j == i+1 && t.kind != event.Run { // Fast path: rows of calls and kernels mostly alternate.
		return e.putOne(t, rows, i)
	}
	b, at := e.batch, e.at
	kinds := b.Kind.Values[at : at+j-i]
	for k := range kinds {
		kinds[k] = t.kind
	}
	shift(b.Start.Values[at:], rows[colStart][i:j], e.offset)
	shift(b.End.Values[at:], rows[colEnd][i:j], e.offset)
	setAll(&b.Class, at, rows[colClass][i:j])
	if e.columns.Has(event.ColCorrelation) && !t.host {
		setAll(&b.Correlation, at, rows[colCorrelation][i:j])
	}
	switch {
	case t.gpu:
		err = e.gpuRows(t.kind, rows, i, j)
	case t.kind == event.Run:
		e.runRows(rows, i, j)
	default:
		err = e.hostRows(t.kind, rows, i, j)
	}
	e.at += j - i
	return err
}

// putOne is put for one row of a kind other than Run.
func (e *emitter) putOne(t *table, rows spill.Rows, i int) (err error) {
	b, at := e.batch, e.at
	b.Kind.Values[at] = t.kind
	b.Start.Values[at], b.End.Values[at] = rows[colStart][i]+e.offset, rows[colEnd][i]+e.offset
	setOne(&b.Class, at, rows[colClass][i])
	if e.columns.Has(event.ColCorrelation) && !t.host {
		setOne(&b.Correlation, at, rows[colCorrelation][i])
	}
	if t.gpu {
		err = e.gpuRow(t.kind, rows, i)
	} else {
		err = e.hostRow(t.kind, rows, i, at)
	}
	e.at++
	return err
}

// gpuRow is gpuRows for one row.
func (e *emitter) gpuRow(kind event.Kind, rows spill.Rows, i int) error {
	b, at := e.batch, e.at
	if e.columns.Has(event.ColGraphNode) {
		setOne(&b.GraphNode, at, rows[colNode][i])
	}
	if e.columns.Has(event.ColBytes) {
		setOne(&b.Bytes, at, rows[colBytes][i])
	}
	e.gpuNames(b.Name.AppendCodes(e.names, 1), kind, rows[colName][i:i+1])
	t := e.r.tracks[rows[colOwner][i]]
	if t.device != none || kind != event.Sync {
		b.Device.Set(at, t.shown)
	}
	if t.stream != none && e.columns.Has(event.ColStream) {
		b.Stream.Set(at, t.stream)
	}
	if e.columns&launchColumns == 0 || e.fewLaunched && (kind != event.Kernel || event.Class(rows[colClass][i]) != e.launched) {
		return nil
	}
	return e.setLaunch(t, rows[colCorrelation][i], at, at+1)
}

// shift sets a column to times plus an offset.
func shift(to, times []int64, offset int64) {
	to = to[:len(times)]
	for k, t := range times {
		to[k] = t + offset
	}
}

// setOne sets a row of a column that is null, unless v is none.
func setOne[T ~int32 | int64](c *event.Ints[T], at int, v int64) {
	if v != none {
		c.Set(at, T(v))
	}
}

// setAll sets the rows from at on of a column that are null, except those whose value
// is none.
func setAll[T ~int32 | int64](c *event.Ints[T], at int, values []int64) {
	to, all := c.Values[at:][:len(values)], true
	for k, v := range values {
		to[k] = T(v)
		all = all && v != none
	}
	if all { // Fast path
		c.Valid.Fill(at, at+len(values), true)
		return
	}
	for k, v := range values {
		if v != none {
			c.Set(at+k, T(v))
		} else {
			to[k] = 0
		}
	}
}

// next hands out the batch and starts another.
func (e *emitter) next() (err error) {
	e.batch.Truncate(e.at)
	if e.batch, err = e.flush(e.batch); err != nil {
		return err
	}
	e.at = 0
	return nil
}

// setRank sets the rank of all rows of the batch from the next one on.
func (e *emitter) setRank(rank int32) {
	c := &e.batch.Rank
	if e.at == 0 && rank != nullRank {
		c.Valid = nil // nearly all batches have one rank
	}
	if rank != nullRank {
		c.Fill(e.at, len(c.Values), rank)
		return
	}
	for i := e.at; i < len(c.Values); i++ {
		c.SetNull(i)
	}
}

// gpuRows writes rows i to j of GPU rows to the batch from at on. Rows of one launch
// are usually contiguous, so device, stream and launch are looked up once per stretch.
// A synchronisation without a device keeps null there.
func (e *emitter) gpuRows(kind event.Kind, rows spill.Rows, i, j int) error {
	b, at := e.batch, e.at
	if e.columns.Has(event.ColGraphNode) {
		setAll(&b.GraphNode, at, rows[colNode][i:j])
	}
	if e.columns.Has(event.ColBytes) {
		setAll(&b.Bytes, at, rows[colBytes][i:j])
	}
	e.gpuNames(b.Name.AppendCodes(e.names, j-i), kind, rows[colName][i:j])
	owners, ids := rows[colOwner], rows[colCorrelation]
	if e.columns&launchColumns == 0 || e.fewLaunched {
		ids = owners // the launch does not matter
	}
	if e.fewLaunched && kind == event.Kernel {
		if err := e.setLaunches(rows, i, j); err != nil {
			return err
		}
	}
	for i < j {
		owner, id, from := owners[i], ids[i], at
		for ; i < j && owners[i] == owner && ids[i] == id; i++ {
			at++
		}
		t := e.r.tracks[owner]
		if t.device != none || kind != event.Sync {
			b.Device.Fill(from, at, t.shown)
		}
		if t.stream != none && e.columns.Has(event.ColStream) {
			b.Stream.Fill(from, at, t.stream)
		}
		if e.fewLaunched {
			continue
		}
		if err := e.setLaunch(t, id, from, at); err != nil {
			return err
		}
	}
	return nil
}

// Names of copies by copyKind, and of synchronisations by syncType.
var (
	copyNames = []string{"memcpy", "memcpy HtoD", "memcpy DtoH", "memcpy HtoA", "memcpy AtoH", "memcpy AtoA",
		"memcpy AtoD", "memcpy DtoA", "memcpy DtoD", "memcpy HtoH", "memcpy PtoP"}
	syncNames = []string{"sync", "event sync", "stream wait event", "stream sync", "context sync"}
)

// gpuNames sets codes to the names of rows; rows of some kinds are named after the
// kind.
func (e *emitter) gpuNames(codes []int32, kind event.Kind, names []int64) {
	names = names[:len(codes)]
	switch kind {
	case event.Kernel:
		for k := range codes {
			if codes[k] = int32(names[k]); names[k] < 0 {
				codes[k] = e.ours.none
			}
		}
	case event.Memcpy:
		for k := range codes {
			codes[k] = nameOf(e.ours.copies, names[k])
		}
	case event.Sync:
		for k := range codes {
			codes[k] = nameOf(e.ours.syncs, names[k])
		}
	default:
		for k := range codes {
			codes[k] = e.ours.kinds[kind]
		}
	}
}

// nameOf returns the name of a code, the first one if the code has none.
func nameOf(names []int32, code int64) int32 {
	if code < 0 || code >= int64(len(names)) {
		code = 0
	}
	return names[code]
}
