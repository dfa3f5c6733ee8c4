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

	split    [][]int32 // places of the rows of each process in the chunk
	present  []int32   // the processes that have any
	places   []int32
	other    []int32
	callRows spill.Rows
	ids      []int64
}

func newSorter(s *spill.Store) *sorter {
	return &sorter{writer: spill.NewWriter(s), callRows: make(spill.Rows, numCallColumns)}
}

// write writes the rows of a chunk, which is not empty, as a run for each
// process.
func (s *sorter) write(c *chunk) error {
	rows := c.rows()
	s.present = s.present[:0]
	for i, p := range c.process {
		if int(p) >= len(s.split) {
			s.split = grown(s.split, p, nil)
		}
		if len(s.split[p]) == 0 {
			s.present = append(s.present, p)
		}
		s.split[p] = append(s.split[p], int32(i))
	}
	for _, p := range s.present {
		s.processes = grown(s.processes, p, runs{})
		if err := s.writeProcess(c, &s.processes[p], rows, &s.split[p]); err != nil {
			return err
		}
		s.split[p] = s.split[p][:0]
	}
	return nil
}

// writeProcess writes the rows of a process: those at some places of rows, which it
// puts in order.
func (s *sorter) writeProcess(c *chunk, to *runs, rows spill.Rows, places *[]int32) error {
	if c.table.kind == event.API {
		if err := s.writeCalls(to, c, rows, *places); err != nil {
			return err
		}
	}
	*places, s.other = sortRuns(*places, s.other, &order{key: rows[colStart], then: rows[colEnd], down: true})
	if err := s.writer.WriteAt(rows, *places); err != nil {
		return err
	}
	run, err := s.writer.End(c.order, c.tag)
	switch {
	case err != nil:
		return err
	case c.switches:
		to.switches = append(to.switches, run)
		return nil
	}
	to.events = append(to.events, run)
	if c.table.gpu && c.table.kind != event.Sync && len(c.node) > 0 {
		return s.writeReplays(to, c, rows, *places)
	}
	return nil
}

// writeCalls writes the API calls at some places by their correlation.
func (s *sorter) writeCalls(to *runs, c *chunk, rows spill.Rows, places []int32) error {
	ids, start, seq := rows[colCorrelation], rows[colStart], rows[colSeq]
	s.places = s.places[:0]
	for _, i := range places {
		if ids[i] != none {
			s.places = append(s.places, i)
		}
	}
	if len(s.places) == 0 {
		return nil
	}
	s.places, s.other = sortRuns(s.places, s.other, &order{key: ids, then: start})
	for k := range s.callRows {
		s.callRows[k] = s.callRows[k][:0]
	}
	for k, i := range s.places {
		if k > 0 && ids[i] == ids[s.places[k-1]] {
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
func (s *sorter) writeReplays(to *runs, c *chunk, rows spill.Rows, at []int32) error {
	s.ids = s.ids[:0]
	for _, i := range at {
		node, id := rows[colNode][i], rows[colCorrelation][i]
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

// order is what rows are sorted by: key, and of equal keys then, the largest first
// where it goes down.
type order struct {
	key, then []int64
	down      bool
}

// less tells whether row a goes before row b.
func (o *order) less(a, b int32) bool {
	if o.key[a] != o.key[b] {
		return o.key[a] < o.key[b]
	}
	if o.down {
		return o.then[a] > o.then[b]
	}
	return o.then[a] < o.then[b]
}

// sortRuns sorts places in a stable way, with other as more memory, and returns
// both. It merges the runs that are there already: exports hold rows in order, or
// a few sequences of rows in order, one for each thread.
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

// merge merges two sorted sequences into one, of equals those of a first.
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
