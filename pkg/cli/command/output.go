package command

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// output says where and how a command writes.
type output struct {
	*cli.Call
	format  string
	reports bool // a report is written, not rows
	brief   bool // the brief form of the report
}

// topFlag is the flag of reports with long tables.
var topFlag = cli.Flag{Name: "top", Usage: "show at most `N` rows of long tables, 0 for all", Default: defaultTop, Check: checkCount("top", 0)}

// defaultTop is how many rows of a long table are shown by default.
const defaultTop = 20

// junitFlag is the flag of commands that can be a gate.
var junitFlag = cli.Flag{Name: "junit", Usage: "write the checks to `FILE` as JUnit XML, for continuous integration", File: cli.Writes, Check: checkJUnit}

// checkJUnit refuses standard output, which the report uses, and a file that cannot be
// written.
func checkJUnit(path string) error {
	if path == "-" {
		return cli.Misuse("--junit '-' is not a file", "--junit report.xml")
	}
	return checkOutput(path)
}

// page reports whether the report is an HTML page, which has figures.
func (o *output) page() bool { return o.format == formatHTML }

// streams reports whether the output is an Arrow stream.
func (o *output) streams() bool { return o.format == formatArrow }

// tell marks warnings as told if the report is for people and contains them: they need
// not go to standard error.
func (o *output) tell(warnings []string) {
	if o.reports && o.format != formatJSON {
		o.Told(warnings)
	}
}

// analysis writes an analysis: as brief JSON, as JSON, as its document for people, or
// as its rows.
func (o *output) analysis(v any, d *report.Document, rows func() (*table.Table, error)) error {
	switch {
	case o.brief:
		return o.Output(func(w io.Writer) error {
			return writeJSON(w, v.(interface{ Brief() *report.Brief }).Brief())
		})
	case o.reports && o.format == formatJSON:
		return o.Output(func(w io.Writer) error { return writeJSON(w, v) })
	case o.reports:
		return o.Output(func(w io.Writer) error { return o.document(w, d) })
	}
	t, err := rows()
	if err != nil {
		return err
	}
	return o.table(t)
}

// tests writes the checks to the file of --junit, if there is one.
func (o *output) tests(tests []report.Test) error {
	path := o.String("junit")
	if path == "" {
		return nil
	}
	return cli.WriteFile(path, func(w io.Writer) error { return report.JUnit(w, o.Name, tests) })
}

// document writes a document as an HTML page, as Markdown, or fitted to a terminal.
func (o *output) document(w io.Writer, d *report.Document) error {
	opt := report.Options{Brief: !o.whole(), More: report.Textf("To see all: %s, or %s.", o.all(), report.Command("-o report.md"))}
	if o.IsSet("top") {
		if opt.Top = o.Int("top"); opt.Top == 0 {
			opt.Top = math.MaxInt
		}
	}
	switch {
	case o.page():
		return report.HTML(w, d, opt)
	case !o.ToTerminal():
		return report.Markdown(w, d, opt)
	}
	opt.Width, opt.Height, opt.Color = o.Screen()
	return report.Terminal(w, d, opt)
}

// reportFlag is the flag of reports that leave details out by default.
var reportFlag = cli.Flag{Name: "report", Usage: "write the full report, with the sections that the short one only names; so does -o FILE", Default: false}

// whole reports whether a text report includes details: if asked for, and in a file.
func (o *output) whole() bool {
	path := o.OutputPath()
	return o.IsSet(reportFlag.Name) || path != "" && !cli.IsStream(path)
}

// all returns the flag that asks for the whole report.
func (o *output) all() report.Span {
	if o.Name == Gaps.Name {
		return report.Command("--report " + wholeReport)
	}
	return report.Command("--" + reportFlag.Name)
}

// writeJSON writes a value that has a contract as indented JSON.
func writeJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(document{v}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(table.EscapeJSON(text), '\n'))
	return err
}

// table writes the rows of a result.
func (o *output) table(t *table.Table) error {
	return o.Output(func(w io.Writer) error {
		switch {
		case o.streams():
			return arrow.WriteTable(w, t)
		case o.format == formatParquet:
			return checkpoint.WriteTable(w, t)
		case o.format == formatTable && o.ToTerminal():
			return o.document(w, documentOf(t))
		}
		out := newRowWriter(w, o.format)
		if err := out.Write(t); err != nil {
			return err
		}
		return out.Close()
	})
}

// late returns the warnings that a stream's header lacks. They are written at its end.
type late func(*event.Header) []string

// events writes a stream of events to its end.
func (o *output) events(src event.Source, late late) error {
	if o.format == formatParquet {
		return writeCheckpoint(o.OutputPath(), src, late)
	}
	return o.Output(func(w io.Writer) error { return o.eventRows(w, src, late) })
}

// eventRows writes events as rows; to a terminal without --format, it writes a summary.
func (o *output) eventRows(w io.Writer, src event.Source, late late) error {
	switch {
	case o.streams():
		return writeStream(w, src, late)
	case o.ToTerminal() && !o.IsSet("format"):
		d, err := summarize(src)
		if err != nil {
			return err
		}
		return o.document(w, d)
	}
	out := newRowWriter(w, o.format)
	err := event.Each(src, func(b *event.Batch) error { return out.Write(table.FromEvents(src.Header(), b)) })
	if err != nil {
		return err
	}
	return out.Close()
}

// writeStream writes a stream. It writes the end-of-stream marker if and only if it
// succeeds.
func writeStream(w io.Writer, src event.Source, late late) error {
	out := arrow.NewWriter(w, src.Header())
	if err := event.Each(src, out.Write); err != nil {
		return err // no end-of-stream marker: the next filter must not take this for a complete stream
	}
	out.Warn(late(src.Header()))
	return out.Close()
}

// writeCheckpoint writes a stream of events as one Parquet file.
func writeCheckpoint(path string, src event.Source, late late) error {
	out, err := checkpoint.Create(path, src.Header(), checkpoint.Options{})
	if err != nil {
		return err
	}
	if err := event.Each(src, out.Write); err != nil {
		out.Abort()
		return err
	}
	out.Warn(late(src.Header()))
	return out.Commit()
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
