package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/parquet"
)

// ReadOptions choose what is read.
type ReadOptions struct {
	Selection
	// Columns are the columns that the batches have; those that the selection
	// depends on are among them. 0 stands for all, and those that nobody here
	// knows.
	Columns event.Set
}

// Reader reads a checkpoint. It is an event.Source. A row group is read whole
// and its hashes are verified before its first row is given out; the next one is
// read meanwhile, its columns on as many processors as there are.
type Reader struct {
	stored  *event.Header // with all columns
	header  *event.Header // with those that are read
	files   []*parquet.File
	paths   []string
	columns []event.Col
	others  event.PlainFields // columns that are not ours
	opt     ReadOptions
	src     event.Source // what Next gives out

	warnings []string
}

// Open opens a file or a data set. A data set is its files one behind the
// other, by rank and those without a rank last, but the window rows of all of
// them stand at the end.
func Open(path string, opt ReadOptions) (_ *Reader, err error) {
	r := &Reader{opt: opt}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if IsDataSet(path) {
		err = r.openSet(path)
	} else {
		err = r.openFile(path, nil)
	}
	if err != nil {
		return nil, err
	}
	return r, r.Choose(opt)
}

// Choose replaces the options that the reader was opened with, now that its
// header is known. It comes before the first Next, and can add no ranks.
func (r *Reader) Choose(opt ReadOptions) (err error) {
	h := *r.stored
	if opt.Columns != 0 {
		h.Columns &= opt.Columns | opt.Selection.columns()
		h.Foreign = nil
	}
	r.opt, r.header, r.columns = opt, &h, members(h.Columns)
	r.others, _ = h.Foreign.(event.PlainFields)
	r.src, err = opt.Selection.Filter(&groups{r: r, units: r.plan()})
	return err
}

// openSet opens those files of a data set whose ranks are chosen.
func (r *Reader) openSet(dir string) error {
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	for i := range m.Files {
		f := &m.Files[i]
		if r.opt.Ranks != nil && !slices.Contains(r.opt.Ranks, f.rank()) {
			continue
		}
		if err := r.openFile(filepath.Join(dir, filepath.FromSlash(f.Path)), f); err != nil {
			return err
		}
	}
	if r.stored == nil {
		return &event.Error{Msg: fmt.Sprintf("%s: has none of the ranks %d", dir, r.opt.Ranks), Advice: "its directories name the ranks that it has"}
	}
	return nil
}

