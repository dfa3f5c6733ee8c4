package command

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strconv"

	"github.com/hostbound/hostbound/pkg/analysis/gap"
	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/arrow"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/step"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/spill"
)

// Whatif moves events to where they would have been.
var Whatif = manual("whatif", cli.Command{
	Flags: slices.Concat(whatifFlags, outputFlags("whatif"), changeFlags, isolateFlags, selectFlags),
	Run:   planned("whatif", planWhatif),
})

// whatifFlags are the flags of a filter whose output may be a report.
var whatifFlags = []cli.Flag{
	{Name: "report", Usage: "instead of rows, write predicted step times, for the given changes or else for a table of candidates; the default on a terminal", Default: false},
	stepFlag,
	topFlag,
}

// changes is the heading of the flags that define the scenario.
const changes = "Changes"

// changeFlags define the scenario.
var changeFlags = []cli.Flag{
	{Name: "host", Usage: "multiply all host time by `F`; sleeps, I/O and other waits in the operating system stay as they are", Check: checkChange("host"), Group: changes},
	{Name: "range", Usage: "multiply host time in ranges named like GLOB, as `GLOB=F`, or lengthen or shorten each by a time, as GLOB=-50us", Default: []string(nil), Check: checkChange("range"), Group: changes},
	{Name: "call", Usage: "multiply host time in calls named like GLOB, as `GLOB=F`, or lengthen or shorten each, as GLOB=-50us", Default: []string(nil), Check: checkChange("call"), Group: changes},
	{Name: "gpu", Usage: "multiply the length of all GPU work by `F`", Check: checkChange("gpu"), Group: changes},
	{Name: "kernel", Usage: "multiply the length of kernels named like GLOB, as `GLOB=F`", Default: []string(nil), Check: checkChange("kernel"), Group: changes},
	{Name: "no-wait", Usage: "remove the waits of matching calls, as `CALL[@RANGE]`, both globs; with RANGE only of calls inside such ranges", Default: []string(nil), Check: checkChange("no-wait"), Group: changes},
	{Name: "why", Usage: "multiply host time of a stall class (listed by gaps under why, and gil), as `CLASS=F`, a glob: 'blocked:lock=0'", Default: []string(nil), Check: checkChange("why"), Group: changes},
	{Name: "graph", Usage: "launch the kernels that could be captured as one CUDA graph, in each step without one", Default: false, Group: changes},
	{Name: "even", Usage: "set the host time of each rank's step to the median over ranks", Default: false, Group: changes},
	{Name: "cpu-quota", Usage: "`none`: remove the time lost to a limit on CPU time", Values: []string{"none"}, Group: changes},
	{Name: "waits", Usage: "`HOW` launching threads wait for other threads: follow (until the other thread is done) or keep (as long as recorded)", Default: "follow", Values: []string{"follow", "keep"}, Group: changes},
}

// checkChange returns a check that refuses what is not a change.
func checkChange(flag string) func(string) error {
	advice := "'whatif --help' shows how changes are written"
	if flag == "host" || flag == "gpu" {
		advice = "a factor is a number from 0: 0.5 is twice as fast, 0 is gone"
	}
	return func(text string) error {
		if _, err := replay.Parse(flag, text); err != nil {
			return cli.Misuse("--"+flag+": "+err.Error(), advice)
		}
		return nil
	}
}

// scenarioOf returns the scenario that the flags define. They were checked before.
func scenarioOf(p *Plan) (s replay.Scenario) {
	for _, flag := range []string{"host", "gpu", "range", "call", "kernel", "no-wait", "why"} {
		all := []string{p.String(flag)}
		if flag != "host" && flag != "gpu" {
			all = p.Strings(flag)
		}
		for _, text := range all {
			if text != "" {
				change, _ := replay.Parse(flag, text)
				s.Changes = append(s.Changes, change)
			}
		}
	}
	for _, asked := range []struct {
		is     bool
		change replay.Change
	}{{p.Bool("graph"), replay.Graph()}, {p.Bool("even"), replay.Even()}, {p.String("cpu-quota") != "", replay.Unlimited()}} {
		if asked.is {
			s.Changes = append(s.Changes, asked.change)
		}
	}
	s.Keep = p.String("waits") == "keep"
	return s
}

// moving is the job of whatif.
type moving struct {
	*Plan
	in       reading
	scenario replay.Scenario
}

// planWhatif plans to move events, or to report what steps would take.
func planWhatif(p *Plan) (*moving, error) {
	m := &moving{Plan: p, in: p.reading(p.Files), scenario: scenarioOf(p)}
	m.in.host = hostKinds
	return m, nil
}

// run reads the rows, and keeps them if they are to be moved.
func (m *moving) run() (int, error) {
	r := m.read(m.in)
	src, err := r.events(source.Phased)
	if err != nil {
		return 0, err
	}
	if how := src.Header().Isolation; how != nil && how.Method == step.None && !how.LeftOut {
		return 0, replay.ErrNoSteps // isolate, earlier in this pipe, found none and said why
	}
	store := spill.NewStore(m.memory.budget / 8)
	m.Cleanup(func() { store.Close() })
	var again rereads
	if !m.out.reports || m.out.page() {
		if src, again, err = m.twice(r, src); err != nil {
			return 0, err
		}
	}
	if m.out.reports && len(m.scenario.Changes) == 0 {
		p, t, err := m.table(src, store)
		if err != nil {
			return 0, err
		}
		return 0, m.tell(r, p, t, again)
	}
	t, err := replay.Read(src, store, []replay.Scenario{m.scenario})
	if err != nil {
		return 0, err
	}
	if m.out.reports {
		p, err := t.Predict(m.scenario)
		if err == nil {
			err = p.Missing()
		}
		if err != nil {
			return 0, err
		}
		return 0, m.tell(r, p, t, again)
	}
	return 0, m.move(r, t, again, src.Header().Isolation == nil)
}

