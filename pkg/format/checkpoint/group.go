package checkpoint

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// unit is a row group of a file.
type unit struct{ file, group int }

// plan returns the row groups that may have chosen rows, in stream order. A row group
// of window rows only is recognised by the bounds of its kinds. Without bounds, which
// only files of other programs lack, it counts as rows.
func (r *Reader) plan() []unit {
	var rows, windows []unit
	begin := r.begin()
	for i, f := range r.files {
		for g := range f.Groups() {
			low, high, ok := f.TextBounds(g, event.Fields[event.ColKind].Name)
			only := ok && low == high && low == event.Kinds[event.Window]
			switch {
			case !r.wanted(f, g, only, begin):
			case only:
				windows = append(windows, unit{i, g})
			default:
				rows = append(rows, unit{i, g})
			}
		}
	}
	return append(rows, windows...)
}

// wanted reports, from the bounds of a row group, whether it may have chosen rows. It
// never misses a chosen row: unknown bounds count as wanted, except those of ranks,
// which are missing only if all ranks are null. Chosen rows begin at or after begin, or
// end after it and reach into the choice.
func (r *Reader) wanted(f *parquet.File, g int, windows bool, begin int64) bool {
	s := &r.opt.Selection
	if s.Ranks != nil {
		low, high, ok := f.IntBounds(g, event.Fields[event.ColRank].Name)
		if !ok || !slices.ContainsFunc(s.Ranks, func(rank int32) bool { return int64(rank) >= low && int64(rank) <= high }) {
			return false // without bounds, no row has a rank
		}
	}
	if windows {
		return s.Kinds == nil || slices.Contains(s.Kinds, event.Window)
	}
	switch {
	case s.Steps != nil && meets(f, g, event.ColStep, s.Steps.From, s.Steps.To): // the chosen steps cut the window; the step after them ends it
		return true
	case s.Time != nil && (s.Time.From >= s.Time.To || meets(f, g, event.ColStart, s.Time.From, s.Time.To-1)):
		return s.Time.From < s.Time.To
	}
	return begin == math.MinInt64 || meets(f, g, event.ColStart, math.MinInt64, begin-1) && meets(f, g, event.ColEnd, begin+1, math.MaxInt64)
}

// meets reports, from the bounds of a row group, whether a column may have values from
// from to to, both included.
func meets(f *parquet.File, g int, c event.Col, from, to int64) bool {
	low, high, ok := f.IntBounds(g, event.Fields[c].Name)
	return !ok || low <= to && from <= high
}

// begin returns a time before which nothing chosen by time or step begins, the earliest
// possible if unknown.
func (r *Reader) begin() int64 {
	switch s := &r.opt.Selection; {
	case s.Time != nil:
		return s.Time.From
	case s.Steps == nil:
		return math.MinInt64
	}
	begin := int64(math.MaxInt64)
	for _, f := range r.files {
		for g := range f.Groups() {
			if !meets(f, g, event.ColStep, r.opt.Steps.From, r.opt.Steps.To) {
				continue
			}
			low, _, ok := f.IntBounds(g, event.Fields[event.ColStart].Name)
			if !ok {
				return math.MinInt64
			}
			begin = min(begin, low)
		}
	}
	return begin
}

// groups is the source of all rows of some row groups, in order. It reads a row group
// ahead, so two are in memory at a time. A batch shares the memory of its row group and
// is valid until the next call of Next.
type groups struct {
	r     *Reader
	units []unit
	next  chan *group // being read, nil for none
	now   *group      // being returned
	at    int         // its rows that were returned
	spare *group
	err   error
}

// Header implements event.Source.
func (s *groups) Header() *event.Header { return s.r.header }

// Next returns the next part of a row group.
func (s *groups) Next() (*event.Batch, error) {
	for s.err == nil {
		if s.now != nil && s.at < s.now.batch.Len {
			i := s.at
			s.at = min(i+event.BatchRows, s.now.batch.Len)
			return s.now.batch.Slice(i, s.at), nil
		}
		s.err = s.advance()
	}
	return nil, s.err
}

