package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/format/parquet"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Options are the options of a Writer.
type Options struct {
	// Name is the name of the files in a data set, without .parquet; "" means "events".
	// Parts of a data set need different names if they share a rank, or both have rows
	// without a rank.
	Name string
	// Source identifies what the rows were made from, for Set.Holds; nil if unknown.
	Source *Identity
	// GroupRows is the number of rows of a row group, 0 for 64 Ki.
	GroupRows int
}

// holdLimit bounds the bytes of rows that wait for their row group to fill, over all
// files of a data set. If it is exceeded, the fullest row group of a file not being
// written to is ended early.
const holdLimit = 64 << 20

// Writer writes events to a file, or to a data set with a file per rank. The files
// appear when Commit succeeds.
type Writer struct {
	header *event.Header
	opt    Options
	set    *Set // nil for a single file
	own    bool // the writer made the set
	cols   []event.Col
	others event.PlainFields // columns that this program does not know
	schema []parquet.Column
	parts  []*part
	last   *part // the last one written to
	err    error

	warnings []string

	chunk parquet.Chunk
	mem   []parquet.Vector // of chunk
}

// part is a file being written.
type part struct {
	path    string
	rank    int32 // noRank for none
	file    *spill.File
	out     *parquet.Writer
	windows bool // the window rows have begun
}

// noRank stands for a null rank.
const noRank = -1

// Create starts a checkpoint of rows with header h: a file if path ends in .parquet,
// else a data set whose old content is gone after Commit. The caller must call Commit
// or Abort.
func Create(path string, h *event.Header, opt Options) (*Writer, error) {
	if strings.HasSuffix(path, suffix) {
		w := newWriter(h, opt)
		_, err := w.open(path, noRank, h)
		return w, err
	}
	set, err := OpenSet(path)
	if err != nil {
		return nil, err
	}
	w := set.Create(h, opt)
	w.own = true
	return w, nil
}

// newWriter returns a writer without files. Columns that this program does not know
// come last, as plain ones.
func newWriter(h *event.Header, opt Options) *Writer {
	opt.Name = cmp.Or(opt.Name, "events")
	w := &Writer{header: h, opt: opt, cols: slices.Collect(h.Columns.All())}
	if h.Foreign != nil {
		w.others = h.Foreign.PlainFields()
	}
	w.schema = columns(h)
	for _, f := range w.others { // all are nullable
		w.schema = append(w.schema, parquet.Column{Name: f.Name, Type: plainTypes[f.Type], Nullable: true})
	}
	w.chunk.Cols = make([]parquet.Vector, len(w.schema))
	w.mem = make([]parquet.Vector, len(w.cols))
	return w
}

// open starts a file. If it has a temporary name, that begins with a dot and does not
// end in .parquet, so that nothing takes it for part of the data set. It is in the data
// set's folder, so that folders of ranks are made only for complete files.
func (w *Writer) open(path string, rank int32, h *event.Header) (*part, error) {
	within := ""
	if w.set != nil {
		within = w.set.dir
	}
	file, err := spill.CreateFile(path, within)
	if err != nil {
		return nil, err
	}
	p := &part{path: path, rank: rank, file: file}
	p.out = parquet.NewWriter(file, w.schema, parquet.Options{Sealed: true, GroupRows: w.opt.GroupRows})
	meta := h.Metadata()
	for _, key := range event.MetadataKeys {
		if text, ok := meta[key]; ok {
			p.out.SetMetadata(key, text)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.Extra)) {
		if !slices.Contains(event.MetadataKeys, key) && key != keySource && !parquet.Reserved(key) {
			p.out.SetMetadata(key, h.Extra[key])
		}
	}
	if w.opt.Source != nil {
		p.out.SetMetadata(keySource, w.opt.Source.String())
	}
	w.parts = append(w.parts, p)
	return p, nil
}

// Warn sets the warnings of the checkpoint, besides those of its reports.
func (w *Writer) Warn(warnings []string) { w.warnings = warnings }

// Write writes the rows of b. It does not retain b.
func (w *Writer) Write(b *event.Batch) error {
	if w.err != nil || b.Len == 0 {
		return w.err
	}
	if extra := b.Columns &^ w.header.Columns; extra != 0 {
		panic(fmt.Sprintf("BUG: a batch with columns %b that its header lacks", extra))
	}
	w.chunk.N = b.Len
	for k, c := range w.cols {
		toVector(&w.chunk.Cols[k], &w.mem[k], b, c)
	}
	for k, f := range w.others {
		foreignVector(&w.chunk.Cols[len(w.cols)+k], b, k, f.Type)
	}
	for i := 0; i < b.Len && w.err == nil; {
		j := w.runEnd(b, i)
		w.err = w.append(b, i, j)
		i = j
	}
	return w.err
}

