package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/term"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/table"
	"github.com/hostbound/hostbound/pkg/wire"
)

// Formats of rows.
const (
	formatArrow   = "arrow"
	formatTable   = "table"
	formatCSV     = "csv"
	formatJSON    = "json"
	formatJSONL   = "jsonl"
	formatParquet = "parquet"
	formatText    = "text"
)

// Formats of commands that write rows, a report, or either.
var (
	RowFormats     = []string{formatArrow, formatTable, formatCSV, formatJSON, formatJSONL}
	VerdictFormats = []string{formatText, formatJSON}
	ReportFormats  = []string{formatText, formatJSON, formatArrow, formatTable, formatCSV, formatJSONL}
)

// RowFlags are the flags of a filter that writes rows.
func RowFlags() []Flag {
	return []Flag{
		&StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write to `FILE`: a stream (.arrows), a checkpoint (.parquet), or what --format says"},
		&StringFlag{Name: "format", Usage: "`FORMAT` of the rows: arrow (the default into a pipe or file), table (the default on a terminal), csv, json (a row a line)"},
	}
}

// isTerminal tells whether f is a terminal.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// rowFormat decides how rows are written.
func (c *Context) rowFormat() (string, error) {
	format, path := c.String("format"), c.String("o")
	toTerminal := (path == "" || path == "-") && isTerminal(c.Stdout)
	byName := map[string]string{".arrows": formatArrow, ".arrow": formatArrow, ".parquet": formatParquet,
		".csv": formatCSV, ".json": formatJSON, ".jsonl": formatJSON, ".txt": formatTable}[filepath.Ext(path)]
	switch format {
	case "":
		if toTerminal {
			return formatTable, nil
		}
		if byName != "" {
			return byName, nil
		}
		return formatArrow, nil
	case formatArrow:
		if toTerminal {
			return "", &UsageError{"will not write Arrow onto a terminal", "redirect it, pipe it into the next filter, or use -o FILE"}
		}
		if byName == formatParquet {
			return "", &UsageError{"--format arrow does not fit the name " + path, "name it .arrows"}
		}
		return format, nil
	case formatTable, formatCSV, formatJSON, formatJSONL:
		if byName == formatParquet || byName == formatArrow {
			return "", &UsageError{"--format " + format + " does not fit the name " + path, "leave one of them out"}
		}
		return format, nil
	}
	return "", &UsageError{"unknown format " + format, "--format takes arrow, table, csv or json"}
}

// output runs write on where the output goes: standard output, or a file that
// appears when write has succeeded.
func (c *Context) output(write func(io.Writer) error) error {
	path := c.String("o")
	if path == "" || path == "-" {
		return write(c.Stdout)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return &UsageError{path + ": is a directory", "give the name of a file"}
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // a device, or a pipe
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// WriteEvents writes a stream of events to its end.
func (c *Context) WriteEvents(src event.Source) error {
	format, err := c.rowFormat()
	if err != nil {
		return err
	}
	if err := c.refuseSteps(src); err != nil {
		return err
	}
	write := func(w io.Writer, src event.Source) error {
		if format == formatArrow {
			return c.writeStream(w, src)
		}
		return writeRows(w, format, src)
	}
	if c.String("checkpoint") != "" {
		if format == formatParquet {
			return &UsageError{"--checkpoint and a checkpoint as the output of -o", "leave one of them out"}
		}
		switch {
		case c.kept && c.nobodyReads():
			return nil
		case c.kept:
			return c.output(func(w io.Writer) error { return write(w, src) })
		}
		r, err := c.record(src)
		if err != nil {
			return err
		}
		return c.passOn(r, write)
	}
	if format == formatParquet {
		return c.writeCheckpoint(c.String("o"), src)
	}
	return c.output(func(w io.Writer) error { return write(w, src) })
}

func (c *Context) writeStream(w io.Writer, src event.Source) error {
	out, err := wire.NewWriter(w, src.Header())
	if err != nil {
		return err
	}
	if err := event.Each(src, out.Write); err != nil {
		return err // and no end-of-stream marker: the next filter must not take this for a whole stream
	}
	out.Warn(c.lateWarnings(src.Header()))
	return out.Close()
}

func writeRows(w io.Writer, format string, src event.Source) error {
	out := table.NewWriter(w, tableFormat(format))
	err := event.Each(src, func(b *event.Batch) error { return out.Write(table.FromEvents(src.Header(), b)) })
	if err != nil {
		return err
	}
	return out.Close()
}

func tableFormat(format string) table.Format {
	switch format {
	case formatCSV:
		return table.CSV
	case formatJSON, formatJSONL:
		return table.JSON
	}
	return table.Aligned
}

// WriteTable writes result rows.
func (c *Context) WriteTable(t *table.Table) error {
	format, err := c.rowFormat()
	if err != nil {
		return err
	}
	if format == formatParquet {
		return &UsageError{"result rows are not written as Parquet", "name the file .arrows, .csv or .json"}
	}
	return c.output(func(w io.Writer) error {
		if format == formatArrow {
			return wire.WriteTable(w, t)
		}
		out := table.NewWriter(w, tableFormat(format))
		if err := out.Write(t); err != nil {
			return err
		}
		return out.Close()
	})
}
