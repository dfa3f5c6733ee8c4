package kineto

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
)

// Options are the settings of Open.
type Options struct {
	// Progress, where not nil, is told the file that is being read and how many
	// of its events have been.
	Progress func(path string, events int64)
	// Separate takes traces as those of different runs: their clocks are not
	// compared.
	Separate bool
	// Partial reads what there is of a trace that was cut short.
	Partial bool
	// Python makes ranges of Python functions, too.
	Python bool
}

// keepRows is the number of rows up to which documents stay in memory between
// reading them and writing of their rows, while others are read. Tests change it.
var keepRows int64 = 3 << 20

// Reader reads the events of one or several traces. It is an event.Source. A batch
// is valid until the following call of Next.
type Reader struct {
	opt    Options
	header event.Header
	paths  []string
	docs   []*document // nil where the file is to be read again

	report int // that rows come from now
	out    *emitter
	batch  event.Batch
}

// Open reads traces, each of one process.
func Open(paths []string, opt Options) (*Reader, error) {
	r := &Reader{opt: opt, report: -1}
	r.header.Stage, r.header.Columns = event.Readers["torch"], event.BaseCols
	var kept int64
	for _, path := range paths {
		d, err := r.load(path)
		if err != nil {
			return nil, err
		}
		if kept += d.rows(); kept > keepRows && len(paths) > 1 {
			kept -= d.rows()
			d.release()
		}
		r.docs = append(r.docs, d)
	}
	if err := r.rank(); err != nil {
		return nil, err
	}
	r.together()
	r.docs[0].info.Warnings = append(r.docs[0].info.Warnings, unrecorded)
	for i, d := range r.docs {
		d.info.Shift(d.info.Offset)
		r.header.Reports = append(r.header.Reports, d.info)
		r.paths = append(r.paths, d.path)
		if d.chunks == nil && d.released {
			r.docs[i] = nil
		}
	}
	r.header.Domains = []string{atenDomain, pythonDomain, torchDomain}
	return r, nil
}

// load reads a file and finds out what there is to know.
func (r *Reader) load(path string) (*document, error) {
	d, err := load(path, &r.opt)
	if err != nil {
		return nil, err
	}
	d.describe()
	return d, nil
}

// rank gives each trace with GPU work the number of its rank: what the trace says,
// or else its name; where neither does for all of them, their order.
func (r *Reader) rank() error {
	of := map[int32]string{}
	numbers := make([]int32, len(r.docs))
	known := true
	for i, d := range r.docs {
		if !d.active {
			continue
		}
		n, ok := d.head.rank, d.head.ranked
		if !ok {
			n, ok = rankOfName(d.path)
		}
		if numbers[i] = n; !ok {
			known = false
			continue
		}
		if other := of[n]; other != "" {
			return problem(d.path, fmt.Sprintf("it is of rank %d, as is %s", n, other),
				"ranks that write to one path overwrite each other's traces: give each its own; of several stages of one rank give one at a time")
		}
		of[n] = d.path
	}
	next := int32(0)
	for i, d := range r.docs {
		if !d.active {
			continue
		}
		n := numbers[i]
		if !known {
			n = next
			next++
		}
		d.info.Ranks[0], d.info.RankFacts[0].Rank = n, n
	}
	slices.SortStableFunc(r.docs, func(a, b *document) int { return cmp.Compare(a.rankOr(), b.rankOr()) })
	return nil
}

// rankOr is the number of the rank, or a number after all of them.
func (d *document) rankOr() int64 {
	if d.active {
		return int64(d.info.Ranks[0])
	}
	return 1 << 32
}

// together brings the clocks of the traces together.
func (r *Reader) together() {
	if len(r.docs) < 2 || r.opt.Separate {
		return
	}
	if slices.ContainsFunc(r.docs, func(d *document) bool { return d.info.Origin == 0 }) {
		for _, d := range r.docs {
			d.info.Warnings = append(d.info.Warnings, "not all traces say when their times are of: their clocks cannot be compared")
		}
		return
	}
	if said := align(r.docs); said != "" {
		r.docs[0].info.Warnings = append(r.docs[0].info.Warnings, said)
	}
}

// Header describes the traces.
func (r *Reader) Header() *event.Header { return &r.header }

// Paths are the files of the traces, in the order of the header's reports.
func (r *Reader) Paths() []string { return r.paths }

// Report returns the number of the report that the last batch is of.
func (r *Reader) Report() int { return r.report }

