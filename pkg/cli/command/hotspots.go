package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/analysis/replay"
	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/lineprof"
	"github.com/hostbound/hostbound/pkg/format/source"
	"github.com/hostbound/hostbound/pkg/hotspot"
	"github.com/hostbound/hostbound/pkg/hotspot/round"
	"github.com/hostbound/hostbound/pkg/report"
	"github.com/hostbound/hostbound/pkg/trace/spill"
	"github.com/hostbound/hostbound/pkg/trace/table"
)

// Hotspots says what kind of waste the hot lines of a Python profile are.
var Hotspots = manual("hotspots", cli.Command{
	Flags: slices.Concat(hotspotsFlags, outputFlags("hotspots")),
	Run:   planned("hotspots", planHotspots),
})

// Values of --by.
const (
	byLine  = "line"
	byRound = "round"
)

var hotspotsFlags = []cli.Flag{
	{Name: "by", Usage: "`UNIT` of rows: line or round", Default: byLine, Values: []string{byLine, byRound}},
	{Name: "top", Usage: "list the first `N` hotspots, 0 for all", Default: defaultTop, Check: checkCount("top", 0)},
	{Name: "sum", Usage: "the files are parts of one run, not ranks: add them up", Default: false},
	{Name: "steps", Usage: "the run had `N` forward steps (default: the hits of the outermost function)", Default: 0, Check: checkCount("steps", 0)},
	{Name: "layers", Usage: "the model has `N` layers", Default: 0, Check: checkCount("layers", 0)},
	{Name: "source", Usage: "read the source lines that a profile lacks from files below `DIR`; rows have them, too", File: cli.Reads},
	{Name: "evidence", Usage: "rank lines by gain with a trace as `FILE` (several ranks: separated by commas, or a pattern), by GPU wait with the JSON of verdict, diff or gaps (- for standard input)", File: cli.Reads},
	{Name: "bench", Usage: "the benchmark of a round, as `NAME=FILE`: JSON of trtllm-bench, or of the serving benchmarks of vLLM and SGLang; repeatable, for more runs and rounds", Default: []string{}},
	{Name: "notes", Usage: "read what each round changed from the TOML or JSON `FILE`", File: cli.Reads},
	{Name: "rounds", Usage: "stop after `N` rounds", Default: round.DefaultMax, Check: checkCount("rounds", 1)},
	{Name: "targets", Usage: "print which functions of `ENGINE` (trtllm, vllm or sglang) to profile first, as an environment variable for its profiler", Values: hotspot.EngineNames()},
	{Name: "types", Usage: "print the types of waste, how each is recognised, and what to do about it", Default: false},
}

// checkCount returns a check that refuses what is not an integer of at least least.
func checkCount(flag string, least int) func(string) error {
	return func(text string) error {
		if n, err := strconv.Atoi(text); err != nil || n < least {
			return cli.Misuse("--"+flag+" "+text+" is not a count", fmt.Sprintf("give a whole number, %d or more", least))
		}
		return nil
	}
}

// profiled is the report on profiles and on rounds of them.
type profiled struct {
	*hotspot.Report
	Rounds  []round.Round  `json:"rounds"`
	Stop    *round.Stop    `json:"stop"`
	Summary *round.Summary `json:"summary"`

	result *round.Result
}

// Brief returns the brief report of the profile, or of the rounds if there are several.
func (p profiled) Brief() *report.Brief {
	if len(p.Rounds) > 1 {
		return p.result.Brief(p.Report.Brief())
	}
	return p.Report.Brief()
}

// planHotspots plans to read profiles and rounds of them, or to print what is known
// about types of waste.
func planHotspots(p *Plan) (job, error) {
	name := p.String("targets")
	if (name != "" || p.Bool("types")) && len(p.Files) > 0 {
		return nil, cli.Misuse("--targets and --types read no profile", "leave "+p.Files[0]+" out")
	}
	if name != "" {
		if p.IsSet("format") || p.IsSet("output") {
			return nil, cli.Misuse("--targets prints one line for a shell", "leave --format and -o out")
		}
		return targets{p, hotspot.EngineNamed(name)}, nil
	}
	if p.Bool("types") {
		if !p.out.reports {
			return nil, cli.Misuse("the types as rows", "--types takes --format text or json")
		}
		return types{p}, nil
	}
	rounds, err := planRounds(p)
	if err == nil && rounds.stdin && p.String("evidence") == "-" {
		err = cli.Misuse("profile and evidence both from standard input", "name the file of one of them")
	}
	return &profiling{p, rounds}, err
}

