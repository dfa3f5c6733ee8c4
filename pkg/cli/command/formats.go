package command

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Formats of rows and of reports. A new one needs a name here, the extension in
// formatOf, its place in the table of outputs, and a case where output writes
// (output.go; rows as text: rows.go).
const (
	formatArrow   = "arrow"
	formatTable   = "table"
	formatCSV     = "csv"
	formatJSON    = "json"
	formatJSONL   = "jsonl"
	formatParquet = "parquet" // arrow in a file at rest; chosen by the output's name only
	formatText    = "text"
	formatHTML    = "html"
)

// writes is what a command can write. JSON is either that of rows, one per line, or a
// report's own contract.
type writes struct {
	rows   []string                              // formats of rows
	report []string                              // formats of the report
	asked  string                                // flag that asks for the report, "" if the report is the default
	must   bool                                  // there is no report without that flag; otherwise a format of it suffices
	brief  bool                                  // there is a brief report
	json   contract                              // JSON of the report
	row    func(*cli.Call) (*table.Table, error) // returns an empty table of the rows that a call asks for; nil if there are no rows
}

var (
	eventRows  = []string{formatArrow, formatTable, formatCSV, formatJSON, formatJSONL}
	resultRows = []string{formatArrow, formatTable, formatCSV, formatJSONL}
	documents  = []string{formatText, formatHTML, formatJSON}
)

// outputs says what each command writes. Flags, help, extensions and refusals follow
// from it.
var outputs = map[string]*writes{
	"nsys2arrow":  {rows: eventRows, report: documents, asked: doctorFlag.Name, must: true, json: doctorJSON, row: eventRow},
	"torch2arrow": {rows: eventRows, report: documents, asked: doctorFlag.Name, must: true, json: doctorJSON, row: eventRow},
	"isolate":     {rows: eventRows, row: eventRow},
	"phase":       {rows: eventRows, row: eventRow},
	"whatif":      {rows: resultRows, report: documents, asked: "report", brief: true, json: whatifJSON, row: eventRow},
	"metrics":     {rows: eventRows, row: metricRow},
	"verdict":     {report: documents, brief: true, json: verdictJSON},
	"diff":        {rows: resultRows, report: documents, brief: true, json: diffJSON, row: diffRow},
	"gaps":        {rows: resultRows, report: documents, brief: true, json: gapsJSON, row: gapRow},
	"hotspots":    {rows: resultRows, report: documents, brief: true, json: hotspotsJSON, row: hotspotRow},
}

// formatOf maps extensions to formats; .txt is a table, or a report as text.
var formatOf = map[string]string{
	".arrows": formatArrow, ".arrow": formatArrow, ".parquet": formatParquet,
	".csv": formatCSV, ".json": formatJSON, ".jsonl": formatJSONL, ".txt": formatTable,
	".md": formatText, ".markdown": formatText, ".html": formatHTML, ".htm": formatHTML,
}

// explained is what a list of formats says about each.
var explained = map[string]string{formatText: "text (Markdown)", formatHTML: "html (a page)", formatArrow: "arrow (the default when piped or redirected)"}

// outputFlags returns a command's flags for where and how it writes.
func outputFlags(command string) []cli.Flag {
	w := outputs[command]
	var how []string
	if len(w.rows) > 0 {
		how = append(how, w.list(w.rows)+" for rows")
	}
	if len(w.report) > 0 {
		how = append(how, w.list(w.report)+" for the report")
	}
	if w.reports() {
		slices.Reverse(how)
	}
	values := slices.Concat(w.report, w.rows)
	flags := []cli.Flag{
		{Name: "output", Short: "o", Usage: "write to `FILE`, in the format of its extension unless --format is given: " + strings.Join(w.extensions(values), ", "), File: cli.Writes, Check: checkOutput},
		{Name: "format", Usage: "output `FORMAT`: " + strings.Join(how, "; "), Values: values},
	}
	if w.brief {
		flags = append(flags, briefFlag)
	}
	return append(flags, schemaFlag)
}

// briefFlag is a flag of analyses whose answer fits into a few lines of JSON.
var briefFlag = cli.Flag{Name: "brief", Usage: "for programs: write at most 2 kB of JSON with the answer, up to five items with ids, what cannot be told, and the next command", Default: false}

// list returns formats as text for a manual.
func (w *writes) list(formats []string) string {
	var all []string
	for _, f := range formats {
		name := f
		if text := explained[f]; text != "" && (f != formatArrow || !w.reports()) {
			name = text
		}
		all = append(all, name)
	}
	return cli.Or(all)
}

