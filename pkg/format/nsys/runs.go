package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// runs are the sorted rows of one process in one report.
type runs struct {
	events  []*spill.Run // Tag is the index of the table in eventTables
	calls   []*spill.Run // API calls by correlation, the first call of each
	replays []*spill.Run // one row per graph replay, by correlation
	// switches are the points at which threads got a CPU or left it.
	switches []*spill.Run
}

// The columns of API calls by correlation, which is the Key. Then is the negated start
// of the call, so that the first call comes first.
const (
	callEnd = spill.Payload + iota
	callThread
	numCallColumns
)

// sorter divides the rows of a table by process, sorts the rows of each process and
// writes them as runs. It belongs to one goroutine.
type sorter struct {
	writer *spill.Writer
	table  *table
	tag    int   // of the runs: index of the table in eventTables
	order  int64 // of the next runs: the place of their rows in the export
	// switches: the rows are points of which rows of kind Run will be made.
	switches bool

	processes []runs   // by number of the process
	chunks    []*chunk // by number of the process, nil if it has no rows
	present   []int32  // the processes that have rows
	spare     []*chunk
	rows      int // in all chunks

	places, other []int32
	callRows      spill.Rows
	ids           []int64
}

// newSorter returns a sorter that writes to a store.
func newSorter(s *spill.Store) *sorter {
	return &sorter{writer: spill.NewWriter(s), callRows: make(spill.Rows, numCallColumns)}
}

// begin starts reading rows of the table with an index in eventTables.
func (s *sorter) begin(tag int, order int64) { s.table, s.tag, s.order = &eventTables[tag], tag, order }

// of returns the chunk for rows of a process.
func (s *sorter) of(process int32) *chunk {
	if int(process) >= len(s.chunks) {
		s.chunks = grown(s.chunks, process, nil)
	}
	c := s.chunks[process]
	if c != nil {
		return c
	}
	if n := len(s.spare); n > 0 {
		c, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		c = &chunk{}
	}
	c.table = s.table
	s.chunks[process], s.present = c, append(s.present, process)
	return c
}

// added gives the last row of a chunk its place among all rows.
func (s *sorter) added(c *chunk) {
	c.seq = append(c.seq, int64(s.rows))
	s.rows++
}

// flush writes the rows of all chunks, one run per process.
func (s *sorter) flush() error {
	for _, p := range s.present {
		s.processes = grown(s.processes, p, runs{})
		c := s.chunks[p]
		// If no rank gets rows of two chunks, the order within each chunk is enough.
		// Rows of kernels and whole graphs make their process a rank, except those of
		// unnamed, which may turn out to belong to another process.
		if len(s.present) == 1 || s.table.isWork() && s.chunks[unnamed] == nil {
			c.seq = c.seq[:0]
		}
		if err := s.write(c, &s.processes[p]); err != nil {
			return err
		}
		for _, column := range c.columns() {
			*column = (*column)[:0]
		}
		s.chunks[p], s.spare = nil, append(s.spare, c)
	}
	if s.rows > 0 {
		s.order++
	}
	s.present, s.rows = s.present[:0], 0
	return nil
}

// write writes the rows of a chunk, which must not be empty, as a run.
func (s *sorter) write(c *chunk, to *runs) error {
	rows := make(spill.Rows, numColumns)
	for i, column := range c.columns() {
		if len(*column) > 0 { // else it is nil
			rows[i] = *column
		}
	}
	if s.table.kind == event.API {
		if err := s.writeCalls(to, rows); err != nil {
			return err
		}
	}
	err := s.writeSorted(rows, &order{key: c.start, then: c.end, down: true})
	if err != nil {
		return err
	}
	run, err := s.writer.End(s.order, s.tag)
	switch {
	case err != nil:
		return err
	case s.switches:
		to.switches = append(to.switches, run)
		return nil
	}
	to.events = append(to.events, run)
	if s.table.gpu && s.table.kind != event.Sync && len(c.node) > 0 {
		return s.writeReplays(to, c)
	}
	return nil
}

// writeSorted sorts rows and writes them.
func (s *sorter) writeSorted(rows spill.Rows, by *order) error {
	if by.holds() {
		return s.writer.Write(rows)
	}
	s.places = s.places[:0]
	for i := range by.key {
		s.places = append(s.places, int32(i))
	}
	s.places, s.other = sortRuns(s.places, s.other, by)
	return s.writer.WriteAt(rows, s.places)
}

