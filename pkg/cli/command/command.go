// Package command is the commands, one file each: the manual as data, and the
// body, which joins sources and analyses, neither of which know of one another.
//
// # Inputs
//
// A filter reads the files that it is given, or its standard input where there
// are none or the name is "-". A file may be at any earlier stage than the
// filter works at: a report, a stream or a checkpoint; what is missing is run in
// the same process and gives the same answer as the pipe (stages.go). Flags of
// the stages that are run this way can be given to the later filter.
//
// # Adding a command
//
// A new command is a file here with its cli.Command, its line in All, and a
// cmd/NAME/main.go that calls it. Its body gets a Context: Events opens the
// inputs and brings them to a stage, its output and WriteEvents write what comes
// out, and Warnings are what the reader has to be told.
package command

import (
	"errors"

	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// All are the commands, in the order of the pipe.
var All = []*cli.Command{&Nsys2arrow, &Torch2arrow, &Isolate, &Phase, &Whatif, &Metrics, &Verdict, &Diff, &Gaps, &Hotspots}

// Context is one call of a command. It is used by one goroutine.
type Context struct {
	*cli.Call

	out      *output
	selected checkpoint.Selection  // the rows that are read
	columns  event.Set             // what is looked at once there are steps, 0 for all
	host     []event.Kind          // rows about host threads that are read
	callers  bool                  // of those, what threads do that no GPU waits for is not wanted
	kept     bool                  // --checkpoint holds the rows already
	whole    bool                  // where no steps can be identified, the whole trace will do
	noSteps  bool                  // none could be
	apart    bool                  // ranks whose steps cannot be identified are left out of the figures of the others'
	leave    []int32               // those that are, in an analysis that must know it before it begins
	onePass  bool                  // what is written, or measured, can say at its end that there are none
	unclear  *step.NotFound        // why that is so, nil where it is not
	keeps    int64                 // bytes for what the analysis keeps
	reports  bool                  // some were opened: their rows take memory until the command ends
	closeups *timeline.Collector   // of steps that a page shows closely, nil for none
	shown    []*timeline.Collector // those of the first run of each side of diff
	input    *keptInput            // standard input that may have to be read again, nil where not
	saved    bool                  // a named baseline is read, whose steps were found when it was kept

	files      []string        // in place of the arguments, nil for these
	inputs     []*source.Input // that were opened
	ofBaseline int             // how many of them are of the baseline of a comparison
	warnings   []string        // of this command itself
	fromPipe   bool            // standard input, which may be replaced by what keeps it, is a pipe
}

// arguments are the files that are read.
func (c *Context) arguments() []string {
	if c.files != nil {
		return c.files
	}
	return c.Files
}

// body makes a Run of the body of a command, whose outputs are those in the table. What flags say together is checked
// before it is called, and so before anything is read.
func body(command string, run func(*Context) (int, error)) func(*cli.Call) (int, error) {
	return func(call *cli.Call) (status int, err error) {
		c := &Context{Call: call, fromPipe: call.FromPipe()}
		c.Files = append(c.Files, c.Strings("trace")...)
		if c.selected, err = c.selection(); err != nil {
			return 0, err
		}
		if c.out, err = newOutput(call, command); err != nil {
			return 0, err
		}
		if c.out.format == formatParquet && c.IsSet("checkpoint") {
			return 0, cli.Misuse("--checkpoint and a checkpoint as the output of -o", "leave one of them out")
		}
		status, err = run(c)
		return status, c.advise(c.upstream(err))
	}
}

// upstream is the error of an input that was cut short, of a pipe that of the filter before
// this one. Filters that pass a stream on leave it to the last one to say so.
func (c *Context) upstream(err error) error {
	if errors.Is(err, arrow.ErrCut) && c.fromPipe && fromStdin(c.arguments()) {
		return &cli.Upstream{Err: err, Quiet: c.out.streams() && c.ToPipe()}
	}
	return err
}

// advise adds to the error that no steps can be identified what this command, or else
// verdict, does without them.
func (c *Context) advise(err error) error {
	var none *step.NotFound
	if errors.As(err, &none) {
		name := "verdict"
		if c.Has(strictFlag.Name) {
			name = c.Name
		}
		none.Advice += "; " + name + " --by none takes the whole trace"
	}
	return err
}

// filter makes a Run of the body of a command that ends with 0 or an error.
func filter(command string, run func(*Context) error) func(*cli.Call) (int, error) {
	return body(command, func(c *Context) (int, error) { return 0, run(c) })
}

// Body makes a Run of a function that only reads its inputs.
func Body(run func(*Context) error) func(*cli.Call) (int, error) { return filter("", run) }
