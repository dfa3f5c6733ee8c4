package nsys

import (
	"github.com/hostbound/hostbound/pkg/cudaname"
	"github.com/hostbound/hostbound/pkg/event"
)

// nullRank is the rank of processes without GPU work, noSlot their slot.
const (
	nullRank = int32(-1)
	noSlot   = int32(-1)
)

// run is the rows of one table that belong to one rank, in their order.
type run struct {
	kind       event.Kind
	host       bool
	times      []times // of all parts
	refs       []uint32
	start, end int64 // of the first of refs
}

// runs sorts the rows of the report by rank, those without a rank last, and
// those of each rank and table by their start, of equal starts the longer first.
func (r *report) runs() [][]*run {
	ranks := make([][]*run, len(r.info.Ranks)+1)
	for _, e := range eventTables {
		host := e.kind == event.API || e.kind == event.NVTX || e.kind == event.Overhead
		if e.table == cuptiOverheadTable {
			continue // its rows are with those of the other table of overheads
		}
		all := r.times(host)
		parts, owners := r.gpuOwners(e.kind)
		if host {
			parts, owners = r.hostOwners(e.kind)
		}
		for slot, refs := range collect(parts, owners, len(ranks)) {
			if len(refs) > 0 {
				refs = sortRuns(refs, before(all))
				ranks[slot] = append(ranks[slot], &run{kind: e.kind, host: host, times: all, refs: refs})
			}
		}
	}
	return ranks
}

// place is where runs puts the rows of a slot.
func (r *report) place(slot int32) int32 {
	if slot == noSlot {
		return int32(len(r.ranks))
	}
	return slot
}

// owned is a part and, for each of its rows, the number of its lane or thread.
type owned struct {
	part   int
	owners []int32
}

// hostOwners returns the parts of a kind of host rows and the slot of each thread.
func (r *report) hostOwners(kind event.Kind) (parts []owned, slots []int32) {
	for n, p := range r.host {
		if p.kind == kind {
			parts = append(parts, owned{n, p.thread})
		}
	}
	slots = make([]int32, len(r.threads))
	for i, t := range r.threads {
		slots[i] = r.place(t.slot)
	}
	return parts, slots
}

// gpuOwners returns the parts of a kind of GPU rows and the slot of each lane.
func (r *report) gpuOwners(kind event.Kind) (parts []owned, slots []int32) {
	for n, p := range r.gpu {
		if p.kind == kind {
			parts = append(parts, owned{n, p.lane})
		}
	}
	slots = make([]int32, len(r.lanes))
	for i, l := range r.lanes {
		slots[i] = r.place(l.slot)
	}
	return parts, slots
}

// collect sorts the rows of parts into n slots by the slots of their owners. It
// counts first, as a report may have rows of many ranks.
func collect(parts []owned, slots []int32, n int) [][]uint32 {
	counts := make([]int, len(slots))
	for _, p := range parts {
		for _, o := range p.owners {
			counts[o]++
		}
	}
	rows := make([]int, n)
	for o, count := range counts {
		rows[slots[o]] += count
	}
	refs := make([][]uint32, n)
	for slot, count := range rows {
		refs[slot] = make([]uint32, 0, count)
	}
	for _, p := range parts {
		for i, o := range p.owners {
			slot := slots[o]
			refs[slot] = append(refs[slot], uint32(p.part)<<partBits|uint32(i))
		}
	}
	return refs
}

// times are the times of the rows of a part.
type times struct{ start, end []int64 }

// times returns those of all parts of GPU rows, or of host rows.
func (r *report) times(host bool) (all []times) {
	if host {
		for _, p := range r.host {
			all = append(all, times{p.start, p.end})
		}
		return all
	}
	for _, p := range r.gpu {
		all = append(all, times{p.start, p.end})
	}
	return all
}

// before compares rows of parts by their place in the stream.
func before(parts []times) func(a, b uint32) bool {
	return func(a, b uint32) bool {
		p, q := &parts[a>>partBits], &parts[b>>partBits]
		i, j := a&partMask, b&partMask
		s, s2 := p.start[i], q.start[j]
		return s < s2 || s == s2 && p.end[i] > q.end[j]
	}
}

// load makes start and end those of the first of refs.
func (n *run) load() {
	p, i := &n.times[n.refs[0]>>partBits], n.refs[0]&partMask
	n.start, n.end = p.start[i], p.end[i]
}

