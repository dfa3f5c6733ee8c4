package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hostbound/hostbound/pkg/compare"
	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/handoff"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/verdict"
)

// StatusFound is the exit status of diff where a --fail-on condition is met.
const StatusFound = 1

// DiffFlags are the flags of diff.
func DiffFlags() []Flag {
	return []Flag{
		&Strings{Name: "baseline", Usage: "a `RUN` of the baseline: a file, several of one run separated by commas, or a pattern such as 'a/*.sqlite'; again for each repetition"},
		&Strings{Name: "target", Usage: "a `RUN` of the target, likewise"},
		&StringFlag{Name: "phase", Usage: "compare `STEPS`: steady (generation steps with the most requests), context, generation or all", DefaultText: "steady"},
		&StringFlag{Name: "match", Usage: "`batch` compares steps of equal numbers of requests with one another, weighted"},
		&StringFlag{Name: "control", Usage: "bound `WHAT` over all rows: family (the chance of any false alarm), discovery (the share of false alarms)", Value: compare.Family},
		&Strings{Name: "fail-on", Usage: "end with status 1 where there is evidence for `CONDITION`: regression, or NAME>LIMIT such as 'wall>3%' or '_update_requests>100us'; again for more"},
		&StringFlag{Name: "source-map", Usage: "add the ranges and functions in the JSON `FILE` to those known"},
		&StringFlag{Name: "format", Usage: "`FORMAT` of the report: text (Markdown), json, or its rows as arrow, table, csv or jsonl", Value: formatText},
		&StringFlag{Name: "o", Aliases: []string{"output"}, Usage: "write to `FILE`"},
	}
}

// sides returns the runs of baseline and target, each as its files; of one run
// alone the target is nil.
func (c *Context) sides() (baseline, target [][]string, err error) {
	a, b := c.StringSlice("baseline"), c.StringSlice("target")
	if len(a)+len(b) == 0 {
		switch len(c.Files) {
		case 0:
			return [][]string{nil}, nil, nil
		case 1:
			a = c.Files
		case 2:
			a, b = c.Files[:1], c.Files[1:]
		default:
			return nil, nil, &UsageError{"diff takes one run or two",
				"several files of a run: diff a0.sqlite,a1.sqlite b0.sqlite,b1.sqlite; repetitions: --baseline a1.sqlite --baseline a2.sqlite --target …"}
		}
	} else if len(c.Files) > 0 || len(a) == 0 {
		return nil, nil, &UsageError{"--baseline and --target take all runs of their sides", "diff --baseline a1.sqlite --baseline a2.sqlite --target b1.sqlite --target b2.sqlite"}
	}
	if baseline, err = runsOf(a); err != nil {
		return nil, nil, err
	}
	target, err = runsOf(b)
	return baseline, target, err
}

// runsOf returns the files of each of some runs.
func runsOf(args []string) (runs [][]string, err error) {
	for _, arg := range args {
		files, err := filesOf(arg)
		if err != nil {
			return nil, err
		}
		runs = append(runs, files)
	}
	return runs, checkRepeats(runs)
}

// checkRepeats refuses a file that is in several runs of a side: what differs
// from start to start would seem to be nothing.
func checkRepeats(runs [][]string) error {
	for k, run := range runs {
		for _, file := range run {
			for _, other := range slices.Concat(runs[:k]...) {
				if sameFile(file, other) {
					return &UsageError{other + " and " + file + " are the same file", "a repetition is another start of the engine: give each once"}
				}
			}
		}
	}
	return nil
}

// sameFile tells whether two names are of one file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y) && !isStream(x)
}

// filesOf returns the files that an argument names: one that is there by this
// very name, or else a list with commas of names and patterns.
func filesOf(arg string) (files []string, err error) {
	if _, err := os.Lstat(arg); err == nil || arg == "-" {
		return []string{arg}, nil
	}
	for _, part := range strings.Split(arg, ",") {
		if _, err := os.Lstat(part); err == nil || !strings.ContainsAny(part, "*?[") {
			files = append(files, part)
			continue
		}
		found, err := filepath.Glob(part)
		if err != nil || len(found) == 0 {
			return nil, &UsageError{"no file matches " + part, "quote the pattern, and check the folder"}
		}
		files = append(files, found...)
	}
	return files, nil
}

// diffColumns are the columns that comparing looks at.
const diffColumns = metricColumns | 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread

// Diff compares the runs of the command line.
func (c *Context) Diff() (*compare.Comparison, error) {
	opt := compare.Options{Phase: c.String("phase"), Match: c.String("match"), Control: c.String("control")}
	var err error
	if opt.Sources, err = c.sources(); err != nil {
		return nil, err
	}
	baseline, target, err := c.sides()
	if err != nil {
		return nil, err
	}
	first, decided, err := c.readSide(baseline, len(target) == 0)
	if err != nil {
		return nil, err
	}
	var second *compare.Run
	if len(target) > 0 {
		if second, decided, err = c.readSide(target, true); err != nil {
			return nil, err
		}
	}
	opt.Verdict = decided
	result, err := compare.Compare(first, second, opt)
	if err != nil {
		return nil, &UsageError{err.Error(), "'diff --help' lists what the flags take"}
	}
	return result, nil
}