// advance goes to the next row group and starts reading the one after it.
func (s *groups) advance() error {
	if s.now == nil {
		s.start()
	}
	if s.next == nil {
		return io.EOF
	}
	s.spare, s.now, s.at = s.now, <-s.next, 0
	s.start()
	return s.now.err
}

// start starts reading the next unit.
func (s *groups) start() {
	if s.next = nil; len(s.units) == 0 {
		return
	}
	g := s.spare
	if g == nil {
		g = &group{others: make([]parquet.Vector, len(s.r.others))}
	}
	u := s.units[0]
	s.units = s.units[1:]
	next := make(chan *group, 1) // buffered, so that the goroutine ends even if nobody receives
	s.next = next
	go func() {
		g.err = g.read(s.r, u)
		next <- g
	}()
}

// group holds the rows of a row group. Its memory is reused.
type group struct {
	batch   event.Batch
	vectors [event.NumCols]parquet.Vector
	others  []parquet.Vector // Reader.others
	err     error
}

// read reads a row group. It reads the kinds first: if no row can be chosen because of
// its kind, it skips the other columns and returns no rows. Each column has its own
// goroutine, which writes to its own vector and column only.
func (g *group) read(r *Reader, u unit) error {
	f := r.files[u.file]
	g.batch.Len, g.batch.Columns = 0, r.header.Columns
	if f.GroupRows(u.group) > maxGroupRows {
		return fmt.Errorf("%s: row group of %d rows", r.paths[u.file], f.GroupRows(u.group))
	}
	if err := g.readColumn(f, u.group, event.ColKind, r.header); err != nil {
		return fmt.Errorf("%s: %w", r.paths[u.file], err)
	}
	wanted := func(kind event.Kind) bool { // Selection.Steps needs rows of kind step in any case
		return slices.Contains(r.opt.Kinds, kind) || r.opt.Steps != nil && kind == event.Step
	}
	if r.opt.Kinds != nil && !slices.ContainsFunc(g.batch.Kind.Values, wanted) {
		return nil
	}
	var columns errgroup.Group
	columns.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range r.columns {
		if c != event.ColKind {
			columns.Go(func() error { return g.readColumn(f, u.group, c, r.header) })
		}
	}
	for k, field := range r.others {
		columns.Go(func() error { return f.ReadColumn(u.group, field.Name, nil, &g.others[k]) })
	}
	if err := columns.Wait(); err != nil {
		return fmt.Errorf("%s: %w", r.paths[u.file], err)
	}
	g.batch.Foreign = g.batch.Foreign[:0]
	for k, field := range r.others {
		g.batch.Foreign = append(g.batch.Foreign, fromForeign(&g.others[k], field.Type))
	}
	g.batch.Len = int(f.GroupRows(u.group))
	return nil
}

// readColumn reads column c of a row group into the batch.
func (g *group) readColumn(f *parquet.File, n int, c event.Col, h *event.Header) error {
	name, v := event.Fields[c].Name, &g.vectors[c]
	switch col := g.batch.Column(c).(type) {
	case *event.Ints[int64]:
		err := f.ReadColumn(n, name, nil, v)
		col.Values, col.Valid = v.Int, v.Valid
		return err
	case *event.Ints[int32]:
		err := f.ReadInt32(n, name, enum(c, h), v)
		col.Values, col.Valid = v.Int32, v.Valid
		return err
	case *event.Strings:
		dict, err := f.ReadNumbered(n, name, v)
		if *col = v.Text; dict != nil {
			col.Dict, col.Codes = dict, v.Int32
		}
		return err
	}
	panic("BUG: a column of another type")
}

// maxGroupRows bounds the rows that are read at once.
const maxGroupRows = 1 << 24
