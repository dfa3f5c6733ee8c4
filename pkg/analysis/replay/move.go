package replay

import (
	"cmp"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Move returns the rows of again at their times in a scenario. again must yield the rows
// that t was read from. Rows are buffered as far as their order changes.
func (t *Trace) Move(s Scenario, again event.Source) (event.Source, error) {
	know, _, err := t.learn()
	if err != nil {
		return nil, err
	}
	e := newPass(t, []Scenario{s}, know)
	log := newMoves(t)
	e.sink = log
	if err := e.run(); err != nil {
		return nil, err
	}
	log.finish()
	if err := t.store.Err(); err != nil {
		return nil, err
	}
	return newMover(t, log, again), nil
}

// moves is a sink that keeps the new times of all rows.
type moves struct {
	t     *Trace
	open  []stretch
	least [][]int64 // of each stretch: the least new start in each block of moveBlock rows and all later ones
	// parts are the spans of the GPUs' work, by process.
	parts [][]part
	// pauses are the new times at which the profiler stopped and restarted, by process
	// and old time. They are the ends of the calls that stopped it, and the starts of
	// those that restarted it.
	pauses map[bound]int64
}

// stretch is the new times of the rows of a stretch, in their order.
type stretch struct {
	log    *spill.Log
	late   map[int64]int64 // by ordinal: ends that came after the row was written
	first  int64           // ordinal of the first row that is not in the log
	starts []int64         // new starts of the rows from first on, never if not known yet
	ends   []int64
	known  int // how many of the first rows of starts are known
}

// bound is the time of a pause in the header: of a process, and whether it is the end of
// a call.
type bound struct {
	process int32
	end     bool
	t       int64
}

// part is the span of the GPUs' work of a process in the header, or of its chosen part,
// in old time.
type part struct {
	all      bool // copies and memsets, too
	from, to int64
	// first and last are when work in it starts and ends, newFrom and newTo the same in
	// the scenario.
	first, last, newFrom, newTo int64
}

// newPart returns a part without work so far.
func newPart(all bool, from, to int64) part {
	return part{all: all, from: from, to: to, first: never, last: math.MinInt64, newFrom: never, newTo: math.MinInt64}
}

// unit adds the time of a unit that lies in the part.
func (p *part) unit(kind event.Kind, start, end, newStart, newEnd int64) {
	if end < p.from || start > p.to || !p.all && kind != event.Kernel && kind != event.Graph {
		return
	}
	moved := func(t int64) int64 {
		return newStart + int64(float64(t-start)*float64(newEnd-newStart)/float64(end-start))
	}
	if start < p.from {
		newStart, start = moved(p.from), p.from
	}
	if end > p.to {
		newEnd, end = moved(p.to), p.to
	}
	p.first, p.last = min(p.first, start), max(p.last, end)
	p.newFrom, p.newTo = min(p.newFrom, newStart), max(p.newTo, newEnd)
}

// span returns the span of the part in the scenario. Idle time before its first work and
// after its last keeps its length.
func (p *part) span() (from, to int64) {
	switch {
	case p.first > p.last:
		return p.from, p.to
	case p.first > p.from:
		return min(p.from, p.newFrom), p.newTo + p.to - p.last
	}
	return p.newFrom, p.newTo + p.to - p.last
}

// lookBack is how many rows may follow one whose new end is unknown before it is written
// without an end.
const lookBack = 1 << 16

// moveBlock is the number of rows per entry of moves.least.
const moveBlock = 1 << 10

// newMoves returns a sink for the new times of a trace's rows.
func newMoves(t *Trace) *moves {
	m := &moves{t: t, open: make([]stretch, len(t.stretches)), least: make([][]int64, len(t.stretches)), parts: make([][]part, len(t.processes)), pauses: map[bound]int64{}}
	for i := range m.open {
		m.open[i] = stretch{log: t.store.NewLog(2, 0), late: map[int64]int64{}}
	}
	for i := range t.header.Reports {
		r := &t.header.Reports[i]
		for _, f := range r.RankFacts {
			p := t.process(f.Rank)
			for _, u := range f.Unrecorded {
				m.pauses[bound{p, true, u[0]}], m.pauses[bound{p, false, u[1]}] = u[0], u[1]
			}
			if int(p) >= len(m.parts) { // a rank without rows
				continue
			}
			if f.GPUStart != nil && f.GPUEnd != nil {
				m.parts[p] = append(m.parts[p], newPart(false, *f.GPUStart, *f.GPUEnd))
			}
			if f.BusyStart != nil && f.BusyEnd != nil {
				m.parts[p] = append(m.parts[p], newPart(true, *f.BusyStart, *f.BusyEnd))
			}
		}
	}
	return m
}

// at returns the index of a row, and grows the slices to hold it.
func (s *stretch) at(ordinal int64) int {
	k := int(ordinal - s.first)
	for len(s.starts) <= k {
		s.starts, s.ends = append(s.starts, never), append(s.ends, never)
	}
	return k
}

// start implements sink.
func (m *moves) start(stretch int32, ordinal, t int64) {
	s := &m.open[stretch]
	s.starts[s.at(ordinal)] = t + m.ahead(stretch)
	m.settle(stretch)
}

// ahead returns how far the clock of a stretch is ahead of the replay's, ns.
func (m *moves) ahead(stretch int32) int64 { return m.t.clocks.ahead[m.t.stretches[stretch]] }

// end implements sink.
func (m *moves) end(stretch int32, ordinal, t int64) {
	s := &m.open[stretch]
	if t += m.ahead(stretch); ordinal < s.first {
		s.late[ordinal] = t
		return
	}
	s.ends[s.at(ordinal)] = t
	m.settle(stretch)
}

// unit implements sink.
func (m *moves) unit(process int32, kind event.Kind, start, end, newStart, newEnd int64) {
	d := m.t.clocks.ahead[process]
	for i := range m.parts[process] {
		m.parts[process][i].unit(kind, start+d, end+d, newStart+d, newEnd+d)
	}
}

// call implements sink.
func (m *moves) call(process int32, start, end, newStart, newEnd int64) {
	if len(m.pauses) == 0 {
		return
	}
	d := m.t.clocks.ahead[process]
	if k := (bound{process, true, end + d}); m.pauses[k] == k.t {
		m.pauses[k] = newEnd + d
	}
	if k := (bound{process, false, start + d}); m.pauses[k] == k.t {
		m.pauses[k] = newStart + d
	}
}

// settle writes the leading rows whose times are known, a block at a time.
func (m *moves) settle(k int32) {
	s := &m.open[k]
	n := s.known
	for n < len(s.starts) && s.starts[n] != never && (s.ends[n] != never || len(s.starts)-n > lookBack) {
		n++
	}
	if s.known = n; n < moveBlock && n < len(s.starts) {
		return
	}
	m.write(k, n)
}

// write writes the first n rows.
func (m *moves) write(k int32, n int) {
	s := &m.open[k]
	for i := range n {
		if s.first%moveBlock == 0 {
			m.least[k] = append(m.least[k], never)
		}
		last := len(m.least[k]) - 1
		m.least[k][last] = min(m.least[k][last], s.starts[i])
		s.log.Add(s.first, s.starts[i], s.ends[i])
		s.first++
	}
	s.known = 0
	s.starts, s.ends = s.starts[n:], s.ends[n:] // what is left is copied when they grow
}

// finish writes the remaining rows.
func (m *moves) finish() {
	for k := range m.open {
		m.write(int32(k), len(m.open[k].starts))
		m.open[k].log.Seal()
		for i, least := len(m.least[k])-2, m.least[k]; i >= 0; i-- {
			least[i] = min(least[i], least[i+1])
		}
	}
}

// header returns the header of the moved rows, with its times moved too.
func (m *moves) header() *event.Header {
	h := *m.t.header
	h.Stage = "whatif"
	h.Reports = slices.Clone(h.Reports)
	for i := range h.Reports {
		r := &h.Reports[i]
		r.RankFacts = slices.Clone(r.RankFacts)
		var spans []*event.RankSpan
		for k := range r.RankFacts {
			f := &r.RankFacts[k]
			p := m.t.process(f.Rank)
			f.GPUStart, f.GPUEnd = m.moved(p, false, f.GPUStart, f.GPUEnd)
			f.BusyStart, f.BusyEnd = m.moved(p, true, f.BusyStart, f.BusyEnd)
			f.Unrecorded = slices.Clone(f.Unrecorded)
			for i := range f.Unrecorded {
				u := &f.Unrecorded[i]
				u[0], u[1] = m.pauses[bound{p, true, u[0]}], m.pauses[bound{p, false, u[1]}]
			}
			spans = append(spans, &f.RankSpan)
		}
		if len(spans) == 0 {
			continue
		}
		r.GPUStart, r.GPUEnd = spanOf(r.GPUStart, r.GPUEnd, spans, func(s *event.RankSpan) (a, b *int64) { return s.GPUStart, s.GPUEnd })
		r.BusyStart, r.BusyEnd = spanOf(r.BusyStart, r.BusyEnd, spans, func(s *event.RankSpan) (a, b *int64) { return s.BusyStart, s.BusyEnd })
	}
	return &h
}

// moved returns the new times of a span in the header, the old ones if it has no part.
func (m *moves) moved(process int32, all bool, from, to *int64) (newFrom, newTo *int64) {
	if from == nil || to == nil || int(process) >= len(m.parts) {
		return from, to
	}
	for _, p := range m.parts[process] {
		if p.all == all && p.from == *from && p.to == *to {
			a, b := p.span()
			return &a, &b
		}
	}
	return from, to
}

// spanOf returns the span of all ranks' spans; start and end if there was none.
func spanOf(start, end *int64, spans []*event.RankSpan, of func(*event.RankSpan) (start, end *int64)) (*int64, *int64) {
	if start == nil || end == nil {
		return start, end
	}
	from, to := never, int64(math.MinInt64)
	for _, s := range spans {
		if a, b := of(s); a != nil && b != nil {
			from, to = min(from, *a), max(to, *b)
		}
	}
	if from > to {
		return start, end
	}
	return &from, &to
}

// mover is the source of the moved rows.
type mover struct {
	t      *Trace
	moves  *moves
	head   *event.Header
	src    event.Source
	in     *event.Batch // the last batch read
	at     int          // its first row that is not in held yet
	k      int          // stretch
	place  int64        // ordinal of the next row of the stretch
	reader *spill.LogReader
	block  spill.Rows
	next   int              // index in block
	calls  map[int64][]call // by thread: its latest calls
	held   event.Batch      // rows of the stretch that cannot be returned yet
	spare  event.Batch
	out    event.Batch
	order  []int32
	ended  bool // the stretch has no more rows
}

// newMover returns a source of the rows of src at their new times.
func newMover(t *Trace, m *moves, src event.Source) *mover {
	return &mover{t: t, moves: m, head: m.header(), src: src, k: -1}
}

// Header implements event.Source.
func (m *mover) Header() *event.Header { return m.head }

// Next implements event.Source. The batch is valid until the next call to Next.
func (m *mover) Next() (*event.Batch, error) {
	for {
		if err := m.fill(); err != nil {
			return nil, err
		}
		if m.release() {
			return &m.out, nil
		}
	}
}

// fill adds rows of the stretch to held.
func (m *mover) fill() error {
	if m.in == nil || m.at == m.in.Len {
		b, err := m.src.Next()
		if err == io.EOF && m.held.Len > 0 {
			m.ended, m.in = true, nil
			return nil
		}
		if err != nil {
			return cmp.Or(m.t.store.Err(), err)
		}
		m.in, m.at = b, 0
	}
	switch {
	case m.k < 0 || m.held.Len == 0 && m.place == m.moves.open[m.k].first:
		m.begin(m.k + 1)
	case m.place == m.moves.open[m.k].first:
		m.ended = true // held goes out first
		return nil
	}
	n := int(min(int64(m.in.Len-m.at), m.moves.open[m.k].first-m.place))
	if m.held.Len == 0 {
		m.held.Reset(m.in.Columns)
	}
	from := m.held.Len
	m.held.AppendRange(m.in, m.at, m.at+n)
	m.at += n
	return m.move(from)
}

// begin begins a stretch.
func (m *mover) begin(k int) {
	m.k, m.place, m.ended = k, 0, false
	m.reader, m.block, m.next = m.moves.open[k].log.Read(), nil, 0
	m.calls = map[int64][]call{}
}

// move gives the held rows, from an index on, their new times.
func (m *mover) move(from int) error {
	b, s := &m.held, &m.moves.open[m.k]
	for i := from; i < b.Len; i++ {
		if m.block == nil || m.next == m.block.Len() {
			if m.block, m.next = m.reader.Next(spill.All), 0; m.block == nil {
				return cmp.Or(m.t.store.Err(), error(errBUG))
			}
		}
		start, end := m.block[spill.Payload][m.next], m.block[spill.Payload+1][m.next]
		if end == never {
			end = s.late[m.place]
		}
		// Start and end may move with different threads or units, for example if a
		// thread follows another one that is moved back meanwhile.
		end = max(start, end)
		m.next++
		m.place++
		if b.Kind.Values[i] == event.API && b.Thread.Valid.Get(i) {
			m.call(b.Thread.Values[i], call{b.Start.Values[i], b.End.Values[i], start, end})
		}
		b.Start.Values[i], b.End.Values[i] = start, end
		m.launched(b, i)
	}
	return nil
}

// errBUG is returned if a row has no new times.
var errBUG = &event.Error{Msg: "BUG: a row has no new times"}

// call is the old and the new times of a call.
type call struct{ old, oldEnd, start, end int64 }

// call keeps the latest calls of a thread, in the order of their starts. The rows that
// they launched name their times.
func (m *mover) call(thread int64, one call) {
	c := m.calls[thread]
	if n := len(c); n >= 16*maxLaunches {
		c = slices.Delete(c, 0, n/2)
	}
	m.calls[thread] = append(c, one)
}

// launched moves the times of the launch call that a row names.
func (m *mover) launched(b *event.Batch, i int) {
	if !b.Columns.Has(event.ColLaunchStart) || !b.LaunchStart.Valid.Get(i) {
		return
	}
	old, all := b.LaunchStart.Values[i], m.calls[b.LaunchThread.Values[i]]
	for k := sort.Search(len(all), func(k int) bool { return all[k].old >= old }); k < len(all) && all[k].old == old; k++ {
		if c := &all[k]; c.oldEnd == b.LaunchEnd.Values[i] {
			b.LaunchStart.Values[i], b.LaunchEnd.Values[i] = c.start, c.end
			return
		}
	}
}

// release moves rows to out that no later row can precede; it reports whether there are
// any.
func (m *mover) release() bool {
	if m.held.Len == 0 {
		return false
	}
	limit := never
	if least := m.moves.least[m.k]; !m.ended && m.place < m.moves.open[m.k].first {
		limit = least[m.place/moveBlock]
	}
	if m.held.Len < event.BatchRows && limit != never {
		return false
	}
	m.sort()
	n, starts := 0, m.held.Start.Values
	for n < len(m.order) && starts[m.order[n]] < limit {
		n++
	}
	if n == 0 {
		return false
	}
	m.out.Reset(m.held.Columns)
	m.out.AppendRows(&m.held, m.order[:n])
	m.spare.Reset(m.held.Columns)
	rest := m.order[n:]
	slices.Sort(rest)
	m.spare.AppendRows(&m.held, rest)
	m.held, m.spare = m.spare, m.held
	return true
}

// sort orders the held rows by start, step rows first, then the longer first; equal rows
// keep their order.
func (m *mover) sort() {
	b := &m.held
	m.order = m.order[:0]
	for i := range b.Len {
		m.order = append(m.order, int32(i))
	}
	starts, ends, kinds := b.Start.Values, b.End.Values, b.Kind.Values
	slices.SortStableFunc(m.order, func(x, y int32) int {
		switch {
		case starts[x] != starts[y]:
			return cmp.Compare(starts[x], starts[y])
		case kinds[x] != kinds[y] && (kinds[x] == event.Step || kinds[y] == event.Step):
			if kinds[x] == event.Step {
				return -1
			}
			return 1
		}
		return cmp.Compare(ends[y], ends[x])
	})
}
