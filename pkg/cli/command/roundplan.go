package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hostbound/hostbound/pkg/cli"
	"github.com/hostbound/hostbound/pkg/format/lineprof"
)

// roundPlan says which files belong to which round.
type roundPlan struct {
	rounds []roundFiles // by number
	named  bool         // the command line names rounds; otherwise there is only one
	stdin  bool         // a profile is read from standard input
	notes  string       // file of the notes, "" for none
}

// roundFiles are the files of one round.
type roundFiles struct {
	name     string
	number   int
	profiles []string // one per rank
	bench    []string // one per run, or several runs in one
	said     string   // hotspots' JSON about the profiles with a trace, "" if there is none
	moved    string   // diff's JSON about the round's trace against the round before, "" if there is none
}

// roundName matches the names of rounds: round0_baseline, round1_one_loop.
var roundName = regexp.MustCompile(`^round([0-9]{1,4})(_[A-Za-z0-9][A-Za-z0-9_+-]*)?$`)

// roundFile matches the names of a round's files in a folder.
var roundFile = regexp.MustCompile(`^(round[0-9]{1,4}(?:_[A-Za-z0-9][A-Za-z0-9_+-]*)?)(?:\.(bench))?((?:\.[A-Za-z0-9_-]+)*)\.(txt|lprof|json|jsonl)$`)

const roundHint = "rounds are named round0_baseline, round1_one_loop: hotspots round0_baseline=a.txt round1_one_loop=b.txt"

// planRounds sorts the arguments and --bench into rounds. An argument with "=" names a
// round, unless a file has that very name. Rounds are ordered by number, whatever the
// order of arguments; a name without a number is refused.
func planRounds(p *Plan) (*roundPlan, error) {
	plan := &roundPlan{notes: p.String("notes")}
	plain := roundFiles{name: "profile"}
	for _, arg := range p.Files {
		name, path, isNamed := strings.Cut(arg, "=")
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			if err := plan.addFolder(arg); err != nil {
				return nil, err
			}
		case isNamed && err != nil:
			if err := plan.add(name, path); err != nil {
				return nil, err
			}
		default:
			plain.profiles = append(plain.profiles, arg)
		}
	}
	if len(plan.rounds) > 0 && len(plain.profiles) > 0 {
		return nil, cli.Misuse(plain.profiles[0]+": rounds and files that belong to none", roundHint)
	}
	if plan.named = len(plan.rounds) > 0; !plan.named {
		if len(plain.profiles) == 0 {
			if cli.IsTerminal(p.Stdin) {
				return nil, noInput(p.Name, "a profile")
			}
			plain.profiles = []string{"-"}
		}
		for _, name := range []string{"notes", "rounds", "by"} {
			if p.IsSet(name) && (name != "by" || p.String("by") == byRound) {
				return nil, cli.Misuse("--"+name+" needs rounds", roundHint)
			}
		}
		plan.rounds = []roundFiles{plain}
	}
	if err := plan.addBenchmarks(p.Strings("bench")); err != nil {
		return nil, err
	}
	return plan, plan.finish(p.Call)
}

// add adds a profile to the round with a name.
func (p *roundPlan) add(name, path string) error {
	r, err := p.round(name)
	if err == nil {
		r.profiles = append(r.profiles, path)
	}
	return err
}

// round returns the round with a name, adding it if it is new. Numbers define the
// order, so two rounds with one number are an error.
func (p *roundPlan) round(name string) (*roundFiles, error) {
	m := roundName.FindStringSubmatch(name)
	if m == nil {
		return nil, cli.Misuse(fmt.Sprintf("%q is not the name of a round", name), roundHint)
	}
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return nil, err
	}
	for i := range p.rounds {
		switch r := &p.rounds[i]; {
		case r.name == name:
			return r, nil
		case r.number == number:
			return nil, cli.Misuse(fmt.Sprintf("%s and %s have the same number", r.name, name), roundHint)
		}
	}
	p.rounds = append(p.rounds, roundFiles{name: name, number: number})
	return &p.rounds[len(p.rounds)-1], nil
}

// addFolder adds the files of a folder that are named like rounds, and its notes. Other
// files are ignored, since such folders also hold traces and logs; a folder without a
// round is refused. --notes takes precedence over notes in the folder.
func (p *roundPlan) addFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if n := e.Name(); (n == "notes.toml" || n == "notes.json") && p.notes == "" {
			p.notes = path
		}
		m := roundFile.FindStringSubmatch(e.Name())
		if m == nil || e.IsDir() {
			continue
		}
		isBench, isJSON := m[2] != "", m[4] == "json" || m[4] == "jsonl"
		answer := isJSON && !isBench
		if answer && m[3] != ".analysis" && m[3] != ".moved" {
			continue // a trace or log of the round
		}
		r, err := p.round(m[1])
		if err != nil {
			return err
		}
		found = true
		switch {
		case answer && m[3] == ".analysis":
			r.said = path
		case answer:
			r.moved = path
		case isBench:
			r.bench = append(r.bench, path)
		default:
			r.profiles = append(r.profiles, path)
		}
	}
	if !found {
		return cli.Misuse(dir+": no rounds in this folder", "its files are to be called round0_baseline.txt, round1_one_loop.rank0.lprof, round1_one_loop.bench.json")
	}
	return nil
}

// addBenchmarks adds the files of --bench. A round may be named by its number alone.
func (p *roundPlan) addBenchmarks(given []string) error {
	for _, arg := range given {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || path == "" {
			return cli.Misuse("--bench "+arg+": want NAME=FILE", "for example --bench round0_baseline=bench.json")
		}
		i := slices.IndexFunc(p.rounds, func(r roundFiles) bool {
			return p.named && (r.name == name || fmt.Sprintf("round%d", r.number) == name)
		})
		if i < 0 {
			return cli.Misuse("--bench "+arg+": there is no round "+name, roundHint)
		}
		p.rounds[i].bench = append(p.rounds[i].bench, path)
	}
	return nil
}

// finish sorts the rounds. It refuses rounds without a profile, and outputs that are
// inputs.
func (p *roundPlan) finish(call *cli.Call) error {
	slices.SortFunc(p.rounds, func(a, b roundFiles) int { return cmp.Compare(a.number, b.number) })
	for _, r := range p.rounds {
		if len(r.profiles) == 0 {
			return cli.Misuse(r.name+" has a benchmark, but no profile", "give it one: "+r.name+"=FILE")
		}
		files := slices.Concat(r.profiles, r.bench)
		for i, path := range r.profiles {
			if slices.ContainsFunc(r.profiles[:i], func(o string) bool { return cli.SameFile(o, path) }) {
				return cli.Misuse(path+" is named twice", "give each file once: a rank, or a part, of its own")
			}
		}
		for _, path := range files {
			if path == "-" && p.stdin {
				return cli.Misuse("standard input is named twice", "give one of them a file")
			}
			p.stdin = p.stdin || path == "-"
		}
		if err := call.Guard(files); err != nil {
			return err
		}
	}
	return nil
}

// profileError returns an error that names the input at fault, with advice.
func profileError(path string, err error) error {
	var e *lineprof.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if path == "-" {
		path = "standard input"
	}
	return cli.Misuse(path+": "+e.Msg, e.Hint)
}
