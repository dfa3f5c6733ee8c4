package report

import (
	"bufio"
	"io"
	"strings"
)

// Rows writes rows that come a block at a time as one aligned table of plain text, for
// as many as there are. Columns are as wide as the first block asks for; what comes
// later and is wider widens them from there on.
type Rows struct {
	w       *bufio.Writer
	columns []Column
	widths  []int
}

// NewRows begins a table on w with the titles of its columns; of these only Title, Kind
// and Right matter. Close it when all is written.
func NewRows(w io.Writer, columns []Column) *Rows {
	return &Rows{w: bufio.NewWriterSize(w, 64<<10), columns: columns}
}

// Write writes a block of rows, the first time after the titles.
func (r *Rows) Write(block [][]string) error {
	if r.widths == nil {
		r.widths = make([]int, len(r.columns))
		titles := make([]string, len(r.columns))
		for i := range r.columns {
			titles[i] = r.columns[i].Title
		}
		block = append([][]string{titles}, block...)
	}
	for _, row := range block {
		for i := range row {
			row[i] = shorten(printable(row[i]), maxName, r.columns[i].Kind == Names)
			r.widths[i] = max(r.widths[i], width(row[i]))
		}
	}
	for _, row := range block {
		for i := range row {
			row[i] = pad(row[i], r.widths[i], r.columns[i].right())
		}
		if _, err := r.w.WriteString(strings.TrimRight(strings.Join(row, "  "), " ") + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// Close writes what is left. It does not close the underlying writer.
func (r *Rows) Close() error {
	if r.widths == nil {
		if err := r.Write(nil); err != nil {
			return err
		}
	}
	return r.w.Flush()
}
