package report

import (
	"bufio"
	"bytes"
	"io"
)

// Rows writes rows that come a block at a time as one aligned table of plain text, for
// as many as there are. Columns are as wide as the first block asks for; what comes
// later and is wider widens them from there on.
type Rows struct {
	w       *bufio.Writer
	columns []Column
	widths  []int
	right   []bool // of each column, whether it is set to the right
	text    []byte // of the line under way
}

// NewRows begins a table on w with the titles of its columns; of these only Title, Kind
// and Right matter. Close it when all is written.
func NewRows(w io.Writer, columns []Column) *Rows {
	r := &Rows{w: bufio.NewWriterSize(w, 64<<10), columns: columns}
	for i := range columns {
		r.right = append(r.right, columns[i].right())
	}
	return r
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
			if !shortASCII(row[i]) {
				row[i] = shorten(printable(row[i]), maxName, r.columns[i].Kind == Names)
			}
			r.widths[i] = max(r.widths[i], cells(row[i]))
		}
	}
	for _, row := range block {
		if err := r.line(row); err != nil {
			return err
		}
	}
	return nil
}

// line writes a row, each of whose cells fits its column.
func (r *Rows) line(row []string) error {
	r.text = r.text[:0]
	for i, text := range row {
		fill := r.widths[i] - cells(text)
		if r.right[i] {
			r.fill(fill)
		}
		r.text = append(r.text, text...)
		if !r.right[i] {
			r.fill(fill)
		}
		r.fill(gutter)
	}
	r.text = append(bytes.TrimRight(r.text, " "), '\n')
	_, err := r.w.Write(r.text)
	return err
}

// spaces fill a line.
const spaces = "                                "

// fill appends n spaces to the line.
func (r *Rows) fill(n int) {
	for ; n > len(spaces); n -= len(spaces) {
		r.text = append(r.text, spaces...)
	}
	r.text = append(r.text, spaces[:n]...)
}

// shortASCII reports whether a text is short printable ASCII: a cell for each byte.
func shortASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) <= maxName
}

// cells is width, but for plain text of its length.
func cells(s string) int {
	if shortASCII(s) {
		return len(s)
	}
	return width(s)
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
