// Package command has the commands, one file each: its flags, how they become a plan,
// and what runs the plan. Commands join sources and analyses, which do not know each
// other.
//
// # One way from flags to answer
//
//	cli.Call -> Plan -> job -> reader -> analysis -> output
//
// A Plan is what every command line says: which rows, how to find steps, what to write
// and where. A job is the plan of one command, including its own flags. Both are made
// once, and checked before anything is read. A reader then opens an input and brings it
// to the stage that the analysis needs; the output writes the answer.
//
// # Inputs
//
// A filter reads the files that it is given, or standard input if there are none or the
// name is "-". A file may be at any earlier stage: a report, a stream or a checkpoint.
// Missing stages run in the same process and give the same answer as a pipe
// (reader.go). Flags of these stages can be given to the later filter.
//
// # Adding a command
//
// A new command needs a file here with its cli.Command and its job, its manual
// (manual/NAME.txt), a line in All, a line in the table of outputs (formats.go), the
// type of its JSON among the contracts (schema.go), and a cmd/NAME/main.go that calls
// it.
package command

import (
	"errors"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/analysis/verdict"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// All are the commands, in pipeline order.
var All = []*cli.Command{&Nsys2arrow, &Torch2arrow, &Isolate, &Phase, &Whatif, &Metrics, &Verdict, &Diff, &Gaps, &Hotspots}

// Plan is what a command line asks for, for any command. Running it changes nothing but
// the memory in use.
type Plan struct {
	*cli.Call

	out     *output
	chosen  checkpoint.Selection // rows that flags choose
	finding finding
	memory  *memory
	piped   bool // standard input is a pipe
}

// job is the plan of one command.
type job interface {
	// run executes the job and returns the exit status.
	run() (status int, err error)
}

// newPlan returns the plan of a call.
func newPlan(call *cli.Call, command string) (*Plan, error) {
	p := &Plan{Call: call, piped: call.FromPipe(), memory: newMemory(call), finding: newFinding(call)}
	p.Files = append(p.Files, p.Strings("trace")...)
	var err error
	if p.chosen, err = p.selection(); err != nil {
		return nil, err
	}
	if err := checkTogether(call); err != nil {
		return nil, err
	}
	if p.out, err = newOutput(call, command); err != nil {
		return nil, err
	}
	if p.IsSet(stepFlag.Name) && !p.out.page() {
		return nil, cli.Misuse("--step draws on a page of HTML", "-o FILE.html")
	}
	if p.out.format == formatParquet && p.IsSet("checkpoint") {
		return nil, cli.Misuse("--checkpoint and a checkpoint as the output of -o", "leave one of them out")
	}
	return p, nil
}

// planned returns a Run that makes a command's job and runs it.
func planned[J job](command string, plan func(*Plan) (J, error)) func(*cli.Call) (int, error) {
	return func(call *cli.Call) (int, error) {
		if call.Bool(schemaFlag.Name) {
			return 0, writeSchema(call, command)
		}
		p, err := newPlan(call, command)
		if err != nil {
			return 0, err
		}
		j, err := plan(p)
		if err != nil {
			return 0, err
		}
		status, err := j.run()
		return status, p.advise(p.upstream(err))
	}
}

// upstream returns the error of an input that was cut short, as a cli.Upstream if
// standard input is a pipe. Filters that pass a stream on let the last filter report
// it.
func (p *Plan) upstream(err error) error {
	if errors.Is(err, arrow.ErrCut) && p.piped && fromStdin(p.Files) {
		return &cli.Upstream{Err: err, Quiet: p.out.streams() && p.ToPipe()}
	}
	return err
}

// advise adds advice to the error that no steps could be identified: how this command,
// or else verdict, does without.
func (p *Plan) advise(err error) error {
	var none *step.NotFound
	if errors.As(err, &none) && !none.Isolated {
		name := "verdict"
		if p.Has(strictFlag.Name) {
			name = p.Name
		}
		none.Advice += "; " + name + " --by none takes the whole trace"
	}
	return err
}

// Body returns a Run that calls ask with the plan instead of writing output, for Go
// programs that need the values.
func Body(ask func(*Plan) error) func(*cli.Call) (int, error) {
	return planned("", func(p *Plan) (asking, error) { return asking{p, ask}, nil })
}

// asking is the job of Body.
type asking struct {
	p   *Plan
	ask func(*Plan) error
}

func (a asking) run() (int, error) { return 0, a.ask(a.p) }

// Events returns the rows of the files at a stage, with rows about host threads if host
// is set.
func (p *Plan) Events(at source.Stage, host bool) (event.Source, error) {
	in := p.reading(p.Files)
	if host {
		in.host = hostKinds
	}
	return p.read(in).events(at)
}

// Measure returns what metrics measures of the files.
func (p *Plan) Measure() (*metric.Result, error) { return planMeasurement(p, p.Files).result() }

// Verdict returns what verdict decides about the files.
func (p *Plan) Verdict() (*verdict.Report, error) {
	j, err := planVerdict(p)
	if err != nil {
		return nil, err
	}
	return j.report()
}

// Diff returns what diff finds in the files.
func (p *Plan) Diff() (*compare.Comparison, error) {
	j, err := planDiff(p)
	if err != nil {
		return nil, err
	}
	return j.compare()
}
