package command

import (
	"encoding/json"
	"io"
	"math"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/markup"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// outputFlag is the flag of a command that writes a report.
var outputFlag = cli.Flag{Name: "output", Short: "o", Usage: "write to `FILE`, by its extension: Markdown (.md, .txt), .html, .json, and rows where there are any (.arrows, .parquet, .csv, .jsonl), unless --format says how", File: cli.Writes, Check: checkOutput}

// topFlag is the flag of a report whose tables may be long.
var topFlag = cli.Flag{Name: "top", Usage: "show at most `N` rows of long tables, 0 for all", Default: defaultTop, Check: checkWhole("top")}

// defaultTop is about as many as tables show that nobody asked for more of.
const defaultTop = 20

// sourceMapFlag adds to the table of ranges and functions.
var sourceMapFlag = cli.Flag{Name: "source-map", Usage: "add the ranges and functions in the JSON `FILE` to those known", File: cli.Reads}

// junitFlag is the flag of a command that is a gate.
var junitFlag = cli.Flag{Name: "junit", Usage: "write what was checked to `FILE`, as XML for continuous integration", File: cli.Writes, Check: checkJUnit}

// checkJUnit refuses standard output, where the report goes, and a file that cannot be written.
func checkJUnit(path string) error {
	if path == "-" {
		return cli.Misuse("--junit '-' is not a file", "--junit report.xml")
	}
	return checkOutput(path)
}

// reportFormats are the formats of a report that is also rows.
var reportFormats = []string{formatText, formatHTML, formatJSON, formatArrow, formatTable, formatCSV, formatJSONL}

// formatFlag is the flag for the format of a report.
func formatFlag(what string, formats ...string) cli.Flag {
	return cli.Flag{Name: "format", Usage: "`FORMAT` of the report: " + what, Default: formatText, Values: formats}
}

// asRows tells whether --format asks for rows in place of the report.
func (c *Context) asRows() bool {
	return c.format != formatText && c.format != formatHTML && c.format != formatJSON
}

// writeReport writes an analysis as --format says: as JSON, which has a contract of
// its own, as its rows, or as its document for people.
func (c *Context) writeReport(analysis any, d *report.Document, rows func() (*table.Table, error)) error {
	switch c.format {
	case formatText, formatHTML:
		return c.Output(func(w io.Writer) error { return c.writeDocument(w, d) })
	case formatJSON:
		return c.Output(func(w io.Writer) error { return writeJSON(w, analysis) })
	}
	t, err := rows()
	if err != nil {
		return err
	}
	return c.WriteTable(t)
}

// writeTests writes what was checked to the file of --junit, if there is one.
func (c *Context) writeTests(tests []report.Test) error {
	path := c.String("junit")
	if path == "" {
		return nil
	}
	return cli.WriteFile(path, func(w io.Writer) error { return report.JUnit(w, c.Name, tests) })
}

// writeDocument writes a document as a page of HTML, as Markdown, or on a terminal
// fitted to it.
func (c *Context) writeDocument(w io.Writer, d *report.Document) error {
	opt := report.Options{}
	if c.IsSet("top") {
		if opt.Top = c.Int("top"); opt.Top == 0 {
			opt.Top = math.MaxInt
		}
	}
	switch {
	case c.format == formatHTML:
		return report.HTML(w, d, opt)
	case !c.ToTerminal():
		return report.Markdown(w, d, opt)
	}
	opt.Width, opt.Color = c.Screen()
	opt.Brief, opt.More = true, "To see everything: -o report.md, or pipe into a pager."
	return report.Terminal(w, d, opt)
}

// writeJSON writes v as an indented JSON document.
func writeJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(markup.EscapeJSON(text), '\n'))
	return err
}

// sources is the table of ranges and functions, with that of --source-map.
func (c *Context) sources() (*compare.Sources, error) {
	known := compare.DefaultSources()
	path := c.String("source-map")
	if path == "" {
		return known, nil
	}
	return readFile(path, known.Extend, notThis(path, `--source-map takes JSON such as {"ranges": [{"nvtx": "my_range", "function": "Engine.step", "file": "engine.py"}]}`))
}