// Next returns the next batch.
func (r *Reader) Next() (*event.Batch, error) {
	for {
		if r.out == nil {
			if r.report+1 == len(r.paths) {
				return nil, io.EOF
			}
			r.report++
			d, err := r.again(r.report)
			if err != nil {
				return nil, err
			}
			r.out = newEmitter(d, &r.header.Reports[r.report])
		}
		if r.out.fill(&r.batch); r.batch.Len > 0 {
			return &r.batch, nil
		}
		r.out = nil
	}
}

// again returns a document that was kept, or reads it again.
func (r *Reader) again(i int) (*document, error) {
	d := r.docs[i]
	r.docs[i] = nil
	if d != nil {
		return d, nil
	}
	d, err := r.load(r.paths[i])
	if err != nil {
		return nil, err
	}
	if have := r.header.Reports[i].Rows; len(have) != len(d.info.Rows) {
		return nil, problem(r.paths[i], "changed while it was being read", "wait until it is complete")
	}
	return d, nil
}

// rows is how many there are.
func (d *document) rows() (n int64) {
	for _, c := range d.chunks {
		n += int64(len(c))
	}
	return n
}

// release frees the rows.
func (d *document) release() {
	d.chunks, d.calls, d.names, d.released = nil, nil, nil, true
}

// emitter writes the rows of a document into batches.
type emitter struct {
	d      *document
	rank   int32 // -1 for none
	shift  int64 // added to times
	merger *merger
	nodes  map[int64]int64 // rows so far, by the correlation of their graph launch
}

func newEmitter(d *document, info *event.Report) *emitter {
	e := &emitter{d: d, rank: -1, shift: info.Offset - d.origin, merger: newMerger(d.chunks), nodes: map[int64]int64{}}
	if len(info.Ranks) > 0 {
		e.rank = info.Ranks[0]
	}
	return e
}

// fill fills a batch with the next rows.
func (e *emitter) fill(b *event.Batch) {
	b.Blank(event.BatchRows, event.BaseCols)
	n := 0
	for ; n < event.BatchRows; n++ {
		r := e.merger.next()
		if r == nil {
			break
		}
		e.row(b, n, r)
	}
	b.Truncate(n)
}

// row writes row i.
func (e *emitter) row(b *event.Batch, i int, r *row) {
	kind := kinds[r.category]
	b.Kind.Values[i] = kind
	b.Start.Values[i], b.End.Values[i] = r.start+e.shift, r.end+e.shift
	if e.rank >= 0 {
		b.Rank.Set(i, e.rank)
	}
	b.Name.AppendCode(&e.d.names.texts, r.name)
	if class := e.d.classOf(r); class >= 0 {
		b.Class.Set(i, class)
	}
	if r.correlation != none {
		b.Correlation.Set(i, r.correlation)
	}
	if r.category.isGPU() {
		e.gpu(b, i, r)
		return
	}
	if id := e.d.threads[r.owner]; id != none {
		b.Thread.Set(i, id)
	}
	if code := domainCodes[r.category]; code >= 0 {
		b.Domain.Set(i, code)
	}
}

// domainCodes are the codes of the domains, in the order of their names.
var domainCodes = func() (codes [noCategory]int32) {
	for c := range codes {
		codes[c] = int32(slices.Index([]string{atenDomain, pythonDomain, torchDomain}, domainOf[c]))
	}
	return codes
}()

// gpu writes what only GPU rows have.
func (e *emitter) gpu(b *event.Batch, i int, r *row) {
	t := e.d.tracks[r.owner]
	switch {
	case t.device != none:
		b.Device.Set(i, int32(t.device))
	case r.category != syncCategory:
		b.Device.Set(i, max(e.d.device, 0))
	}
	if t.stream != none {
		b.Stream.Set(i, t.stream)
	}
	if r.category == syncCategory {
		return
	}
	if r.category != kernelCategory && r.extra != none {
		b.Bytes.Set(i, r.extra)
	}
	call := e.d.launch(r)
	if call == nil {
		return
	}
	b.LaunchStart.Set(i, call.start+e.shift)
	b.LaunchEnd.Set(i, call.end+e.shift)
	if id := e.d.threads[call.owner]; id != none {
		b.LaunchThread.Set(i, id)
	}
	if e.d.names.classes[call.name] != event.GraphLaunch {
		return
	}
	node := e.nodes[r.correlation]
	e.nodes[r.correlation] = node + 1
	if r.category == kernelCategory && r.extra != none {
		node = r.extra
	}
	b.GraphNode.Set(i, node)
}
