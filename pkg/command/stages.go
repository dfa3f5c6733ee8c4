package command

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/hostbound/hostbound/pkg/event"
	"github.com/hostbound/hostbound/pkg/metric"
	"github.com/hostbound/hostbound/pkg/phase"
	"github.com/hostbound/hostbound/pkg/step"
)

// Stage is how far a stream has come.
type Stage int

// The stages.
const (
	Raw      Stage = iota // as nsys2arrow writes it
	Isolated              // with steps
	Phased                // with phases
	Measured              // metric rows
)

// noIsolation is the value of --by that leaves steps out.
const noIsolation = "none"

const (
	isolateCategory = "finding steps"
	metricsCategory = "measuring"
)

// The names of the flags of each stage.
var (
	isolateFlagNames = []string{"by", "gap", "segment-gap", "marker"}
	metricsFlagNames = []string{"window", "prep"}
)

// busyFlag belongs to finding segments and to measuring.
func busyFlag() Flag {
	return &StringFlag{Name: "busy", Usage: "`WHAT` counts as GPU activity: kernels (and graph replays), or all (copies and memsets, too)", Value: "kernels"}
}

// IsolateFlags are the flags of isolate, and of the filters after it for files
// that have no steps yet.
func IsolateFlags() []Flag {
	return []Flag{
		&StringFlag{Name: "by", Usage: "`METHOD` to find steps: auto, allreduce, nvtx, graph, or none, for the whole trace", Value: step.Auto, Category: isolateCategory},
		&cli.DurationFlag{Name: "gap", Usage: "gap that ends an allreduce step outside marker ranges, as `TIME`; given in so many words, also in ranks without markers, whose steps are else identified by what recurs in them", Value: step.DefaultGap, Category: isolateCategory},
		&cli.DurationFlag{Name: "segment-gap", Usage: "idle stretch of all GPUs of a rank that ends a segment, as `TIME`", Value: step.DefaultSegmentGap, Category: isolateCategory},
		&StringFlag{Name: "marker", Usage: "`REGEX` of the forward-step ranges, with groups step, ctx and gen, e.g. 'step (?P<step>\\d+): (?P<ctx>\\d+)\\+(?P<gen>\\d+)'; the default knows TensorRT-LLM, vLLM and SGLang", Category: isolateCategory},
		busyFlag(),
	}
}

// MetricsFlags are the flags of metrics.
func MetricsFlags() []Flag {
	return []Flag{
		&StringFlag{Name: "window", Usage: "`WINDOW` of the aggregate: benchmark (the last segment of steady steps), or trace (all GPU activity of the report)", Value: metric.WindowBenchmark, Category: metricsCategory},
		&StringFlag{Name: "prep", Usage: "`TEXT` in the names of the ranges that prepare a step's input (default: the first of _prepare_tp_inputs, _prepare_inputs, prepare_inputs that a rank has)", Category: metricsCategory},
	}
}

// given returns those of the named flags that the user has set.
func (c *Context) given(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !c.IsSet(n) })
}

// refuse reports flags that come too late, for a stream that has passed their
// stage.
func (c *Context) refuse(names []string, why string) error {
	if late := c.given(names); len(late) > 0 {
		return &UsageError{"--" + late[0] + " comes too late: " + why, "give it to the filter that does this, or give the export itself"}
	}
	return nil
}

// Events opens the input and brings it to a stage. A stream on standard input
// that is not as far as want is brought there, too, unless take says that it
// will do as it is.
func (c *Context) Events(want Stage, take ...Stage) (event.Source, error) {
	return c.eventsOf(c.Files, want, take...)
}

// eventsOf is Events for files other than the arguments.
func (c *Context) eventsOf(files []string, want Stage, take ...Stage) (event.Source, error) {
	in, err := c.open(files)
	if err != nil {
		return nil, err
	}
	if in.table != nil {
		return nil, &UsageError{"the input holds " + in.table.Schema + " rows, not events", "give what comes before metrics"}
	}
	if in.isStdin && slices.Contains(take, stageOf(in.events)) {
		return in.events, nil
	}
	return c.bring(in.events, want)
}

