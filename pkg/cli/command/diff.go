package command

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/report/flame"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Diff says which host operation costs more per step in one run than in another,
// and whether that is more than noise.
var Diff = cli.Command{
	Name:      "diff",
	Installed: "tracediff",
	Summary:   "say what costs more per step in one run than in another, and whether it is real",
	Args:      "BASELINE TARGET | RUN",
	Description: `Diff compares two runs step by step: wall, GPU busy and idle time, every NVTX
operation, kernels and CUDA API calls. Each change comes with a confidence
interval that allows for neighbouring steps being correlated, and counts only where
it is beyond the noise of the runs themselves, over all rows together. "No
evidence of a change" is an answer. Of one run it prints the breakdown.

A run is an nsys export, a stream or a checkpoint at any stage, or several exports
of one run, separated by commas or as a pattern in quotes. What differs from one
start of an engine to the next is in the answer only where each side has several
runs: give --baseline and --target once for each.`,
	Status: ", 1 where a condition of --fail-on is met",
	Examples: []string{
		"diff v1.sqlite v2.sqlite",
		"diff v1_rank0.sqlite,v1_rank1.sqlite 'v2_rank*.sqlite'",
		"diff --baseline v1_a.sqlite --baseline v1_b.sqlite --target v2_a.sqlite --target v2_b.sqlite",
		"diff <(isolate --by nvtx v1.sqlite) <(isolate --by nvtx v2.sqlite) --format json | jq .optimization_handoff",
		"diff v1.sqlite --save-baseline main && diff --baseline main v2.sqlite --fail-on regression",
		"diff --why v1.sqlite v2.sqlite",
		"diff v1.sqlite v2.sqlite --flame idle.pb.gz && go tool pprof -http : -diff_base idle.baseline.pb.gz idle.pb.gz",
		"diff v1.sqlite v2.sqlite --fail-on regression --fail-on 'wall>3%' || exit 1",
	},
	Foreign: trtllmFlags,
	Flags:   slices.Concat(diffFlags, outputFlags("diff"), baselineFlags, isolateFlags, selectFlags),
	Run:     body("diff", (*Context).diff),
}

// statusFound is the exit status of diff where a --fail-on condition is met.
const statusFound = 1

var diffFlags = []cli.Flag{
	{Name: "baseline", Usage: "a `RUN` of the baseline: a file, several of one run separated by commas, a pattern such as 'a/*.sqlite', or the name of one that --save-baseline kept; repeatable, once for each repetition", Default: []string{}, File: cli.Reads},
	{Name: "target", Usage: "a `RUN` of the target, likewise", Default: []string{}, File: cli.Reads},
	{Name: "baseline-label", Usage: "call the baseline `NAME`", Check: checkLabel},
	{Name: "target-label", Usage: "call the target `NAME`", Check: checkLabel},
	{Name: "phase", Usage: "compare `STEPS`: steady (the default: generation steps with the most requests), context, generation or all", Values: []string{compare.Steady, compare.Context, compare.Generation, compare.All}},
	{Name: "match", Usage: "`batch` compares steps of equal numbers of requests with one another, weighted", Values: []string{compare.MatchBatch}},
	{Name: "control", Usage: "bound `WHAT` over all rows: family (the chance of any false alarm), discovery (the share of false alarms)", Default: compare.Family, Values: []string{compare.Family, compare.Discovery}},
	{Name: "why", Usage: "also divide idle time by why launching threads stalled: locks, sleep, files, messages, no CPU, who holds the interpreter lock", Default: false},
	{Name: "flame", Usage: "write flame graphs of the idle time per step: of the target to `FILE`, by its extension (" + strings.Join(flame.Extensions, ", ") + "), of the baseline beside it, as FILE.baseline before the extension", File: cli.Writes, Check: checkExtension("flame", flame.Extensions, flame.Writer)},
	{Name: "fail-on", Usage: "end with status 1 where there is evidence for `CONDITION`: regression, or NAME>LIMIT such as 'wall>3%' or '_update_requests>100us'; repeatable", Default: []string{}, Check: checkGate},
	topFlag,
	sourceMapFlag,
	junitFlag,
}

// diffColumns are the columns that comparing looks at.
const diffColumns = metricColumns | 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread

