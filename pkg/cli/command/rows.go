package command

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Formats of rows and of reports.
const (
	formatArrow   = "arrow"
	formatTable   = "table"
	formatCSV     = "csv"
	formatJSON    = "json"
	formatJSONL   = "jsonl"
	formatParquet = "parquet" // by the output's name only
	formatText    = "text"
	formatHTML    = "html"
)

var rowFormats = []string{formatArrow, formatTable, formatCSV, formatJSON, formatJSONL}

// rowFlags are the flags of a filter that writes rows.
var rowFlags = []cli.Flag{
	{Name: "output", Short: "o", Usage: "write to `FILE`, by its extension: .arrows, .parquet, .csv, .json, .jsonl or .txt, unless --format says how", File: cli.Writes, Check: checkOutput},
	{Name: "format", Usage: "`FORMAT` of the rows: arrow (the default into a pipe or file), table, csv, json (a row per line); without it a terminal gets a summary of events, or a table of result rows", Values: rowFormats},
	topFlag,
}

// formatOf are the formats that the end of a file's name stands for; .txt is text
// for people, or a table.
var formatOf = map[string]string{
	".arrows": formatArrow, ".arrow": formatArrow, ".parquet": formatParquet,
	".csv": formatCSV, ".json": formatJSON, ".jsonl": formatJSONL, ".txt": formatTable,
	".md": formatText, ".markdown": formatText, ".html": formatHTML, ".htm": formatHTML,
}

// outputFormat decides how the output is written: as --format says, else as the name
// of the output does. It refuses what the command does not write.
func (c *Context) outputFormat() (string, error) {
	format, path := c.String("format"), c.OutputPath()
	if c.Bool(doctorFlag.Name) {
		return c.doctorFormat()
	}
	ext := ""
	if !cli.IsStream(path) {
		ext = extension(path)
	}
	byName := formatOf[ext]
	if ext == ".txt" && c.Takes("format", formatText) {
		byName = formatText
	}
	switch {
	case c.IsSet("format"):
		return c.given(format, byName)
	case !c.Takes("format", formatJSON): // it has a form of its own
		return format, nil
	case ext != "" && byName == "":
		return "", cli.Misuse(path+": "+ext+" is not the extension of a format", c.extensions()+", or give --format")
	case byName != "" && !c.writes(byName):
		return "", cli.Misuse(path+": "+c.Name+" does not write "+ext, c.extensions())
	case byName != "":
		return byName, nil
	case format == "" && c.ToTerminal():
		return formatTable, nil
	case format == "":
		return formatArrow, nil
	}
	return format, nil
}

// given is a format that was given, refused where the output cannot have it.
func (c *Context) given(format, byName string) (string, error) {
	path := c.OutputPath()
	switch {
	case !c.writes(format):
		return "", cli.Misuse("--format "+format+" is for --doctor", "rows are written as "+cli.Or(rowFormats))
	case format == formatArrow && c.ToTerminal():
		return "", cli.Misuse("will not write Arrow onto a terminal", "redirect it, pipe it into the next filter, or use -o FILE")
	case format == formatArrow && byName == formatParquet:
		return "", cli.Misuse("--format arrow does not fit the name "+path, "name it .arrows")
	case format != formatArrow && (byName == formatParquet || byName == formatArrow):
		return "", cli.Misuse("--format "+format+" does not fit the name "+path, "end the name in another way")
	}
	return format, nil
}

// extension is the end of a file's name that says its format, "" for none.
func extension(path string) string {
	name := strings.TrimLeft(filepath.Base(path), ".")
	return strings.ToLower(filepath.Ext(name))
}

// writes tells whether the command writes a format.
func (c *Context) writes(format string) bool {
	switch {
	case format == formatParquet:
		format = formatArrow // as a file at rest
	case format == formatHTML && c.Has(doctorFlag.Name):
		return false // of a diagnosis only
	}
	return c.Takes("format", format)
}

// extensions says how names of outputs may end.
func (c *Context) extensions() string {
	var all []string
	for _, ext := range slices.Sorted(maps.Keys(formatOf)) {
		if c.writes(formatOf[ext]) || ext == ".txt" {
			all = append(all, ext)
		}
	}
	return "end the name in " + cli.Or(all)
}

// checkOutput refuses a file that cannot be written.
func checkOutput(path string) error {
	if path == "" || path == "-" || cli.IsStream(path) {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return cli.Misuse(path+": is a directory", "give the name of a file")
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return cli.Misuse(path+": there is no directory "+dir, "make it first, or check the name")
	}
	return checkpoint.CheckDir(dir)
}

// checkExtension makes the check of a flag whose file is written as its extension says:
// it is one of those, for which there is a writer.
func checkExtension[T any](flag string, extensions []string, writer func(path string) func(io.Writer, T) error) func(path string) error {
	return func(path string) error {
		if writer(path) == nil {
			return cli.Misuse("--"+flag+" "+path+": its extension is not that of a format", "--"+flag+" takes a file that ends in "+strings.Join(extensions, ", "))
		}
		return checkOutput(path)
	}
}

