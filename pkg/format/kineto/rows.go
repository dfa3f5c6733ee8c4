package kineto

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// none stands for a number that is not there.
const none = spill.None

// row is an event that was read. Names, tracks and threads are numbers in the document's
// tables, so that a row has one size and no pointers.
type row struct {
	start, end  int64 // ns as in the document
	correlation int64 // none where there is none
	extra       int64 // of copies and memsets their bytes, of kernels the graph node; or none
	name        int32 // in names
	owner       int32 // in tracks or threads
	place       uint32
	category    category
	marker      markerKind
	class       event.Class // -1 for none; of ranges before it is known which are markers
}

// order is the order of the stream: by start, of equal ones the longer first, and
// then as in the document.
func order(a, b row) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.place, b.place))
}

// chunkRows is how many rows are sorted at a time. Tests change it.
var chunkRows = 1 << 15

// The columns of rows in runs. Their order is that of package spill: all runs are of
// one Order, so that of equal rows the one that comes first in the document is first.
const (
	colStart = spill.Key
	colEnd   = spill.Then
	colPlace = spill.Seq
)

const (
	colCorrelation = spill.Payload + iota
	colExtra
	colName
	colOwner // and category in its lowest bits
	numColumns
)

// The columns of calls in runs, by their correlation, of each the first: Then is the
// start with its sign turned, because that goes down.
const (
	callEnd    = spill.Payload + iota
	callThread // in threads
	callGraph  // 1 for a graph launch
	numCallColumns
)

const categoryBits = 4

// sorted are rows in a store.
type sorted struct {
	store *spill.Store
	host  []*spill.Run
	gpu   []*spill.Run
	calls []*spill.Run
}

// sorter writes rows into a store.
type sorter struct {
	writer *spill.Writer
	rows   spill.Rows
	calls  spill.Rows
}

// run sorts rows and writes them as a run.
func (s *sorter) run(rows []row) (*spill.Run, error) {
	slices.SortFunc(rows, order)
	for c := range s.rows {
		s.rows[c] = slices.Grow(s.rows[c][:0], len(rows))[:len(rows)]
	}
	for i := range rows {
		r := &rows[i]
		s.rows[colStart][i], s.rows[colEnd][i], s.rows[colPlace][i] = r.start, r.end, int64(r.place)
		s.rows[colCorrelation][i], s.rows[colExtra][i], s.rows[colName][i] = r.correlation, r.extra, int64(r.name)
		s.rows[colOwner][i] = int64(r.owner)<<categoryBits | int64(r.category)
	}
	if err := s.writer.Write(s.rows); err != nil {
		return nil, err
	}
	return s.writer.End(0, 0)
}

// callRun writes the calls among rows, which it sorts, by their correlation; nil for
// none.
func (s *sorter) callRun(rows []row) (*spill.Run, error) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.correlation, b.correlation), order(a, b)) })
	for c := range s.calls {
		s.calls[c] = s.calls[c][:0]
	}
	last := none
	for i := range rows {
		r := &rows[i]
		if r.category != apiCategory || r.correlation == last { // or none
			continue
		}
		last = r.correlation
		graph := int64(0)
		if r.class == event.GraphLaunch {
			graph = 1
		}
		for c, v := range [numCallColumns]int64{r.correlation, -r.start, int64(r.place), r.end, int64(r.owner), graph} {
			s.calls[c] = append(s.calls[c], v)
		}
	}
	if len(s.calls[spill.Key]) == 0 {
		return nil, nil
	}
	if err := s.writer.Write(s.calls); err != nil {
		return nil, err
	}
	return s.writer.End(0, 0)
}

// track is where a GPU row ran.
type track struct {
	device int64 // none where the document does not say
	stream int64 // none likewise
}

// isGPU reports whether rows of a category have tracks, not threads.
func (c category) isGPU() bool { return kinds[c].IsGPU() || c == syncCategory }