// runEnd returns the end of the rows from i on that go to the same row group.
func (w *Writer) runEnd(b *event.Batch, i int) int {
	rank, window := rankOf(b, i), b.Kind.Values[i] == event.Window
	for i++; i < b.Len && (b.Kind.Values[i] == event.Window) == window; i++ {
		if w.set != nil && rankOf(b, i) != rank {
			break
		}
	}
	return i
}

// rankOf returns the rank of row i, noRank if it has none.
func rankOf(b *event.Batch, i int) int32 {
	if !b.Columns.Has(event.ColRank) || !b.Rank.Valid.Get(i) {
		return noRank
	}
	return b.Rank.Values[i]
}

// append writes rows i to j, all of one file. Window rows get row groups of their own:
// readers of a data set return them after the rows of all ranks.
func (w *Writer) append(b *event.Batch, i, j int) error {
	p, err := w.part(rankOf(b, i))
	if err != nil {
		return err
	}
	if window := b.Kind.Values[i] == event.Window; window != p.windows {
		p.windows = window
		if err := p.out.Flush(); err != nil {
			return err
		}
	}
	if err := p.out.AppendRange(&w.chunk, i, j); err != nil {
		return err
	}
	if p == w.last {
		return nil
	}
	if w.last != nil {
		w.last.out.Shrink()
	}
	w.last = p
	return w.relieve()
}

// part returns the file of a rank.
func (w *Writer) part(rank int32) (*part, error) {
	if w.set == nil {
		return w.parts[0], nil
	}
	if w.last != nil && w.last.rank == rank {
		return w.last, nil
	}
	for _, p := range w.parts {
		if p.rank == rank {
			return p, nil
		}
	}
	return w.open(w.set.place(rank, w.opt.Name), rank, partHeader(w.header, rank))
}

// partHeader returns the header of the file of one rank: with the reports that have the
// rank, or, for noRank, those without ranks. So each report is in one file of the data
// set, or in one for each of its ranks.
func partHeader(h *event.Header, rank int32) *event.Header {
	part := *h
	part.Reports = nil
	for _, r := range h.Reports {
		if slices.Contains(r.Ranks, rank) || rank == noRank && len(r.Ranks) == 0 {
			part.Reports = append(part.Reports, r)
		}
	}
	return &part
}

// relieve ends row groups until the rows that are held are within holdLimit.
func (w *Writer) relieve() error {
	for {
		total, most := int64(0), int64(0)
		var fullest *part
		for _, p := range w.parts {
			held := p.out.Held()
			total += held
			if p != w.last && held > most {
				fullest, most = p, held
			}
		}
		if total <= holdLimit || fullest == nil {
			return nil
		}
		if err := fullest.out.Flush(); err != nil {
			return err
		}
	}
}

// Commit completes the checkpoint. If it or a Write fails, there is no checkpoint, or a
// data set that is recognised as unfinished.
func (w *Writer) Commit() error {
	if err := w.commit(); err != nil {
		w.Abort()
		return err
	}
	if !w.own {
		return nil
	}
	return w.set.Commit()
}

// commit first completes all files and then renames them one by one; the manifest,
// written last, makes them a checkpoint. A failure before the old manifest is removed
// leaves the data set as it was; a later one leaves it unfinished.
func (w *Writer) commit() error {
	if w.set != nil && w.err == nil {
		w.err = w.complete()
	}
	for _, p := range w.parts {
		if w.err == nil {
			if v := event.AddedValues(); v != nil {
				p.out.SetMetadata(event.KeyValues, event.ValuesText(v))
			}
			if len(w.warnings) > 0 {
				p.out.SetMetadata(event.KeyWarnings, event.WarningsText(w.warnings))
			}
			w.err = p.out.Close()
		}
	}
	if w.err == nil && w.set != nil {
		w.err = w.set.begin()
	}
	for _, p := range w.parts {
		if w.err != nil {
			return w.err
		}
		if w.err = p.file.Commit(); w.err == nil && w.set != nil {
			w.set.keep(w.set.file(p.path, p.rank, p.out.Rows(), p.out.Hash()))
		}
	}
	if w.err == nil {
		w.err = errors.New("BUG: written to after Commit")
		return nil
	}
	return w.err
}

// complete makes a file for each rank of the header, even without rows, so that each
// report is in some file's header. The file of rows without a rank comes first: if the
// others exist, it exists, too, or never did (Set.Holds).
func (w *Writer) complete() error {
	ranks := ranksOf(w.header)
	if len(ranks) == 0 || len(partHeader(w.header, noRank).Reports) > 0 {
		ranks = append(ranks, noRank)
	}
	for _, rank := range ranks {
		if _, err := w.part(rank); err != nil {
			return err
		}
	}
	slices.SortFunc(w.parts, func(a, b *part) int { return cmp.Compare(a.rank, b.rank) }) // noRank first
	return nil
}

// Abort gives up: nothing appears, and an existing file stays as it was.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = errors.New("given up")
	}
	for _, p := range w.parts {
		p.file.Abort()
	}
	w.parts = nil
}
