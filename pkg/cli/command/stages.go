package command

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// noIsolation is the value of --by that leaves steps out.
const noIsolation = "none"

// findingSteps is the heading of the flags of isolate.
const findingSteps = "Finding steps"

// isolateFlags are the flags of isolate, and of the filters after it for files
// that have no steps yet.
var isolateFlags = append(slices.Clone(stepFlags), busyFlag)

var stepFlags = []cli.Flag{
	{Name: "by", Usage: "`METHOD` to find steps: auto, allreduce, nvtx, graph, or none, for the whole trace", Default: step.Auto, Values: append(slices.Clone(step.Methods), noIsolation), Group: findingSteps},
	{Name: "gap", Usage: "gap that ends an allreduce step outside marker ranges, as `TIME`; if given, also in ranks without markers, whose steps are otherwise identified by what recurs in them", Default: time.Duration(step.DefaultGap), Check: positive("gap"), Group: findingSteps},
	{Name: "segment-gap", Usage: "idle stretch of all GPUs of a rank that ends a segment, unless the host works in it, as `TIME`", Default: time.Duration(step.DefaultSegmentGap), Check: positive("segment-gap"), Group: findingSteps},
	{Name: "marker", Usage: "`REGEX` of the forward-step ranges, with groups step, ctx and gen, e.g. 'step (?P<step>\\d+): (?P<ctx>\\d+)\\+(?P<gen>\\d+)'; the default knows TensorRT-LLM, vLLM and SGLang", Check: checkMarker, Group: findingSteps},
}

// busyFlag belongs to finding segments and to measuring.
var busyFlag = cli.Flag{Name: "busy", Usage: "`WHAT` counts as GPU activity: kernels (and graph replays), or all (copies and memsets, too)", Default: "kernels", Values: []string{"kernels", "all"}, Group: findingSteps}

// positive refuses times that are not more than nothing.
func positive(name string) func(string) error {
	return func(text string) error {
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return nil
		}
		return cli.Misuse("--"+name+" must be more than 0", "give a time such as 1ms")
	}
}

// checkMarker refuses an expression that cannot be compiled, or has groups that mean nothing.
func checkMarker(expr string) error {
	if _, err := marker.Compile(expr); err != nil {
		return cli.Misuse("--marker: "+err.Error(), "for example 'step (?P<step>[0-9]+): (?P<ctx>[0-9]+)\\+(?P<gen>[0-9]+)'")
	}
	return nil
}

// names are the names of flags.
func names(flags []cli.Flag) (all []string) {
	for _, f := range flags {
		all = append(all, f.Name)
	}
	return all
}

// refuse reports flags that come too late, for a stream that has passed their
// stage.
func (c *Context) refuse(flags []string, why string) error {
	if k := slices.IndexFunc(flags, c.IsSet); k >= 0 {
		return cli.Misuse("--"+flags[k]+" has no effect: "+why, "give it to the filter that does this, or give the export itself")
	}
	return nil
}

// Events opens the input and brings it to a stage, be it a file or standard input.
func (c *Context) Events(want source.Stage) (event.Source, error) {
	return c.eventsOf(c.Files, want)
}

// eventsOf is Events for files other than the arguments.
func (c *Context) eventsOf(files []string, want source.Stage) (event.Source, error) {
	in, err := c.open(files)
	if err != nil {
		return nil, err
	}
	if in.Table != nil {
		return nil, cli.Misuse("the input holds "+in.Table.Schema+" rows, not events", "give what comes before metrics")
	}
	return c.bring(in.Events, want)
}

// fromStdin tells whether these files stand for standard input.
func fromStdin(files []string) bool { return len(files) == 0 || len(files) == 1 && files[0] == "-" }

// noInput refuses a terminal as the input: the command would wait for it without a word.
func noInput(name, what string) error {
	return cli.Misuse("no input", "give a file, or pipe "+what+" in; '"+name+" --help' shows how")
}

// open opens files, or standard input where there are none.
// An input is closed when the command ends. What it says of itself is logged once, by the
// first filter that reads the reports.
func (c *Context) open(files []string) (in *source.Input, err error) {
	opt := &source.Options{Context: c.Context, Selection: c.selected, Separate: c.Bool("separate"), Partial: c.Bool("partial"), Python: c.Bool("python"),
		Columns: c.columnsOf, Launched: c.launchedOf, HostClasses: c.hostClassesOf, Host: c.host, Callers: c.callers, Pause: c.pause()}
	if fromStdin(files) {
		if cli.IsTerminal(c.Stdin) {
			return nil, noInput(c.Name, "a stream")
		}
		in, err = source.OpenStdin(c.Stdin, opt)
	} else {
		progress := c.Progress()
		opt.Progress, opt.Memory = progress.Rows, c.memory()
		in, err = source.Open(files, opt)
		progress.Done()
	}
	if err != nil {
		return nil, err
	}
	c.Cleanup(in.Close)
	c.inputs = append(c.inputs, in)
	if c.reports = c.reports || in.Fresh; !c.reports {
		c.limit(c.budget(), 0) // streams and checkpoints keep no rows
	}
	if in.Events != nil {
		if err := c.checkChosen(in.Events.Header()); err != nil {
			return nil, err
		}
		in.Events = c.notEmpty(in.Events)
	}
	if in.Fresh {
		c.logReports(in.Events.Header())
	}
	return in, nil
}

