package kineto

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// none stands for a missing number.
const none = spill.None

// row is an event. Names, tracks and threads are indexes into the document's tables, so
// rows have a fixed size and no pointers.
type row struct {
	start, end  int64 // ns as in the document
	correlation int64 // none if there is none
	extra       int64 // bytes of copies and memsets, graph node of kernels; or none
	name        int32 // in names
	owner       int32 // in tracks or threads
	place       uint32
	category    category
	marker      markerKind
	class       event.Class // -1 for none; of ranges the class before markers are chosen
}

// order is the order of the stream: by start, then the longer first, then as in the
// document.
func order(a, b row) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.place, b.place))
}

// chunkRows is the number of rows that are sorted at a time. Tests change it.
var chunkRows = 1 << 15

// The columns of rows in runs, as package spill orders them. All runs have the same
// Order, so equal rows are in the order of the document.
const (
	colStart = spill.Key
	colEnd   = spill.Then
	colPlace = spill.Seq
)

const (
	colCorrelation = spill.Payload + iota
	colExtra
	colName
	colOwner // and category, in its lowest bits
	numColumns
)

// The columns of calls in runs, by correlation, of which only the first is kept. Then
// is the negated start, because its order is descending.
const (
	callEnd    = spill.Payload + iota
	callThread // in threads
	callGraph  // 1 for a graph launch
	numCallColumns
)

const categoryBits = 4

// sorted holds the rows of a document in a store.
type sorted struct {
	store *spill.Store
	host  []*spill.Run
	gpu   []*spill.Run
	calls []*spill.Run
}

// sorter sorts rows and writes them to a store.
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

// callRun sorts rows and writes the calls among them by correlation; it returns nil if
// there are none.
func (s *sorter) callRun(rows []row) (*spill.Run, error) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.correlation, b.correlation), order(a, b)) })
	for c := range s.calls {
		s.calls[c] = s.calls[c][:0]
	}
	last := none
	for i := range rows {
		r := &rows[i]
		if r.category != apiCategory || r.correlation == last { // also skips none
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
	device int64 // none if the document does not say
	stream int64 // none if the document does not say
}

// isGPU reports whether rows of a category have tracks, not threads.
func (c category) isGPU() bool { return kinds[c].IsGPU() || c == syncCategory }
