package report

import (
	"bufio"
	"bytes"
	"io"
)

// Rows writes any number of rows, arriving in blocks, as one aligned plain text table.
// Columns are as wide as the first block needs; wider cells later widen them from there
// on.
type Rows struct {
	w       *bufio.Writer
	columns []Column
	widths  []int
	right   []bool // by column, right-aligned
	text    []byte // of the current line
}

// NewRows begins a table on w. Of the columns only Title, Kind and Right matter. The
// caller must Close it.
func NewRows(w io.Writer, columns []Column) *Rows {
	r := &Rows{w: bufio.NewWriterSize(w, 64<<10), columns: columns}
	for i := range columns {
		r.right = append(r.right, columns[i].right())
	}
	return r
}

// Write writes a block of rows, the first time after the titles. It overwrites strings of
// the block that must be shortened or made printable.
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

// line writes a row whose cells fit their columns.
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

// spaces is padding.
const spaces = "                                "

// fill appends n spaces to the line.
func (r *Rows) fill(n int) {
	for ; n > len(spaces); n -= len(spaces) {
		r.text = append(r.text, spaces...)
	}
	r.text = append(r.text, spaces[:n]...)
}

// shortASCII reports whether a text is short printable ASCII, and thus has a cell per
// byte.
func shortASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) <= maxName
}

// cells is width with a fast path for short ASCII.
func cells(s string) int {
	if shortASCII(s) {
		return len(s)
	}
	return width(s)
}

// Close flushes the writer. It does not close the underlying writer.
func (r *Rows) Close() error {
	if r.widths == nil {
		if err := r.Write(nil); err != nil {
			return err
		}
	}
	return r.w.Flush()
}
