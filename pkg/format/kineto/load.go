package kineto

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// document is a trace that was read.
type document struct {
	path string
	info event.Report
	head header

	python  bool // ranges of Python functions are rows
	names   *names
	tracks  numbering[track]
	threads numbering[int64] // thread ids, none if the document does not say
	rows    sorted
	counts  counts

	skipped int64 // events that are not JSON
	cut     bool
	empty   bool // only white space

	origin   int64           // of the times in rows: time 0
	calls    *spill.Index    // by correlation
	markers  int64           // of forward steps, including the first one
	noSteps  map[uint32]bool // places of markers that are not steps
	untraced int64           // GPU rows without a launching call
	early    int64           // GPU rows that start before their launching call
	active   bool            // it has kernels
}

// load reads a document.
func load(path string, store *spill.Store, opt *Options) (*document, error) {
	closer, in, err := open(path)
	if err != nil {
		return nil, explain(path, err)
	}
	defer closer.Close()
	d := &document{path: path, python: opt.Python, names: &names{limit: opt.Memory / 4, numbers: map[nameKey]name{}, sizes: map[int32]int32{}, dict: event.Dict{Offsets: []int32{0}}}, rows: sorted{store: store}, counts: newCounts()}
	d.info.File = filepath.Base(path)
	s := &splitter{in: in}
	if err := d.split(s, opt); err != nil {
		return nil, explain(path, err)
	}
	d.head, d.skipped, d.cut, d.empty = s.head, s.skipped, s.cut, s.empty
	return d, d.check(opt)
}

// check returns an error for what is not a trace, or half of one. A trace that was cut
// short is distinguished from damage: the error says how much there was, and
// Options.Partial accepts it.
func (d *document) check(opt *Options) error {
	_, merged := d.counts.process()
	total := d.counts.untimed + d.counts.broken + d.skipped
	for _, n := range d.counts.rows {
		total += n
	}
	switch {
	case d.empty:
		return problem(d.path, "no text in it", "write it again; the profiler writes it when it stops")
	case d.cut && (!d.head.events || d.counts.elements == 0):
		return problem(d.path, "file is truncated before its first event", "write it again; the profiler writes it when it stops, which may take minutes")
	case !d.head.events:
		return problem(d.path, "JSON, but no trace: it has no traceEvents", giveTrace)
	case d.counts.elements+d.skipped == 0 && d.head.named: // it declares itself a trace
	case d.counts.elements+d.skipped == 0:
		return problem(d.path, "JSON, but no trace: an empty array", giveTrace)
	case !d.counts.events:
		return problem(d.path, "JSON, but no trace: no element of its array has ph, ts and name", giveTrace)
	case merged:
		return problem(d.path, "it merges several processes with the same launch numbers", "give the trace of each rank, as the profiler wrote it: a merged one does not show which call launched what")
	case d.cut && !opt.Partial:
		return problem(d.path, fmt.Sprintf("file is truncated after %d events", total), "write it again, or take what is there: torch2arrow --partial")
	}
	return nil
}

// problem returns an error that names the file and has advice.
func problem(path, msg, advice string) error {
	return &event.Error{Msg: path + ": " + msg, Advice: advice}
}

// split reads the events: one goroutine finds where events end, and as many as there
// are processors parse them. Blocks are numbered, so that a row's place in the document
// does not depend on who read it. The first error ends all goroutines.
func (d *document) split(s *splitter, opt *Options) error {
	var wg sync.WaitGroup
	read := make(chan *block, 2*runtime.GOMAXPROCS(0))
	shared := &shared{doc: d}
	loaders := make([]*loader, runtime.GOMAXPROCS(0))
	for i := range loaders {
		l := newLoader(shared, opt.Python)
		loaders[i] = l
		wg.Go(func() {
			for b := range read {
				l.block(b)
			}
			l.flush(&l.host)
			l.flush(&l.gpu)
		})
	}
	events := int64(0)
	err := s.run(func(b *block) error {
		if b.number > 1<<18 {
			return wrong("record fewer steps", "more than %d events", int64(b.number)*maxEvents)
		}
		if events += int64(len(b.events)); opt.Progress != nil {
			opt.Progress(d.path, events)
		}
		read <- b
		return shared.failed()
	})
	close(read)
	wg.Wait()
	for _, l := range loaders {
		d.counts.add(&l.counts)
	}
	return cmp.Or(err, shared.failed())
}

