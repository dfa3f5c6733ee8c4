package command

import (
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// rowWriter writes tables with the same columns as one.
type rowWriter interface {
	Write(*table.Table) error
	Close() error
}

// newRowWriter returns a writer of CSV, of JSON with a row per line, or of an aligned
// table. Nothing is sealed before Close, which must not be called after a failed Write.
func newRowWriter(w io.Writer, format string) rowWriter {
	switch format {
	case formatCSV:
		return table.NewWriter(w, table.CSV)
	case formatJSON, formatJSONL:
		return table.NewWriter(w, table.JSON)
	}
	return &alignedRows{w: w}
}

// alignedRows writes tables for people: null is "-", and floats have six digits.
type alignedRows struct {
	w   io.Writer
	out *report.Rows
}

// Write writes the rows of t.
func (a *alignedRows) Write(t *table.Table) error {
	if a.out == nil {
		a.out = report.NewRows(a.w, columnsOf(t))
	}
	return a.out.Write(stringsOf(t))
}

// Close flushes the writer.
func (a *alignedRows) Close() error {
	if a.out == nil {
		return nil
	}
	return a.out.Close()
}

// documentOf returns result rows for a terminal. If there is no room, times in ns and
// booleans are left out first.
func documentOf(t *table.Table) *report.Document {
	d, s := report.New(report.Textf("%d rows (%s)", t.Len(), t.Name()))
	columns := columnsOf(t)
	for i := range columns {
		switch {
		case strings.HasSuffix(columns[i].Title, "_ns"):
			columns[i].Minor = 2
		case t.Columns[i].Type == table.Bool:
			columns[i].Minor = 1
		case columns[i].Title == "metric": // our own names, not names from traces
			columns[i].Kind = report.Words
		}
	}
	rows := s.Table("", columns...)
	for _, row := range stringsOf(t) {
		var cells []report.Cell
		for _, text := range row {
			cells = append(cells, report.Str(text))
		}
		rows.Row(cells...)
	}
	return d
}

// columnsOf returns the columns of a table, right-aligned unless they are text.
func columnsOf(t *table.Table) []report.Column {
	columns := make([]report.Column, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		columns[i] = report.Column{Title: c.Name, Right: c.Type != table.Text}
		if c.Type == table.Text {
			columns[i].Kind = report.Names
		}
	}
	return columns
}

// stringsOf returns the values of a table as textOf formats them, one slice per row.
func stringsOf(t *table.Table) [][]string {
	rows, width := make([][]string, t.Len()), len(t.Columns)
	all := make([]string, len(rows)*width)
	for i := range rows {
		rows[i] = all[i*width : (i+1)*width : (i+1)*width]
		for k := range t.Columns {
			rows[i][k] = textOf(&t.Columns[k], i)
		}
	}
	return rows
}

// textOf formats a value for people: "-" for null, six digits for a float.
func textOf(c *table.Column, row int) string {
	switch v := c.Value(row).(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		if a := math.Abs(v); a >= 1e6 && a < 1e21 { // of readable length without an exponent
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return "-"
}
