package command

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/metric"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/checkpoint"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/step/isolate"
	"github.com/hostbound/hostbound/pkg/trace/event"
)

// reading is what a job needs of one input.
type reading struct {
	files    []string             // none, or "-", for standard input
	selected checkpoint.Selection // rows to read
	columns  event.Set            // columns needed once there are steps, 0 for all
	host     []event.Kind         // wanted kinds of rows about host threads
	callers  bool                 // leave out threads that no GPU waits for
	perStep  bool                 // figures per step are wanted
	whole    bool                 // the whole trace will do if no steps can be identified
	apart    bool                 // ranks whose steps cannot be identified are left out of the figures of others
	onePass  bool                 // the output can say at its end that there are no steps
	saved    bool                 // a saved baseline, whose steps were found when it was saved
	kept     bool                 // --checkpoint already has the rows

	// classes returns the classes of API calls and NVTX ranges needed of an input with
	// this header, false for all; nil for all.
	classes func(*event.Header) (event.ClassSet, bool)
}

// hostKinds are the kinds of rows about host threads that a recording may have. Filters
// pass them on; of the analyses, gaps uses all of them.
var hostKinds = []event.Kind{event.OS, event.Run, event.Sample, event.Backtrace}

// reading returns what is needed of files by default: the rows that flags choose.
func (p *Plan) reading(files []string) reading { return reading{files: files, selected: p.chosen} }

// reader opens an input and brings it to the stage that a job needs. It is used by one
// goroutine.
type reader struct {
	*Plan
	reading
	journal

	stdin   io.Reader
	input   *keptInput     // standard input that may have to be read again, else nil
	noSteps bool           // no steps could be identified
	leave   []int32        // ranks whose steps could not be identified, for analyses that must know before they begin
	unclear *step.NotFound // why there are no steps, if that turned out at the end; else nil
}

// read returns a reader of an input.
func (p *Plan) read(in reading) *reader {
	return &reader{Plan: p, reading: in, journal: journal{call: p.Call}, stdin: p.Stdin}
}

// fromStdin reports whether files stand for standard input.
func fromStdin(files []string) bool { return len(files) == 0 || len(files) == 1 && files[0] == "-" }

// readOnce reports whether files cannot be read again: standard input and pipes.
func readOnce(files []string) bool {
	return fromStdin(files) || slices.ContainsFunc(files, cli.IsStream)
}

// noInput refuses a terminal as input, since the command would wait for it silently.
func noInput(name, what string) error {
	return cli.Misuse("no input", "give a file, or pipe "+what+" in; '"+name+" --help' shows how")
}

// events opens the input and brings it to a stage.
func (r *reader) events(at source.Stage) (event.Source, error) {
	in, err := r.open()
	if err != nil {
		return nil, err
	}
	if in.Table != nil {
		return nil, cli.Misuse("the input holds "+in.Table.Schema+" rows, not events", "give what comes before metrics")
	}
	return r.bring(in.Events, at)
}

// open opens the files, or standard input if there are none. An input is closed when
// the command ends. What it says about itself is logged once, by the first filter of a
// pipe.
func (r *reader) open() (in *source.Input, err error) {
	opt := r.options()
	if fromStdin(r.files) {
		if cli.IsTerminal(r.stdin) {
			return nil, noInput(r.Name, "a stream")
		}
		in, err = source.OpenStdin(r.stdin, opt)
	} else {
		progress := r.Progress()
		opt.Progress, opt.Memory = progress.Rows, r.memory.ofReports()
		in, err = source.Open(r.files, opt)
		progress.Done()
	}
	if err != nil {
		return nil, err
	}
	r.Cleanup(in.Close)
	r.inputs = append(r.inputs, in)
	// Streams and checkpoints keep no rows. Of reports, a quarter of the budget is rows
	// outside the Go heap (package nsys).
	if r.memory.reports = r.memory.reports || in.Fresh; !r.memory.reports {
		r.memory.limit(0)
	}
	if in.Events != nil {
		if err := r.checkChosen(in.Events.Header()); err != nil {
			return nil, err
		}
		in.Events = r.notEmpty(in.Events)
	}
	if in.Fresh || in.Events != nil && !fromStdin(r.files) {
		r.ofReports(in.Events.Header())
		for _, note := range in.Events.Header().Provenance().Notes {
			if !r.out.reports { // else the report has them
				r.Log(note)
			}
		}
	}
	return in, nil
}