// Diff compares the runs of the command line.
// All that flags and names of files can be wrong about is refused before the first run is
// read. An *event.Error is of the runs, any other of Compare's options.
func (c *Context) Diff() (*compare.Comparison, error) {
	if err := c.needSteps("gaps --by none shows where the idle time of each trace goes"); err != nil {
		return nil, err
	}
	opt := compare.Options{Phase: c.String("phase"), Match: c.String("match"), Control: c.String("control")}
	var err error
	if opt.Sources, err = c.sources(); err != nil {
		return nil, err
	}
	baseline, target, err := c.sides()
	if err != nil {
		return nil, err
	}
	if len(target) == 0 && (c.IsSet("junit") || len(c.Strings("fail-on")) > 0) {
		return nil, cli.Misuse("--junit and --fail-on of one run: there is nothing to compare with", "give a target")
	}
	memory := c.keep(len(baseline) + len(target))
	first, decided, err := c.readSide(baseline, len(target) == 0, memory)
	if err != nil {
		return nil, err
	}
	c.ofBaseline = len(c.inputs)
	var second *compare.Run
	if len(target) > 0 {
		before := len(c.inputs)
		if second, decided, err = c.readSide(target, true, memory); err != nil {
			return nil, err
		}
		if err := sameSource(c.inputs[:before], c.inputs[before:]); err != nil {
			return nil, err
		}
	}
	opt.Verdict = decided
	c.labelRuns(first, second)
	result, err := compare.Compare(first, second, opt)
	if trouble := (*event.Error)(nil); errors.As(err, &trouble) {
		return nil, err
	}
	if err != nil {
		return nil, cli.Misuse(err.Error(), "'"+c.Name+" --help' lists what the flags take")
	}
	result.Warnings = appendNew(result.Warnings, c.warnings...)
	return result, nil
}

// labelRuns gives the sides the names that were given for them.
func (c *Context) labelRuns(baseline, target *compare.Run) {
	if label := c.String("baseline-label"); label != "" {
		baseline.Name = label
	}
	if label := c.String("target-label"); label != "" && target != nil {
		target.Name = label
	}
}

// readSide reads the runs of a side; the one to be optimised also gets its
// verdict, of its first run, for the hand-off.
// memory is what one run may keep of its samples, in bytes. Warnings of each run stay with it,
// so that they can be told apart; what was opened is closed when the command ends.
func (c *Context) readSide(runs [][]string, decide bool, memory int64) (*compare.Run, *report.Handoff, error) {
	var all []*compare.Run
	var decided *report.Handoff
	for k, files := range runs {
		own := *c // so that its warnings are known to be of this run
		own.inputs, own.warnings, own.saved = nil, nil, c.isSaved(files)
		run, v, err := own.profile(files, decide && k == 0, k == 0, memory)
		c.inputs, c.reports = append(c.inputs, own.inputs...), own.reports
		if err != nil {
			return nil, nil, err
		}
		c.Cleanup(func() { run.Close() })
		run.Warnings = own.MergeWarnings(run.Warnings)
		for _, in := range own.inputs { // its rows and names are of no more use
			in.Done()
		}
		if all = append(all, run); k == 0 {
			decided = v
			c.shown = append(c.shown, own.closeups)
		}
	}
	joined, err := compare.Join(all)
	if err != nil {
		return nil, nil, cli.Misuse(err.Error(), "--baseline and --target take one run each time; more files of one run: a0.sqlite,a1.sqlite")
	}
	return joined, decided, nil
}

// profile reads one run, decides about it, and keeps steps that a page shows.
// Where decide is set one pass feeds the profile and the metrics: the run is read once.
func (c *Context) profile(files []string, decide, show bool, memory int64) (*compare.Run, *report.Handoff, error) {
	c.columns = diffColumns
	opt := compare.ProfileOptions{BusyAll: c.busyAll(), Why: c.Bool("why"), Stacks: c.String("flame") != "", Memory: memory}
	if opt.Why || opt.Stacks {
		c.wantHost("")
		c.columns |= event.HostCols
	}
	if show && c.out.page() {
		c.columns |= closeupColumns
	}
	src, err := c.eventsOf(files, source.Phased)
	if err != nil {
		return nil, nil, err
	}
	if show {
		src, c.closeups = c.watchCloseups(src, 0)
	}
	if !decide {
		run, err := compare.Profile(src, opt)
		return run, nil, err
	}
	profiler, err := compare.NewProfiler(src.Header(), opt)
	if err != nil {
		return nil, nil, err
	}
	measured, err := metric.Compute(event.Tee(src, profiler.Add), metric.Options{BusyAll: opt.BusyAll})
	if err != nil {
		return nil, nil, err
	}
	run, err := profiler.Run()
	return run, &verdict.Decide(measured, verdict.Defaults()).Handoff, err
}

