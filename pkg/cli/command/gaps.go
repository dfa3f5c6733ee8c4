package command

import (
	"io"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report/flame"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Gaps says where the idle time of the GPUs goes, to the last nanosecond.
var Gaps = cli.Command{
	Name:    "gaps",
	Summary: "say where the idle time of the GPUs goes",
	Args:    "[FILE...]",
	Description: `Gaps splits the idle time of each GPU by what the thread that launches its next
work did meanwhile (idle); sorts gaps between kernels by length (gaps); measures how
much of the work CUDA graphs replay and what runs outside of them (graph); finds
the repeated layer of the model and where in it the GPU waits (pattern); names
the rank that the others wait for, and why (straggler); and shows how far ahead
of the GPU the host runs (slack).

Where a recording has them, context switches and calls of the system's libraries
say why those threads stalled (why: running, blocked:lock, blocked:io, descheduled
and so on; unknown where nothing was recorded), who holds the interpreter lock
(holders), who else ran while they waited (meanwhile, which is no evidence that they
were waited for), and where they ran (placement: changes of the CPU, of the socket
and of the NUMA node, and who took their CPU). Samples of the CPU say which functions
they ran (families): a share of a time that is known exactly, as an interval. What the
profiler lost or did not record is said, with the option that records it. Flame
graphs (--flame) go down to these functions.

Without --report all of it is one page, the most important first.`,
	Examples: []string{
		"gaps trace.sqlite",
		"gaps --report straggler rank*.sqlite",
		"nsys2arrow trace.sqlite | isolate | phase | gaps --report idle --per-step --format csv",
		"gaps trace.sqlite --format json | jq .findings",
		"gaps trace.sqlite --perfetto worst.pftrace",
		"gaps trace.sqlite --flame idle.pb.gz && go tool pprof -http : idle.pb.gz",
	},
	Foreign: trtllmFlags,
	Flags:   slices.Concat(gapsFlags, outputFlags("gaps"), isolateFlags, selectFlags),
	Run:     filter("gaps", (*Context).gaps),
}

var gapsFlags = []cli.Flag{
	{Name: "report", Usage: "write only one `REPORT`: " + strings.Join(gap.Reports, ", ") + "; needed for rows", Values: gap.Reports},
	{Name: "per-step", Usage: "add the idle causes of each step", Default: false},
	{Name: "top", Usage: "list the `N` longest gaps, 0 for none, and at most N rows of long tables", Default: gap.DefaultTop, Check: checkWhole("top")},
	{Name: "window", Usage: "report on the `WINDOW` benchmark (the last segment of steady steps) or trace (all GPU activity of the report)", Default: gap.WindowBenchmark, Values: windows},
	perfettoFlag,
	{Name: "flame", Usage: "write a flame graph of the idle time to `FILE`, by its extension: " + strings.Join(flame.Extensions, ", "), File: cli.Writes, Check: checkExtension("flame", flame.Extensions, flame.Writer)},
	strictFlag,
	sourceMapFlag,
}

// writeFlame writes a flame graph.
func writeFlame(path string, stacks []flame.Stack) error {
	return cli.WriteFile(path, func(w io.Writer) error { return flame.Writer(path)(w, stacks) })
}

// checkPart refuses a report that the other flags leave nothing to say.
func (c *Context) checkPart(part string) error {
	switch {
	case !c.out.reports && part == "":
		return cli.Misuse("rows of which report?", "--report idle --format "+c.out.format)
	case part == "straggler" && len(c.selected.Ranks) == 1:
		return cli.Misuse("--report straggler compares ranks, and --rank "+c.String("rank")+" leaves one", "give it two ranks or more")
	case c.perStep():
		return c.needSteps("leave --per-step out")
	}
	return nil
}

// gapOptions are what the flags say of the report. A page has more to draw than a text.
func (c *Context) gapOptions() (opt gap.Options, err error) {
	known, err := c.sources()
	if err != nil {
		return opt, err
	}
	page := c.out.page()
	opt = gap.Options{
		Window: c.String("window"), BusyAll: c.busyAll(), Top: c.Int("top"), PerStep: c.Bool("per-step"), Source: known.Function, Advice: known.Advice,
		Stacks: c.String("flame") != "" || page, Series: page, Memory: c.keep(1),
	}
	if opt.Top == 0 {
		opt.Top = -1 // none
	}
	return opt, nil
}

// gaps reports on where the idle time goes and writes it.
// Files beside the report are written first: a report on standard output says that all is
// done.
func (c *Context) gaps() error {
	part := c.String("report")
	if err := c.checkPart(part); err != nil {
		return err
	}
	opt, err := c.gapOptions()
	if err != nil {
		return err
	}
	c.wantHost("")
	c.callers = !c.drawsThreads()
	var result *gap.Report
	var closeups, worst *timeline.Collector
	err = c.orWhole(func() error {
		src, err := c.Events(source.Phased)
		if err != nil {
			return err
		}
		if part == "" || part == "idle" {
			src, closeups = c.watchCloseups(src, slowestShown)
		}
		src, worst = c.watchWorst(src)
		result, err = gap.Compute(src, opt)
		return err
	})
	if err != nil {
		return err
	}
	result.Warnings = c.MergeWarnings(result.Warnings)
	if err := c.writeBeside(result, worst); err != nil {
		return err
	}
	d := result.Document(part)
	if part == "" {
		aboutInputs(d, "Input: ", c.inputs)
	}
	if part == "" {
		c.goOn(d, &result.Handoff, "gaps trace.sqlite")
	}
	if closeups != nil {
		closeups.Close().Document(d.SectionAfter(gap.IdleSection, stepsInDetail), result.Palette())
	}
	return c.out.analysis(result, d, func() (*table.Table, error) { return result.Table(part) })
}

// drawsThreads tells whether an output draws what every thread does.
func (c *Context) drawsThreads() bool { return c.out.page() || c.String("perfetto") != "" }

// writeBeside writes what goes into files of its own.
func (c *Context) writeBeside(result *gap.Report, worst *timeline.Collector) error {
	if path := c.String("flame"); path != "" {
		if err := writeFlame(path, result.Stacks); err != nil {
			return err
		}
	}
	return c.writeWorst(worst)
}
