package command

import (
	"io"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/gap"
)

// GapsFlags are the flags of gaps.
func GapsFlags() []Flag {
	return []Flag{
		&StringFlag{Name: "report", Usage: "write only one `REPORT`: " + strings.Join(gap.Reports, ", ") + "; needed for rows"},
		&BoolFlag{Name: "per-step", Usage: "add the idle causes of each step"},
		&IntFlag{Name: "top", Usage: "list the `N` longest gaps", Value: gap.DefaultTop},
		&StringFlag{Name: "window", Usage: "report on the `WINDOW` benchmark (the last segment of steady steps) or trace (all GPU activity of the report)", Value: gap.WindowBenchmark},
		&StringFlag{Name: "source-map", Usage: "add the ranges and functions in the JSON `FILE` to those known"},
		&StringFlag{Name: "format", Usage: "`FORMAT`: text (Markdown), json, or the rows of one report as arrow, table, csv or jsonl", Value: formatText},
		&StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write to `FILE`"},
	}
}

// gapReport is one part of a report, or all of it.
type gapReport struct {
	*gap.Report
	part string
}

// WriteText writes the part as Markdown.
func (r gapReport) WriteText(w io.Writer) error { return r.Report.WriteText(w, r.part) }

// RunGaps reports on where the idle time goes and writes it.
func (c *Context) RunGaps() (int, error) {
	part := c.String("report")
	if part != "" && !slices.Contains(gap.Reports, part) {
		return 0, &UsageError{"unknown report " + part, "--report takes " + strings.Join(gap.Reports, ", ")}
	}
	write, err := c.reportFormat()
	if err != nil {
		return 0, err
	}
	if write == nil && part == "" {
		return 0, &UsageError{"rows of which report?", "--report idle --format " + c.String("format")}
	}
	known, err := c.sources()
	if err != nil {
		return 0, err
	}
	all, err := c.busyAll()
	if err != nil {
		return 0, err
	}
	src, err := c.Events(Phased, Raw)
	if err != nil {
		return 0, err
	}
	top := c.Int("top")
	if top <= 0 {
		top = -1 // none
	}
	result, err := gap.Compute(src, gap.Options{
		Window: c.String("window"), BusyAll: all, Top: top, PerStep: c.Bool("per-step"), Source: known.Function,
	})
	if err != nil {
		return 0, err
	}
	result.Warnings = c.MergeWarnings(result.Warnings)
	if write == nil {
		rows, err := result.Table(part)
		if err != nil {
			return 0, err
		}
		return 0, c.WriteTable(rows)
	}
	return 0, c.output(func(w io.Writer) error { return write(w, gapReport{result, part}) })
}
