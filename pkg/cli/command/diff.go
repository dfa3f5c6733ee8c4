package command

import (
	"cmp"
	"slices"

	"github.com/hostbound/hostbound/pkg/analysis/compare"
	"github.com/hostbound/hostbound/pkg/analysis/timeline"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/event"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Diff says which host operation costs more per step in one run than in another,
// and whether that is more than noise.
var Diff = manual("diff", cli.Command{
	Installed: "tracediff",
	Status:    ", 1 if a --fail-on condition is met",
	Foreign:   trtllmFlags,
	Flags:     slices.Concat(diffFlags, outputFlags("diff"), baselineFlags, archiveFlags, isolateFlags, selectFlags),
	Run: func(c *cli.Call) (int, error) {
		if c.IsSet("archive") {
			return planned("diff", planArchive)(c)
		}
		return planned("diff", planDiff)(c)
	},
})

// statusFound is the exit status of diff if a --fail-on condition is met.
const statusFound = 1

var diffFlags = []cli.Flag{
	{Name: "baseline", Usage: "a `RUN` of the baseline: a file, several of one run separated by commas, a pattern such as 'a/*.sqlite', or the name of one that --save-baseline kept; repeatable, once for each repetition", Default: []string{}, File: cli.Reads},
	{Name: "target", Usage: "a `RUN` of the target, given like --baseline", Default: []string{}, File: cli.Reads},
	{Name: "baseline-label", Usage: "call the baseline `NAME`", Check: checkLabel},
	{Name: "target-label", Usage: "call the target `NAME`", Check: checkLabel},
	{Name: "phase", Usage: "compare `STEPS`: steady (the default: generation steps with the most requests), context, generation or all", Values: []string{compare.Steady, compare.Context, compare.Generation, compare.All}},
	{Name: "match", Usage: "`batch`: compare only steps with equal numbers of requests, as many on both sides", Values: []string{compare.MatchBatch}},
	{Name: "why", Usage: "also divide idle time by why launching threads stalled: locks, sleep, files, messages, no CPU, who holds the GIL", Default: false},
	{Name: "fail-on", Usage: "end with status 1 if there is evidence for `CONDITION`: regression, or NAME>LIMIT such as 'wall>3%' or '_update_requests>100us'; repeatable", Default: []string{}, Check: checkGate},
	reportFlag,
	topFlag,
	sourceMapFlag,
	junitFlag,
}

// diffColumns are the columns that comparing needs.
const diffColumns = metricColumns | 1<<event.ColLaunchStart | 1<<event.ColLaunchEnd | 1<<event.ColLaunchThread

// comparing is the job of diff.
type comparing struct {
	*Plan
	journal  // warnings of the comparison; each run has its own journal
	opt      compare.Options
	profile  compare.ProfileOptions
	gates    []compare.Gate
	baseline side
	target   side // without runs if there is only one side
	named    baselines
}

// side is one of the two sides of a comparison.
type side struct {
	runs   [][]string // files of each run
	label  string     // "" for a label derived from the runs
	inputs []*source.Input
	shown  *timeline.Collector // steps of the first run, nil if not wanted
}

// planDiff plans a comparison. It refuses everything that flags and file names can get
// wrong.
func planDiff(p *Plan) (*comparing, error) {
	if err := p.needSteps("gaps --by none shows where the idle time of each trace goes"); err != nil {
		return nil, err
	}
	d := &comparing{Plan: p, journal: journal{call: p.Call}, named: baselines{p.Name, p.String("baselines"), p.String("save-baseline"), p.Bool("replace-baseline")}}
	d.opt = compare.Options{Phase: p.String("phase"), Match: p.String("match")}
	d.profile = compare.ProfileOptions{BusyAll: p.finding.busyAll, Why: p.Bool("why")}
	d.baseline.label, d.target.label = p.String("baseline-label"), p.String("target-label")
	var err error
	if d.opt.Sources, err = sourcesOf(p); err != nil {
		return nil, err
	}
	if err := d.planSides(); err != nil {
		return nil, err
	}
	d.profile.Memory = p.memory.keep(len(d.baseline.runs) + len(d.target.runs))
	return d, d.planGates()
}

// planSides finds the runs of both sides.
func (d *comparing) planSides() (err error) {
	if d.baseline.runs, d.target.runs, err = d.sides(&d.named); err != nil {
		return err
	}
	for _, file := range onBoth(d.baseline.runs, d.target.runs) {
		d.Warn(file + " is in the baseline and in the target: it is compared with itself")
	}
	both := slices.Concat(d.baseline.runs, d.target.runs)
	return cmp.Or(d.Guard(slices.Concat(both...)), checkRuns(both...), d.named.check(d.newest().runs))
}

// alone reports whether there is only one side.
func (d *comparing) alone() bool { return len(d.target.runs) == 0 }

// newest returns the target, or the only side.
func (d *comparing) newest() *side {
	if d.alone() {
		return &d.baseline
	}
	return &d.target
}

// planGates parses the conditions of --fail-on. --junit without any has one.
func (d *comparing) planGates() error {
	given := d.Strings("fail-on")
	if d.alone() && (d.IsSet("junit") || len(given) > 0) {
		return cli.Misuse("--junit and --fail-on of one run: there is nothing to compare with", "give a target")
	}
	if len(given) == 0 && d.IsSet("junit") {
		given = []string{"regression"}
	}
	for _, text := range given {
		g, err := compare.ParseGate(text)
		if err != nil {
			return err
		}
		d.gates = append(d.gates, g)
	}
	return nil
}

// compare reads both sides and compares them.
func (d *comparing) compare() (*compare.Comparison, error) {
	first, err := d.readSide(&d.baseline)
	if err != nil {
		return nil, err
	}
	var second *compare.Run
	if !d.alone() {
		if second, err = d.readSide(&d.target); err != nil {
			return nil, err
		}
		if err := sameSource(d.baseline.inputs, d.target.inputs); err != nil {
			return nil, err
		}
	}
	result, err := compare.Compare(first, second, d.opt)
	if err != nil {
		return nil, err
	}
	result.Warnings = appendNew(result.Warnings, d.own...)
	return result, nil
}

// readSide reads the runs of a side. Each run keeps its own warnings, so that they can
// be distinguished. Inputs are closed when the command ends.
func (d *comparing) readSide(s *side) (*compare.Run, error) {
	var all []*compare.Run
	for k, files := range s.runs {
		r := d.read(d.readingOf(files, k == 0))
		run, err := d.readRun(r, s, k == 0)
		s.inputs = append(s.inputs, r.inputs...)
		if err != nil {
			return nil, err
		}
		d.Cleanup(func() { run.Close() })
		run.Warnings = r.merged(run.Warnings)
		for _, in := range r.inputs { // its rows and names are no longer needed
			in.Done()
		}
		all = append(all, run)
	}
	joined, err := compare.Join(all)
	if err != nil {
		return nil, cli.Misuse(err.Error(), "--baseline and --target take one run each time; more files of one run: a0.sqlite,a1.sqlite")
	}
	if s.label != "" {
		joined.Name = s.label
	}
	return joined, nil
}

// readingOf returns what is wanted of a run.
func (d *comparing) readingOf(files []string, first bool) reading {
	in := d.reading(files)
	in.columns, in.saved = diffColumns, d.named.holds(files)
	if d.profile.Why {
		in.host = hostKinds
		in.columns |= event.HostCols
	}
	if first && d.out.page() {
		in.columns |= closeupColumns
	}
	return in
}

// readRun reads a run. From the first run of a side it collects steps for a page.
func (d *comparing) readRun(r *reader, s *side, first bool) (*compare.Run, error) {
	src, err := r.events(source.Phased)
	if err != nil {
		return nil, err
	}
	if first {
		src, s.shown = d.watchCloseups(src, 0)
	}
	return compare.Profile(src, d.profile)
}

// checkGate refuses a condition that cannot be parsed, before anything is read.
func checkGate(text string) error {
	if _, err := compare.ParseGate(text); err != nil {
		return cli.Misuse("--fail-on: "+err.Error(), "--fail-on regression, --fail-on 'wall>3%'")
	}
	return nil
}

// run compares, writes the report and returns the exit status.
func (d *comparing) run() (int, error) {
	result, err := d.compare()
	if err != nil {
		return 0, err
	}
	doc, evidence := result.Document(), d.Name+" --baseline a.sqlite --target b.sqlite"
	if d.alone() {
		evidence = d.Name + " trace.sqlite"
	}
	aboutSides(doc, d.baseline.inputs, d.target.inputs)
	d.showSides(doc, result.StepsSection(), &d.baseline, &d.target)
	goOn(doc, &result.Handoff, evidence)
	d.out.tell(result.Warnings)
	err = d.out.analysis(result, doc, func() (*table.Table, error) { return result.Table(), nil })
	if err != nil {
		return 0, err
	}
	status, err := d.checkGates(result)
	if status != 0 || err != nil || d.named.save == "" {
		return status, err
	}
	if err := d.named.keep(d.newest().runs, d.saveRun); err != nil {
		return 0, err
	}
	d.Log("saved as baseline " + d.named.save)
	return 0, nil
}

// checkGates checks the conditions and returns the exit status. The first condition
// that cannot be decided is an error; its test has trouble, neither passed nor failed.
func (d *comparing) checkGates(result *compare.Comparison) (status int, err error) {
	given := d.IsSet("fail-on")
	var tests []report.Test
	var undecided error
	for _, g := range d.gates {
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
				d.Log("failed on " + g.String() + ": " + why)
			}
		}
		tests = append(tests, test)
	}
	if err := d.out.tests(tests); err != nil || !given {
		return 0, err
	}
	return status, undecided
}
