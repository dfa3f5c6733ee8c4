package command

import (
	"slices"
	"time"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/names/marker"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
)

// noIsolation is the value of --by for no steps.
const noIsolation = "none"

// findingSteps is the heading of isolate's flags.
const findingSteps = "Finding steps"

// isolateFlags are the flags of isolate. Later filters have them, too, for files
// without steps.
var isolateFlags = append(slices.Clone(stepFlags), busyFlag)

var stepFlags = []cli.Flag{
	{Name: "by", Usage: "find steps by `METHOD`: auto, allreduce, nvtx, graph, or none (the whole trace)", Default: step.Auto, Values: append(slices.Clone(step.Methods), noIsolation), Group: findingSteps},
	{Name: "gap", Usage: "a gap longer than `TIME` ends a step (--by allreduce), outside of marker ranges", Default: time.Duration(step.DefaultGap), Check: positive("gap"), Group: findingSteps},
	{Name: "segment-gap", Usage: "a segment ends when all GPUs of a rank are idle for `TIME`, unless the host works meanwhile", Default: time.Duration(step.DefaultSegmentGap), Check: positive("segment-gap"), Group: findingSteps},
	{Name: "marker", Usage: "`REGEX` that matches forward-step ranges, with groups step, ctx and gen, e.g. 'step (?P<step>\\d+): (?P<ctx>\\d+)\\+(?P<gen>\\d+)'; the default matches those of TensorRT-LLM, vLLM and SGLang", Check: checkMarker, Group: findingSteps},
}

// busyFlag is about finding segments and about measuring.
var busyFlag = cli.Flag{Name: "busy", Usage: "`WHAT` counts as GPU activity: kernels (and graph replays), or all (copies and memsets, too)", Default: "kernels", Values: []string{"kernels", "all"}, Group: findingSteps}

// positive returns a check that refuses times that are not greater than 0.
func positive(name string) func(string) error {
	return func(text string) error {
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			return nil
		}
		return cli.Misuse("--"+name+" must be more than 0", "give a time such as 1ms")
	}
}

// checkMarker refuses an expression that does not compile, or has unknown groups.
func checkMarker(expr string) error {
	if _, err := marker.Compile(expr); err != nil {
		return cli.Misuse("--marker: "+err.Error(), "for example 'step (?P<step>[0-9]+): (?P<ctx>[0-9]+)\\+(?P<gen>[0-9]+)'")
	}
	return nil
}

// names returns the names of flags.
func names(flags []cli.Flag) (all []string) {
	for _, f := range flags {
		all = append(all, f.Name)
	}
	return all
}

// strictFlag forbids an analysis to do without steps.
var strictFlag = cli.Flag{Name: "strict", Usage: "end with status 2 if no steps are found, instead of giving figures of the whole trace", Default: false, Group: findingSteps}

// finding says how to find steps, according to flags.
type finding struct {
	opt     isolate.Options // how to find steps
	none    bool            // no steps: the whole trace is wanted
	trace   bool            // figures of the whole trace will do, as steps were not asked for
	busyAll bool            // copies and memsets count as GPU activity
	strict  bool            // the analysis must not do without steps
	// how long, in ns, GPUs must be idle for the host's activity to decide whether
	// steps go on; 0: never
	pause int64
}

func newFinding(c *cli.Call) finding {
	f := finding{
		opt:     isolate.Options{By: c.String("by"), SegmentGap: int64(c.Duration("segment-gap")), Marker: c.String("marker")},
		none:    c.String("by") == noIsolation,
		trace:   c.String("window") == metric.WindowTrace && !c.IsSet("by"),
		busyAll: c.String("busy") == "all",
		strict:  c.Bool("strict"),
	}
	if c.IsSet("gap") {
		f.opt.Gap = int64(c.Duration("gap"))
	}
	if !f.none {
		f.pause = f.opt.SegmentGap
	}
	return f
}

// refuse returns an error if one of the flags is set although the stream has already
// passed their stage.
func (p *Plan) refuse(flags []string, why string) error {
	if k := slices.IndexFunc(flags, p.IsSet); k >= 0 {
		return cli.Misuse("--"+flags[k]+" has no effect: "+why, "give it to the filter that does this, or give the export itself")
	}
	return nil
}

// leavesOut returns the error of --by none for a command that is about steps.
func (p *Plan) leavesOut(advice string) error {
	return cli.Misuse("--by none finds no steps, and "+p.Name+" is about steps", advice)
}

// needSteps refuses --by none if the command can do nothing without steps.
func (p *Plan) needSteps(advice string) error {
	if p.finding.none {
		return p.leavesOut(advice)
	}
	return nil
}