// options returns the options for opening the input.
func (r *reader) options() *source.Options {
	opt := &source.Options{
		Context: r.Context, Selection: r.selected, Separate: r.Bool("separate"), Partial: r.Bool("partial"), Python: r.Bool("python"),
		Columns: r.columnsOf, Launched: r.launchedOf, HostClasses: r.classesOf, Host: r.host, Callers: r.callers,
	}
	if !r.noSteps {
		opt.Pause = r.finding.pause
	}
	return opt
}

// columnsOf returns the columns that are needed of an input with a header.
func (r *reader) columnsOf(h *event.Header) event.Set {
	if r.columns != 0 && source.StageOf(h) == source.Raw {
		return r.columns | isolate.Columns(h, r.steps())
	}
	return r.columns
}

// launchedOf returns the class of the kernels whose launch calls are needed, false for
// all: finding steps may need few of them, and nothing else may need any.
func (r *reader) launchedOf(h *event.Header) (event.Class, bool) {
	const launch event.Set = 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread
	if r.columns == 0 || r.columns&launch != 0 {
		return 0, false
	}
	return isolate.Launched(h, r.steps())
}

// classesOf returns the classes of API calls and NVTX ranges that are needed, false for
// all: measuring needs few. If rows are chosen by time or step, all are needed, because
// it is an error if there are none.
func (r *reader) classesOf(h *event.Header) (event.ClassSet, bool) {
	if r.classes == nil || source.StageOf(h) != source.Raw || isRange(&r.selected) {
		return 0, false
	}
	measured, few := r.classes(h)
	stepping, fewer := isolate.HostClasses(h, r.steps())
	return measured | stepping, few && fewer
}

// checkChosen refuses input from which an earlier filter left out rows that an analysis
// or its window needs.
func (r *reader) checkChosen(h *event.Header) error {
	for i := range h.Reports {
		if h.Reports[i].ChosenSteps && r.String("window") == metric.WindowTrace {
			return r.chosenWindow(", and a filter before this one did")
		}
		if kept := h.Reports[i].Kinds; kept != nil && r.analyses() {
			return r.checkKinds(kept, "a --kind before", "give that filter no --kind")
		}
	}
	return nil
}

// notEmpty returns the chosen rows. They end with an error if --from and --to leave
// none.
func (r *reader) notEmpty(chosen event.Source) event.Source {
	if !isRange(&r.selected) || r.selected.Kinds != nil {
		return chosen
	}
	return &notEmpty{Source: chosen}
}

// steps returns the options for finding steps.
func (r *reader) steps() isolate.Options {
	opt := r.finding.opt
	opt.Log, opt.Warn = r.Log, r.Warn
	return opt
}

// bring runs the stages from that of src to at; stages that src has passed are skipped,
// and their flags are refused. If steps cannot be found and the analysis can do
// without, it returns src itself; also if isolate was told to leave them out.
func (r *reader) bring(src event.Source, at source.Stage) (event.Source, error) {
	have := source.StageOf(src.Header())
	if !r.mayReadAgain(src.Header()) {
		if k := r.input; k != nil && k.copy != nil { // the input need not be read again
			k.copy.Truncate(0)
			k.copy = nil
		}
	}
	if src.Header().LeftOut() && at > source.Raw {
		return r.leftOut(src)
	}
	if have > source.Raw && !r.saved {
		if err := r.refuse(names(stepFlags), "the steps were found already"); err != nil {
			return nil, err
		}
	}
	if how := src.Header().Isolation; how != nil && how.Busy == "all" && r.analyses() && !r.IsSet("busy") && r.Name != Whatif.Name { // which counts no idle time
		r.Warn("isolate took copies and memsets for GPU activity, and " + r.Name + " does not: give --busy all to both")
	}
	if have < source.Isolated && at >= source.Isolated {
		if r.finding.none || r.noSteps {
			return src, r.refuseSteps(src)
		}
		isolated, err := r.isolate(src)
		if err != nil {
			return src, r.without(src, err)
		}
		src = isolated
	}
	if have > source.Raw && r.noSteps {
		return dropSteps(src)
	}
	if have < source.Phased && at >= source.Phased {
		return r.phase(src)
	}
	return src, nil
}

// leftOut brings a stream without steps (isolate --by none) to where --by none brings a
// report. Filters pass it on unchanged.
func (r *reader) leftOut(src event.Source) (event.Source, error) {
	if err := r.refuse(names(stepFlags), "isolate --by none left the steps out already"); err != nil {
		return nil, err
	}
	if err := r.refuseSteps(src); err != nil || !r.analyses() {
		return src, err
	}
	if r.perStep {
		return nil, r.leavesOut("leave --per-step out")
	}
	return step.Relabel(src, src.Header(), nil), nil
}

