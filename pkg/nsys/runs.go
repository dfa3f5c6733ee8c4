package nsys

import (
	"slices"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/spill"
)

// runs are the rows of one process in one report, in order.
type runs struct {
	events  []*spill.Run // their Tag is the place of their table in eventTables
	calls   []*spill.Run // API calls by correlation, the first of each
	replays []*spill.Run // by correlation, one row for all rows of a graph replay
	// switches are the points at which threads came to a CPU and left it.
	switches []*spill.Run
}

// The columns of API calls by correlation, which is the Key. Then is the start
// of the call, less than 0, so that the first call goes first.
const (
	callEnd = spill.Payload + iota
	callThread
	numCallColumns
)

// sorter sorts the rows of chunks and writes them as runs. It belongs to one
// loader.
type sorter struct {
	writer    *spill.Writer
	processes []runs // by number of the process

	split    [][]int32  // places of the rows of each process in the chunk
	present  []int32    // the processes that have any
	scratch  spill.Rows // rows in another order
	places   []int32
	other    []int32
	callRows spill.Rows
	ids      []int64
}

func newSorter(s *spill.Store) *sorter {
	return &sorter{writer: spill.NewWriter(s), scratch: make(spill.Rows, numColumns), callRows: make(spill.Rows, numCallColumns)}
}

// write writes the rows of a chunk, which is not empty, as a run for each
// process.
func (s *sorter) write(c *chunk) error {
	rows := c.rows()
	if slices.Min(c.process) == slices.Max(c.process) {
		s.places = s.places[:0]
		if !sorted(rows) {
			for i := range c.process {
				s.places = append(s.places, int32(i))
			}
			rows = s.ordered(rows, &s.places)
		}
		return s.writeProcess(c, c.process[0], rows)
	}
	for i, p := range c.process {
		s.split = grown(s.split, p, nil)
		if len(s.split[p]) == 0 {
			s.present = append(s.present, p)
		}
		s.split[p] = append(s.split[p], int32(i))
	}
	for _, p := range s.present {
		if err := s.writeProcess(c, p, s.ordered(rows, &s.split[p])); err != nil {
			return err
		}
		s.split[p] = s.split[p][:0]
	}
	s.present = s.present[:0]
	return nil
}

// sorted tells whether rows are in their order.
func sorted(rows spill.Rows) bool {
	start, end := rows[colStart], rows[colEnd]
	for i := 1; i < len(start); i++ {
		if start[i] < start[i-1] || start[i] == start[i-1] && end[i] > end[i-1] {
			return false
		}
	}
	return true
}

// ordered returns the rows at some places, which it sorts, in their order, valid
// until its next call.
func (s *sorter) ordered(rows spill.Rows, at *[]int32) spill.Rows {
	start, end := rows[colStart], rows[colEnd]
	places, other := sortRuns(*at, s.other, func(a, b int32) bool {
		return start[a] < start[b] || start[a] == start[b] && end[a] > end[b]
	})
	*at, s.other = places, other
	ordered := make(spill.Rows, numColumns)
	for c := range rows {
		if rows[c] == nil {
			continue
		}
		s.scratch[c] = slices.Grow(s.scratch[c][:0], len(places))[:len(places)]
		for i, p := range places {
			s.scratch[c][i] = rows[c][p]
		}
		ordered[c] = s.scratch[c]
	}
	return ordered
}

// writeProcess writes the rows of a process.
func (s *sorter) writeProcess(c *chunk, process int32, rows spill.Rows) error {
	if err := s.writer.Write(rows); err != nil {
		return err
	}
	run, err := s.writer.End(c.order, c.tag)
	if err != nil {
		return err
	}
	s.processes = grown(s.processes, process, runs{})
	to := &s.processes[process]
	if c.switches {
		to.switches = append(to.switches, run)
		return nil
	}
	to.events = append(to.events, run)
	switch kind := c.table.kind; {
	case kind == event.API:
		err = s.writeCalls(to, c, rows)
	case c.table.gpu && kind != event.Sync && len(c.node) > 0:
		err = s.writeReplays(to, c, rows)
	}
	return err
}

// writeCalls writes API calls by their correlation.
func (s *sorter) writeCalls(to *runs, c *chunk, rows spill.Rows) error {
	s.places = s.places[:0]
	for i, id := range rows[colCorrelation] {
		if id != none {
			s.places = append(s.places, int32(i))
		}
	}
	if len(s.places) == 0 {
		return nil
	}
	ids, start, seq := rows[colCorrelation], rows[colStart], rows[colSeq]
	places, other := sortRuns(s.places, s.other, func(a, b int32) bool {
		if ids[a] != ids[b] {
			return ids[a] < ids[b]
		}
		return start[a] < start[b] || start[a] == start[b] && seq[a] < seq[b]
	})
	s.places, s.other = places, other
	for k := range s.callRows {
		s.callRows[k] = s.callRows[k][:0]
	}
	for k, i := range places {
		if k > 0 && ids[i] == ids[places[k-1]] {
			continue
		}
		for at, v := range [numCallColumns]int64{ids[i], -start[i], seq[i], rows[colEnd][i], rows[colOwner][i]} {
			s.callRows[at] = append(s.callRows[at], v)
		}
	}
	if err := s.writer.Write(s.callRows); err != nil {
		return err
	}
	run, err := s.writer.End(c.order, 0)
	to.calls = append(to.calls, run)
	return err
}

// writeReplays writes the correlations of rows that graph replays ran, each
// once.
func (s *sorter) writeReplays(to *runs, c *chunk, rows spill.Rows) error {
	s.ids = s.ids[:0]
	for i, node := range rows[colNode] {
		id := rows[colCorrelation][i]
		if n := len(s.ids); node != none && id != none && (n == 0 || s.ids[n-1] != id) {
			s.ids = append(s.ids, id)
		}
	}
	if len(s.ids) == 0 {
		return nil
	}
	slices.Sort(s.ids)
	s.ids = slices.Compact(s.ids)
	if err := s.writer.Write(spill.Rows{s.ids, s.ids, places[:len(s.ids)]}); err != nil {
		return err
	}
	run, err := s.writer.End(c.order, 0)
	to.replays = append(to.replays, run)
	return err
}

// sortRuns sorts places in a stable way, with other as more memory, and returns
// both. It merges the runs that are there already: exports hold rows in order, or
// a few sequences of rows in order, one for each thread.
func sortRuns(places, other []int32, less func(a, b int32) bool) (sorted, spare []int32) {
	bounds := []int{0}
	for i := 1; i < len(places); i++ {
		if less(places[i], places[i-1]) {
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
			merge(other[low:high], places[low:mid], places[mid:high], less)
			merged = append(merged, high)
		}
		bounds = merged
		places, other = other, places
	}
	return places, other
}

// merge merges two sorted sequences into one, of equals those of a first.
func merge(into, a, b []int32, less func(a, b int32) bool) {
	for len(a) > 0 && len(b) > 0 {
		if less(b[0], a[0]) {
			into[0], b = b[0], b[1:]
		} else {
			into[0], a = a[0], a[1:]
		}
		into = into[1:]
	}
	copy(into, a)
	copy(into[len(a):], b)
}