// writeCalls writes the API calls among rows by their correlation. Of calls with the
// same correlation, the first to start is the launch. The others are dropped: here
// within a chunk, and when runs are merged. Calls without a correlation launch nothing.
func (s *sorter) writeCalls(to *runs, rows spill.Rows) error {
	ids, start := rows[colCorrelation], rows[colStart]
	s.places = s.places[:0]
	for i, id := range ids {
		if id != none {
			s.places = append(s.places, int32(i))
		}
	}
	if len(s.places) == 0 {
		return nil
	}
	s.places, s.other = sortRuns(s.places, s.other, &order{key: ids, then: start})
	s.places = slices.CompactFunc(s.places, func(a, b int32) bool { return ids[a] == ids[b] })
	for at, column := range [numCallColumns]int{colCorrelation, colStart, colSeq, colEnd, colOwner} {
		if rows[column] == nil {
			s.callRows[at] = nil
			continue
		}
		s.callRows[at] = gather(s.callRows[at][:0], rows[column], s.places)
	}
	for k, t := range s.callRows[spill.Then] {
		s.callRows[spill.Then][k] = -t
	}
	if err := s.writer.Write(s.callRows); err != nil {
		return err
	}
	run, err := s.writer.End(s.order, 0)
	to.calls = append(to.calls, run)
	return err
}

// writeReplays writes the correlations of rows that graph replays ran, each once.
func (s *sorter) writeReplays(to *runs, c *chunk) error {
	s.ids = s.ids[:0]
	for i, node := range c.node {
		id := c.correlation[i]
		if n := len(s.ids); node != none && id != none && (n == 0 || s.ids[n-1] != id) {
			s.ids = append(s.ids, id)
		}
	}
	if len(s.ids) == 0 {
		return nil
	}
	slices.Sort(s.ids)
	s.ids = slices.Compact(s.ids)
	if err := s.writer.Write(spill.Rows{s.ids, s.ids, nil}); err != nil {
		return err
	}
	run, err := s.writer.End(s.order, 0)
	to.replays = append(to.replays, run)
	return err
}

// order is what rows are sorted by: key, ascending, and among equal keys then, ascending
// or, if down is set, descending.
type order struct {
	key, then []int64
	down      bool
}

// holds reports whether rows are already in order.
func (o *order) holds() bool {
	for i := 1; i < len(o.key); i++ {
		if o.key[i] <= o.key[i-1] && o.less(int32(i), int32(i-1)) {
			return false
		}
	}
	return true
}

// less reports whether row a precedes row b.
func (o *order) less(a, b int32) bool {
	if o.key[a] != o.key[b] {
		return o.key[a] < o.key[b]
	}
	if o.down {
		return o.then[a] > o.then[b]
	}
	return o.then[a] < o.then[b]
}

// sortRuns sorts places stably, with other as scratch memory, and returns both. It
// merges the runs that it finds: exports hold rows in order, or a few ordered
// sequences, one per thread. The number of merges grows with that of runs; rows in
// order cost one comparison each.
func sortRuns(places, other []int32, by *order) (sorted, spare []int32) {
	bounds := []int{0}
	for i := 1; i < len(places); i++ {
		if by.less(places[i], places[i-1]) {
			bounds = append(bounds, i)
		}
	}
	if bounds = append(bounds, len(places)); len(bounds) <= 2 {
		return places, other
	}
	other = slices.Grow(other[:0], len(places))[:len(places)]
	for len(bounds) > 2 {
		merged := bounds[:1]
		for i := 0; i+1 < len(bounds); i += 2 {
			low, mid := bounds[i], bounds[i+1]
			high := mid
			if i+2 < len(bounds) {
				high = bounds[i+2]
			}
			merge(other[low:high], places[low:mid], places[mid:high], by)
			merged = append(merged, high)
		}
		bounds = merged
		places, other = other, places
	}
	return places, other
}

// merge merges two sorted sequences into one; of equal elements those of a come first.
func merge(into, a, b []int32, by *order) {
	for len(a) > 0 && len(b) > 0 {
		if by.less(b[0], a[0]) {
			into[0], b = b[0], b[1:]
		} else {
			into[0], a = a[0], a[1:]
		}
		into = into[1:]
	}
	copy(into, a)
	copy(into[len(a):], b)
}