// columnsOf returns the columns that are read of rows that come after a
// header.
func (c *Context) columnsOf(h *event.Header) event.Set {
	if c.columns != 0 && source.StageOf(h) == source.Raw {
		return c.columns | step.Columns(h, c.steps())
	}
	return c.columns
}

// launchedOf returns the class of the kernels whose launching calls are read of rows that
// come after a header, false for all: finding steps may take few of them, and be all that
// looks at them.
func (c *Context) launchedOf(h *event.Header) (event.Class, bool) {
	const launch event.Set = 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread
	if c.columns == 0 || c.columns&launch != 0 {
		return 0, false
	}
	return step.Launched(h, c.steps())
}

// hostClassesOf returns the classes of API calls and NVTX ranges that are read of rows that
// come after a header, false for all: measuring looks at few of them. Where rows are chosen all
// count, as an error says that there are none.
func (c *Context) hostClassesOf(h *event.Header) (event.ClassSet, bool) {
	if c.columns != metricColumns || source.StageOf(h) != source.Raw || c.selected.Time != nil || c.selected.Steps != nil {
		return 0, false
	}
	measured, few := metric.HostClasses(h, c.measuring())
	stepping, fewer := step.HostClasses(h, c.steps())
	return measured | stepping, few && fewer
}

// bring runs the stages between where src is and want.
// Stages are run in order, those that src has passed are left out. Flags of a stage that was
// passed are refused and not ignored. Where steps cannot be found src itself is returned, if
// the analysis can do without, and where isolate was asked to leave them out, too.
func (c *Context) bring(src event.Source, want source.Stage) (event.Source, error) {
	have := source.StageOf(src.Header())
	if !c.mayReadAgain(src.Header()) {
		c.input.drop()
	}
	if src.Header().LeftOut() && want > source.Raw {
		return c.leftOut(src)
	}
	if have > source.Raw && !c.saved {
		if err := c.refuse(names(stepFlags), "the steps were found already"); err != nil {
			return nil, err
		}
	}
	if have < source.Isolated && want >= source.Isolated {
		if c.String("by") == noIsolation || c.noSteps {
			return src, c.refuseSteps(src)
		}
		isolated, err := c.Isolate(src)
		if err != nil {
			return src, c.without(src, err)
		}
		src = isolated
	}
	if have > source.Raw && c.noSteps {
		return dropSteps(src)
	}
	if have < source.Phased && want >= source.Phased {
		return c.Phase(src)
	}
	return src, nil
}

// leftOut brings a stream whose steps isolate was asked to leave out to where --by none
// brings a report. Filters pass it on as it is.
func (c *Context) leftOut(src event.Source) (event.Source, error) {
	if err := c.refuse(names(stepFlags), "isolate --by none left the steps out already"); err != nil {
		return nil, err
	}
	if err := c.refuseSteps(src); err != nil || !c.analyses() {
		return src, err
	}
	if c.perStep() {
		return nil, leavesOut(c.Name, "leave --per-step out")
	}
	return step.Relabel(src, src.Header(), nil), nil
}

// perStep: what is asked for there is of each step alone.
func (c *Context) perStep() bool { return c.Has("per-step") && c.Bool("per-step") }

// leavesOut is the error of a command that is about steps, where there are to be none.
func leavesOut(command, advice string) error {
	return cli.Misuse("--by none leaves out the steps that "+command+" is about", advice)
}

// needSteps refuses --by none where there is nothing to be done without steps.
func (c *Context) needSteps(advice string) error {
	if c.String("by") == noIsolation {
		return leavesOut(c.Name, advice)
	}
	return nil
}

// without says whether an analysis can go on though finding steps ended with an error.
func (c *Context) without(src event.Source, err error) error {
	var none *step.NotFound
	switch {
	case !errors.As(err, &none):
	case c.wantsTrace():
		c.Warn(none.Msg + wholeTrace)
		return nil
	case c.doWithout(none):
		return c.refuseSteps(src)
	}
	return err
}

// wantsTrace tells whether figures of the whole trace are asked for, and steps were not.
func (c *Context) wantsTrace() bool {
	return c.String("window") == metric.WindowTrace && !c.IsSet("by")
}

// wholeTrace goes on after why no steps were found.
const wholeTrace = ": the figures are of the whole trace"

