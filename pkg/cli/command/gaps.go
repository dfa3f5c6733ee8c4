package command

import (
	"io"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report/figure"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Gaps says where the idle time of the GPUs goes, to the last nanosecond.
var Gaps = manual("gaps", cli.Command{
	Foreign: trtllmFlags,
	Flags:   slices.Concat(gapsFlags, outputFlags("gaps"), isolateFlags, selectFlags),
	Run:     planned("gaps", planGaps),
})

// wholeReport asks for all reports in full.
const wholeReport = "all"

var gapsFlags = []cli.Flag{
	{Name: "report", Usage: "write only one `REPORT`: " + strings.Join(gap.Reports, ", ") + " (required for rows); or all of them, in full: " + wholeReport, Values: append(slices.Clone(gap.Reports), wholeReport)},
	{Name: "per-step", Usage: "add the idle causes of each step", Default: false},
	{Name: "top", Usage: "list the `N` longest gaps, 0 for none, and at most N rows of long tables", Default: gap.DefaultTop, Check: checkCount("top", 0)},
	{Name: "window", Usage: "report on `WINDOW`: benchmark (the last segment of steady steps) or trace (all GPU activity of the report)", Default: gap.WindowBenchmark, Values: windows},
	perfettoFlag,
	{Name: "flame", Usage: "write a flame graph of the idle time to `FILE`, in the format of its extension: " + strings.Join(figure.StackExtensions, ", "), File: cli.Writes, Check: checkFlame},
	strictFlag,
	sourceMapFlag, stepFlag,
}

// checkFlame refuses a file whose extension is no known format, or that cannot be
// written.
func checkFlame(path string) error {
	if figure.StackWriter(path) == nil {
		return cli.Misuse("--flame "+path+": its extension is not that of a format", "--flame takes a file that ends in "+strings.Join(figure.StackExtensions, ", "))
	}
	return checkOutput(path)
}

// writeFlame writes a flame graph.
func writeFlame(path string, stacks []figure.Stack) error {
	return cli.WriteFile(path, func(w io.Writer) error { return figure.StackWriter(path)(w, stacks) })
}

// gapsColumns are the columns that gaps needs.
const gapsColumns = (event.BaseCols | event.StepCols | event.PhaseCols | event.HostCols | event.StackCols) &^ (1<<event.ColBytes | 1<<event.ColDomain)

// idling is the job of gaps.
type idling struct {
	*Plan
	in   reading
	part string // the only report to write, "" for all
	opt  gap.Options
}

// planGaps plans to report on the idle time. A page draws more than text shows.
func planGaps(p *Plan) (*idling, error) {
	g := &idling{Plan: p, in: p.reading(p.Files), part: p.String("report")}
	if g.part == wholeReport {
		g.part = ""
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	known, err := sourcesOf(p)
	if err != nil {
		return nil, err
	}
	page := p.out.page()
	g.opt = gap.Options{
		Window: p.String("window"), BusyAll: p.finding.busyAll, Top: p.Int("top"), PerStep: p.Bool("per-step"), Source: known.Function, Advice: known.Advice,
		Stacks: p.String("flame") != "" || page, Series: page, Memory: p.memory.keep(1),
	}
	if g.opt.Top == 0 {
		g.opt.Top = -1 // none
	}
	g.in.columns, g.in.host = gapsColumns, hostKinds
	g.in.perStep = g.opt.PerStep
	g.in.callers = !page && p.String("perfetto") == "" // their figures show what every thread does
	return g, nil
}

// rowsOfWhich refuses rows without a choice of one report.
func rowsOfWhich(format string) error {
	return cli.Misuse(format+" holds the rows of one report", "--report idle --format "+format)
}

// check refuses a report about which the other flags leave nothing to say.
func (g *idling) check() error {
	switch {
	case !g.out.reports && g.part == "":
		return rowsOfWhich(g.out.format)
	case g.part == "straggler" && len(g.chosen.Ranks) == 1:
		return cli.Misuse("--report straggler compares ranks, and --rank "+g.String("rank")+" leaves one", "give it two ranks or more")
	case g.Bool("per-step") && g.part != "" && g.part != "idle":
		return cli.Misuse("--per-step has no effect with --report "+g.part, "--report idle --per-step")
	case g.Bool("per-step"):
		return g.needSteps("leave --per-step out")
	}
	return nil
}

// run analyses the input and writes the report. Files beside the report come first, so
// that a report on standard output means that everything is done.
func (g *idling) run() (int, error) {
	var result *gap.Report
	var closeups, worst *timeline.Collector
	r := g.read(g.in)
	err := r.orWhole(func() error {
		src, err := r.events(source.Phased)
		if err != nil {
			return err
		}
		if g.part == "" || g.part == "idle" {
			src, closeups = g.watchCloseups(src, slowestShown)
		}
		src, worst = g.watchWorst(src)
		result, err = gap.Compute(src, g.opt)
		return err
	})
	if err != nil {
		return 0, err
	}
	result.Warnings = r.merged(result.Warnings)
	if path := g.String("flame"); path != "" {
		if err := writeFlame(path, result.Stacks); err != nil {
			return 0, err
		}
	}
	if err := g.writeWorst(worst); err != nil {
		return 0, err
	}
	g.out.tell(result.Warnings)
	d := result.Document(g.part)
	if g.part == "" {
		aboutInputs(d, "Input: ", r.inputs)
		goOn(d, &result.Handoff, "gaps trace.sqlite")
	}
	if closeups != nil {
		steps := closeups.Close()
		if err := g.checkShown(steps); err != nil {
			return 0, err
		}
		steps.Document(d.SectionAfter(gap.IdleSection, stepsInDetail), result.Palette())
	}
	return 0, g.out.analysis(result, d, func() (*table.Table, error) { return result.Table(g.part) })
}