// refuseSteps refuses a choice of steps if there are none.
func (r *reader) refuseSteps(src event.Source) error {
	if r.selected.Steps != nil && source.StageOf(src.Header()) == source.Raw {
		return cli.Misuse("--from and --to choose steps, and there are none", "give times with their units, or choose after isolate")
	}
	return nil
}

// isolate finds steps, and applies a choice of steps.
func (r *reader) isolate(src event.Source) (event.Source, error) {
	if r.finding.none {
		return step.LeaveOut(src), r.refuseSteps(src)
	}
	opt := r.steps()
	opt.BusyAll, opt.Columns, opt.Hold = r.finding.busyAll, r.columns, aheadBatches
	onePass := r.onePass && !r.finding.strict && r.selected.Steps == nil
	apart := (r.apart || onePass) && !r.finding.strict
	opt.Leave, opt.Unclear = r.leave, func(none *step.NotFound) bool {
		switch {
		case apart && none.Ranks != nil:
			r.Warn(none.Msg + ofOthers)
			return true
		case onePass:
			r.withoutSteps(none)
		}
		return onePass
	}
	isolated, err := isolate.New(src, opt)
	if none := (*step.NotFound)(nil); onePass && !r.finding.trace && errors.As(err, &none) {
		r.withoutSteps(none)
		return step.Without(src), nil
	}
	if err != nil {
		return nil, err
	}
	chosen, err := (&checkpoint.Selection{Steps: r.selected.Steps}).Filter(r.ahead(isolated))
	return r.notEmpty(chosen), err
}

// phase distinguishes context from generation steps. It does nothing for a whole trace.
func (r *reader) phase(src event.Source) (event.Source, error) {
	if src.Header().LeftOut() {
		return src, nil
	}
	return step.NewTagger(src, r.Log)
}

// ofOthers follows the reason why a rank's steps cannot be identified although those of
// others can.
const ofOthers = ": figures of steps are those of the other ranks"

// wholeTrace follows the reason why no steps were found.
const wholeTrace = ": the figures are of the whole trace"

// without returns nil if the analysis can go on although finding steps failed.
func (r *reader) without(src event.Source, err error) error {
	var none *step.NotFound
	switch {
	case !errors.As(err, &none):
	case r.finding.trace:
		r.Warn(none.Msg + wholeTrace)
		return nil
	case r.doWithout(none):
		return r.refuseSteps(src)
	}
	return err
}

// doWithout reports whether the whole trace will do if no steps can be identified, and
// warns that it is used.
func (r *reader) doWithout(none *step.NotFound) bool {
	if !r.whole || r.finding.strict {
		return false
	}
	r.noSteps = true
	r.Warn(none.Msg + wholeTrace)
	return true
}

// withoutSteps records that steps cannot be identified; every report says so from here
// on. Earlier remarks about steps are dropped.
func (r *reader) withoutSteps(none *step.NotFound) {
	r.call.Told(r.own)
	r.unclear, r.own = none, nil
	r.Warn(none.Msg + wholeTrace)
}

// orWhole runs an analysis. If it turns out after reading that steps cannot be
// identified, it runs the analysis again without steps, or without the ranks in
// question if others are known. If the input cannot be read again, the error stays,
// unless the analysis can still do without steps (onePass).
func (r *reader) orWhole(run func() error) error {
	r.whole = true
	var err error
	if r.input, err = r.keepInput(); err != nil {
		return err
	}
	err = run()
	var none *step.NotFound
	if !errors.As(err, &none) {
		return err
	}
	if repeat, trouble := r.readAgain(none.Isolated); trouble != nil || !repeat {
		return cmp.Or(trouble, err)
	}
	r.call.Told(r.own) // earlier remarks are about the steps
	r.inputs, r.own = nil, nil
	switch {
	case none.Isolated:
		r.noSteps = true
	case len(none.Ranks) > 0 && !r.finding.strict:
		r.leave = none.Ranks
		r.Warn(none.Msg + ofOthers)
	case !r.doWithout(none):
		return err
	}
	return run()
}

// readAgain makes the next read start from the beginning; false if it cannot. If the
// input came with steps, those of all ranks must be unidentifiable.
func (r *reader) readAgain(isolated bool) (bool, error) {
	if !readOnce(r.files) {
		if isolated {
			return allUnclear(source.Open(r.files, &source.Options{}))
		}
		return true, nil
	}
	in, err := r.input.again()
	if err != nil || in == nil {
		return false, err
	}
	r.stdin, r.input = in, nil
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