// checkReplaced refuses to replace what the filter before this one may be reading
// and this one does not write: a profiler's report, or rows by a text.
func (c *Context) checkReplaced() error {
	path := c.OutputPath()
	if path == "" || cli.IsStream(path) {
		return nil
	}
	what := ""
	switch f := source.Recognise(path); {
	case f == nil:
		return nil
	case f.Reports != "":
		what = "report of " + f.Reports
	case c.format == formatArrow || c.format == formatParquet || c.format == "": // or none that fits
		return nil
	default:
		what = f.Name
	}
	return cli.Misuse(path+": will not replace a "+what+", which may be what is read", "write to another file, or remove it first")
}

// WriteEvents writes a stream of events to its end.
// With --checkpoint the rows go to the data set and on to standard output, if anybody reads
// there. A stream is sealed at its end only where all of it was written.
func (c *Context) WriteEvents(src event.Source) error {
	if err := c.refuseSteps(src); err != nil {
		return err
	}
	write := func(w io.Writer, src event.Source) error {
		switch {
		case c.format == formatArrow:
			return c.writeStream(w, src)
		case c.ToTerminal() && !c.IsSet("format"):
			return c.writeSummary(w, src)
		}
		return writeRows(w, c.format, src)
	}
	switch {
	case c.kept && c.nobodyReads():
		return nil
	case c.IsSet("checkpoint") && !c.kept:
		r, err := c.record(src)
		if err != nil {
			return err
		}
		if err = c.passOn(r, write); err != nil {
			r.abort()
		}
		return err
	case c.format == formatParquet:
		return c.writeCheckpoint(c.OutputPath(), src)
	}
	return c.Output(func(w io.Writer) error { return write(w, src) })
}

// writeStream writes a stream with the marker of its end if and only if it succeeds.
func (c *Context) writeStream(w io.Writer, src event.Source) error {
	out := arrow.NewWriter(w, src.Header())
	if err := event.Each(src, out.Write); err != nil {
		return err // and no end-of-stream marker: the next filter must not take this for a whole stream
	}
	out.Warn(c.lateWarnings(src.Header()))
	return out.Close()
}

// writeRows writes events by one of the formats of newRowWriter. It holds one batch, but
// for what an aligned table looks ahead.
func writeRows(w io.Writer, format string, src event.Source) error {
	out := newRowWriter(w, format)
	err := event.Each(src, func(b *event.Batch) error { return out.Write(table.FromEvents(src.Header(), b)) })
	if err != nil {
		return err
	}
	return out.Close()
}

// rowWriter writes tables of the same columns as one.
type rowWriter interface {
	Write(*table.Table) error
	Close() error
}

// newRowWriter returns a writer of CSV, of JSON with a row per line, or else of an aligned
// table. Nothing is sealed before Close, which a failed write must not reach.
func newRowWriter(w io.Writer, format string) rowWriter {
	switch format {
	case formatCSV:
		return table.NewWriter(w, table.CSV)
	case formatJSON, formatJSONL:
		return table.NewWriter(w, table.JSON)
	}
	return &alignedRows{w: w}
}

// alignedRows writes tables for people: null is "-", and numbers have six digits.
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

// Close writes what is left.
func (a *alignedRows) Close() error {
	if a.out == nil {
		return nil
	}
	return a.out.Close()
}

// documentOf is result rows for a terminal, which may have no room for times in ns, nor
// for what is true or false.
func documentOf(t *table.Table) *report.Document {
	d, s := report.New(report.Textf("%d rows of %s", t.Len(), t.Schema))
	columns := columnsOf(t)
	for i := range columns {
		switch {
		case strings.HasSuffix(columns[i].Title, "_ns"):
			columns[i].Minor = 2
		case t.Columns[i].Type == table.Bool:
			columns[i].Minor = 1
		case columns[i].Title == "metric": // which are named here, not in traces
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

// columnsOf are the columns of a table, those that are no text set to the right.
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

// stringsOf are the values of a table as textOf has them, a slice for each row.
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

// textOf is a value for people: "-" for null, six digits of a float.
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

// WriteTable writes result rows.
func (c *Context) WriteTable(t *table.Table) error {
	return c.Output(func(w io.Writer) error {
		switch c.format {
		case formatArrow:
			return arrow.WriteTable(w, t)
		case formatParquet:
			return checkpoint.WriteTable(w, t)
		}
		if c.format == formatTable && c.ToTerminal() {
			return c.writeDocument(w, documentOf(t))
		}
		out := newRowWriter(w, c.format)
		if err := out.Write(t); err != nil {
			return err
		}
		return out.Close()
	})
}

// writeCheckpoint writes a stream of events as one Parquet file.
func (c *Context) writeCheckpoint(path string, src event.Source) error {
	out, err := checkpoint.Create(path, src.Header(), checkpoint.Options{})
	if err != nil {
		return err
	}
	if err := event.Each(src, out.Write); err != nil {
		out.Abort()
		return err
	}
	out.Warn(c.lateWarnings(src.Header()))
	return out.Commit()
}