// reports reports whether a report is the default output.
func (w *writes) reports() bool { return w.asked == "" && len(w.report) > 0 }

// extensions returns the extensions that stand for any of the formats.
func (w *writes) extensions(formats []string) (all []string) {
	for _, ext := range slices.Sorted(maps.Keys(formatOf)) {
		if slices.Contains(formats, atRest(w.byName(ext, formats))) {
			all = append(all, ext)
		}
	}
	return all
}

// byName returns the format that an extension stands for.
func (w *writes) byName(ext string, formats []string) string {
	if ext == ".txt" && slices.Contains(formats, formatText) {
		return formatText
	}
	return formatOf[ext]
}

// atRest returns the format to look up in the table: Parquet is Arrow's rows at rest.
func atRest(format string) string {
	if format == formatParquet {
		return formatArrow
	}
	return format
}

// extension returns the extension of a file name, "" if it has none.
func extension(path string) string {
	name := strings.TrimLeft(filepath.Base(path), ".")
	return strings.ToLower(filepath.Ext(name))
}

// newOutput decides how the output is written: by --format, else by the output's name,
// else by whether a person at a terminal or the next filter reads it. It refuses
// formats that the command does not write, and outputs that replace what may be read.
func newOutput(c *cli.Call, command string) (*output, error) {
	w, o := outputs[command], &output{Call: c}
	if w == nil {
		return o, nil
	}
	o.brief = w.brief && c.Bool(briefFlag.Name)
	asked := w.asked != "" && c.Bool(w.asked) || o.brief
	can := slices.Concat(w.report, w.rows)
	switch {
	case o.brief:
		can = []string{formatJSON}
	case asked:
		can = w.report
	case w.must:
		can = w.rows
	}
	var err error
	o.format, err = w.decide(c, can, asked, o.brief)
	o.reports = asked || !slices.Contains(w.rows, atRest(o.format))
	return o, cmp.Or(o.checkReplaced(), err)
}

// decide is newOutput's choice among the formats in can.
func (w *writes) decide(c *cli.Call, can []string, asked, brief bool) (string, error) {
	path, ext := c.OutputPath(), ""
	if !cli.IsStream(path) {
		ext = extension(path)
	}
	byName, format, given := w.byName(ext, can), c.String("format"), c.IsSet("format")
	if !given {
		format = byName
	}
	wrong := format != "" && !slices.Contains(can, atRest(format))
	ends := "end the name in " + cli.Or(w.extensions(can))
	switch {
	case !given && ext != "" && byName == "":
		return "", cli.Misuse(path+": "+ext+" is not the extension of a format", ends+", or give --format")
	case wrong && brief:
		return "", cli.Misuse("--brief writes JSON alone", "leave --format out, and "+ends)
	case wrong && asked:
		return "", cli.Misuse("--"+w.asked+" writes no rows", "give --format "+cli.Or(w.report)+" or none, and "+ends)
	case wrong && given:
		return "", cli.Misuse("--format "+format+" is for --"+w.asked, "rows are written as "+cli.Or(w.rows))
	case wrong:
		return "", cli.Misuse(path+": "+c.Name+" does not write "+ext, ends)
	case given && format == formatArrow && c.ToTerminal():
		return "", cli.Misuse("will not write Arrow onto a terminal", "redirect it, pipe it into the next filter, or use -o FILE")
	case given && format == formatArrow && byName == formatParquet:
		return "", cli.Misuse("--format arrow does not fit the name "+path, "name it .arrows")
	case given && format != formatArrow && (byName == formatParquet || byName == formatArrow):
		return "", cli.Misuse("--format "+format+" does not fit the name "+path, "end the name in another way")
	case format != "":
		return format, nil
	case brief:
		return formatJSON, nil
	case asked || w.reports() || c.ToTerminal() && len(w.report) > 0 && !w.must:
		return formatText, nil
	case c.ToTerminal():
		return formatTable, nil
	}
	return formatArrow, nil
}

// checkReplaced refuses to replace a file that the previous filter may be reading and
// that this command does not write: a profiler's report, or rows by text.
func (o *output) checkReplaced() error {
	path := o.OutputPath()
	if path == "" || cli.IsStream(path) {
		return nil
	}
	what := ""
	switch f := source.Recognise(path); {
	case f == nil:
		return nil
	case f.Reports != "":
		what = "report of " + f.Reports
	case o.format == formatArrow || o.format == formatParquet || o.format == "": // none, or one that fits
		return nil
	default:
		what = f.Name
	}
	return cli.Misuse(path+": will not replace a "+what+", which may be what is read", "write to another file, or remove it first")
}
