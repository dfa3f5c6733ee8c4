package spill

import (
	"io"
	"math"

	"github.com/hostbound/hostbound/pkg/trace/event"
)

// Reader returns the rows of reports as batches, part after part. It is an event.Source
// and owns its batches: each is valid until the next call of Next.
type Reader struct {
	Store  *Store       // of the rows of all parts; the reader closes it
	Head   event.Header // of all reports
	Files  []string     // of the reports
	Parts  []Part       // in the order of the stream
	report int
	rows   *Merge // of the first part, nil before its first row
	batch  event.Batch
}

// Part is rows of one report that stand together.
type Part struct {
	Report int    // its number in the header
	Runs   []*Run // of one Order
	// Row sets row i of the batch from row k of rows. The nullable columns of the batch
	// are null before.
	Row func(b *event.Batch, i int, rows Rows, k int) error
}

// Header describes the reports.
func (r *Reader) Header() *event.Header { return &r.Head }

// Paths returns the files of the reports, in the order of the header.
func (r *Reader) Paths() []string { return r.Files }

// Report returns the number of the report that the last batch is from; no batch mixes
// reports.
func (r *Reader) Report() int { return r.report }

// Close releases the store. A second call does nothing.
func (r *Reader) Close() { r.Store.Close() }

// Next returns the next batch.
func (r *Reader) Next() (*event.Batch, error) {
	for len(r.Parts) > 0 {
		if err := r.fill(&r.Parts[0]); err != nil {
			return nil, err
		}
		if r.batch.Len > 0 {
			return &r.batch, nil
		}
		r.Parts[0], r.rows = Part{}, nil // frees what only the part refers to
		r.Parts = r.Parts[1:]
	}
	return nil, io.EOF
}

// fill fills the batch with the next rows of a part; it has no rows after the last.
func (r *Reader) fill(p *Part) (err error) {
	if r.report = p.Report; r.rows == nil {
		if r.rows, err = NewMerge(r.Store, p.Runs, math.MaxInt); err != nil {
			return err
		}
	}
	r.batch.Blank(event.BatchRows, event.BaseCols)
	n := 0
	for n < event.BatchRows {
		_, rows, k, j, err := r.rows.Next(event.BatchRows - n)
		if err != nil {
			return err
		}
		if k == j {
			break
		}
		for ; k < j; k, n = k+1, n+1 {
			if err := p.Row(&r.batch, n, rows, k); err != nil {
				return err
			}
		}
	}
	r.batch.Truncate(n)
	return nil
}