// targets is the job of hotspots --targets.
type targets struct {
	*Plan
	of *hotspot.Engine
}

func (t targets) run() (int, error) {
	_, err := fmt.Fprintln(t.Stdout, t.of.Assign(nil))
	return 0, err
}

// types is the job of hotspots --types.
type types struct{ *Plan }

func (t types) run() (int, error) {
	known := hotspot.Knowledge()
	return 0, t.out.analysis(known, known.Document(), nil)
}

// profiling is the job of hotspots.
type profiling struct {
	*Plan
	rounds *roundPlan
}

// run reads all inputs and then writes the answer. Profiles without rounds are one
// round, which the answer does not mention.
func (p *profiling) run() (int, error) {
	trace, err := p.evidence()
	if err != nil {
		return 0, err
	}
	notes, err := readNotes(p.Plan, p.rounds.notes)
	if err != nil {
		return 0, err
	}
	view := hotspot.View{Trace: trace != nil}
	inputs := make([]round.Input, len(p.rounds.rounds))
	for i := range p.rounds.rounds {
		if inputs[i], err = p.readRound(&p.rounds.rounds[i]); err != nil {
			return 0, err
		}
		if trace != nil {
			view.Remarks = trace.Weigh(inputs[i].Report)
		}
	}
	if files := p.traceFiles(); files != nil {
		p.predict(inputs[len(inputs)-1].Report, files)
	}
	result := round.Evaluate(inputs, round.Options{Max: p.Int("rounds"), Notes: notes})
	rep := inputs[result.Last].Report
	rep.Warnings = append(rep.Warnings, result.Warnings...)
	if top := p.Int("top"); top > 0 {
		rep.Hotspots = rep.Hotspots[:min(top, len(rep.Hotspots))]
	}
	if !p.rounds.named {
		result.Rounds = []round.Round{}
	}
	return 0, p.out.analysis(profiled{rep, result.Rounds, &result.Stop, &result.Summary, result}, result.With(rep.Document(view)),
		func() (*table.Table, error) { return p.rows(rep, result), nil })
}

// rows returns the rows of the unit that --by names. They contain source text only with
// --source: rows travel further than reports.
func (p *profiling) rows(rep *hotspot.Report, result *round.Result) *table.Table {
	if p.String("by") == byRound {
		return result.Rows()
	}
	return rep.HotspotRows(p.IsSet("source"))
}

// hotspotRow returns an empty table of the rows that a call asks for.
func hotspotRow(c *cli.Call) (*table.Table, error) {
	p := &profiling{Plan: &Plan{Call: c}}
	return p.rows(&hotspot.Report{}, &round.Result{}), nil
}

// evidence reads what a trace says, nil if none is given.
func (p *profiling) evidence() (*hotspot.Trace, error) {
	path := p.String("evidence")
	if path == "" {
		return nil, nil
	}
	blame := notThis("--evidence "+path, "it takes the JSON of a report: gaps trace.sqlite --format json | hotspots --evidence - profile.txt")
	if files := p.traceFiles(); files != nil {
		var out bytes.Buffer
		if cli.Run(&Gaps, append([]string{"--format", formatJSON, "--"}, files...), strings.NewReader(""), &out, p.Stderr) != 0 {
			return nil, cli.Misuse("the trace of --evidence does not answer", "see what gaps says of it above")
		}
		return hotspot.Read(&out)
	}
	return readFile(p.Plan, path, hotspot.Read, blame)
}

// traceFiles returns the files of --evidence if they are a trace, nil if they are JSON
// or not given.
func (p *profiling) traceFiles() []string {
	files, err := filesOf(p.String("evidence"))
	if err != nil || len(files) == 0 || source.Recognise(files[0]) == nil {
		return nil
	}
	return files
}

// predictions is the most hotspots that are replayed. Source: no report shows more.
const predictions = 10