// before tells whether the first row of n goes before that of m, which is of a
// later table.
func (n *run) before(m *run) bool {
	return n.start < m.start || n.start == m.start && n.end >= m.end
}

// emitter writes the rows of a report into batches.
type emitter struct {
	r       *report
	report  int // its number in the header
	offset  int64
	domains map[string]int32
	apis    []string // canonical name by text, "" where not yet looked up
	texts   *event.Dict
	slots   [][]*run // of each rank, those without one last; nil once written

	batch *event.Batch
	at    int
	// flush hands out the batch, full or at the end, and returns an empty one.
	flush func(*event.Batch) (*event.Batch, error)

	domainKey domainKey
	domainNow int32
}

// newEmitter prepares the writing of a report's rows.
func newEmitter(r *report, offset int64, domains map[string]int32) *emitter {
	e := &emitter{r: r, offset: offset, domains: domains, apis: make([]string, r.strings.len()), slots: r.runs()}
	e.texts = &event.Dict{Offsets: r.strings.offsets, Data: r.strings.data}
	e.domainNow, e.domainKey = -1, domainKey{0, none}
	return e
}

// emit writes the rows of a rank, or those without one, that start at from or
// later on the clock of the stream.
func (e *emitter) emit(slot int, from int64) error {
	rank := nullRank
	if slot < len(e.r.info.Ranks) {
		rank = e.r.info.Ranks[slot]
	}
	runs := e.slots[slot][:0:0]
	for _, n := range e.slots[slot] {
		if from != longAgo {
			n.cut(from - e.offset)
		}
		if len(n.refs) > 0 {
			runs = append(runs, n)
		}
	}
	e.slots[slot] = nil
	return e.merge(rank, runs)
}

// cut leaves out the rows that start before from.
func (n *run) cut(from int64) {
	for len(n.refs) > 0 {
		if n.load(); n.start >= from {
			return
		}
		n.refs = n.refs[1:]
	}
}

