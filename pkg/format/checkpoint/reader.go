package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// ReadOptions choose what to read.
type ReadOptions struct {
	Selection
	// Columns are the columns of the batches; those that the selection needs are added.
	// 0 means all columns, including those that this program does not know.
	Columns event.Set
}

// Reader reads a checkpoint. It is an event.Source. A row group is read whole and its
// hashes are verified before its first row is returned. Meanwhile the next one is read,
// its columns on all processors.
type Reader struct {
	stored  *event.Header // with all columns
	header  *event.Header // with the columns that are read
	files   []*parquet.File
	paths   []string
	columns []event.Col
	others  event.PlainFields // columns that this program does not know
	opt     ReadOptions
	src     event.Source // what Next returns

	warnings []string
}

// Open opens a file or a data set. A data set is its files in sequence, ordered by
// rank, without a rank last; the window rows of all files come at the end.
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

// Choose replaces the options of Open once the header is known. Call it before the
// first Next. It cannot add ranks.
func (r *Reader) Choose(opt ReadOptions) (err error) {
	h := *r.stored
	if opt.Columns != 0 {
		h.Columns &= opt.Columns | opt.Selection.columns()
		h.Foreign = nil
	}
	if h.Columns.Has(event.ColStack) && r.stored.Stacks == nil {
		if h.Stacks, err = r.readStacks(); err != nil {
			return err
		}
		r.stored.Stacks = h.Stacks
	}
	r.opt, r.header, r.columns = opt, &h, slices.Collect(h.Columns.All())
	r.others, _ = h.Foreign.(event.PlainFields)
	r.src, err = opt.Selection.Filter(&groups{r: r, units: r.plan()})
	return err
}

// openSet opens the files of a data set whose ranks are chosen.
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

// openFile opens a file and merges its header into the reader's. want is the data set's
// entry for it, nil if there is none. Once opened, the file is in r.files, so Close
// closes it even if the rest fails.
func (r *Reader) openFile(path string, want *manifestFile) error {
	f, err := parquet.Open(path)
	switch {
	case want != nil && errors.Is(err, fs.ErrNotExist):
		return &event.Error{Msg: path + ": is missing from the data set", Advice: "run the command that writes the checkpoint again; what is right is kept"}
	case err != nil:
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

// Warnings returns the warnings of the filters that wrote the rows, besides those of
// the reports.
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
	for c := range event.NumCols {
		if f.Has(event.Fields[c].Name) {
			h.Columns |= 1 << c
		}
	}
	if others := foreignFields(f); others != nil {
		h.Foreign = others
	}
	return h, h.Require(event.BaseCols)
}

// parseHeader returns the header in a file's metadata.
func parseHeader(f *parquet.File) (*event.Header, error) {
	meta := map[string]string{}
	for _, key := range f.MetadataKeys() {
		if key != keySource {
			meta[key], _ = f.Metadata(key)
		}
	}
	return event.ParseMetadata(meta)
}

// merge adds the header of another file. Files of a data set must agree on what their
// rows are. Reports and domains in several files are listed once, in order of
// appearance.
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

// readStacks returns the stacks of all rows, sorted, without duplicates.
func (r *Reader) readStacks() ([]string, error) {
	stacks, seen := []string{}, map[string]bool{}
	var v parquet.Vector
	for i, f := range r.files {
		for g := range f.Groups() {
			if err := f.ReadColumn(g, event.Fields[event.ColStack].Name, nil, &v); err != nil {
				return nil, fmt.Errorf("%s: %w", r.paths[i], err)
			}
			for k := range v.Text.Len() {
				if text := v.Text.Get(k); len(text) > 0 && !seen[string(text)] {
					s := string(text)
					seen[s] = true
					stacks = append(stacks, s)
				}
			}
		}
	}
	slices.Sort(stacks)
	return stacks, nil
}

// Header implements event.Source.
func (r *Reader) Header() *event.Header { return r.src.Header() }

// Next implements event.Source.
func (r *Reader) Next() (*event.Batch, error) {
	b, err := r.src.Next()
	if err != nil {
		r.Close()
	}
	return b, err
}

// Close ends reading early. At the end and after an error, Next has already called it.
func (r *Reader) Close() error {
	for _, f := range r.files {
		f.Close()
	}
	return nil
}