// predict sets the gain of hotspots: whatif's prediction without their ranges. Real
// work is not asked about. A trace that cannot be replayed causes a warning only: the
// rest of the report stands.
func (p *profiling) predict(rep *hotspot.Report, files []string) {
	var asked []*hotspot.Hotspot
	var scenarios []replay.Scenario
	for i := range rep.Hotspots {
		h := &rep.Hotspots[i]
		glob, left := h.Within()
		if glob == "" || h.Type == hotspot.Compute && h.Sub != hotspot.Opaque || len(asked) == predictions {
			continue
		}
		change, err := replay.Parse("range", fmt.Sprintf("%s=%g", glob, left))
		if err != nil {
			continue // a range that no glob can match
		}
		asked, scenarios = append(asked, h), append(scenarios, replay.Scenario{Changes: []replay.Change{change}})
	}
	if len(asked) == 0 {
		return
	}
	whatif := cli.Command{Name: Whatif.Name, Flags: Whatif.Flags, Run: Body(func(w *Plan) error {
		src, err := w.Events(source.Phased, true)
		if err != nil {
			return err
		}
		store := spill.NewStore(w.memory.budget / 8)
		w.Cleanup(func() { store.Close() })
		trace, err := replay.Read(src, store, scenarios)
		if err != nil {
			return err
		}
		answer, err := trace.Predict(scenarios...)
		if err != nil {
			return err
		}
		for i, s := range answer.Scenarios {
			asked[i].GainUsPerStep, asked[i].GainCIUs = &s.GainUs, s.CIUs
		}
		return nil
	})}
	var said bytes.Buffer // what gaps reported, or why there is no answer
	if cli.Run(&whatif, append([]string{"--"}, files...), strings.NewReader(""), io.Discard, &said) != 0 {
		_, why, _ := strings.Cut(said.String(), "error: ")
		why, _, _ = strings.Cut(why, "\n")
		rep.Warnings = append(rep.Warnings, "the gain of lines is unknown: the trace cannot be replayed: "+why)
	}
	rep.ByGain()
}

// readNotes reads the notes, nil if there are none.
func readNotes(p *Plan, path string) (*round.Notes, error) {
	if path == "" {
		return nil, nil
	}
	return readFile(p, path, round.ReadNotes, notThis(path, "see the documentation of package round for what notes hold"))
}

// benchAdvice says what --bench accepts.
const benchAdvice = "--bench takes what trtllm-bench --report_json, vllm bench serve --save-result or sglang.bench_serving --output-file wrote"

// readRound reads and analyses the profiles and benchmarks of a round.
func (p *profiling) readRound(r *roundFiles) (round.Input, error) {
	in := round.Input{Name: r.name}
	var profiles []*lineprof.Profile
	for _, path := range r.profiles {
		prof, err := p.readProfile(path)
		if err != nil {
			return in, err
		}
		profiles = append(profiles, prof)
	}
	for _, path := range r.bench {
		runs, err := readFile(p.Plan, path, round.ReadBench, notThis(path, benchAdvice))
		if err != nil {
			return in, err
		}
		in.Bench = append(in.Bench, runs...)
	}
	in.Report = hotspot.Analyze(profiles, hotspot.Options{
		Steps: int64(p.Int("steps")), Layers: p.Int("layers"), Sum: p.Bool("sum"),
	})
	if r.said != "" {
		adopt := func(f io.Reader) (any, error) { return nil, in.Report.Adopt(f) }
		if _, err := readFile(p.Plan, r.said, adopt, notThis(r.said, "it is what hotspots PROFILE --evidence TRACE --format json wrote; remove it")); err != nil {
			return in, err
		}
	}
	if r.moved == "" {
		return in, nil
	}
	var err error
	in.Moved, err = readFile(p.Plan, r.moved, round.ReadMoved, notThis(r.moved, "it is what diff BEFORE AFTER --format json wrote; remove it"))
	return in, err
}

// readProfile reads a profile; "-" is standard input.
func (p *profiling) readProfile(path string) (prof *lineprof.Profile, err error) {
	blame := func(err error) error { return profileError(path, err) }
	name := path
	if path == "-" {
		name = ""
	} else if prof, err = p.pythonStacks(path); err != nil {
		return nil, err
	}
	if prof == nil {
		prof, err = readFile(p.Plan, path, func(r io.Reader) (*lineprof.Profile, error) { return lineprof.Read(name, r) }, blame)
	}
	if dir := p.String("source"); err == nil && dir != "" {
		err = addSource(prof, dir)
	}
	return prof, err
}

// addSource adds missing source to a profile, from files below a folder.
func addSource(p *lineprof.Profile, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	missing, err := p.AddSource(root.FS())
	for _, f := range missing {
		p.Warnings = append(p.Warnings, "no source of "+f.Name+" ("+f.File+") in the folder of --source")
	}
	return err
}