// doWithout tells whether the whole trace will do where no steps can be identified,
// and says that it does.
func (c *Context) doWithout(none *step.NotFound) bool {
	if !c.whole || c.Bool("strict") {
		return false
	}
	c.noSteps = true
	c.Warn(none.Msg + wholeTrace)
	return true
}

// strictFlag keeps an analysis from doing without steps.
var strictFlag = cli.Flag{Name: "strict", Usage: "end with status 2 where no steps can be found, instead of giving figures of the whole trace", Default: false, Group: findingSteps}

// readOnce tells whether the input cannot be read again: standard input and pipes.
func (c *Context) readOnce() bool {
	return fromStdin(c.arguments()) || slices.ContainsFunc(c.arguments(), cli.IsStream)
}

// orWhole runs an analysis, and where it turns out that the steps cannot be identified
// when the input has been read, runs it again without them, or without the ranks of which
// that is so where others are known. Where it cannot be read again the error stays, unless the analysis can do without steps at that point (onePass).
func (c *Context) orWhole(run func() error) error {
	c.whole = true
	var err error
	if c.input, err = c.keepInput(); err != nil {
		return err
	}
	err = run()
	var none *step.NotFound
	var unclear *step.Unclear
	switch {
	case errors.As(err, &none), errors.As(err, &unclear):
		if repeat, trouble := c.readAgain(unclear != nil); trouble != nil || !repeat {
			return cmp.Or(trouble, err)
		}
	default:
		return err
	}
	c.inputs, c.warnings = nil, nil // they are of the steps
	switch {
	case unclear != nil:
		c.noSteps = true
	case len(none.Ranks) > 0 && !c.Bool("strict"):
		c.leave = none.Ranks
		c.Warn(none.Msg + step.LeftOut)
	case !c.doWithout(none):
		return err
	}
	return run()
}

// readAgain makes the input be read from its beginning, false where that cannot be. Of rows that
// came with steps all must be without.
func (c *Context) readAgain(isolated bool) (bool, error) {
	if !c.readOnce() {
		if isolated {
			return allUnclear(source.Open(c.arguments(), &source.Options{}))
		}
		return true, nil
	}
	in, err := c.input.again()
	if err != nil || in == nil {
		return false, err
	}
	c.Stdin, c.input = in, nil
	if !isolated {
		return true, nil
	}
	all, err := allUnclear(source.OpenStdin(in, &source.Options{}))
	if err != nil || !all {
		return false, err
	}
	_, err = in.Seek(0, io.SeekStart)
	return true, err
}

// Isolate runs isolate with the settings of the command line.
func (c *Context) Isolate(src event.Source) (event.Source, error) {
	if c.String("by") == noIsolation {
		return step.LeaveOut(src), c.refuseSteps(src)
	}
	opt := c.steps()
	opt.BusyAll, opt.Columns, opt.Hold = c.busyAll(), c.columns, aheadBatches
	if c.onePass = c.onePass && !c.Bool("strict") && c.selected.Steps == nil; c.onePass {
		opt.Unclear = c.withoutSteps
	}
	opt.Apart, opt.Leave = (c.apart || c.onePass) && !c.Bool("strict"), c.leave
	isolated, err := step.New(src, opt)
	if none := (*step.NotFound)(nil); c.onePass && !c.wantsTrace() && errors.As(err, &none) {
		c.withoutSteps(none)
		return step.Without(src), nil
	}
	if err != nil {
		return nil, err
	}
	return c.chooseSteps(c.ahead(isolated))
}

// withoutSteps notes that steps cannot be identified, which is in every report from here
// on. What was said of them before is of no interest any more.
func (c *Context) withoutSteps(none *step.NotFound) {
	c.unclear, c.warnings = none, nil
	c.Warn(none.Msg + wholeTrace)
}

// steps are the settings of the command line that say how to find steps.
func (c *Context) steps() step.Options {
	opt := step.Options{By: c.String("by"), SegmentGap: int64(c.Duration("segment-gap")), Marker: c.String("marker"), Log: c.Log, Warn: c.Warn}
	if c.IsSet("gap") {
		opt.Gap = int64(c.Duration("gap"))
	}
	return opt
}

// pause is how long no GPU works before what the host does decides whether steps go on, 0 where
// none are to be found.
func (c *Context) pause() int64 {
	if !c.Has("segment-gap") || c.String("by") == noIsolation || c.noSteps {
		return 0
	}
	return int64(c.Duration("segment-gap"))
}

// busyAll: copies and memsets count as GPU activity.
func (c *Context) busyAll() bool { return c.String("busy") == "all" }

// Phase runs phase, which has nothing to say of the whole trace.
func (c *Context) Phase(src event.Source) (event.Source, error) {
	if src.Header().LeftOut() {
		return src, nil
	}
	return step.NewTagger(src, c.Log)
}