// shared is what all loaders have in common.
type shared struct {
	sync.Mutex
	doc *document
	err error // of the store, or of the names
}

// numbering numbers values in the order of their first occurrence.
type numbering[T comparable] struct {
	sync.Mutex
	numbers map[T]int32
	list    []T // by number
}

// of returns the number of a value, adding it if it is new. own caches the numbers that
// the calling goroutine has seen.
func (n *numbering[T]) of(v T, own map[T]int32) int32 {
	if number, ok := own[v]; ok { // Fast path: nearly all.
		return number
	}
	n.Lock()
	defer n.Unlock()
	number, ok := n.numbers[v]
	if !ok {
		if n.numbers == nil {
			n.numbers = map[T]int32{}
		}
		number = int32(len(n.list))
		n.numbers[v] = number
		n.list = append(n.list, v)
	}
	own[v] = number
	return number
}

// fail records the error that ends reading.
func (s *shared) fail(err error) {
	s.Lock()
	defer s.Unlock()
	s.err = cmp.Or(s.err, err)
}

// failed returns the error that ended reading, if any.
func (s *shared) failed() error {
	s.Lock()
	defer s.Unlock()
	return s.err
}

// loader turns events into rows, in its own goroutine.
type loader struct {
	shared    *shared
	python    bool
	counts    counts
	host, gpu []row // not yet flushed
	sorter    *sorter
	tracks    map[track]int32
	threads   map[int64]int32
	names     [noCategory]map[string]name
	fields    fields
}

// newLoader returns a loader for one goroutine.
func newLoader(s *shared, python bool) *loader {
	l := &loader{
		shared: s, python: python, counts: newCounts(), sorter: &sorter{spill.NewWriter(s.doc.rows.store), make(spill.Rows, numColumns), make(spill.Rows, numCallColumns)},
		tracks: map[track]int32{}, threads: map[int64]int32{},
	}
	for c := range l.names {
		l.names[c] = map[string]name{}
	}
	return l
}

// block reads the events of a block.
func (l *loader) block(b *block) {
	for i, at := range b.events {
		if !l.fields.read(b.buf[at[0]:at[1]]) {
			l.counts.broken++
			continue
		}
		l.counts.elements++
		// Only the keys of its events show that an array of objects is a trace.
		l.counts.events = l.counts.events || isString(l.fields.ph) && l.fields.ts != nil && isString(l.fields.name)
		l.event(b.number*maxEvents + uint32(i))
	}
	if cap(b.buf) < 4*blockSize {
		blocks.Put(b)
	}
}

// flush writes the pending rows as a sorted run and, for host rows, their calls as
// another. An error of the store ends reading the document.
func (l *loader) flush(rows *[]row) {
	if len(*rows) == 0 {
		return
	}
	run, err := l.sorter.run(*rows)
	to := &l.shared.doc.rows
	list, calls := &to.gpu, (*spill.Run)(nil)
	if rows == &l.host {
		list = &to.host
		if err == nil {
			calls, err = l.sorter.callRun(*rows)
		}
	}
	*rows = (*rows)[:0]
	if err != nil {
		l.shared.fail(err)
		return
	}
	l.shared.Lock()
	defer l.shared.Unlock()
	*list = append(*list, run)
	if calls != nil {
		to.calls = append(to.calls, calls)
	}
}

// categoryOf returns the category of an event with a duration, or of the beginning of
// one, which has no duration itself. Unwanted events are noCategory.
func (f *fields) categoryOf() category {
	if string(f.ph) != `"X"` && string(f.ph) != `"B"` || len(f.cat) < 2 {
		return noCategory
	}
	cat := f.cat[1 : len(f.cat)-1]
	if c, ok := categories[string(cat)]; ok {
		return c
	}
	if c, ok := categories[strings.ToLower(string(cat))]; ok {
		return c
	}
	return noCategory
}