// readSide reads the runs of a side; the one to be optimised also gets its
// verdict, of its first run, for the hand-off.
func (c *Context) readSide(runs [][]string, decide bool) (*compare.Run, *handoff.Handoff, error) {
	var all []*compare.Run
	var decided *handoff.Handoff
	for k, files := range runs {
		own := *c // so that its warnings are known to be of this run
		own.inputs, own.warnings, own.cleanup = nil, nil, nil
		run, v, err := own.profile(files, decide && k == 0)
		c.inputs, c.cleanup = append(c.inputs, own.inputs...), append(c.cleanup, own.cleanup...)
		if err != nil {
			return nil, nil, err
		}
		run.Warnings = own.MergeWarnings(run.Warnings)
		if all = append(all, run); k == 0 {
			decided = v
		}
	}
	joined, err := compare.Join(all)
	if err != nil {
		return nil, nil, &UsageError{err.Error(), "--baseline and --target take one run each time; more files of one run: a0.sqlite,a1.sqlite"}
	}
	return joined, decided, nil
}

// profile reads one run.
func (c *Context) profile(files []string, decide bool) (*compare.Run, *handoff.Handoff, error) {
	c.columns = diffColumns
	src, err := c.eventsOf(files, Phased)
	if err != nil {
		return nil, nil, err
	}
	all, err := c.busyAll()
	if err != nil {
		return nil, nil, err
	}
	opt := compare.ProfileOptions{BusyAll: all}
	if !decide {
		run, err := compare.Profile(src, opt)
		return run, nil, err
	}
	profiler, err := compare.NewProfiler(src.Header(), opt)
	if err != nil {
		return nil, nil, err
	}
	measured, err := metric.Compute(&shown{Source: src, show: profiler.Add}, metric.Options{BusyAll: all})
	if err != nil {
		return nil, nil, err
	}
	return profiler.Run(), &verdict.Decide(measured, verdict.Defaults()).Handoff, nil
}

// shown is a source whose batches are shown to somebody else at the same time.
type shown struct {
	event.Source
	show   func(*event.Batch) error
	beside sync.WaitGroup
	err    error // of show
}

// Next returns the next batch, when the one before has been seen by both.
func (s *shown) Next() (*event.Batch, error) {
	if s.beside.Wait(); s.err != nil {
		return nil, s.err
	}
	b, err := s.Source.Next()
	if err == nil {
		s.beside.Go(func() { s.err = s.show(b) })
	}
	return b, err
}

// sources is the table of ranges and functions, with that of --source-map.
func (c *Context) sources() (*compare.Sources, error) {
	known := compare.DefaultSources()
	path := c.String("source-map")
	if path == "" {
		return known, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known, err = known.Extend(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return known, err
}

// gates are the conditions of --fail-on.
func (c *Context) gates() (gates []compare.Gate, err error) {
	for _, text := range c.StringSlice("fail-on") {
		g, err := compare.ParseGate(text)
		if err != nil {
			return nil, &UsageError{"--fail-on: " + err.Error(), "--fail-on regression, --fail-on 'wall>3%'"}
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// RunDiff compares, writes the report and returns the exit status.
func (c *Context) RunDiff() (int, error) {
	gates, err := c.gates() // before the work is done
	if err != nil {
		return 0, err
	}
	write, err := c.reportFormat()
	if err != nil {
		return 0, err
	}
	result, err := c.Diff()
	if err != nil {
		return 0, err
	}
	if write == nil {
		err = c.WriteTable(result.Table())
	} else {
		err = c.output(func(w io.Writer) error { return write(w, result) })
	}
	if err != nil {
		return 0, err
	}
	status := 0
	for _, g := range gates {
		failed, why, err := result.Check(g)
		if err != nil {
			return 0, err
		}
		if failed {
			status = StatusFound
			c.Log("failed on " + g.String() + ": " + why)
		}
	}
	return status, nil
}

// report is an analysis that can be written as a text.
type report interface{ WriteText(io.Writer) error }

// reportFormat is how --format says that a report is written, nil for as rows.
func (c *Context) reportFormat() (func(io.Writer, report) error, error) {
	switch format := c.String("format"); format {
	case formatText:
		return func(w io.Writer, r report) error { return r.WriteText(w) }, nil
	case formatJSON:
		return func(w io.Writer, r report) error { return writeJSON(w, r) }, nil
	case formatArrow, formatTable, formatCSV, formatJSONL:
		_, err := c.rowFormat()
		return nil, err
	default:
		return nil, &UsageError{"unknown format " + format, "--format takes text, json, arrow, table, csv or jsonl"}
	}
}

// writeJSON writes v as an indented JSON document.
func writeJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