// writeStacks writes the flame graphs that were asked for.
func (c *Context) writeStacks(result *compare.Comparison) error {
	path := c.String("flame")
	if path == "" {
		return nil
	}
	baseline, target := result.Stacks()
	if result.Steady.Target == nil {
		return writeFlame(path, baseline)
	}
	if err := writeFlame(baselineOf(path), baseline); err != nil {
		return err
	}
	return writeFlame(path, target)
}

// baselineOf returns the name of the flame graph of the baseline beside that of the target.
func baselineOf(path string) string {
	for _, extension := range flame.Extensions {
		if stem, ok := strings.CutSuffix(path, extension); ok {
			return stem + ".baseline" + extension
		}
	}
	return path
}

// beside returns the files that are written beside those that flags name.
func (c *Context) beside(target [][]string) []string {
	if path := c.String("flame"); path != "" && target != nil {
		return []string{baselineOf(path)}
	}
	return nil
}

// gates are the conditions of --fail-on.
func (c *Context) gates() (gates []compare.Gate, err error) {
	for _, text := range c.Strings("fail-on") {
		g, err := compare.ParseGate(text)
		if err != nil {
			return nil, err
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// checkGate refuses a condition that cannot be parsed, before anything is read.
func checkGate(text string) error {
	if _, err := compare.ParseGate(text); err != nil {
		return cli.Misuse("--fail-on: "+err.Error(), "--fail-on regression, --fail-on 'wall>3%'")
	}
	return nil
}

// diff compares, writes the report and returns the exit status.
func (c *Context) diff() (int, error) {
	result, err := c.Diff()
	if err != nil {
		return 0, err
	}
	if err := c.writeStacks(result); err != nil {
		return 0, err
	}
	d, evidence := result.Document(), c.Name+" --baseline a.sqlite --target b.sqlite"
	aboutSides(d, c.inputs[:c.ofBaseline], c.inputs[c.ofBaseline:])
	c.showSides(d, result.StepsSection())
	if result.Steady.Target == nil {
		evidence = c.Name + " trace.sqlite"
	}
	c.goOn(d, &result.Handoff, evidence)
	err = c.out.analysis(result, d, func() (*table.Table, error) { return result.Table(), nil })
	if err != nil {
		return 0, err
	}
	status, err := c.checkGates(result)
	if status != 0 || err != nil || !c.IsSet("save-baseline") {
		return status, err
	}
	baseline, target, err := c.sides()
	if err != nil {
		return 0, err
	}
	return 0, c.saveBaseline(newest(baseline, target))
}

// checkGates checks the conditions of --fail-on, of which --junit has one where none
// is given, and returns the exit status. The first that cannot be decided is an error.
// Where one cannot be decided its test is in trouble, neither passed nor failed.
func (c *Context) checkGates(result *compare.Comparison) (status int, err error) {
	gates, err := c.gates()
	if err != nil {
		return 0, err
	}
	given := len(gates) > 0
	if !given && c.IsSet("junit") {
		g, err := compare.ParseGate("regression")
		if err != nil {
			return 0, err
		}
		gates = append(gates, g)
	}
	var tests []report.Test
	var undecided error
	for _, g := range gates {
		test := report.Test{Name: "--fail-on " + g.String()}
		failed, why, err := result.Check(g)
		switch {
		case err != nil:
			test.Trouble = err.Error()
			undecided = cmp.Or(undecided, err)
		case failed:
			test.Failure = why
			if given {
				status = statusFound
				c.Log("failed on " + g.String() + ": " + why)
			}
		}
		tests = append(tests, test)
	}
	if err := c.out.tests(tests); err != nil || !given {
		return 0, err
	}
	return status, undecided
}