// merge writes the rows of one rank.
func (e *emitter) merge(rank int32, runs []*run) error {
	for _, n := range runs {
		n.load()
	}
	for len(runs) > 0 {
		k := 0
		for i := 1; i < len(runs); i++ {
			if !runs[k].before(runs[i]) {
				k = i
			}
		}
		n := runs[k]
		count := e.stretch(n, k, runs)
		if n.host {
			e.hostRows(n.kind, rank, n.refs[:count])
		} else {
			e.gpuRows(n.kind, rank, n.refs[:count])
		}
		if n.refs = n.refs[count:]; len(n.refs) == 0 {
			runs = append(runs[:k:k], runs[k+1:]...)
		} else {
			n.load()
		}
		if e.at == event.BatchRows {
			if err := e.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// stretch counts the rows of runs[k] that go before the first row of all other
// runs and fit into the batch.
func (e *emitter) stretch(n *run, k int, runs []*run) int {
	room := min(event.BatchRows-e.at, len(n.refs))
	bound := int64(1) << 62 // rows that start before it may go
	for i, m := range runs {
		if i != k {
			bound = min(bound, m.start)
		}
	}
	count := 1 // the row that was chosen
	for _, ref := range n.refs[1:room] {
		if n.times[ref>>partBits].start[ref&partMask] >= bound {
			break
		}
		count++
	}
	return count
}

// next hands out the batch.
func (e *emitter) next() (err error) {
	e.batch.Truncate(e.at)
	if e.batch, err = e.flush(e.batch); err != nil {
		return err
	}
	e.at = 0
	return nil
}

// setRank sets the columns that rows of one kind and rank share.
func (e *emitter) setRank(kind event.Kind, rank int32, count int) {
	kinds := e.batch.Kind.Values[e.at : e.at+count]
	for i := range kinds {
		kinds[i] = kind
	}
	if rank != nullRank {
		e.batch.Rank.Fill(e.at, e.at+count, rank)
	}
}

// gpuRows appends GPU rows to the batch.
func (e *emitter) gpuRows(kind event.Kind, rank int32, refs []uint32) {
	b, r := e.batch, e.r
	e.setRank(kind, rank, len(refs))
	for k, ref := range refs {
		p, o, i := r.gpu[ref>>partBits], ref&partMask, e.at+k
		b.Start.Values[i] = p.start[o] + e.offset
		b.End.Values[i] = p.end[o] + e.offset
		l := r.lanes[p.lane[o]]
		if l.device != none || kind != event.Sync {
			b.Device.Set(i, l.shown)
		}
		if l.stream != none {
			b.Stream.Set(i, l.stream)
		}
		if p.class != nil {
			b.Class.Set(i, event.Class(p.class[o]))
		}
		if p.node != nil && p.node[o] != none {
			b.GraphNode.Set(i, p.node[o])
		}
		if p.bytes != nil && p.bytes[o] != none {
			b.Bytes.Set(i, p.bytes[o])
		}
		if c := p.correlation[o]; c != none {
			b.Correlation.Set(i, c)
			if call, ok := l.launch(c); ok {
				q, o := r.host[call>>partBits], call&partMask
				b.LaunchStart.Set(i, q.start[o]+e.offset)
				b.LaunchEnd.Set(i, q.end[o]+e.offset)
				if t := r.threads[q.thread[o]].tid; t != none {
					b.LaunchThread.Set(i, t)
				}
			}
		}
		if name := p.name[o]; kind == event.Kernel && name >= 0 {
			b.Name.AppendCode(e.texts, name)
		} else {
			b.Name.Append(gpuName(kind, name))
		}
	}
	e.at += len(refs)
}

// Names of copies by copyKind, and of synchronisations by syncType.
var (
	copyNames = []string{"memcpy", "memcpy HtoD", "memcpy DtoH", "memcpy HtoA", "memcpy AtoH", "memcpy AtoA",
		"memcpy AtoD", "memcpy DtoA", "memcpy DtoD", "memcpy HtoH", "memcpy PtoP"}
	syncNames = []string{"sync", "event sync", "stream wait event", "stream sync", "context sync"}
)

// gpuName is the name of a row whose kind says it, or that has none.
func gpuName(kind event.Kind, name int32) string {
	switch kind {
	case event.Kernel:
		return ""
	case event.Memcpy:
		return copyNames[within(name, len(copyNames))]
	case event.Sync:
		return syncNames[within(name, len(syncNames))]
	}
	return kind.String()
}

// within returns i where it is an index of n entries, else 0.
func within(i int32, n int) int32 {
	if i < 0 || int(i) >= n {
		return 0
	}
	return i
}

// hostRows appends host rows to the batch.
func (e *emitter) hostRows(kind event.Kind, rank int32, refs []uint32) {
	b, r := e.batch, e.r
	e.setRank(kind, rank, len(refs))
	for k, ref := range refs {
		p, o, i := r.host[ref>>partBits], ref&partMask, e.at+k
		b.Start.Values[i] = p.start[o] + e.offset
		b.End.Values[i] = p.end[o] + e.offset
		t := r.threads[p.thread[o]]
		if t.tid != none {
			b.Thread.Set(i, t.tid)
		}
		if p.class[o] >= 0 {
			b.Class.Set(i, event.Class(p.class[o]))
		}
		if p.correlation != nil && p.correlation[o] != none {
			b.Correlation.Set(i, p.correlation[o])
		}
		if p.domain != nil && p.domain[o] != 0 && p.domain[o] != none {
			if d := e.domain(t.process, p.domain[o]); d >= 0 {
				b.Domain.Set(i, d)
			}
		}
		switch name := p.name[o]; {
		case kind == event.API:
			b.Name.Append(e.apiName(name))
		case name >= 0:
			b.Name.AppendCode(e.texts, name)
		default:
			b.Name.AppendBytes(p.text(&r.strings, name))
		}
	}
	e.at += len(refs)
}

// apiName returns the canonical name of an API call.
func (e *emitter) apiName(name int32) string {
	if name == noText {
		return ""
	}
	if e.apis[name] == "" {
		e.apis[name] = cudaname.API(e.r.strings.str(name))
	}
	return e.apis[name]
}

// domain returns the code of a process's domain, -1 where its name is unknown.
func (e *emitter) domain(p process, id int64) int32 {
	key := domainKey{p, id}
	if key != e.domainKey {
		e.domainKey, e.domainNow = key, -1
		if code, ok := e.domains[e.r.domains[key].name]; ok {
			e.domainNow = code
		}
	}
	return e.domainNow
}