// rereads returns the rows of an input again, from the first one.
type rereads func() (event.Source, error)

// twice returns the rows of src, and a function that returns them again after all were
// read. Files that contain them as they are are read again; other input is kept in a
// temporary file.
func (m *moving) twice(r *reader, src event.Source) (event.Source, rereads, error) {
	in := r.inputs[len(r.inputs)-1]
	if !readOnce(m.in.files) && !in.Fresh && source.StageOf(in.Events.Header()) == source.Phased {
		return src, func() (event.Source, error) {
			again, err := source.Open(m.in.files, r.options())
			if err != nil {
				return nil, err
			}
			m.Cleanup(again.Close)
			return again.Events, nil
		}, nil
	}
	kept, err := m.newSpool(src.Header())
	if err != nil {
		return nil, nil, err
	}
	return event.Tee(src, kept.out.Write), kept.read, nil
}

// move writes the rows where they would have been. whole: the trace has no steps,
// because of --by none here or earlier.
func (m *moving) move(r *reader, t *replay.Trace, again rereads, whole bool) error {
	if len(m.scenario.Changes) > 0 {
		p, err := t.Each([]replay.Scenario{m.scenario}, false)
		if err == nil {
			for _, doubt := range p.Doubts() {
				r.Warn(doubt)
			}
			err = p.Missing()
		}
		if err != nil && !errors.Is(err, replay.ErrNoSteps) {
			return err
		}
	}
	rows, err := again()
	if err != nil {
		return err
	}
	moved, err := t.Move(m.scenario, rows)
	if err != nil {
		return err
	}
	if whole {
		moved = step.LeaveOut(moved)
	}
	return r.write(moved)
}

// table reports what would help, with findings if looking for them fits into memory.
func (m *moving) table(src event.Source, store *spill.Store) (*replay.Report, *replay.Trace, error) {
	rows := int64(0)
	for kind := range event.Kinds {
		rows += src.Header().Rows(event.Kind(kind))
	}
	if gap.PredictedRow*rows <= m.memory.budget {
		return gap.Predict(src, store)
	}
	t, err := replay.Read(src, store, nil)
	if err != nil {
		return nil, nil, err
	}
	p, err := t.Table(nil)
	if err != nil {
		return nil, nil, err
	}
	p.Warnings = append(p.Warnings, "findings are left out of the table, as they would take more than --memory; gaps says what each saves")
	return p, t, nil
}

// tell writes the report. A page shows a step as it is and as it would be.
func (m *moving) tell(r *reader, p *replay.Report, t *replay.Trace, again rereads) error {
	p.Warnings = r.merged(p.Warnings)
	m.out.tell(p.Warnings)
	d := p.Document()
	if again != nil {
		if err := m.showStep(p, t, again, d); err != nil {
			return err
		}
	}
	return m.out.analysis(p, d, nil)
}

// showStep adds a step to a page, as it is and as it would be with the changes, or else
// with the change that gains most.
func (m *moving) showStep(p *replay.Report, t *replay.Trace, again rereads, d *report.Document) error {
	rank, number, scenario := p.Shown()
	if text := m.String("step"); text != "" {
		number, _ = strconv.ParseInt(text, 10, 64)
	}
	if number < 0 {
		return nil
	}
	now, err := again()
	if err != nil {
		return err
	}
	sides := []timeline.Side{{Name: "As it is"}, {Name: "As it would be, " + scenario.String()}}
	if sides[0].Timeline, err = watchStep(now, number); err != nil {
		return err
	}
	if err := m.checkShown(sides[0].Timeline); err != nil {
		return err
	}
	rows, err := again()
	if err != nil {
		return err
	}
	moved, err := t.Move(scenario, rows)
	if err != nil {
		return err
	}
	if sides[1].Timeline, err = watchStep(moved, number); err != nil {
		return err
	}
	timeline.Same(d.SectionAfter("", stepsInDetail), rank, sides...)
	return nil
}

// watchStep collects one step of a source.
func watchStep(src event.Source, number int64) (*timeline.Timeline, error) {
	c := timeline.New(src.Header(), timeline.Options{Numbers: []int64{number}})
	if err := event.Each(src, c.Add); err != nil {
		return nil, err
	}
	return c.Close(), nil
}

// spool keeps the rows of a source in a temporary file, to read them again.
type spool struct {
	file *os.File
	buf  *bufio.Writer
	out  *arrow.Writer
}

// newSpool returns a spool that is removed when the command ends.
func (p *Plan) newSpool(h *event.Header) (*spool, error) {
	file, err := os.CreateTemp("", "hostbound-")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name())
	p.Cleanup(func() { file.Close() })
	s := &spool{file: file, buf: bufio.NewWriterSize(file, 1<<20)}
	s.out = arrow.NewWriter(s.buf, h)
	return s, nil
}

// read returns the rows from the first one. All of them must have been written.
func (s *spool) read() (event.Source, error) {
	if s.out != nil {
		if err := s.out.Close(); err != nil {
			return nil, err
		}
		s.out = nil
	}
	if err := s.buf.Flush(); err != nil {
		return nil, err
	}
	if _, err := s.file.Seek(0, 0); err != nil {
		return nil, err
	}
	events, _, err := arrow.Open(bufio.NewReaderSize(s.file, 1<<20))
	return events, err
}