// openFile opens a file; want is what a data set says of it, nil for nothing.
func (r *Reader) openFile(path string, want *manifestFile) error {
	f, err := parquet.Open(path)
	if err != nil {
		return err
	}
	r.files, r.paths = append(r.files, f), append(r.paths, path)
	if want != nil && !want.is(f) {
		return &event.Error{
			Msg:    path + ": not the file that the data set says it is",
			Advice: "run the command that writes the checkpoint again; what is right is kept",
		}
	}
	h, err := readHeader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := r.merge(h); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := r.addWarnings(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// addWarnings adds the warnings of a file.
func (r *Reader) addWarnings(f *parquet.File) error {
	text, ok := f.Metadata(event.KeyWarnings)
	if !ok {
		return nil
	}
	list, err := event.ParseWarnings([]byte(text))
	for _, w := range list {
		if !slices.Contains(r.warnings, w) {
			r.warnings = append(r.warnings, w)
		}
	}
	return err
}

// Warnings are what the filters warned of that the rows went through, besides
// the warnings of the reports.
func (r *Reader) Warnings() []string { return r.warnings }

// readHeader returns the header of a file.
func readHeader(f *parquet.File) (*event.Header, error) {
	if _, ok := f.Metadata(event.KeySchema); !ok {
		return nil, &event.Error{Msg: "a Parquet file, but not a checkpoint of hostbound", Advice: "give what --checkpoint or -o FILE.parquet writes"}
	}
	if !f.Sealed() {
		return nil, errors.New("damaged, or rewritten by another program: it has no checksum")
	}
	h, err := parseHeader(f)
	if err != nil {
		return nil, err
	}
	for c := event.Col(0); c < event.NumCols; c++ {
		if f.Has(event.Fields[c].Name) {
			h.Columns |= 1 << c
		}
	}
	if others := foreignFields(f); others != nil {
		h.Foreign = others
	}
	return h, h.Require(event.BaseCols)
}

// parseHeader returns what the metadata of a file say of its rows.
func parseHeader(f *parquet.File) (*event.Header, error) {
	meta := map[string]string{}
	for _, key := range f.MetadataKeys() {
		if key != keySource {
			meta[key], _ = f.Metadata(key)
		}
	}
	return event.ParseMetadata(meta)
}

// merge adds the header of one more file.
func (r *Reader) merge(h *event.Header) error {
	if r.stored == nil {
		r.stored = h
		return nil
	}
	switch have := r.stored; {
	case h.Stage != have.Stage || h.Columns != have.Columns || !reflect.DeepEqual(h.Isolation, have.Isolation),
		!reflect.DeepEqual(h.Foreign, have.Foreign):
		return errors.New("written at another stage than the files before it")
	default:
		for _, d := range h.Domains {
			if !slices.Contains(have.Domains, d) {
				have.Domains = append(have.Domains, d)
			}
		}
		for _, rep := range h.Reports {
			if !slices.ContainsFunc(have.Reports, func(o event.Report) bool { return reflect.DeepEqual(o, rep) }) {
				have.Reports = append(have.Reports, rep)
			}
		}
	}
	return nil
}

// Header is event.Source's.
func (r *Reader) Header() *event.Header { return r.src.Header() }

// Next is event.Source's.
func (r *Reader) Next() (*event.Batch, error) {
	b, err := r.src.Next()
	if err != nil {
		r.Close()
	}
	return b, err
}

// Close ends the reading early. At the end, and after an error, it is done.
func (r *Reader) Close() error {
	for _, f := range r.files {
		f.Close()
	}
	return nil
}

// unit is a row group of a file.
type unit struct{ file, group int }

// plan returns the row groups that may have rows which are chosen, in the order
// of the stream.
func (r *Reader) plan() []unit {
	var rows, windows []unit
	for i, f := range r.files {
		for g := range f.Groups() {
			low, high, ok := f.TextBounds(g, event.Fields[event.ColKind].Name)
			only := ok && low == high && low == event.Kinds[event.Window]
			switch {
			case !r.wanted(f, g, only):
			case only:
				windows = append(windows, unit{i, g})
			default:
				rows = append(rows, unit{i, g})
			}
		}
	}
	return append(rows, windows...)
}

// wanted tells from the bounds of a row group whether it may have rows that are
// chosen.
func (r *Reader) wanted(f *parquet.File, g int, windows bool) bool {
	meets := func(c event.Col, from, to int64) bool { // to inclusive
		low, high, ok := f.IntBounds(g, event.Fields[c].Name)
		return !ok || low <= to && from <= high
	}
	s := &r.opt.Selection
	if s.Ranks != nil {
		low, high, ok := f.IntBounds(g, event.Fields[event.ColRank].Name)
		if !ok || !slices.ContainsFunc(s.Ranks, func(rank int32) bool { return int64(rank) >= low && int64(rank) <= high }) {
			return false // where there are no bounds, no row has a rank
		}
	}
	if windows {
		return s.Kinds == nil || slices.Contains(s.Kinds, event.Window)
	}
	if s.Steps != nil { // the chosen steps cut the window wherever they start, the one behind them ends it
		return meets(event.ColStep, s.Steps.From, s.Steps.To)
	}
	return s.Time == nil || s.Time.From < s.Time.To && meets(event.ColStart, s.Time.From, s.Time.To-1)
}

// groups is the source of all rows of some row groups.
type groups struct {
	r     *Reader
	units []unit
	next  chan *group // the row group that is being read, nil for none
	now   *group      // the one that is being given out
	at    int         // rows of it that were
	spare *group
	err   error
}

func (s *groups) Header() *event.Header { return s.r.header }

// Next gives out a piece of a row group.
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

// advance goes to the next row group and starts the reading of the one behind
// it.
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

// start starts the reading of the next unit.
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
	next := make(chan *group, 1) // so that the reading ends though nobody waits for it
	s.next = next
	go func() {
		g.err = g.read(s.r, u)
		next <- g
	}()
}

// group is the rows of a row group. It keeps its memory for the next one.
type group struct {
	batch   event.Batch
	vectors [event.NumCols]parquet.Vector
	others  []parquet.Vector // of Reader.others
	err     error
}

// read reads a row group. Where no row can be chosen because of its kind, the
// other columns are not read, and there are no rows.
func (g *group) read(r *Reader, u unit) error {
	f := r.files[u.file]
	g.batch.Len, g.batch.Columns = 0, r.header.Columns
	if f.GroupRows(u.group) > maxGroupRows {
		return fmt.Errorf("%s: row group of %d rows", r.paths[u.file], f.GroupRows(u.group))
	}
	if err := g.readColumn(f, u.group, event.ColKind, r.header.Domains); err != nil {
		return fmt.Errorf("%s: %w", r.paths[u.file], err)
	}
	if !g.wanted(r) {
		return nil
	}
	var columns errgroup.Group
	columns.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range r.columns {
		if c != event.ColKind {
			columns.Go(func() error { return g.readColumn(f, u.group, c, r.header.Domains) })
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
func (g *group) readColumn(f *parquet.File, n int, c event.Col, domains []string) error {
	name, v := event.Fields[c].Name, &g.vectors[c]
	switch col := g.batch.Column(c).(type) {
	case *event.Ints[int64]:
		err := f.ReadColumn(n, name, nil, v)
		col.Values, col.Valid = v.Int, v.Valid
		return err
	case *event.Ints[int32]:
		err := f.ReadInt32(n, name, enum(c, domains), v)
		col.Values, col.Valid = v.Int32, v.Valid
		return err
	case *event.Strings:
		dict, err := f.ReadNumbered(n, name, v)
		*col = event.Strings{Offsets: v.Text.Offsets, Data: v.Text.Data}
		if dict != nil {
			col.Dict, col.Codes = (*event.Dict)(dict), v.Int32
		}
		return err
	}
	panic("BUG: a column of another type")
}

// maxGroupRows bounds what is read at once.
const maxGroupRows = 1 << 24

// wanted tells whether a kind that is chosen is among those of the rows. Step
// rows are needed for Selection.Steps in any case.
func (g *group) wanted(r *Reader) bool {
	return r.opt.Kinds == nil || slices.ContainsFunc(g.batch.Kind.Values, func(kind event.Kind) bool {
		return slices.Contains(r.opt.Kinds, kind) || r.opt.Steps != nil && kind == event.Step
	})
}