func stageOf(src event.Source) Stage {
	h := src.Header()
	switch {
	case h.Columns&event.PhaseCols == event.PhaseCols:
		return Phased
	case h.Isolation != nil:
		return Isolated
	}
	return Raw
}

// bring runs the stages between where src is and want.
func (c *Context) bring(src event.Source, want Stage) (event.Source, error) {
	have := stageOf(src)
	if have > Raw {
		if err := c.refuse(isolateFlagNames, "the steps were found already"); err != nil {
			return nil, err
		}
	}
	if have < Isolated && want >= Isolated {
		if c.String("by") == noIsolation {
			return src, c.refuseSteps(src)
		}
		isolated, err := c.Isolate(src)
		if err != nil {
			if c.String("window") == metric.WindowTrace && !c.IsSet("by") {
				c.Log("no steps: " + err.Error())
				return src, nil
			}
			return nil, err
		}
		src = isolated
	}
	if have < Phased && want >= Phased {
		return c.Phase(src)
	}
	return src, nil
}

// Isolate runs isolate with the settings of the command line.
func (c *Context) Isolate(src event.Source) (event.Source, error) {
	all, err := c.busyAll()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"gap", "segment-gap"} {
		if c.Duration(name) <= 0 {
			return nil, &UsageError{"--" + name + " must be more than 0", "give a time such as 1ms"}
		}
	}
	if c.String("by") == noIsolation {
		return src, nil
	}
	opt := c.steps()
	opt.BusyAll, opt.Columns, opt.Hold = all, c.columns, aheadBatches
	isolated, err := step.New(src, opt)
	if err != nil {
		return nil, err
	}
	return c.chooseSteps(c.ahead(isolated))
}

// steps are the settings of the command line that say how to find steps.
func (c *Context) steps() step.Options {
	opt := step.Options{By: c.String("by"), SegmentGap: int64(c.Duration("segment-gap")), Marker: c.String("marker"), Log: c.Log, Warn: c.Warn}
	if c.IsSet("gap") {
		opt.Gap = int64(c.Duration("gap"))
	}
	return opt
}

func (c *Context) busyAll() (bool, error) {
	switch c.String("busy") {
	case "kernels":
		return false, nil
	case "all":
		return true, nil
	}
	return false, &UsageError{"unknown --busy " + c.String("busy"), "--busy takes kernels or all"}
}

// metricColumns are the columns that measuring and comparing look at.
const metricColumns = (event.BaseCols | event.StepCols | event.PhaseCols) &^ (1<<event.ColStream | 1<<event.ColBytes |
	1<<event.ColDomain | 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread)

// Measure opens the input and returns its metric rows, with --merge those of
// all parts together.
func (c *Context) Measure(take ...Stage) (*metric.Result, error) {
	if c.Bool("merge") {
		return c.merge()
	}
	c.columns = metricColumns
	in, err := c.open(c.Files)
	if err != nil {
		return nil, err
	}
	if in.table != nil {
		flags := append(append([]string{"busy"}, isolateFlagNames...), metricsFlagNames...)
		if err := c.refuse(flags, "the metrics were computed already"); err != nil {
			return nil, err
		}
		return metric.FromTable(in.table)
	}
	src := in.events
	if !in.isStdin || !slices.Contains(take, stageOf(src)) {
		if src, err = c.bring(src, Phased); err != nil {
			return nil, err
		}
	}
	all, err := c.busyAll()
	if err != nil {
		return nil, err
	}
	res, err := metric.Compute(src, metric.Options{Window: c.String("window"), BusyAll: all, Prep: c.String("prep"), Log: c.Log})
	if err != nil {
		return nil, err
	}
	res.Warnings = c.MergeWarnings(res.Warnings)
	return res, nil
}

// Flags joins lists of flags.
func Flags(lists ...[]Flag) []Flag { return slices.Concat(lists...) }

// Phase runs phase.
func (c *Context) Phase(src event.Source) (event.Source, error) { return phase.New(src, c.Log) }