// event makes a row of the event in l.fields. place is the event's place in the
// document; it orders equal rows. Events without usable times are counted and dropped,
// and so are Python functions if not wanted.
func (l *loader) event(place uint32) {
	f := &l.fields
	c := f.categoryOf()
	if c == noCategory || c == pythonCategory && !l.python {
		switch {
		case c == pythonCategory:
			l.counts.rows[c]++
		case bytes.HasPrefix(f.cat, []byte(`"mtia_`)) || bytes.HasPrefix(f.cat, []byte(`"hpu_`)):
			l.counts.foreign++
		}
		return
	}
	start, ok := nanoseconds(f.ts)
	length, ok2 := nanoseconds(f.dur)
	if !ok || !ok2 || length < 0 || len(f.name) < 2 {
		l.counts.untimed++
		return
	}
	n := l.name(c, f.name)
	r := row{
		start: start, end: start + length, correlation: correlationOf(f.correlation), extra: none,
		name: n.number, place: place, category: c, marker: n.marker, class: n.class,
	}
	rows := &l.host
	switch c {
	case memcpyCategory, memsetCategory:
		r.extra = idOf(f.bytes)
	case kernelCategory:
		r.extra = idOf(f.node)
		if f.group != nil {
			l.counts.group(n.number, idOf(f.group))
		}
	}
	device := none
	if c.isGPU() {
		r.owner, device = l.track(f)
		rows = &l.gpu
	} else {
		r.owner = l.shared.doc.threads.of(threadID(f.tid), l.threads)
	}
	if c == apiCategory {
		l.counts.caller(f.pid, 1)
	}
	l.counts.row(&r, device)
	if *rows = append(*rows, r); len(*rows) >= chunkRows {
		l.flush(rows)
	}
}

// correlationOf returns the bits of an id, which may exceed an int64; none if it is not
// an id.
func correlationOf(b []byte) int64 {
	if n := idOf(b); n != none {
		return n
	}
	if n, err := strconv.ParseUint(string(unquoted(b)), 10, 64); err == nil {
		return int64(n) // 1<<63 becomes none, too
	}
	return none
}

// idOf returns the non-negative integer in b, none if it is anything else.
func idOf(b []byte) int64 {
	if n, ok := integer(b); ok && n >= 0 {
		return n
	}
	return none
}

// maxCached is how many names of a category a loader caches.
const maxCached = 1 << 14

// name returns a name. If there are too many, it returns number 0 and reading ends.
func (l *loader) name(c category, text []byte) name {
	n, ok := l.names[c][string(text)]
	if !ok {
		key := nameKey{c, string(text)}
		var err error
		if n, err = l.shared.doc.names.number(key); err != nil {
			l.shared.fail(err)
		}
		if len(l.names[c]) == maxCached {
			clear(l.names[c])
		}
		l.names[c][key.text] = n
	}
	return n
}

// track returns the track of a GPU row and its device: from its arguments, or else from
// pid and tid, which stand for device and stream.
func (l *loader) track(f *fields) (number int32, device int64) {
	t := track{device: idOf(f.device), stream: idOf(f.stream)}
	if t.device == none {
		t.device = idOf(f.pid)
	}
	if t.stream == none && f.stream == nil {
		t.stream = threadID(f.tid)
	}
	if t.device > 1<<16 {
		t.device = none
	}
	return l.shared.doc.tracks.of(t, l.tracks), t.device
}

// threadID returns the number of a thread or stream: 25738, "25738", "stream 7"; none
// if there is none.
func threadID(b []byte) int64 {
	if id, ok := integer(b); ok {
		return id
	}
	text := bytes.TrimRight(b, `"`)
	i := len(text)
	for i > 0 && '0' <= text[i-1] && text[i-1] <= '9' {
		i--
	}
	if id, ok := integer(text[i:]); ok {
		return id
	}
	return none
}
