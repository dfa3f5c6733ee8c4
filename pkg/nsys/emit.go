package nsys

import (
	"github.com/hostbound/hostbound/pkg/cudaname"
	"github.com/hostbound/hostbound/pkg/event"
)

// nullRank is the rank of processes without GPU work.
const nullRank = int32(-1)

// emitter writes the rows of a report into batches.
type emitter struct {
	r       *report
	report  int // its number in the header
	offset  int64
	domains map[string]int32
	apis    []string // canonical name by string, "" where not yet looked up
	strings *event.Dict
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
	e.strings = &event.Dict{Offsets: r.strings.offsets, Data: r.strings.data}
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
		if n.table.gpu {
			e.gpuRows(n.table.kind, rank, n.refs[:count])
		} else {
			e.hostRows(n.table.kind, rank, n.refs[:count])
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
		if n.chunks[ref>>chunkBits].start[ref&chunkMask] >= bound {
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
		p, o, i := r.chunks[ref>>chunkBits], ref&chunkMask, e.at+k
		b.Start.Values[i] = p.start[o] + e.offset
		b.End.Values[i] = p.end[o] + e.offset
		t := r.tracks[p.owner[o]]
		if t.device != none || kind != event.Sync {
			b.Device.Set(i, t.shown)
		}
		if t.stream != none {
			b.Stream.Set(i, t.stream)
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
			if call, ok := t.launch(c); ok {
				q, o := r.chunks[call>>chunkBits], call&chunkMask
				b.LaunchStart.Set(i, q.start[o]+e.offset)
				b.LaunchEnd.Set(i, q.end[o]+e.offset)
				if t := r.threads[q.owner[o]].tid; t != none {
					b.LaunchThread.Set(i, t)
				}
			}
		}
		if name := p.name[o]; kind == event.Kernel && name >= 0 {
			b.Name.AppendCode(e.strings, name)
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
		p, o, i := r.chunks[ref>>chunkBits], ref&chunkMask, e.at+k
		b.Start.Values[i] = p.start[o] + e.offset
		b.End.Values[i] = p.end[o] + e.offset
		t := r.threads[p.owner[o]]
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
			b.Name.AppendCode(e.strings, name)
		default:
			b.Name.AppendBytes(p.str(&r.strings, name))
		}
	}
	e.at += len(refs)
}

// apiName returns the canonical name of an API call.
func (e *emitter) apiName(name int32) string {
	if name == noString {
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
